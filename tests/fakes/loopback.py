"""A threaded HTTP server on loopback, for as long as a context lasts; its end breaks
every connection.
"""

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Loopback:
    """``handler`` finds this object as ``self.server.fake``. ``stopping`` is set when
    the context ends.
    """

    def __init__(
        self, handler: type[BaseHTTPRequestHandler], address: str = "127.0.0.1"
    ) -> None:
        self.stopping = threading.Event()
        self._http = _Server((address, 0), handler, self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.01,), name="loopback"
        )

    @property
    def host(self) -> str:
        return str(self._http.server_address[0])

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def open_connections(self) -> int:
        return len(self._http.open)

    def serve(self, request: Any, client_address: Any) -> None:
        """One connection, in its own thread."""
        self._http.RequestHandlerClass(request, client_address, self._http)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        for connection in list(self._http.open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        fake: Loopback,
    ) -> None:
        super().__init__(address, handler)
        self.fake = fake
        self.open: set[socket.socket] = set()

    def finish_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        try:
            with contextlib.suppress(OSError):  # the client has gone
                self.fake.serve(request, client_address)
        finally:
            self.open.discard(request)
