"""NX-27017 for the tests: a server that speaks MongoDB's wire protocol, over SQLite
files.

`NxThread` runs in this process and starts at once; `NxProcess` can be killed like a
real server, and started again on the same port and files. Neither is MongoDB: they are
evidence for the driver's path, not for the server's behaviour. For the latter see
mongoeco_server.py. What differs from MongoDB and is repaired here is in nx_handler.py.
The rest is left alone by the tests: it has no search indexes, no change streams and no
replica set, and BinData comes back without its subtype (the source of the packages
nx-27017 and neosqlite).
"""

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nx_27017.server import handle_client

from tests.fakes.nx_handler import NxHandler

ROOT = Path(__file__).parent.parent.parent
START_SECONDS = 60.0
LOOP_STEPS = 10
"""More than a connection needs from being accepted to its task, or to be closed."""


class NxThread:
    """A server in this process, on a free port, for as long as the context lasts."""

    def __init__(self, folder: Path) -> None:
        self._handler: Any = NxHandler(data_dir=str(folder))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="nx-27017", daemon=True
        )
        self._clients: set[asyncio.Task[None]] = set()
        self._transports: list[asyncio.WriteTransport] = []
        self.port = 0

    @property
    def uri(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}"

    def __enter__(self) -> "NxThread":
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *error: object) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._handler.close_all()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        self._transports.append(writer.transport)
        with contextlib.suppress(asyncio.CancelledError):
            await handle_client(reader, writer, self._handler)
        self._clients.discard(task)

    async def _stop(self) -> None:
        self._server.close()
        await self._run_steps()
        clients = list(self._clients)
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        # A handler that is cancelled while it closes leaves its socket open.
        for transport in self._transports:
            transport.abort()
        await self._run_steps()
        await self._loop.shutdown_default_executor()

    @staticmethod
    async def _run_steps() -> None:
        for _ in range(LOOP_STEPS):
            await asyncio.sleep(0)

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(
            timeout=START_SECONDS
        )


class NxProcess:
    """A server of its own. ``start=False``: only the port is chosen yet."""

    def __init__(self, folder: Path, *, start: bool = True) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        if start:
            self.start()

    @property
    def uri(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns once it accepts connections."""
        command = [
            sys.executable,
            "-m",
            "tests.fakes.nx_handler",
            str(self.port),
            str(self._folder),
        ]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(lambda: accepts(self.port), "NX-27017 does not start", START_SECONDS)

    def kill(self) -> None:
        """SIGKILL, as a crash or a pulled plug would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> "NxProcess":
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until(done: Callable[[], bool], otherwise: str, seconds: float) -> None:
    """Poll ``done``; AssertionError with ``otherwise`` when the time is up."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, f"{otherwise} within {seconds:.0f} s"
        time.sleep(0.02)
