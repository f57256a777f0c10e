"""Around every request: its id, security headers, checks of host, origin and caller, errors, and trusted proxies.

Errors become JSON for programs and a page for browsers, with the status of their kind, and never a stack trace.

Requests that change something are refused when the page of another web site sends them. A browser lets any page send a
form, files included, to any address it reaches, this server on somebody's own machine too, and asks nobody first: CORS
only keeps the page from reading the answer. So it could add documents to the knowledge base or spend the chat model's
tokens. Browsers say where a request comes from, and a page cannot change that; programs send neither header and pass.

A page may also have its own name lead to this machine (DNS rebinding): to the browser that is the same origin then. So
every request has to name this server by a name of its own, or by its address, which is no name to rebind.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, NotRequired
from urllib.parse import urlsplit

from flask import Flask, Response, g, jsonify, make_response, render_template, request
from typing_extensions import TypedDict
from werkzeug.exceptions import BadRequest, HTTPException

from ..database.time_limits import begin_request, end_request
from ..errors import (
    LONGEST_SHOWN,
    BudgetExhaustedError,
    CancelledError,
    ChatbotError,
    ConflictError,
    DependencyError,
    DiskFullError,
    DocumentExistsError,
    EmbedderMismatchError,
    ForbiddenError,
    ForbiddenHostError,
    ForbiddenOriginError,
    IngestingError,
    InvalidRequestError,
    KeyReusedError,
    LoadError,
    NotFoundError,
    SupersededError,
    TooManyRequestsError,
    UnauthorizedError,
)
from ..settings import Settings
from .access import admit, count_request, known_owner, note_change, tell_share
from .idempotency import keep, replay
from .observing import ObservedRequest

log = logging.getLogger(__name__)


class ErrorBody(TypedDict):
    """``code`` is stable; ``details`` name the fields with their valid values, or a remedy.

    Below `/v1` it also has ``type`` and ``param``, which OpenAI's clients read.
    """

    code: str
    message: str
    details: list[dict[str, Any]]
    request_id: str
    type: NotRequired[str]
    param: NotRequired[str | None]


class Error(TypedDict):
    """The body of every answer with a status from 400 on."""

    error: ErrorBody


SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",
}
CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
OWN = frozenset({"same-origin", "none"})
STATUS: tuple[tuple[type[ChatbotError], int], ...] = (
    (InvalidRequestError, 400),
    (UnauthorizedError, 401),
    (ForbiddenError, 403),
    (ForbiddenHostError, 403),
    (ForbiddenOriginError, 403),
    (NotFoundError, 404),
    (LoadError, 422),
    (BudgetExhaustedError, 429),
    (TooManyRequestsError, 429),
    (DocumentExistsError, 409),
    (ConflictError, 409),
    (SupersededError, 409),
    (KeyReusedError, 422),
    (CancelledError, 409),
    (IngestingError, 503),
    (EmbedderMismatchError, 503),
    (DiskFullError, 507),
    (DependencyError, 503),
)
ALIVE = "/health"
OPENAI = "/v1/"
"""Below it errors have the form that OpenAI's clients read."""
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
PREFIX = re.compile(r"(/[\w.~-]+)+")
"""A path below which a proxy serves this application, and which it takes away before it asks here."""
Networks = Sequence[IPv4Network | IPv6Network]


def register_request_hooks(app: Flask, settings: Settings) -> None:
    """What is checked before each request, in this order: by which name, from whose page, by whom."""
    names = frozenset(map(_plain, ("localhost", settings.host, *settings.allowed_hosts)))

    @app.before_request
    def begin() -> Response | None:
        begin_request()
        g.request_id = uuid.uuid4().hex[:12]
        g.observed = ObservedRequest(g.request_id)
        if request.path != ALIVE:
            refuse_foreign_hosts(names)
        refuse_foreign_origins(settings.cors_origins)
        count_request()
        admit()
        return replay()

    @app.after_request
    def finish(response: Response) -> Response:
        for name, value in SECURITY_HEADERS.items():
            response.headers.setdefault(name, value)  # a view may allow less
        response.headers["X-Request-ID"] = g.request_id
        keep(response)
        note_change(response)
        tell_share(response)
        g.observed.end_with(response, known_owner())
        return response

    @app.teardown_request
    def end(error: BaseException | None) -> None:
        end_request()


def refuse_foreign_hosts(names: Collection[str]) -> None:
    """``names``: those of this server, in small letters; ``*.example.org`` is all below it.

    Raises:
        ForbiddenHostError: the current request names another one.
    """
    try:
        host = _plain(urlsplit(f"//{request.host}").hostname or "")
    except ValueError:
        host = ""
    wider = {f"*.{host.split('.', part)[-1]}" for part in range(1, host.count(".") + 1)}
    if host in names or not wider.isdisjoint(names) or _is_address(host):
        return
    shown = host[:LONGEST_SHOWN] or "(none)"
    raise ForbiddenHostError(f"This server is not called {shown}. If it should be, add the name to ALLOWED_HOSTS.")


def _plain(host: str) -> str:
    return host.casefold().rstrip(".")


