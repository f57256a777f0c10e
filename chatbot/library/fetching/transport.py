"""One HTTP request to a permitted address, over the HTTP stack that comes with the
OpenAI SDK.

A URL or redirect could point into the network this server runs in (the database, a
cloud's metadata service), so the resolved addresses are checked, and the connection
that `CheckedNetwork` opens goes to one of them. The Host header and the certificate
keep the host's name. No proxy is read from the environment, no cookie kept, no redirect
followed.
"""

import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

import httpcore2
import idna

from ... import __version__
from ...domain import Cancellation

MAX_URL = 2_000
"""Characters."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
WEB_PORTS = frozenset({80, 443, 8080, 8443})
"""On other ports mail servers and databases listen, which may take a request as
commands, and an answer about any port would make this server a port scanner.
"""
_UNPRINTABLE = re.compile(r"[\s\x00-\x20\x7f-\xa0]")
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_IN_REQUEST = "!$%&'()*+,/:;=?@[]~"
_USERINFO = re.compile(r"^([a-z][a-z0-9+.-]*:[/\\]+)?[^/\\?#]*@", re.IGNORECASE)
_MAX_SHOWN_CHARACTERS = 300

_IPV6_PUBLIC = ip_network("2000::/3")
_IPV6_NAT64 = ip_network("64:ff9b::/96")
# Not public, though `ipaddress` calls some of them global (which ones depends on
# Python's patch version).
_NEVER = tuple(
    ip_network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments; a metadata service at one provider
        "192.88.99.0/24",  # 6to4 relays
        "168.63.129.16/32",  # the platform's own service inside Azure
        "2001::/23",  # Teredo and other protocol assignments
        "2002::/16",  # 6to4: an IPv4 address in disguise, and no web site's
        "3fff::/20",  # documentation
    )
)
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
    (
        UnicodeError,
        "there is no host called {host}. Check the spelling.",
    ),  # a label that is too long
    (
        ssl.SSLError,
        (
            "no encrypted connection to {host}: TLS failed. Check the address, also "
            "its port."
        ),
    ),
    (
        ConnectionRefusedError,
        "{host} refuses the connection: no web server runs there. Check the address.",
    ),
    (TimeoutError, "{host} does not answer. Try again later."),
    (ConnectionError, "{host} broke off. Try again later."),
    (OSError, "{host} cannot be reached. Check the address, or try again later."),
    (Exception, f"{{host}} did not answer in valid HTTP. {_BY_HAND}"),
)
"""The first matching class counts."""
_NETWORK_ERRORS = (
    OSError,
    ValueError,
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
)
_REDIRECTS = {301, 302, 303, 307, 308}
_HEADERS = (
    ("User-Agent", f"report-chat/{__version__}"),
    ("Accept", "text/html,application/xhtml+xml,application/pdf,*/*;q=0.5"),
    # A compressed body could grow without bounds. One that comes all the same is
    # refused.
    ("Accept-Encoding", "identity"),
    ("Connection", "close"),
)
Resolve = Callable[[str, int], list[str]]
"""Host name and port to every address; raises OSError or UnicodeError."""


class FetchProblem(Exception):  # noqa: N818  # `fetch` makes a LoadError of it
    """Why a page was not fetched, and what to do. `fetch` adds the URL."""


def resolve_host(host: str, port: int) -> list[str]:
    """Ask the operating system, which understands every way to write an address.
    Without repetitions.
    """
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def is_public(address: str) -> bool:
    """Return whether an IP address can only be a machine on the public Internet."""
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip in _IPV6_NAT64:  # how IPv4 looks from a network that has only IPv6
            ip = IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip not in _IPV6_PUBLIC:
            return False
    return (
        ip.is_global
        and not ip.is_multicast
        and not any(ip in network for network in _NEVER)
    )


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits of a fetch. ``ports`` None = any."""

    resolve: Resolve = resolve_host
    permitted: Callable[[str], bool] = is_public
    ports: frozenset[int] | None = WEB_PORTS

    def addresses(self, host: str, port: int) -> list[str]:
        """Look the host up, once. Every address must be permitted, not only the one
        that is used. Raises FetchProblem: one is not permitted, or there is none.
        OSError, UnicodeError: the lookup failed.
        """
        addresses = self.resolve(host, port)
        if not addresses:
            raise FetchProblem(f"the host {host} has no address. Check the spelling.")
        # An IPv6 address may carry the name of a network card.
        if not all(self.permitted(address.partition("%")[0]) for address in addresses):
            raise FetchProblem(
                f"the host {host} is not on the public Internet. Only public pages "
                "are fetched: "
                "download the file and add that."
            )
        return addresses


PUBLIC = Rules()
ANYWHERE = Rules(permitted=lambda address: True, ports=None)
"""No limits on addresses and ports."""


def rules_for(*, private: bool) -> Rules:
    """Return the rules of an installation; ``private``: FETCH_PRIVATE_URLS."""
    return ANYWHERE if private else PUBLIC


