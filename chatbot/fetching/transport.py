"""One HTTP request to the very address that was checked, over the HTTP stack that comes with the OpenAI SDK.

`httpcore2` connects, secures and speaks HTTP; it is handed the connection, so that Host header and certificate keep
the name, and reads no proxy from the environment, keeps no cookies, follows no redirect. Ours are the limits: no wait
is longer than a tick, so that the end of the time and a cancellation are noticed in any state.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager

import httpcore2

from .. import __version__
from ..cancellation import Cancellation
from .addresses import FetchProblem, Rules, Target

TICK = 0.1
"""Seconds between two looks at the clock."""
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
_SERVER_PROBLEM = "Its server has a problem. Try again later."
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (socket.gaierror, "there is no host called {host}. Check the spelling."),
    (UnicodeError, "there is no host called {host}. Check the spelling."),  # a label that is too long
    (ssl.SSLError, "no encrypted connection to {host}: TLS failed. Check the address, also its port."),
    (ConnectionRefusedError, "{host} refuses the connection: no web server runs there. Check the address."),
    (TimeoutError, "{host} does not answer. Try again later."),
    (ConnectionError, "{host} broke off. Try again later."),
    (OSError, "{host} cannot be reached. Check the address, or try again later."),
    (Exception, f"{{host}} did not answer in valid HTTP. {_BY_HAND}"),
)
"""The first that fits counts."""
_NETWORK_ERRORS = (OSError, ValueError, httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError)
_REDIRECTS = {301, 302, 303, 307, 308}
_HEADERS = (
    ("User-Agent", f"report-chat/{__version__}"),
    ("Accept", "text/html,application/xhtml+xml,application/pdf,*/*;q=0.5"),
    # Nothing to decode, so nothing that can grow: a body that comes encoded all the same is refused.
    ("Accept-Encoding", "identity"),
    ("Connection", "close"),
)


class Clock:
    """Time for one fetch, all redirects included."""

    def __init__(self, seconds: float, cancel: Cancellation | None) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._cancel = cancel

    @property
    def remaining(self) -> float:
        """Seconds, below 0 when it is late."""
        return self._end - time.monotonic()

    def check(self) -> None:
        """Raises FetchProblem once the time is up or the fetch is cancelled."""
        if self._cancel is not None and self._cancel.cancelled:
            raise FetchProblem("the fetch was cancelled.")
        if self.remaining <= 0:
            late = f"it did not arrive within {self._seconds:g} seconds"
            raise FetchProblem(f"{late}. Try again later, or download the file and add that.")


class Wire(httpcore2.NetworkStream):
    """A connection that gives up when its clock says so and after ``max_bytes``, headers and framing included."""

    def __init__(self, stream: httpcore2.NetworkStream, clock: Clock, max_bytes: int) -> None:
        self._stream = stream
        self._clock = clock
        self._max_bytes = max_bytes
        self.received = 0
        self.ended = False
        """Whether the server has closed it."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What there is, b"" at the end. Raises FetchProblem."""
        while True:
            self._clock.check()
            try:
                data = self._stream.read(max_bytes, TICK)
            except httpcore2.ReadTimeout:
                continue
            self.received += len(data)
            if self.received > self._max_bytes:
                raise FetchProblem("the server sends more than it may. Download the file and add that.")
            self.ended = not data
            return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """A request of a few kilobytes fits into the connection's empty buffer and never waits."""
        self._stream.write(buffer, max(self._clock.remaining, TICK))

    def close(self) -> None:
        """Close the connection; further calls do nothing."""
        self._stream.close()


