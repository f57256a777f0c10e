"""Commands of `python -m chatbot`. Only results go to the output, so that a pipe gets
nothing else.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib.util import resolve_name
from keyword import iskeyword
from pathlib import Path
from typing import Any

import click

from ... import __version__
from ...config.log import begin_log
from ...config.settings import Settings
from ...domain.errors import (
    ChatbotError,
    DependencyError,
    InvalidRequestError,
    SettingsError,
)
from ...extras import Extra, enabled, extras, load

USAGE, FAILED = 2, 1
COMMANDS = {
    "serve": ("operation", "Serve the chat page and the API."),
    "ingest": (
        "ingest",
        "Read files, folders, web pages (https://...) or standard input...",
    ),
    "ask": ("ask", "Answer QUESTION from the reports, or the questions of a table."),
    "chat": (
        "ask",
        "Ask one question after the other, each with the ones before as...",
    ),
    "figures": ("figures", "Compute over the figures of the reports."),
    "documents": ("documents", "The reports in the database."),
    "keys": ("operation", "The API keys: create, list, revoke."),
    "index": (
        "maintenance",
        "The search indexes of MongoDB ($vectorSearch and $search).",
    ),
}
"""The module and the line in the list of commands, by name. Those of the extras
follow (`all_commands`).
"""


def all_commands() -> dict[str, tuple[str, str]]:
    """Return the commands of the core and of all extras, as `COMMANDS` has them. A name
    of the core stays the core's.
    """
    added = {name: row for extra in extras() for name, row in extra.commands.items()}
    return {**added, **COMMANDS}


class CommandLine(click.Group):
    """Lists the commands from `all_commands` and imports the module of a command only
    when it is used.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(all_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return what stands in the list of commands."""
        row = all_commands().get(cmd_name)
        if row:
            return click.Command(cmd_name, help=row[1])
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name else None, rest


class Commands(click.Group):
    """A command of several, each of which gets the services."""

    def __init__(self, name: str) -> None:
        super().__init__(name, help=all_commands()[name][1])

    def command(  # type: ignore[override]
        self, *names: Any, **options: Any
    ) -> Callable[[Callable[..., None]], click.Command]:
        declare = super().command(*names, **options)
        return lambda function: declare(pass_services(function))


def pass_services(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the services of the settings; its end closes them."""

    @click.pass_context
    @wraps(function)
    def run(context: click.Context, /, *arguments: Any, **options: Any) -> None:
        from ..services import build  # help and version do not need it

        services = context.with_resource(build(context.obj))
        function(services, *arguments, **options)

    return run


def command(name: str | None = None) -> Callable[[Callable[..., None]], click.Command]:
    """Declare a command that gets the services."""
    return lambda function: click.command(name)(pass_services(function))


def load_command(name: str) -> click.Command:
    """Import a command, of the core or of an extra."""
    reference = all_commands()[name][0]
    if name in COMMANDS:
        module = resolve_name(f".{reference}", __name__)
        function = f"{name}_" if iskeyword(name) else name.replace("-", "_")
        reference = f"{module}:{function}"
    command: click.Command = load(reference)
    return command


def require_enabled(command: str | None, chosen: Iterable[Extra]) -> None:
    """Raise SettingsError: the command is of an extra that EXTRAS leaves out."""
    if command in COMMANDS or any(command in extra.commands for extra in chosen):
        return
    for extra in extras():
        if command in extra.commands:
            raise SettingsError(
                f"EXTRAS leaves out the extra {extra.name!r}, which has the command "
                f"{command!r}. Add {extra.name} to EXTRAS."
            )


@click.group(
    cls=CommandLine,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="report-chat")
@click.pass_context
def cli(context: click.Context) -> None:
    """Ask your reports.

    Settings come from the environment and from .env; see .env.example for all of them.
    """
    settings = Settings.from_env()
    begin_log(settings.log_level, settings.log_format)
    context.obj = settings
    require_enabled(context.invoked_subcommand, enabled(settings))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 usage."""
    try:
        cli(
            args=list(arguments) if arguments is not None else None,
            standalone_mode=True,
        )
    except ChatbotError as error:
        click.secho(
            (
                "Error: "
                f"{error.in_full if isinstance(error, DependencyError) else error.message}"  # noqa: E501
            ),
            fg="red",
            err=True,
        )
        sys.exit(USAGE if isinstance(error, InvalidRequestError) else FAILED)


def progress_bar(label: str, length: int) -> Any:
    """Return a progress bar on the error stream, a context manager with
    ``update(steps)``.
    """
    return click.progressbar(length=length, label=label, file=sys.stderr)


@contextmanager
def resumable(kept: str) -> Iterator[None]:
    """Say at an interrupt that the command goes on when it is run again. ``kept``: what
    is kept until then, with its verb.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise click.ClickException(
            f"interrupted. {kept} kept; run the command again."
        ) from None


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))


def write_text(path: Path, text: str) -> None:
    """Write a file that the user asked for, or leave it as it was. Raises
    DependencyError: it cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        part.replace(path)
    except OSError as error:
        raise DependencyError(
            f"{path.name} cannot be written: {error.strerror}."
        ) from error