def parse_url(url: str, ports: frozenset[int] | None) -> SplitResult:
    """Return an address as it is requested: in ASCII, percent-encoded, without the
    scheme's default port and without a fragment. Raises FetchProblem: it is invalid or
    not permitted.
    """
    if len(url) > MAX_URL:
        raise FetchProblem(
            f"the address is longer than {MAX_URL:,} characters. Use a shorter one."
        )
    if _UNPRINTABLE.search(url):
        raise FetchProblem(
            "the address holds blanks or control characters. Write a blank as %20."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise FetchProblem(
            "this is not a valid web address. Copy it from the browser."
        ) from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise FetchProblem(
            "only addresses that begin with http:// or https:// are fetched."
        )
    if "@" in parts.netloc:
        raise FetchProblem(
            "the address holds a user name or password. Remove it, or download the "
            "file and add that."
        )
    host = _ascii_host(parts.hostname or "")
    port = _DEFAULT_PORTS[parts.scheme] if port is None else port
    if ports is not None and port not in ports:
        valid = ", ".join(map(str, sorted(ports)))
        raise FetchProblem(
            f"port {port} is not fetched from, only {valid}. Download the file and "
            "add that."
        )
    authority = f"[{host}]" if ":" in host else host
    authority += "" if port == _DEFAULT_PORTS[parts.scheme] else f":{port}"
    path, query = (
        quote(part, safe=_IN_REQUEST) for part in (parts.path or "/", parts.query)
    )
    return SplitResult(parts.scheme, authority, path, query, "")


def _ascii_host(host: str) -> str:
    """Return a name of a host in ASCII, or its address in the shortest form."""
    try:
        if ":" in host and "%" not in host:
            return ip_address(host).compressed
        name = host
        if not host.isascii():
            name = idna.encode(host, uts46=True).decode("ascii")
    except ValueError as error:  # idna's errors are ValueErrors too
        raise FetchProblem(
            "its host is not a valid name. Check the address."
        ) from error
    name = name.lower().removesuffix(".")
    if not _NAME.fullmatch(name):
        raise FetchProblem("it has no valid host name. Check the address.")
    return name


def url_for_message(url: str) -> str:
    """Return a URL for messages: one line of bounded length, without user name,
    password and fragment.
    """
    text = _UNPRINTABLE.sub(" ", _USERINFO.sub(r"\1", url.partition("#")[0]))
    return (
        text
        if len(text) <= _MAX_SHOWN_CHARACTERS
        else f"{text[:_MAX_SHOWN_CHARACTERS]}..."
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
            raise FetchProblem(
                f"{late}. Try again later, or download the file and add that."
            )


@dataclass(eq=False)
class CheckedNetwork(httpcore2.NetworkBackend, httpcore2.NetworkStream):
    """The network and the one connection of a request: to a permitted address, within a
    deadline and ``max_bytes``. No wait is longer than a tick, so the end of the time
    and a cancellation are noticed in any state.
    """

    rules: Rules
    deadline: Deadline
    max_bytes: int
    stream: httpcore2.NetworkStream = field(default_factory=httpcore2.NetworkStream)
    received: int = 0
    """Bytes, headers and framing included."""
    ended: bool = False
    """True once the server has closed the connection."""

    def connect_tcp(
        self, host: str, port: int, *_: Any, **options: Any
    ) -> "CheckedNetwork":
        """Connect to the first address that accepts. Raises FetchProblem, OSError,
        UnicodeError, httpcore2's errors.
        """

        def connect() -> httpcore2.NetworkStream:
            addresses = self.rules.addresses(host, port)
            for left in range(len(addresses), 0, -1):
                self.deadline.check()
                try:
                    seconds = self.deadline.remaining / left
                    return httpcore2.SyncBackend().connect_tcp(
                        addresses[-left], port, seconds
                    )
                except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                    if left == 1:
                        raise
            raise AssertionError("Rules.addresses returns at least one")

        self.stream = self._interruptible(connect)
        return self

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "CheckedNetwork":
        """Encrypt the connection. Raises FetchProblem and httpcore2's errors."""
        stream = self.stream
        seconds = max(self.deadline.remaining, TICK)
        self.stream = self._interruptible(
            lambda: stream.start_tls(ssl_context, server_hostname, seconds)
        )
        return self

    def _interruptible(
        self, open_stream: Callable[[], httpcore2.NetworkStream]
    ) -> httpcore2.NetworkStream:
        """Run ``open_stream`` in a thread: a lookup, a connect and a handshake can only
        be left behind.
        """
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
                self.deadline.check()
        except FetchProblem:
            opening.add_done_callback(
                lambda done: None if done.exception() else done.result().close()
            )
            raise
        return opening.result()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the bytes that have arrived, b"" at the end. Raises FetchProblem."""
        while True:
            self.deadline.check()
            try:
                data = self.stream.read(max_bytes, TICK)
            except httpcore2.ReadTimeout:
                continue
            self.received += len(data)
            if self.received > self.max_bytes:
                raise FetchProblem(
                    "the server sends more than it may. Download the file and add that."
                )
            self.ended = not data
            return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send the request: it fits into the connection's empty buffer, so this never
        waits.
        """
        self.stream.write(buffer, max(self.deadline.remaining, TICK))

    def close(self) -> None:
        self.stream.close()


class PageResponse:
    """A server's response. ``headers`` by lower-case name, the first of equal ones."""

    def __init__(self, response: httpcore2.Response, network: CheckedNetwork) -> None:
        self._response = response
        self._network = network
        pairs = [
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in response.headers
        ]
        self.headers = dict(reversed(pairs))
        self.status = int(response.status)
        # The standard name of the status: a server could write anything there.
        self._status = f"{response.status} {http.client.responses.get(response.status, '')}".strip()  # noqa: E501

    @property
    def redirect_location(self) -> str | None:
        """The address a redirect leads to, in ASCII; None for other responses. Raises
        FetchProblem.
        """
        if self._response.status not in _REDIRECTS:
            return None
        location = self.headers.get("location", "").strip()
        if not location:
            raise FetchProblem(
                f"the server answered {self._status} without saying where to. "
                f"{_BY_HAND}"
            )
        return re.sub(r"[^!-~]", lambda match: f"%{ord(match[0]):02X}", location)

    def check(self) -> None:
        """Raise FetchProblem unless this is the whole page in plain bytes."""
        # Other 2xx are no page: not ready yet, nothing at all, or a part of it.
        if (status := self._response.status) not in {200, 203}:
            advice = _SERVER_PROBLEM if status >= 500 else _ADVICE.get(status, _BY_HAND)
            raise FetchProblem(f"the server answered {self._status}. {advice}")
        if self.headers.get("content-encoding", "identity").strip().lower() not in {
            "identity",
            "",
        }:
            raise FetchProblem(
                "the server sends it compressed although it was asked not to. "
                f"{_BY_HAND}"
            )

    def body(self, max_bytes: int) -> Iterator[bytes]:
        """Yield the body piece by piece. Raises FetchProblem: it is too large, empty or
        broken off.
        """
        size = (
            0
            if "transfer-encoding" in self.headers
            else int(self.headers.get("content-length", 0))
        )
        received = 0
        with _network_errors_as_problems(
            "the server", is_broken=lambda: self._network.ended
        ):
            for piece in self._response.iter_stream():
                received += len(piece)
                if max(size, received) > max_bytes:
                    raise FetchProblem(
                        f"it is larger than {max_bytes / 1024**2:.3g} MB. Add a "
                        "smaller file."
                    )
                yield piece
        if not received:
            raise FetchProblem(
                "the server sent nothing. Check the address in a browser."
            )


@contextmanager
def request_page(
    target: SplitResult,
    rules: Rules,
    deadline: Deadline,
    max_bytes: int,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Iterator[PageResponse]:
    """Send a GET request, or a ``body`` by POST; the response is valid within the
    ``with``. Raises FetchProblem. The operating system's certificate authorities
    decide; OpenSSL takes a company's own from SSL_CERT_FILE.
    """
    host = target.hostname or ""
    path = "?".join(filter(None, (target.path, target.query)))
    url = httpcore2.URL(scheme=target.scheme, host=host, port=target.port, target=path)
    sent = [("Host", target.netloc), *_HEADERS, *(headers or {}).items()]
    method = "GET"
    if body is not None:
        method = "POST"
        sent.append(("Content-Length", str(len(body))))
    request = httpcore2.Request(method, url, headers=sent, content=body)
    network = CheckedNetwork(rules, deadline, max_bytes + max_bytes // 4 + _FRAMING)
    context = ssl.create_default_context() if target.scheme == "https" else None
    connection = httpcore2.HTTPConnection(
        url.origin, ssl_context=context, network_backend=network
    )
    try:
        is_broken = lambda: network.ended and not network.received  # noqa: E731
        with _network_errors_as_problems(host, is_broken=is_broken):
            response = PageResponse(connection.handle_request(request), network)
        yield response
    finally:
        connection.close()


@contextmanager
def _network_errors_as_problems(
    host: str, is_broken: Callable[[], bool]
) -> Iterator[None]:
    """``is_broken`` tells whether a response that makes no sense is one that the server
    has cut off.
    """
    try:
        yield
    except _NETWORK_ERRORS as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        if isinstance(error, httpcore2.ProtocolError) and is_broken():
            cause = ConnectionError()
        message = next(
            message for kind, message in _MESSAGES if isinstance(cause, kind)
        ).format(host=host)
        if isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_AGAIN:
            message = (
                f"the host {host} cannot be looked up: the name server does not "
                "answer. Try again later."
            )
        elif isinstance(cause, ssl.SSLCertVerificationError):
            message = (
                f"the certificate of {host} is not trusted: "
                f"{cause.verify_message.rstrip('.')}. {_BY_HAND}"
            )
        raise FetchProblem(message) from error
