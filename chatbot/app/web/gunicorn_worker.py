"""gunicorn's processes around the `Server`: its sockets, its signals, its heartbeat."""

import asyncio
import contextlib
import os
import signal
import socket
from typing import Any

from gunicorn.workers.base import Worker

from ...config.log import begin_log
from ...config.settings import Settings
from ..factory import close_app, stop_work
from .admission import use_data_folder
from .server import Server


class LoopWorker(Worker):  # type: ignore[misc]
    """One process that serves `gunicorn app:app`."""

    def init_signals(self) -> None:
        """SIGTERM and SIGINT are the server's; SIGQUIT ends at once; USR1 opens the log
        files again.
        """
        for name in self.SIGNALS:
            signal.signal(name, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, self.handle_usr1)
        signal.siginterrupt(signal.SIGUSR1, False)

    def run(self) -> None:
        """Serve until gunicorn says otherwise, or has gone."""
        settings = Settings.from_env()
        begin_log(settings.log_level, settings.log_format)
        use_data_folder(settings.data_dir)
        server = _Beating(
            self,
            self.wsgi,
            settings,
            stop_seconds=self.cfg.graceful_timeout,
            processes=self.cfg.workers,
        )
        if self.cfg.is_ssl:  # read when the server starts
            server.config.ssl_certfile = self.cfg.certfile
            server.config.ssl_keyfile = self.cfg.keyfile
        try:
            server.run([listener.sock for listener in self.sockets])
        finally:
            close_app(self.wsgi)


ACCEPT_PAUSE, LONGEST_ACCEPT_PAUSE = 0.001, 0.005
"""Seconds after each connection, for each request in progress: meanwhile another worker
takes the next one. Without them the worker that wakes first takes all that come at the
same moment.
"""


class _Beating(Server):
    def __init__(self, worker: Worker, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._worker = worker
        self._tasks = set[asyncio.Task[None]]()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])
        self._tasks |= {
            asyncio.create_task(self._accept(listening)) for listening in sockets or ()
        }

    async def _accept(self, listening: socket.socket) -> None:
        listening.setblocking(False)
        while True:
            with contextlib.suppress(
                OSError
            ):  # the client has left, or too many files are open
                connection, _ = await asyncio.get_running_loop().sock_accept(listening)
                opening = asyncio.create_task(self._open(connection))
                self._tasks.add(opening)
                opening.add_done_callback(self._tasks.discard)
            busy = 1 + len(self.server_state.tasks)
            await asyncio.sleep(min(busy * ACCEPT_PAUSE, LONGEST_ACCEPT_PAUSE))

    async def _open(self, connection: socket.socket) -> None:
        config = self.config
        protocol = config.http_protocol_class(
            config=config, server_state=self.server_state, app_state=self.lifespan.state
        )  # type: ignore[call-arg]
        if (
            connection.family != socket.AF_UNIX
        ):  # else each part of a response waits until the one before has arrived
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):  # the client has left, or does not speak TLS
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, connection, ssl=config.ssl
            )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Work and requests come to their end at the same time: gunicorn waits no
        longer for both than for one.
        """
        for task in self._tasks:
            task.cancel()
        stop_work(self._worker.wsgi)
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            self._worker.notify()
            self.should_exit = self.should_exit or self._worker.ppid != os.getppid()
        return await super().on_tick(counter)
