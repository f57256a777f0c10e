"""Keep the library current."""

import time

import click

from ...app.cli import command, resumable
from ...app.services import Services
from ...domain.errors import LoadError
from ...language.characters import visible
from ...language.counts import count_of
from ...library.control import JobControl
from .running import sources_of, synchroniser_of
from .sync import SourceChange, SourceState


@command()
@click.option("--every", help="Go on: look again after this time, e.g. 1h.")
@click.option(
    "--prune",
    is_flag=True,
    help="Also put reports into the bin whose files have been gone for long.",
)
@click.option(
    "--prune-now",
    metavar="NAME",
    help="List the files that are gone from this source, and after a yes put their "
    "reports into the bin, however many and however short a time.",
)
@click.option("--yes", "confirmed", is_flag=True, help="Do not ask before that.")
def sync(
    services: Services,
    every: str | None,
    prune: bool,
    prune_now: str | None,
    confirmed: bool,
) -> None:
    """Keep the library as the folders, web pages and buckets of sources.toml (SOURCES)
    are.

    New and changed files are read. The report of a file that is gone goes into the bin
    after three runs and a day, where the source or --prune says so. Run an interrupted
    command again to continue. docs/extras/sources.md describes the file.

    Example: python -m chatbot sync --prune --every 1h
    """
    if prune_now is not None and prune_now not in sources_of(services):
        valid = ", ".join(sources_of(services))
        raise click.UsageError(f"There is no source {prune_now!r}. Valid: {valid}.")
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
                control=control,
                report=report,
            )
            for state in states:
                show(state)
            if pause is None:
                break
            time.sleep(pause)
    if prune_now is not None:
        _prune(services, prune_now, control, confirmed=confirmed)
        return
    if failed := [state.name for state in states if state.failures or state.problem]:
        raise LoadError(
            f"Not everything could be read, or removed: {', '.join(failed)}."
        )


def _prune(
    services: Services, name: str, control: JobControl, *, confirmed: bool
) -> None:
    """List the files that are gone from a source, and put their reports into the
    bin.
    """
    synchroniser = synchroniser_of(services)
    absent = synchroniser.absent(name)
    for identity in absent:
        click.echo(f"gone       {name}  {visible(identity)}")
    if not absent:
        click.echo(f"{name}: nothing is gone.")
        return
    number = count_of(len(absent), "report")
    if not confirmed:
        click.confirm(f"Put {number} into the bin?", abort=True, err=True)
    synchroniser.prune_now(name, absent, control)
    click.echo(f"{name}: {number} put into the bin.")


def show(state: SourceState) -> None:
    """Print what a run did with the files of a source."""
    counts = [f"{number} {outcome}" for outcome, number in state.counts.items()]
    click.echo(f"{state.name}: {', '.join(counts) or 'no files'}")
    if state.problem:
        click.secho(f"{state.name}: {state.problem}", fg="red", err=True)
