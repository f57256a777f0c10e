"""One HTTP request over the HTTP stack that comes with the OpenAI SDK, to an address that was checked.

`httpcore2` speaks HTTP and TLS over the connection that `CheckedNetwork` opens. The Host header and the certificate
keep the host's name. No proxy is read from the environment, no cookie is kept, no redirect is followed.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any

import httpcore2

from ... import __version__
from ...domain.cancellation import Cancellation
from .addresses import FetchProblem, Rules, Target

TICK = 0.1
"""Seconds between two checks of the deadline."""
_FRAMING = 256 * 1024
"""Bytes allowed for headers. Another quarter of the body is allowed for chunk marks."""
_BY_HAND = "Download the file in a browser and add that."
_ADVICE = {
    401: f"It asks for a login. {_BY_HAND}",
    403: f"It refuses programs, or asks for a login. {_BY_HAND}",
    404: "Check the address.",
    410: "It is gone for good. Check the address.",
    429: "It gets too many requests. Try again later.",
}
_SERVER_PROBLEM = "Its server has a problem. Try again later."
_MESSAGES: tuple[tuple[type[Exception], str], ...] = (
    (socket.gaierror, "there is no host called {host}. Check the spelling."),
    (UnicodeError, "there is no host called {host}. Check the spelling."),  # a label that is too long
    (ssl.SSLError, "no encrypted connection to {host}: TLS failed. Check the address, also its port."),
    (ConnectionRefusedError, "{host} refuses the connection: no web server runs there. Check the address."),
    (TimeoutError, "{host} does not answer. Try again later."),
    (ConnectionError, "{host} broke off. Try again later."),
    (OSError, "{host} cannot be reached. Check the address, or try again later."),
    (Exception, f"{{host}} did not answer in valid HTTP. {_BY_HAND}"),
)
"""The first matching class counts."""
_NETWORK_ERRORS = (OSError, ValueError, httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError)
_REDIRECTS = {301, 302, 303, 307, 308}
_HEADERS = (
    ("User-Agent", f"report-chat/{__version__}"),
    ("Accept", "text/html,application/xhtml+xml,application/pdf,*/*;q=0.5"),
    # A compressed body could grow without bounds. One that comes all the same is refused.
    ("Accept-Encoding", "identity"),
    ("Connection", "close"),
)


class Deadline:
    """The time allowed for one fetch, all redirects included, and its cancellation."""

    def __init__(self, seconds: float, cancel: Cancellation | None) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._cancel = cancel

    @property
    def remaining(self) -> float:
        """Seconds left; negative once the time is up."""
        return self._end - time.monotonic()

    def check(self) -> None:
        """Raise FetchProblem once the time is up or the fetch is cancelled."""
        if self._cancel is not None and self._cancel.cancelled:
            raise FetchProblem("the fetch was cancelled.")
        if self.remaining <= 0:
            late = f"it did not arrive within {self._seconds:g} seconds"
            raise FetchProblem(f"{late}. Try again later, or download the file and add that.")


class CheckedNetwork(httpcore2.NetworkBackend, httpcore2.NetworkStream):
    """The network and the one connection of a request: to a permitted address, within a deadline and ``max_bytes``.

    No wait is longer than a tick, so the end of the time and a cancellation are noticed in any state.
    """

    def __init__(self, target: Target, rules: Rules, deadline: Deadline, max_bytes: int) -> None:
        self._target = target
        self._rules = rules
        self._deadline = deadline
        self._max_bytes = max_bytes
        self._stream = httpcore2.NetworkStream()
        self.received = 0
        """Bytes, headers and framing included."""
        self.ended = False
        """Whether the server has closed the connection."""

    def connect_tcp(self, host: str, port: int, *_: Any, **options: Any) -> CheckedNetwork:
        """Connect to the first address that accepts. Raises FetchProblem, OSError, UnicodeError, httpcore2's errors."""

        def connect() -> httpcore2.NetworkStream:
            addresses = self._rules.addresses(self._target)
            for left in range(len(addresses), 0, -1):
                self._deadline.check()
                try:
                    seconds = self._deadline.remaining / left
                    return httpcore2.SyncBackend().connect_tcp(addresses[-left], port, seconds)
                except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                    if left == 1:
                        raise
            raise AssertionError("Rules.addresses returns at least one")

        self._stream = self._interruptible(connect)
        return self

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> CheckedNetwork:
        """Encrypt the connection. Raises FetchProblem and httpcore2's errors."""
        stream, seconds = self._stream, max(self._deadline.remaining, TICK)
        self._stream = self._interruptible(lambda: stream.start_tls(ssl_context, server_hostname, seconds))
        return self

    def _interruptible(self, open_stream: Callable[[], httpcore2.NetworkStream]) -> httpcore2.NetworkStream:
        """Run ``open_stream`` in a thread: a lookup, a connect and a handshake can only be left behind."""
        opening: Future[httpcore2.NetworkStream] = Future()

        def run() -> None:
            try:
                opening.set_result(open_stream())
            except (FetchProblem, *_NETWORK_ERRORS) as error:
                opening.set_exception(error)

        threading.Thread(target=run, name="fetch-connect", daemon=True).start()
        try:
            while not opening.done():
                wait([opening], TICK)
                self._deadline.check()
        except FetchProblem:
            opening.add_done_callback(lambda done: None if done.exception() else done.result().close())
            raise
        return opening.result()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the bytes that have arrived, b"" at the end. Raises FetchProblem."""
        while True:
            self._deadline.check()
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
        """Send the request: it fits into the connection's empty buffer, so this never waits."""
        self._stream.write(buffer, max(self._deadline.remaining, TICK))

    def close(self) -> None:
        self._stream.close()


