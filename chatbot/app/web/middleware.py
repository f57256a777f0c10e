"""Around every request: its id, security headers, checks of host, origin and caller,
errors, and trusted proxies.

Any web page may send a form to this server, also to one on the reader's own machine:
CORS only hides the answer. So changes sent by foreign pages are refused. Browsers state
the origin, which a page cannot change; programs send none and pass.

A page may also let its own name resolve to this machine (DNS rebinding), which the
browser then takes for the same origin. So every request has to name this server by one
of its names or by its address.
"""

import errno
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from flask import (
    Flask,
    Response,
    current_app,
    g,
    jsonify,
    make_response,
    render_template,
    request,
)
from werkzeug.exceptions import BadRequest, HTTPException, NotFound
from werkzeug.http import HTTP_STATUS_CODES

from ...config.settings import Settings
from ...database.core import begin_request, end_request
from ...domain.errors import (
    LONGEST_SHOWN,
    ChatbotError,
    DiskFullError,
    ForbiddenHostError,
    ForbiddenOriginError,
)
from .access import finish_request, require_role
from .admission import ADMISSION, admit, current_admission
from .monitoring import ObservedRequest, body_of, error_body
from .rates import count_request
from .routes import current_route, error_forms
from .turns import end_turn, take_turn

FRAMED_BY = "frame-ancestors {}"
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' "  # noqa: E501
    "data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    + FRAMED_BY.format("'none'"),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
HTTPS_ONLY = "max-age=31536000"
"""A browser that came by https once comes by https for a year."""
CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
ALIVE = ("/health", "/livez")
FORMS_DEPRECATED = "@1795910400"
"""Since 2026-11-29 files go to `POST /api/files` (RFC 9745); other forms with files
are read until 1.0.
"""
PROBLEM = "application/problem+json"
HTTP_CODES = {
    400: "invalid_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
    503: "overloaded",
}
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
PREFIX = re.compile(r"(/(?!\.{1,2}(?:/|$))[\w.~-]+)+")
"""A path below which a proxy serves this application; the proxy removes it from the
requests.
"""
FROM_PROXY = "report_chat.from_proxy"
"""The key of the WSGI environment that says that a trusted proxy sent a request: no
header has such a name.
"""
Networks = Sequence[IPv4Network | IPv6Network]


def register_request_hooks(app: Flask, settings: Settings) -> None:
    """Check each request before its view: its host, its origin, its caller."""
    names = frozenset(
        map(_plain, ("localhost", settings.host, *settings.allowed_hosts))
    )

    @app.before_request
    def begin() -> Response | None:
        begin_request()
        g.request_id = uuid.uuid4().hex[:12]
        g.observed = ObservedRequest(g.request_id)
        admission = current_admission()
        if admission.is_given:  # with its body: it was checked and counted without
            g.rate_limit = admission.rate_limit
            if admission.error is not None:
                raise admission.error
            take_turn(current_route())
            return None
        if request.path not in ALIVE:
            refuse_foreign_hosts(names)
        refuse_foreign_origins(settings.cors_origins)
        count_request()
        require_role()
        if ADMISSION in request.environ and request.routing_exception is None:
            admit(admission)
            g.is_asked_for_admission = True
            return Response(status=204)
        take_turn(current_route())
        return None

    @app.after_request
    def finish(response: Response) -> Response:
        if "is_asked_for_admission" in g:
            return response
        for name, value in SECURITY_HEADERS.items():
            response.headers.setdefault(name, value)  # a view may allow less
        if request.is_secure:
            response.headers["Strict-Transport-Security"] = HTTPS_ONLY
        response.headers["X-Request-ID"] = g.request_id
        if g.get("is_deprecated"):
            response.headers["Deprecation"] = FORMS_DEPRECATED
        finish_request(response)
        response.call_on_close(
            partial(
                g.observed.end,
                response.status_code,
                g.caller.owner if "caller" in g else "",
            )
        )
        return response

    @app.teardown_request
    def end(error: BaseException | None) -> None:
        end_turn()
        end_request()


def refuse_foreign_hosts(names: Collection[str]) -> None:
    """Raise ForbiddenHostError if the current request names another server. ``names``:
    those of this server in lower case; ``*.example.org`` stands for every name below
    it. Addresses always pass: nobody can rebind them.
    """
    try:
        host = _plain(urlsplit(f"//{request.host}").hostname or "")
    except ValueError:
        host = ""
    wider = {f"*.{host.split('.', part)[-1]}" for part in range(1, host.count(".") + 1)}
    if host in names or not wider.isdisjoint(names):
        return
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        shown = host[:LONGEST_SHOWN] or "(none)"
        message = (
            f"This server is not called {shown}. If it should be, add the name to "
            "ALLOWED_HOSTS."
        )
        raise ForbiddenHostError(message) from None


def _plain(host: str) -> str:
    return host.casefold().rstrip(".")


