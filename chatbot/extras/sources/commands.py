"""Keep the library current."""

import time

import click

from ...app.cli import command, resumable
from ...app.services import Services
from ...domain.errors import LoadError
from ...library.control import JobControl
from .running import sources_of, synchroniser_of
from .sync import SourceChange, SourceState


@command()
@click.option("--every", help="Go on: look again after this time, e.g. 1h.")
@click.option(
    "--prune", is_flag=True, help="Also remove the reports whose files are gone."
)
@click.option(
    "--yes", "confirmed", is_flag=True, help="Remove them however many they are."
)
def sync(services: Services, every: str | None, prune: bool, confirmed: bool) -> None:
    """Keep the library as the folders, web pages and buckets of sources.toml (SOURCES)
    are.

    New and changed files are read. Run an interrupted command again to continue.
    docs/extras/sources.md describes the file.

    Example: python -m chatbot sync --prune --every 1h
    """
    pause = services.settings.override(sync_every=every).sync_every if every else None

    def report(name: str, change: SourceChange) -> None:
        colour = "red" if change.outcome == "failed" else None
        click.secho(
            f"{change.outcome:9}  {name}  {change.name}  {change.detail}".rstrip(),
            fg=colour,
            err=True,
        )

    control = JobControl(
        waiting=lambda reason: click.secho(reason, fg="yellow", err=True)
    )
    with resumable("Finished files are"):
        while True:
            states = synchroniser_of(services).run(
                sources_of(services),
                prune=prune,
                confirmed=confirmed,
                control=control,
                report=report,
            )
            for state in states:
                show(state)
            if pause is None:
                break
            time.sleep(pause)
    if failed := [state.name for state in states if state.failures or state.problem]:
        raise LoadError(
            f"Not everything could be read, or removed: {', '.join(failed)}."
        )


def show(state: SourceState) -> None:
    """Print what a run did with the files of a source."""
    counts = [f"{number} {outcome}" for outcome, number in state.counts.items()]
    click.echo(f"{state.name}: {', '.join(counts) or 'no files'}")
    if state.problem:
        click.secho(f"{state.name}: {state.problem}", fg="red", err=True)