def _is_address(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def refuse_foreign_origins(allowed: Collection[str]) -> None:
    """Check the current request. ``allowed``: other origins whose pages may change things (CORS_ORIGINS).

    Raises:
        ForbiddenOriginError: it is another site's.
    """
    if request.method not in CHANGING:
        return
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if origin in allowed or "*" in allowed:
        return
    # The browser's own word comes first: behind a proxy the Host header may be another than the page's.
    here = f"{request.scheme}://{request.host}".lower()
    own = site in OWN if site is not None else origin is None or origin.lower() == here
    if not own:
        raise ForbiddenOriginError(
            f"Pages of {origin or 'another site'} may not change anything here. "
            "If they should, add their origin to CORS_ORIGINS."
        )


def status_of(error: ChatbotError) -> int:
    """The HTTP status; 500 for a kind that has none."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def error_body(error: ChatbotError) -> dict[str, Any]:
    """``{"error": {"code", "message", "details", "request_id"}}``, also the data of an `error` event."""
    log_failure(error)
    return _body(error.code, error.message, error.details)


def log_failure(error: ChatbotError) -> None:
    """What this process depends on failed: by the request's id it is found, also where it is told within a stream."""
    if status_of(error) > 500:
        log.warning("Request %s: %s", _request_id(), error.message)


def unexpected(error: BaseException) -> ChatbotError:
    """A bug: logged with its trace and the request id, told to the client without either."""
    log.error("Unexpected error in request %s", _request_id(), exc_info=error)
    return ChatbotError("Something went wrong here. The request id helps to find it in the log.")


def register_error_handlers(app: Flask) -> None:
    """Answer the product's errors, HTTP's and bugs as the API describes errors."""

    @app.errorhandler(ChatbotError)
    def known(error: ChatbotError) -> Response:
        response = _respond(error_body(error), status := status_of(error))
        if error.retry_after is not None:
            response.headers["Retry-After"] = str(error.retry_after)
        if status == 401:
            response.headers["WWW-Authenticate"] = 'Bearer realm="report-chat"'
        return response

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> Response:
        status = error.code or 500
        response = _respond(_body(HTTP_CODES.get(status, "http_error"), error.description or error.name, []), status)
        # What belongs to the status: Allow, Retry-After, ...
        response.headers.update({k: v for k, v in error.get_headers() if k.lower() != "content-type"})
        return response

    @app.errorhandler(Exception)
    def bug(error: Exception) -> Response:
        return _respond(error_body(unexpected(error)), 500)


def _body(code: str, message: str, details: list[dict[str, Any]]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": details, "request_id": _request_id()}}


def _request_id() -> str:
    return str(g.get("request_id", "")) if g else ""


def _respond(body: dict[str, Any], status: int) -> Response:
    if request.path.startswith(OPENAI):
        return make_response(jsonify(as_openai(body, status)), status)
    wants_page = (
        request.method == "GET"
        and request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html"
    )
    # Asked by a name that is none, the page has no addresses.
    if wants_page and not isinstance(request.routing_exception, BadRequest) and not request.path.startswith("/api"):
        page = render_template("error.html", status=status, message=body["error"]["message"])
        return make_response(page, status)
    return make_response(jsonify(body), status)


def as_openai(body: Mapping[str, Any], status: int) -> dict[str, Any]:
    """An error of this API in OpenAI's form, with what this API has besides."""
    error = body["error"]
    details: Sequence[Mapping[str, Any]] = error.get("details") or ()
    kind = "server_error" if status >= 500 else "rate_limit_error" if status == 429 else "invalid_request_error"
    param = next((detail["field"] for detail in details if "field" in detail), None)
    return {"error": {**error, "type": kind, "param": param}}


class BehindProxies:
    """A WSGI application that is told the client's address, scheme and path, not those of the last proxy."""

    def __init__(self, app: Application, trusted: Sequence[str]) -> None:
        self._app = app
        self._trusted: Networks = [ip_network(one, strict=False) for one in trusted]

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """See PEP 3333."""
        if is_in(environ.get("REMOTE_ADDR", ""), self._trusted):
            # Each proxy adds whom it was asked by: from the right, the first that is no proxy of ours is the client.
            said = [bare(part) for part in environ.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
            clients = [part for part in reversed(said) if not is_in(part, self._trusted)]
            environ["REMOTE_ADDR"] = (clients or said[:1] or [environ["REMOTE_ADDR"]])[0]
            if environ.get("HTTP_X_FORWARDED_PROTO", "").strip().lower() in {"http", "https"}:
                environ["wsgi.url_scheme"] = environ["HTTP_X_FORWARDED_PROTO"].strip().lower()
            if PREFIX.fullmatch(environ.get("HTTP_X_FORWARDED_PREFIX", "")):
                environ["SCRIPT_NAME"] = environ["HTTP_X_FORWARDED_PREFIX"]
        return self._app(environ, start_response)


def bare(address: str) -> str:
    """An address without the port that some proxies add, and without the brackets of IPv6."""
    host, _, port = address.strip().rpartition(":")
    with_port = port.isdigit() and (":" not in host or host.endswith("]"))
    return (host if with_port else address.strip()).strip("[]")


def is_in(address: str, networks: Networks) -> bool:
    """Whether an address is in one of the networks; False for what is no address."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in networks)
