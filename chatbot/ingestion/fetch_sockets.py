"""A connection to the very address that was checked, that never waits longer than it may.

Every wait is cut into short ones, so that the end of the time and a cancellation are noticed in any state: looking
up the name, connecting, the TLS handshake, and a server that sends a byte now and then.
"""

from __future__ import annotations

import errno
import io
import os
import queue
import selectors
import socket
import ssl
import threading
import time

from ..cancellation import Cancellation
from .fetch_addresses import FetchProblem, Rules, Target

TICK = 0.1
"""Seconds between two looks at the clock."""
_BUFFER = 64 * 1024
_CONNECTING = {errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EAGAIN}
_WAITING = (TimeoutError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Clock:
    """Time for one fetch, all redirects included."""

    def __init__(self, seconds: float, cancel: Cancellation | None) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._cancel = cancel

    @property
    def remaining(self) -> float:
        return self._end - time.monotonic()

    def check(self) -> None:
        """Raises FetchProblem once the time is up or the fetch is cancelled."""
        if self._cancel is not None and self._cancel.cancelled:
            raise FetchProblem("the fetch was cancelled.")
        if self.remaining <= 0:
            late = f"it did not arrive within {self._seconds:g} seconds"
            raise FetchProblem(f"{late}. Try again later, or download the file and add that.")


def checked_addresses(target: Target, rules: Rules, clock: Clock) -> list[str]:
    """Look the host up, once; every address it has must be permitted, not only the one that is used.

    Raises:
        FetchProblem: one is not; OSError, UnicodeError: the lookup failed.
    """
    addresses = _looked_up(target, rules, clock)
    if not addresses:
        raise FetchProblem(f"the host {target.host} has no address. Check the spelling.")
    # An IPv6 address may carry the name of a network card.
    if not all(rules.permitted(address.partition("%")[0]) for address in addresses):
        raise FetchProblem(
            f"the host {target.host} is not on the public Internet. Only public pages are fetched: "
            "download the file and add that."
        )
    return addresses


def _looked_up(target: Target, rules: Rules, clock: Clock) -> list[str]:
    answers: queue.SimpleQueue[list[str] | OSError | UnicodeError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(rules.resolve(target.host, target.port))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    # In a thread of its own: the operating system's lookup cannot be interrupted, only left behind.
    threading.Thread(target=look_up, name="fetch-lookup", daemon=True).start()
    while True:
        clock.check()
        try:
            answer = answers.get(timeout=TICK)
        except queue.Empty:
            continue
        if isinstance(answer, list):
            return answer
        raise answer


def connected(target: Target, addresses: list[str], clock: Clock) -> socket.socket:
    """A connection to the first address that takes one; for https with the certificate checked against the name.

    Raises:
        OSError: none does (the last one's error), or the handshake failed; FetchProblem: see `Clock.check`.
    """
    for left in range(len(addresses), 0, -1):
        address = addresses[-left]
        try:
            plain = _connect(address, target.port, clock, clock.remaining / left)
            break
        except OSError:
            if left == 1:
                raise
    return plain if target.scheme == "http" else _secured(plain, target.host, clock)


def _connect(address: str, port: int, clock: Clock, seconds: float) -> socket.socket:
    end = time.monotonic() + seconds
    connecting = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        code = connecting.connect_ex((address, port))
        if code in _CONNECTING:
            with selectors.DefaultSelector() as selector:
                selector.register(connecting, selectors.EVENT_WRITE)
                while not selector.select(TICK):
                    clock.check()
                    if time.monotonic() >= end:
                        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            code = connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        connecting.settimeout(TICK)
    except BaseException:
        connecting.close()
        raise
    return connecting


def _secured(plain: socket.socket, host: str, clock: Clock) -> socket.socket:
    """The operating system's certificate authorities decide; OpenSSL takes a company's own from SSL_CERT_FILE."""
    secured = plain
    try:
        context = ssl.create_default_context()
        secured = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        while True:
            clock.check()
            try:
                secured.do_handshake()
            except _WAITING:
                continue
            return secured
    except BaseException:
        secured.close()
        raise


class Wire:
    """What http.client needs of a socket. At most ``max_bytes`` are received, headers and framing included.

    The HTTP parser's own limits have gaps (a chunk of size -1 is read to the end, into memory); this has none.
    """

    def __init__(self, connection: socket.socket, clock: Clock, max_bytes: int) -> None:
        self._connection = connection
        self._reader = _Reader(connection, clock, max_bytes)

    def sendall(self, data: bytes) -> None:
        """A request of a few kilobytes: it fits into the connection's empty buffer and never waits."""
        self._connection.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(self._reader, _BUFFER)

    def close(self) -> None:
        """http.client closes early; the connection is closed by who opened it."""


class _Reader(io.RawIOBase):
    def __init__(self, connection: socket.socket, clock: Clock, max_bytes: int) -> None:
        self._connection = connection
        self._clock = clock
        self._left = max_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any buffer, in typeshed
        while True:
            self._clock.check()
            try:
                count = self._connection.recv_into(buffer)
            except _WAITING:
                continue
            self._left -= count
            if self._left < 0:
                raise FetchProblem("the server sends more than it may. Download the file and add that.")
            return count