def refuse_foreign_origins(allowed: Collection[str]) -> None:
    """Raise ForbiddenOriginError if the page of another site sends a change.
    ``allowed``: as CORS_ORIGINS.
    """
    if request.method not in CHANGING:
        return
    origin = request.headers.get("Origin")
    site = request.headers.get("Sec-Fetch-Site")
    if origin in allowed or "*" in allowed:
        return
    # Sec-Fetch-Site counts first: behind a proxy the Host header may differ from the
    # page's.
    here = f"{request.scheme}://{request.host}".lower()
    is_own = (
        site in {"same-origin", "none"}
        if site is not None
        else origin is None or origin.lower() == here
    )
    if not is_own:
        remedy = "If they should, add their origin to CORS_ORIGINS."
        raise ForbiddenOriginError(
            f"Pages of {origin or 'another site'} may not change anything here. "
            f"{remedy}"
        )


def register_error_handlers(app: Flask) -> None:
    """Answer the product's errors, HTTP's and bugs as the API describes errors."""

    @app.errorhandler(Exception)
    def answer_error(error: Exception) -> Response:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            error = DiskFullError("There is no disk space left for this request.")
        response = _respond(
            error_body(error), error.status if isinstance(error, ChatbotError) else 500
        )
        if isinstance(error, ChatbotError) and error.retry_after is not None:
            response.headers["Retry-After"] = str(error.retry_after)
        if response.status_code == 401:
            response.headers["WWW-Authenticate"] = 'Bearer realm="report-chat"'
        return response

    @app.errorhandler(HTTPException)
    def answer_http_error(error: HTTPException) -> Response:
        status = error.code or 500
        is_default = error.description == NotFound.description
        message = (
            "Page not found. Check the address."
            if is_default
            else error.description or error.name
        )
        response = _respond(
            body_of(HTTP_CODES.get(status, "http_error"), message, []), status
        )
        # What belongs to the status: Allow, Retry-After, ...
        response.headers.update(
            {k: v for k, v in error.get_headers() if k.lower() != "content-type"}
        )
        return response


def _respond(body: dict[str, Any], status: int) -> Response:
    for below, form in error_forms(current_app).items():
        if request.path.startswith(below):
            return make_response(jsonify(form(body, status)), status)
    wants_page = (
        request.method == "GET"
        and request.accept_mimetypes.best_match(["application/json", "text/html"])
        == "text/html"
        and not request.path.startswith("/api")
        and not isinstance(
            request.routing_exception, BadRequest
        )  # for a malformed host the page has no addresses
    )
    if wants_page:
        return make_response(
            render_template(
                "error.html", status=status, message=body["error"]["message"]
            ),
            status,
        )
    response = make_response(jsonify(body), status)
    if PROBLEM in request.accept_mimetypes.values():
        problem = {
            "type": f"urn:report-chat:error:{body['error']['code']}",
            "title": HTTP_STATUS_CODES.get(status, "Error"),
            "status": status,
            "detail": body["error"]["message"],
        }
        response.set_data(current_app.json.dumps(problem | body))
        response.mimetype = PROBLEM
    return response


class BehindProxies:
    """A WSGI application that gets the client's address, scheme and path, not those of
    the last proxy.
    """

    def __init__(self, app: Application, trusted: Sequence[str]) -> None:
        self._app = app
        self._trusted: Networks = [ip_network(one, strict=False) for one in trusted]

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        if is_in(environ.get("REMOTE_ADDR", ""), self._trusted):
            # Each proxy appends its peer: from the right, the first that is not a
            # trusted proxy is the client.
            peers = [
                bare(part)
                for part in environ.get("HTTP_X_FORWARDED_FOR", "").split(",")
                if part.strip()
            ]
            clients = [
                peer for peer in reversed(peers) if not is_in(peer, self._trusted)
            ]
            environ["REMOTE_ADDR"] = (clients or peers[:1] or [environ["REMOTE_ADDR"]])[
                0
            ]
            # So many proxies are in front of the last one; each may have appended how
            # it was asked.
            behind = next(
                (
                    n
                    for n, peer in enumerate(reversed(peers))
                    if not is_in(peer, self._trusted)
                ),
                0,
            )
            schemes = (
                environ.get("HTTP_X_FORWARDED_PROTO", "")
                .lower()
                .replace(" ", "")
                .split(",")
            )
            if (scheme := schemes[max(-1 - behind, -len(schemes))]) in {
                "http",
                "https",
            }:
                environ["wsgi.url_scheme"] = scheme
            if PREFIX.fullmatch(environ.get("HTTP_X_FORWARDED_PREFIX", "")):
                environ["SCRIPT_NAME"] = environ["HTTP_X_FORWARDED_PREFIX"]
            environ[FROM_PROXY] = True
        return self._app(environ, start_response)


def bare(address: str) -> str:
    """Return an address without the port that some proxies add, and without the
    brackets of IPv6.
    """
    host, _, port = address.strip().rpartition(":")
    with_port = port.isdigit() and (":" not in host or host.endswith("]"))
    return (host if with_port else address.strip()).strip("[]")


def is_in(address: str, networks: Networks) -> bool:
    """Return whether an address is in one of the networks; False for what is not an
    address.
    """
    try:
        return any(ip_address(address) in network for network in networks)
    except ValueError:
        return False
