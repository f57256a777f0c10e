"""`serve`: the page and the API."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any

import click
import waitress
from flask import Flask

from ..errors import SettingsError
from ..factory import close_app, create_app
from ..services import Services

CONNECTIONS = 500
"""Open at once, idle ones too. A browser keeps six for each of its profiles; a server that is full lets nobody in."""
IDLE_SECONDS = 60


@click.command()
@click.option("--host", help="Address to listen on. Default: HOST.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on. Default: PORT.")
@click.pass_obj
def serve(services: Services, host: str | None, port: int | None) -> None:
    """Serve the chat page and the API.

    Example: python -m chatbot serve --port 8080
    """
    settings = services.settings
    address = host or settings.host, settings.port if port is None else port
    app = create_app(settings)
    try:
        server = http_server(app, *address, threads=settings.threads)
    except OSError as error:
        raise SettingsError(
            f"Cannot listen on {address[0]}:{address[1]}: {error.strerror}. Set HOST or PORT to a free address."
        ) from error
    signal.signal(signal.SIGTERM, _interrupt)
    click.echo(f"Ask your reports: http://{address[0]}:{server.effective_port}  (Ctrl-C stops)")
    try:
        server.run()
    finally:
        server.close()
        close_app(app)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM (a container that is stopped) ends the server as Ctrl-C does: by the `finally` above."""
    raise KeyboardInterrupt


def http_server(app: Flask, host: str, port: int, *, threads: int) -> Any:
    """The server, listening but not yet serving. Raises OSError: the address is taken or not ours."""
    return waitress.create_server(
        app,
        host=host,
        port=port,
        threads=threads,
        ident="report-chat",
        clear_untrusted_proxy_headers=True,
        # Read on while an answer is written: that is how a closed connection is noticed at once.
        channel_request_lookahead=1,
        connection_limit=connection_limit(),
        channel_timeout=IDLE_SECONDS,
        asyncore_use_poll=True,  # `select`, which it falls back to, knows only the first 1024 open files
    )


def connection_limit() -> int:
    """As many as half the files that this process may open leave room for: the rest is for databases and files."""
    if sys.platform == "win32":
        return CONNECTIONS
    import resource  # there is none on Windows

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS if files == resource.RLIM_INFINITY else min(CONNECTIONS, files // 2)
