"""`ingest` and `documents`: add, list and delete the reports of the library."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, mkdtemp
from threading import Semaphore
from typing import Any

import click

from ...answering.tools.parallel import in_parallel
from ...domain import Loaded
from ...domain.documents import MEGABYTE
from ...domain.errors import (
    CancelledError,
    ChatbotError,
    LoadError,
    NotFoundError,
    SupersededError,
)
from ...domain.request import RequestContext
from ...domain.validation import parse
from ...language.counts import count_of
from ...library.archives import unpack
from ...library.chunkers import CHUNKERS, require_text_column
from ...library.control import FILES_AT_ONCE, JobControl, aside
from ...library.loaders import ARCHIVE, suffixes
from ...library.sources import WEB, Overrides, Source, folder_sources
from ..services import Services
from . import Commands, command, progress_bar

STDIN = "-"
EVERY_FILE = "**/*"
Result = tuple[str, int, str]
Work = tuple[str, Callable[[], Source]]
"""The name of something to ingest, and what gives it, which may have to fetch it
first.
"""


@command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH|URL|-...")
@click.option("--country", help="Country the reports are about: a name or an ISO code.")
@click.option("--year", help="Year of the reports.")
@click.option(
    "--type",
    "report_type",
    help=(
        "Type of the reports, e.g. country_report. Default: by the title; "
        "year_in_review with --year and no country."
    ),
)
@click.option("--label", "labels", multiple=True, help="A label; repeat for several.")
@click.option("--title", help="Title, of a single file.")
@click.option("--description", help="A sentence that describes the reports.")
@click.option(
    "--collection", help="Collection to write to. Default: chosen by country or year."
)
@click.option(
    "--chunk-strategy",
    "--strategy",
    help=f"{', '.join(CHUNKERS.names())}. Default: CHUNK_STRATEGY.",
)
@click.option(
    "--chunk-size", help="Longest passage, in characters. Default: CHUNK_SIZE."
)
@click.option(
    "--chunk-overlap",
    help="Characters repeated from the passage before. Default: CHUNK_OVERLAP.",
)
@click.option(
    "--glob",
    "pattern",
    default=EVERY_FILE,
    show_default=True,
    help="Which files of a folder are read.",
)
@click.option(
    "--name",
    default="stdin.md",
    show_default=True,
    help="For -: the file name; its suffix tells the format.",
)
@click.option(
    "--strict-csv",
    "strict",
    is_flag=True,
    help='Refuse a CSV table that has no column "Text", and name its columns.',
)
@click.option(
    "--yes",
    "confirmed",
    is_flag=True,
    help="Do not ask before the chat model summarises many files.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Read everything, write nothing, and show what would happen.",
)
def ingest(
    services: Services,
    /,
    paths: tuple[str, ...],
    pattern: str,
    name: str,
    strict: bool,
    dry_run: bool,
    confirmed: bool,
    **flags: Any,
) -> None:
    """Read files, folders, web pages (https://...) or standard input (-), so that
    questions can be asked of them.

    A folder is read with its subfolders; its manifest.json describes the files, and
    flags win over it. An unchanged file is skipped, a changed file replaces its old
    version. Run an interrupted command again to continue.

    Example: python -m chatbot ingest reports/ notes.pdf https://example.org/review.html
    --country Kenya --year 2024
    """
    named = {
        "country_name": flags.pop("country"),
        "type": flags.pop("report_type"),
        **flags,
    }
    named["labels"] = list(flags["labels"]) or None
    given = {name: value for name, value in named.items() if value is not None}
    overrides = services.ingesting.check_overrides(parse(Overrides, given))
    with TemporaryDirectory(prefix="report-chat-") as folder:
        works = [
            work
            for path in paths
            for work in _works(services, path, pattern, name, Path(folder))
        ]
        if not works:
            raise click.UsageError(f"No file to read in {', '.join(paths)}.")
        if flags["title"] and len(works) != 1:
            raise click.UsageError("--title is for a single file.")
        if len(works) > (services.ingesting.ask_above or len(works)) and not (
            dry_run or confirmed
        ):
            calls = (
                f"The chat model writes a summary of each of these {len(works)} files, "
                "one call for each new one"
            )
            click.confirm(
                f"{calls} (SUMMARIES=auto; --yes does not ask). Go on?",
                abort=True,
                err=True,
            )
        outcomes: list[str] = []
        try:
            with progress_bar("Ingesting", len(works)) as bar:
                run = partial(
                    _ingest, services, overrides, bar, dry_run=dry_run, strict=strict
                )
                for outcome, chunks, about in _in_threads(services, works, run):
                    passages = f"{chunks:6} passages" if chunks else " " * 15
                    outcomes.append(outcome)
                    erase = "\r\033[K" if sys.stderr.isatty() else ""
                    click.echo(f"{erase}{outcome:9}  {passages}  {about}", err=True)
                    bar.update(1)
        except KeyboardInterrupt:
            raise click.ClickException(
                "interrupted. Finished files are kept; run the command again."
            ) from None
    failed, count = outcomes.count("failed"), len(outcomes)
    click.echo(
        f"{count - failed} of {count} files "
        f"{'can be read' if dry_run else 'are searchable'}."
    )
    if failed:
        raise LoadError(f"{failed} of {count} files could not be read.")


def _in_threads(
    services: Services,
    works: Sequence[Work],
    ingest: Callable[[Work, JobControl], Result],
) -> Iterator[Result]:
    """Yield each result when it is there. An interrupt waits for the files in progress,
    but not for a silent server.
    """
    workers = services.settings.ingestion_workers
    turns = Semaphore(workers)

    def run(work: Work, request: RequestContext) -> Result:
        with turns:
            control = JobControl(
                cancel=request.cancel,
                stopping=lambda: request.cancelled,
                aside=partial(aside, turns),
            )
            control.check()
            return ingest(work, control)

    pieces = [partial(run, work) for work in works]
    try:
        for _, outcome in in_parallel(
            pieces, threads=FILES_AT_ONCE, request=RequestContext()
        ):
            if isinstance(outcome, ChatbotError):
                raise outcome
            assert outcome is not None  # there is no time limit
            yield outcome
    finally:
        for _ in range(workers):
            turns.acquire(timeout=1.0)


def _works(
    services: Services, path: str, pattern: str, name: str, folder: Path
) -> Iterator[Work]:
    if path.startswith(WEB):
        identity = path.partition("#")[0]
        yield (
            path,
            lambda: Source(
                services.ingesting.originals.download(path, folder), identity
            ),
        )
    elif path == STDIN:
        if PurePosixPath(name).suffix.lower() not in suffixes():
            raise click.UsageError(
                f"--name {name}: the suffix tells the format. Valid: "
                f"{', '.join(suffixes())}."
            )
        target = folder / PurePosixPath(name).name

        def read_stdin() -> Source:
            target.write_bytes(sys.stdin.buffer.read())
            return Source(target, f"stdin/{target.name}")

        yield name, read_stdin
    elif Path(path).is_dir() or Path(path).is_file():
        whole = [Source(Path(path), Path(path).resolve().as_posix())]
        for source in (
            folder_sources(Path(path), pattern=pattern)
            if Path(path).is_dir()
            else whole
        ):
            sources, place = [source], Path(mkdtemp(dir=folder))
            if source.path.suffix.lower() == ARCHIVE:
                try:
                    members = unpack(
                        source.path,
                        place,
                        max_bytes=services.settings.max_upload_mb * MEGABYTE,
                    )
                    sources = [
                        Source(member, f"{source.identity}/{name}")
                        for name, member in members
                    ]
                except LoadError as error:
                    click.secho(error.message, fg="red", err=True)
                    sources = [replace(source, listed=True)]  # and fails
            for each in sources:
                if (
                    each.listed
                    or each in whole
                    or each.path.suffix.lower() in suffixes()
                ):
                    yield each.path.name, lambda each=each: each  # type: ignore[misc]
                else:
                    click.secho(
                        f"{each.path.name}: skipped, this format cannot be read.",
                        err=True,
                    )
    else:
        raise click.UsageError(f"No file or folder {path!r}. Check the path.")


def _ingest(
    services: Services,
    overrides: dict[str, Any],
    bar: Any,
    work: Work,
    control: JobControl,
    *,
    dry_run: bool,
    strict: bool,
) -> Result:
    """Ingest a file. Return the outcome, "failed" if it cannot be read; the number of
    passages; title and metadata.
    """
    name, fetch = work

    def waiting(reason: str) -> None:
        click.secho(f"\n{name}: {reason}", fg="yellow", err=True)

    def show(progress: str) -> None:
        bar.label = f"Ingesting {name} {progress}".rstrip()
        bar.render_progress()

    def load_strictly(path: Path, **options: Any) -> Loaded:
        loaded = services.ingesting.service.load(path, **options)
        require_text_column(path.name, loaded.columns)
        return loaded

    service = services.ingesting.service
    service = replace(service, load=load_strictly) if strict else service
    try:
        source = fetch()
        if dry_run:
            document, outcome = service.plan(source, overrides=overrides)
            kind = (
                f"type {document.metadata['type']}"
                if "type" in document.metadata
                else "no type"
            )
            about = _about(
                {
                    name: value
                    for name, value in document.metadata.items()
                    if name != "type"
                }
            )
            title = f"{document.title}  ({', '.join(filter(None, [about, kind]))})"
            proposed = (
                (
                    f"    {one.field}: {one.value} "
                    f"({one.origin}{'' if one.taken else '; not sure, please confirm'})"
                )
                for one in document.proposed
            )
            return (
                outcome,
                0,
                "\n".join(
                    (title, *proposed, *(f"    {note}" for note in document.notes))
                ),
            )
        progress = lambda done, total: show(f"{done}/{total}" if done < total else "")  # noqa: E731
        control = replace(
            control,
            progress=progress,
            waiting=waiting,
            reading=lambda page, _: show(f"page {page}"),
        )
        result = service.ingest(source, overrides=overrides, control=control)
    except (LoadError, CancelledError, SupersededError) as error:
        click.secho(f"\n{error.message}", fg="red", err=True)
        return "failed", 0, name
    record = service.documents.get(result.document_id)
    assert record is not None
    about = _about(record.metadata)
    shown = f"{record.title}  ({about})" if about else record.title
    return result.outcome, result.chunks, " ".join((shown, *result.notes))


def _about(metadata: Mapping[str, Any]) -> str:
    return ", ".join(
        str(metadata[name])
        for name in ("country_name", "year", "type")
        if name in metadata
    )


documents = Commands("documents")


@documents.command("list")
@click.option("--country", multiple=True, help="Only this country; repeat for several.")
@click.option("--year", multiple=True, help="Only this year; repeat for several.")
def list_documents(
    services: Services, country: tuple[str, ...], year: tuple[str, ...]
) -> None:
    """List the reports.

    Example: python -m chatbot documents list --country Kenya"""
    chosen = {"country_name": list(country), "year": list(year)}
    scope = services.storage.scopes.resolve(
        {name: values for name, values in chosen.items() if values}
    )
    records = services.storage.documents.all(scope)
    for record in records:
        about = ", ".join(
            str(record.metadata[name])
            for name in ("country_name", "year")
            if name in record.metadata
        )
        click.echo(
            f"{record.id}  {record.status:8}  {record.chunks:6}  {record.title}  "
            f"({about or record.source})"
        )
    passages = sum(record.chunks for record in records)
    click.echo(f"{count_of(len(records), 'report')}, {count_of(passages, 'passage')}")


@documents.command("delete")
@click.argument("document_ids", nargs=-1, required=True)
def delete_documents(services: Services, document_ids: tuple[str, ...]) -> None:
    """Delete reports and all their passages.

    Example: python -m chatbot documents delete 73d71e792634f475d551"""
    records = {
        document_id: services.storage.documents.get(document_id)
        for document_id in document_ids
    }
    if unknown := [
        document_id for document_id, record in records.items() if record is None
    ]:
        raise NotFoundError(
            f"There is no report {', '.join(unknown)}; nothing was deleted. See: "
            "documents list."
        )
    for record in filter(None, records.values()):
        services.ingesting.delete_document(record)
        services.storage.audit.record("documents delete", record.id)
    services.storage.database.empty_log()
    click.echo(f"{len(records)} deleted.")
