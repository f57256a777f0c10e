"""`python -m chatbot ...`: every command is one file."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

import click

from .. import __version__
from ..errors import ChatbotError, InvalidRequestError
from ..services import Services
from ..settings import Settings
from .ask import ask
from .calibrate import calibrate
from .copy import copy
from .doctor import doctor
from .documents import documents
from .evaluate import evaluate
from .index import index
from .ingest import ingest
from .migrate import migrate
from .reembed import reembed
from .serve import serve
from .usage import usage
from .warm_cache import warm_cache

USAGE, FAILED = 2, 1


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="report-chat")
@click.pass_context
def cli(context: click.Context) -> None:
    """Ask your reports.

    Settings come from the environment and from .env; see .env.example for all of them.
    """
    settings = Settings.from_env()
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("httpx", "httpx2", "openai", "waitress.queue", "faiss.loader"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    context.obj = context.with_resource(Services(settings))


for command in (
    serve,
    ingest,
    ask,
    documents,
    evaluate,
    calibrate,
    warm_cache,
    index,
    doctor,
    copy,
    reembed,
    migrate,
    usage,
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 usage."""
    try:
        cli(args=list(arguments) if arguments is not None else None, standalone_mode=True)
    except ChatbotError as error:
        click.secho(f"Error: {error.message}", fg="red", err=True)
        sys.exit(USAGE if isinstance(error, InvalidRequestError) else FAILED)