class PageResponse:
    """What a server answered. ``headers`` by lower-case name, the first of equal ones."""

    def __init__(self, response: httpcore2.Response, wire: Wire) -> None:
        self._response = response
        self._wire = wire
        pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers]
        self.headers = dict(reversed(pairs))

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return self._response.status

    @property
    def redirected_to(self) -> str | None:
        """What a redirect names, ASCII; None where it is none. Raises FetchProblem."""
        if self._response.status not in _REDIRECTS:
            return None
        location = self.headers.get("location", "").strip()
        if not location:
            raise FetchProblem(f"the server answered {self._status} without saying where to. {_BY_HAND}")
        return re.sub(r"[^!-~]", lambda odd: f"%{ord(odd[0]):02X}", location)

    def check(self) -> None:
        """Raises FetchProblem where this is not the whole page, in plain bytes."""
        # Other 2xx are no page: still being made, nothing at all, a part of it.
        if (status := self._response.status) not in {200, 203}:
            advice = _SERVER_PROBLEM if status >= 500 else _ADVICE.get(status, _BY_HAND)
            raise FetchProblem(f"the server answered {self._status}. {advice}")
        if self.headers.get("content-encoding", "identity").strip().lower() not in {"identity", ""}:
            raise FetchProblem(f"the server sends it compressed although it was asked not to. {_BY_HAND}")

    def body(self, max_bytes: int) -> Iterator[bytes]:
        """The body piece by piece. Raises FetchProblem: too large, empty, broken off."""
        size = 0 if "transfer-encoding" in self.headers else int(self.headers.get("content-length", 0))
        received = 0
        with _plain_words("the server", broken=lambda: self._wire.ended):
            for piece in self._response.iter_stream():
                received += len(piece)
                if max(size, received) > max_bytes:
                    raise FetchProblem(f"it is larger than {max_bytes / 1024**2:.3g} MB. Add a smaller file.")
                yield piece
        if not received:
            raise FetchProblem("the server sent nothing. Check the address in a browser.")

    @property
    def _status(self) -> str:
        """The code with its standard name: what the server itself writes there is anybody's text."""
        return f"{self._response.status} {http.client.responses.get(self._response.status, '')}".strip()


@contextmanager
def exchange(
    target: Target,
    rules: Rules,
    clock: Clock,
    max_bytes: int,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Iterator[PageResponse]:
    """Send a GET request, with a ``body`` a POST; the reply is valid within the ``with``. Raises FetchProblem."""
    url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
    with _plain_words(target.host):
        stream = _opened(target, rules, clock)
    with closing(Wire(stream, clock, max_bytes + max_bytes // 4 + _FRAMING)) as wire:
        with _plain_words(target.host, broken=lambda: wire.ended and not wire.received):
            connection = httpcore2.HTTP11Connection(url.origin, wire)
            sent = [("Host", target.authority), *_HEADERS, *(headers or {}).items()]
            if body is not None:
                sent.append(("Content-Length", str(len(body))))
            request = httpcore2.Request("GET" if body is None else "POST", url, headers=sent, content=body)
            reply = PageResponse(connection.handle_request(request), wire)
        yield reply


def _opened(target: Target, rules: Rules, clock: Clock) -> httpcore2.NetworkStream:
    """A connection. Raises what `_connect` does, and FetchProblem: see `Clock.check`."""
    opening: Future[httpcore2.NetworkStream] = Future()

    def connect() -> None:
        try:
            opening.set_result(_connect(target, rules, clock))
        except (FetchProblem, *_NETWORK_ERRORS) as error:
            opening.set_exception(error)

    # In a thread of its own: a lookup, a connect and a handshake cannot be interrupted, only left behind.
    threading.Thread(target=connect, name="fetch-connect", daemon=True).start()
    try:
        while not opening.done():
            wait([opening], TICK)
            clock.check()
    except FetchProblem:
        opening.add_done_callback(_close_unused)
        raise
    return opening.result()


def _close_unused(opening: Future[httpcore2.NetworkStream]) -> None:
    if opening.exception() is None:
        opening.result().close()


def _connect(target: Target, rules: Rules, clock: Clock) -> httpcore2.NetworkStream:
    """A connection to the first address that takes one; for https with the certificate checked against the name.

    The operating system's certificate authorities decide; OpenSSL takes a company's own from SSL_CERT_FILE.

    Raises:
        FetchProblem: an address is not permitted, or the time is up.
        OSError, UnicodeError, httpcore2.NetworkError, httpcore2.TimeoutException: there is no connection.
    """
    addresses = rules.addresses(target)
    for left in range(len(addresses), 0, -1):
        clock.check()
        try:
            stream = httpcore2.SyncBackend().connect_tcp(addresses[-left], target.port, clock.remaining / left)
            break
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
            if left == 1:
                raise
    if target.scheme == "http":
        return stream
    return stream.start_tls(ssl.create_default_context(), target.host, max(clock.remaining, TICK))


@contextmanager
def _plain_words(host: str, broken: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """``broken`` tells whether an answer that makes no sense is one that the server has cut off."""
    try:
        yield
    except _NETWORK_ERRORS as error:
        cut_off = isinstance(error, httpcore2.ProtocolError) and broken()
        raise FetchProblem(_words(ConnectionError() if cut_off else error, host)) from error


def _words(error: Exception, host: str) -> str:
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    if isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_AGAIN:
        return f"the host {host} cannot be looked up: the name server does not answer. Try again later."
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the certificate of {host} is not trusted: {cause.verify_message.rstrip('.')}. {_BY_HAND}"
    return next(words for kind, words in _WORDS if isinstance(cause, kind)).format(host=host)
