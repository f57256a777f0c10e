"""`serve`: the page and the API."""

from __future__ import annotations

import click
import waitress

from ..errors import SettingsError
from ..factory import create_app
from ..services import Services


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
        server = waitress.create_server(
            app,
            host=address[0],
            port=address[1],
            threads=settings.threads,
            ident="report-chat",
            clear_untrusted_proxy_headers=True,
        )
    except OSError as error:
        raise SettingsError(
            f"Cannot listen on {address[0]}:{address[1]}: {error.strerror}. Set HOST or PORT to a free address."
        ) from error
    click.echo(f"Ask your reports: http://{address[0]}:{server.effective_port}  (Ctrl-C stops)")
    try:
        server.run()
    finally:
        server.close()
        if samples := app.extensions.get("samples"):
            samples.close()
        app.extensions["services"].close()
