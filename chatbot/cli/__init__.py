"""`python -m chatbot ...`: the command line, and how its commands print.

Results go to the output, progress and all else to the error stream: what is piped on is the result alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from .. import __version__
from ..errors import ChatbotError, InvalidRequestError
from ..logs import begin_log
from ..settings import Settings

USAGE, FAILED = 2, 1
COMMANDS = {
    "serve": ("operation", "Serve the chat page and the API."),
    "ingest": ("documents", "Read files, folders, web pages (https://...) or standard..."),
    "ask": ("ask", "Answer QUESTION from the reports, or those of a table."),
    "chat": ("ask", "Ask one question after the other, each understood with those..."),
    "documents": ("documents", "The reports in the database."),
    "keys": ("access", "The API keys: create, list, revoke."),
    "conversations": ("access", "The conversations that are kept."),
    "audit": ("access", "Show who changed what, the newest first."),
    "feedback": ("feedback", "What people thought of answers: export."),
    "evaluate": ("evaluate", "Measure retrieval on DATASET: your own questions in a CSV..."),
    "calibrate": ("calibrate", "Measure which scores mean something with the embedding..."),
    "warm-cache": ("maintenance", "Compute the vectors that ship with the sample reports;..."),
    "index": ("indexes", "The search indexes of MongoDB ($vectorSearch and $search)."),
    "doctor": ("operation", "Check keys, server, collections, indexes and models; exit..."),
    "copy": ("maintenance", "Copy reports, passages, vectors and conversations between..."),
    "reembed": ("maintenance", "Embed all passages with another model, and switch to it..."),
    "mcp": ("mcp", "Serve agents over stdin and stdout (Model Context Protocol)."),
    "migrate": ("maintenance", "Bring the schema up to date and mend rows of an older system."),
    "usage": ("operation", "Show questions, calls, tokens and costs by day (UTC); runs,..."),
}
"""By name: the module, which is imported when the command is used, and its line in the list of commands."""


class CommandLine(click.Group):
    """Shows the table, and takes a command from its module when it is used: nobody waits for the others' imports."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See `click.Group`."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name else None, rest


def load_command(name: str) -> click.Command:
    """The command itself, with its options. Raises KeyError."""
    command: click.Command = getattr(import_module(f".{COMMANDS[name][0]}", __name__), name.replace("-", "_"))
    return command


@click.group(
    cls=CommandLine,
    commands={name: click.Command(name, help=text) for name, (_, text) in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="report-chat")
@click.pass_context
def cli(context: click.Context) -> None:
    """Ask your reports.

    Settings come from the environment and from .env; see .env.example for all of them.
    """
    from ..services import Services  # not before a command runs: help and version need nothing of it

    settings = Settings.from_env()
    begin_log(settings.log_level)
    context.obj = context.with_resource(Services(settings))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 usage."""
    try:
        cli(args=list(arguments) if arguments is not None else None, standalone_mode=True)
    except ChatbotError as error:
        click.secho(f"Error: {error.message}", fg="red", err=True)
        sys.exit(USAGE if isinstance(error, InvalidRequestError) else FAILED)


def progress_bar(label: str, length: int) -> Any:
    """A progress bar on the error stream, as a context manager; ``update(steps)`` moves it on."""
    return click.progressbar(length=length, label=label, file=sys.stderr)


def print_json(value: Any) -> None:
    """Indented, for people and programs."""
    click.echo(json.dumps(value, indent=2))