class PageResponse:
    """A server's response. ``headers`` by lower-case name, the first of equal ones."""

    def __init__(self, response: httpcore2.Response, network: CheckedNetwork) -> None:
        self._response = response
        self._network = network
        pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers]
        self.headers = dict(reversed(pairs))
        # The standard name of the status: a server could write anything there.
        self._status = f"{response.status} {http.client.responses.get(response.status, '')}".strip()

    @property
    def redirect_location(self) -> str | None:
        """The address a redirect leads to, in ASCII; None for other responses. Raises FetchProblem."""
        if self._response.status not in _REDIRECTS:
            return None
        location = self.headers.get("location", "").strip()
        if not location:
            raise FetchProblem(f"the server answered {self._status} without saying where to. {_BY_HAND}")
        return re.sub(r"[^!-~]", lambda match: f"%{ord(match[0]):02X}", location)

    def check(self) -> None:
        """Raise FetchProblem unless this is the whole page in plain bytes."""
        # Other 2xx are no page: not ready yet, nothing at all, or a part of it.
        if (status := self._response.status) not in {200, 203}:
            advice = _SERVER_PROBLEM if status >= 500 else _ADVICE.get(status, _BY_HAND)
            raise FetchProblem(f"the server answered {self._status}. {advice}")
        if self.headers.get("content-encoding", "identity").strip().lower() not in {"identity", ""}:
            raise FetchProblem(f"the server sends it compressed although it was asked not to. {_BY_HAND}")

    def body(self, max_bytes: int) -> Iterator[bytes]:
        """Yield the body piece by piece. Raises FetchProblem: it is too large, empty or broken off."""
        size = 0 if "transfer-encoding" in self.headers else int(self.headers.get("content-length", 0))
        received = 0
        with _network_errors_as_problems("the server", is_broken=lambda: self._network.ended):
            for piece in self._response.iter_stream():
                received += len(piece)
                if max(size, received) > max_bytes:
                    raise FetchProblem(f"it is larger than {max_bytes / 1024**2:.3g} MB. Add a smaller file.")
                yield piece
        if not received:
            raise FetchProblem("the server sent nothing. Check the address in a browser.")


@contextmanager
def request_page(target: Target, rules: Rules, deadline: Deadline, max_bytes: int) -> Iterator[PageResponse]:
    """Send a GET request; the response is valid within the ``with``. Raises FetchProblem.

    The operating system's certificate authorities decide; OpenSSL takes a company's own from SSL_CERT_FILE.
    """
    url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
    request = httpcore2.Request("GET", url, headers=[("Host", target.authority), *_HEADERS])
    network = CheckedNetwork(target, rules, deadline, max_bytes + max_bytes // 4 + _FRAMING)
    context = ssl.create_default_context() if target.scheme == "https" else None
    connection = httpcore2.HTTPConnection(url.origin, ssl_context=context, network_backend=network)
    try:
        is_broken = lambda: network.ended and not network.received  # noqa: E731
        with _network_errors_as_problems(target.host, is_broken=is_broken):
            response = PageResponse(connection.handle_request(request), network)
        yield response
    finally:
        connection.close()


@contextmanager
def _network_errors_as_problems(host: str, is_broken: Callable[[], bool]) -> Iterator[None]:
    """``is_broken`` tells whether a response that makes no sense is one that the server has cut off."""
    try:
        yield
    except _NETWORK_ERRORS as error:
        cut_off = isinstance(error, httpcore2.ProtocolError) and is_broken()
        raise FetchProblem(_message(ConnectionError() if cut_off else error, host)) from error


def _message(error: Exception, host: str) -> str:
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    if isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_AGAIN:
        return f"the host {host} cannot be looked up: the name server does not answer. Try again later."
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the certificate of {host} is not trusted: {cause.verify_message.rstrip('.')}. {_BY_HAND}"
    return next(message for kind, message in _MESSAGES if isinstance(cause, kind)).format(host=host)
