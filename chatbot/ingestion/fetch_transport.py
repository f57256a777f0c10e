"""One HTTP request to a checked address.

Built on the standard library's http.client: it lets the caller bring the connection, so that it goes to the address
that was checked while Host header and certificate keep the name; it reads no proxy from the environment, keeps no
cookies and follows no redirect. urllib3 and httpx would do the same only through more of their inner parts.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import cast

from .. import __version__
from .fetch_addresses import FetchProblem, Rules, Target
from .fetch_sockets import Clock, Wire, checked_addresses, connected

_PIECE = 64 * 1024
_FRAMING = 256 * 1024
"""Bytes for headers; a quarter of the body is allowed for chunk marks besides."""
_BY_HAND = "Download the file in a browser and add that."
_ADVICE = {
    401: f"It asks for a login. {_BY_HAND}",
    403: f"It refuses programs, or asks for a login. {_BY_HAND}",
    404: "Check the address.",
    410: "It is gone for good. Check the address.",
    429: "It is asked too often. Try again later.",
}
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (socket.gaierror, "there is no host called {host}. Check the spelling."),
    (UnicodeError, "there is no host called {host}. Check the spelling."),  # a label that is too long
    (ssl.SSLError, "no encrypted connection to {host}: TLS failed. Check the address, also its port."),
    (ConnectionRefusedError, "{host} refuses the connection: no web server runs there. Check the address."),
    (TimeoutError, "{host} does not answer. Try again later."),
    (ConnectionError, "{host} broke off. Try again later."),
    (http.client.IncompleteRead, "{host} broke off. Try again later."),
    (OSError, "{host} cannot be reached. Check the address, or try again later."),
    (Exception, f"{{host}} did not answer in valid HTTP. {_BY_HAND}"),
)
"""The first that fits counts; the last is what http.client makes of a malformed answer."""
_REDIRECTS = {301, 302, 303, 307, 308}
_HEADERS = {
    "User-Agent": f"report-chat/{__version__}",
    "Accept": "text/html,application/xhtml+xml,application/pdf,*/*;q=0.5",
    # Nothing to decode, so nothing that can grow: a body that comes encoded all the same is refused.
    "Accept-Encoding": "identity",
    "Connection": "close",
}


@contextmanager
def exchange(target: Target, rules: Rules, clock: Clock, max_bytes: int) -> Iterator[http.client.HTTPResponse]:
    """Send a GET request; the response is valid within the ``with``. Raises FetchProblem."""
    with ExitStack() as stack:
        with _in_plain_words(target.host):
            addresses = checked_addresses(target, rules, clock)
            opened = stack.enter_context(closing(connected(target, addresses, clock)))
            connection = http.client.HTTPConnection(target.host, target.port)
            wire = Wire(opened, clock, max_bytes + max_bytes // 4 + _FRAMING)
            connection.sock = cast("socket.socket", wire)  # http.client uses no more of a socket than Wire has
            connection.request("GET", target.path, headers={"Host": target.authority, **_HEADERS})
            response = stack.enter_context(connection.getresponse())
        yield response


def redirected_to(response: http.client.HTTPResponse) -> str | None:
    """What a redirect names, ASCII; None where it is none. Raises FetchProblem."""
    if response.status not in _REDIRECTS:
        return None
    location = response.headers.get("Location", "").strip()
    if not location:
        raise FetchProblem(f"the server answered {_status(response.status)} without saying where to. {_BY_HAND}")
    # The bytes as they came: http.client reads headers as Latin-1.
    return re.sub(r"[^!-~]", lambda odd: f"%{ord(odd[0]):02X}", location)


def check_status(response: http.client.HTTPResponse) -> None:
    """Raises FetchProblem where this is not the whole page, in plain bytes."""
    # Other 2xx are no page: still being made, nothing at all, a part of it.
    if response.status not in {200, 203}:
        later = "Its server has a problem. Try again later."
        advice = later if response.status >= 500 else _ADVICE.get(response.status, _BY_HAND)
        raise FetchProblem(f"the server answered {_status(response.status)}. {advice}")
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    transfer = response.headers.get("Transfer-Encoding", "chunked").lower()
    if encoding not in {"identity", ""} or transfer != "chunked":
        raise FetchProblem(f"the server sends it compressed although it was asked not to. {_BY_HAND}")


def body(response: http.client.HTTPResponse, max_bytes: int) -> Iterator[bytes]:
    """The body piece by piece. Raises FetchProblem: too large, empty, broken off."""
    size = 0
    too_large = FetchProblem(f"it is larger than {max_bytes / 1024**2:.3g} MB. Add a smaller file.")
    if (response.length or 0) > max_bytes:
        raise too_large
    while True:
        with _in_plain_words("the server"):
            piece = response.read(_PIECE)
        if not piece:
            break
        size += len(piece)
        if size > max_bytes:
            raise too_large
        yield piece
    if response.length:
        raise FetchProblem("the server broke off before the end. Try again later.")
    if not size:
        raise FetchProblem("the server sent nothing. Check the address in a browser.")


def _status(code: int) -> str:
    """The code with its standard name: what the server itself writes there is anybody's text."""
    return f"{code} {http.client.responses.get(code, '')}".strip()


@contextmanager
def _in_plain_words(host: str) -> Iterator[None]:
    try:
        yield
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise FetchProblem(_words(error, host)) from error


def _words(error: Exception, host: str) -> str:
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
        return f"the host {host} cannot be looked up: the name server does not answer. Try again later."
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {host} is not trusted: {error.verify_message.rstrip('.')}. {_BY_HAND}"
    return next(words for kind, words in _WORDS if isinstance(error, kind)).format(host=host)
