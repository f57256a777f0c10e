"""`ingest`: read files, folders, web pages and standard input into the library."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    DeletedReportError,
    LoadError,
    SupersededError,
)
from ...domain.request import RequestContext
from ...domain.tables import Texts
from ...domain.validation import parse
from ...language.characters import visible
from ...language.counts import count_of
from ...library.archives import unpack
from ...library.chunkers import CHUNKERS, require_text_column
from ...library.control import FILES_AT_ONCE, JobControl, aside
from ...library.loaders import ARCHIVE, suffixes
from ...library.sources import (
    WEB,
    Overrides,
    Source,
    folder_sources,
    require_inside,
)
from ..services import Services
from . import command, progress_bar, resumable

STDIN = "-"
EVERY_FILE = "**/*"
Result = tuple[str, int, str]
"""The outcome, "failed" if it cannot be read; the number of passages; title and
metadata.
"""


@dataclass(frozen=True, slots=True)
class Work:
    """Something to ingest. ``source`` gives it, and may have to fetch it first.
    ``lifts``: a person names this very file, so that it comes back also if a person has
    deleted it.
    """

    name: str
    source: Callable[[], Source]
    lifts: bool = True


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
    paths: Texts,
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
    overrides = services.ingesting.check_overrides(parse(Overrides, _stated(flags)))
    with TemporaryDirectory(prefix="report-chat-") as folder:
        finder = FileFinder(services, pattern, name, Path(folder))
        works: list[Work] = []
        for path in paths:
            works.extend(finder.find(path))
        if not works:
            raise click.UsageError(f"No file to read in {', '.join(paths)}.")
        if flags["title"] and len(works) != 1:
            raise click.UsageError("--title is for a single file.")
        if not (dry_run or confirmed):
            _confirm_summaries(services, len(works))
        outcomes = _ingest_all(
            services, works, overrides, dry_run=dry_run, strict=strict
        )
    failed = outcomes.count("failed")
    deleted = outcomes.count("deleted")
    result = "can be read" if dry_run else "are searchable"
    done = len(outcomes) - failed - deleted
    click.echo(f"{done} of {len(outcomes)} files {result}.")
    if deleted:
        click.echo(f"{count_of(deleted, 'file')} stay deleted. Name one to add it.")
    if failed:
        raise LoadError(f"{failed} of {len(outcomes)} files could not be read.")


def _stated(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the flags state of the reports, by the names of `Overrides`."""
    stated = dict(flags)
    stated["country_name"] = stated.pop("country")
    stated["type"] = stated.pop("report_type")
    stated["labels"] = list(flags["labels"]) or None
    return {name: value for name, value in stated.items() if value is not None}


def _confirm_summaries(services: Services, count: int) -> None:
    """Ask a person before the chat model summarises many files."""
    ask_above = services.ingesting.ask_above
    if ask_above is None or count <= ask_above:
        return
    click.confirm(
        f"The chat model writes a summary of each of these {count} files, one call for "
        "each new one (SUMMARIES=auto; --yes does not ask). Go on?",
        abort=True,
        err=True,
    )


def _ingest_all(
    services: Services,
    works: Sequence[Work],
    overrides: dict[str, Any],
    *,
    dry_run: bool,
    strict: bool,
) -> list[str]:
    """Ingest the files, print a line for each, and return their outcomes."""
    outcomes: list[str] = []
    erase = "\r\033[K" if sys.stderr.isatty() else ""
    with (
        resumable("Finished files are"),
        progress_bar("Ingesting", len(works)) as bar,
    ):
        run = FileIngestion(services, overrides, bar, dry_run, strict).run
        for outcome, chunks, about in _in_threads(services, works, run):
            passages = f"{chunks:6} passages" if chunks else " " * 15
            outcomes.append(outcome)
            click.echo(f"{erase}{outcome:9}  {passages}  {about}", err=True)
            bar.update(1)
    return outcomes


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


@dataclass(frozen=True, slots=True)
class FileFinder:
    """Finds what the arguments of `ingest` name. ``stdin_name``: the file name of
    standard input. ``folder`` gets what is fetched and unpacked.
    """

    services: Services
    pattern: str
    stdin_name: str
    folder: Path

    def find(self, argument: str) -> Iterator[Work]:
        """Yield what an argument names. Raises click.UsageError: it names nothing."""
        path = Path(argument)
        if argument.startswith(WEB):
            yield Work(argument, lambda: self._download(argument))
        elif argument == STDIN:
            yield self._standard_input()
        elif path.is_file():
            yield from self._of_file(path)
        elif path.is_dir():
            follow_links = self.services.settings.follow_links
            for source in folder_sources(
                path, pattern=self.pattern, follow_links=follow_links
            ):
                yield from self._readable(self._members(source), lifts=False)
        else:
            raise click.UsageError(f"No file or folder {argument!r}. Check the path.")

    def _download(self, url: str) -> Source:
        path = self.services.ingesting.originals.download(url, self.folder)
        return Source(path, url.partition("#")[0])

    def _standard_input(self) -> Work:
        path = PurePosixPath(self.stdin_name)
        if path.suffix.lower() not in suffixes():
            raise click.UsageError(
                f"--name {self.stdin_name}: the suffix tells the format. Valid: "
                f"{', '.join(suffixes())}."
            )
        target = self.folder / path.name

        def read() -> Source:
            target.write_bytes(sys.stdin.buffer.read())
            return Source(target, f"stdin/{target.name}")

        return Work(self.stdin_name, read)

    def _of_file(self, path: Path) -> Iterator[Work]:
        """Yield the file, whatever its suffix, or the members of an archive."""
        source = Source(path, path.resolve().as_posix())
        members = self._members(source)
        if members == [source]:
            yield Work(source.path.name, lambda: source)
        else:
            yield from self._readable(members, lifts=True)

    def _members(self, source: Source) -> list[Source]:
        """Return the files of an archive; the source itself if it is none, or cannot be
        read, which its ingestion then says.
        """
        if source.path.suffix.lower() != ARCHIVE:
            return [source]
        max_bytes = self.services.settings.max_upload_mb * MEGABYTE
        target = Path(mkdtemp(dir=self.folder))
        try:
            require_inside(source)
            members = list(unpack(source.path, target, max_bytes=max_bytes))
        except LoadError as error:
            click.secho(error.message, fg="red", err=True)
            return [replace(source, listed=True)]
        return [Source(path, f"{source.identity}/{name}") for name, path in members]

    def _readable(self, sources: Iterable[Source], *, lifts: bool) -> Iterator[Work]:
        """Yield what has a format that can be read, or is named in a manifest."""
        for source in sources:
            name = visible(source.path.name)
            if source.listed or source.path.suffix.lower() in suffixes():
                yield Work(name, partial(_given, source), lifts)
                continue
            click.secho(f"{name}: skipped, this format cannot be read.", err=True)


def _given(source: Source) -> Source:
    return source


class FileIngestion:
    """Ingests one file after another. ``bar`` shows the file in progress."""

    def __init__(
        self,
        services: Services,
        overrides: dict[str, Any],
        bar: Any,
        dry_run: bool,
        strict: bool,
    ) -> None:
        service = services.ingesting.service
        self._load = service.load
        if strict:
            service = replace(service, load=self._load_strictly)
        self._service = service
        self._overrides = overrides
        self._bar = bar
        self._is_dry_run = dry_run

    def run(self, work: Work, control: JobControl) -> Result:
        """Ingest a file, or say what would happen."""
        name = visible(work.name)
        try:
            source = work.source()
            if self._is_dry_run:
                return self._plan(source, lifts=work.lifts)
            control = self._shown(control, name)
            return self._ingest(source, control, lifts=work.lifts)
        except DeletedReportError as error:
            return "deleted", 0, f"{name}  {error.message}"
        except (LoadError, CancelledError, SupersededError) as error:
            click.secho(f"\n{visible(error.message)}", fg="red", err=True)
            return "failed", 0, name

    def _load_strictly(self, path: Path, **options: Any) -> Loaded:
        loaded = self._load(path, **options)
        require_text_column(path.name, loaded.columns)
        return loaded

    def _shown(self, control: JobControl, name: str) -> JobControl:
        """Return the control of a job that shows its progress."""

        def show(progress: str) -> None:
            self._bar.label = f"Ingesting {name} {progress}".rstrip()
            self._bar.render_progress()

        def show_chunks(done: int, total: int) -> None:
            show(f"{done}/{total}" if done < total else "")

        def show_page(page: int, pages: int) -> None:
            show(f"page {page}")

        def show_wait(reason: str) -> None:
            click.secho(f"\n{name}: {reason}", fg="yellow", err=True)

        return replace(
            control, progress=show_chunks, waiting=show_wait, reading=show_page
        )

    def _plan(self, source: Source, *, lifts: bool) -> Result:
        if not lifts:
            self._service.require_no_tombstone(source)
        document, outcome = self._service.plan(source, overrides=self._overrides)
        metadata = dict(document.metadata)
        kind = "no type"
        if "type" in metadata:
            kind = f"type {metadata.pop('type')}"
        about = _about(metadata)
        if about:
            kind = f"{about}, {kind}"
        lines = [f"{document.title}  ({kind})"]
        for proposal in document.proposed:
            doubt = "" if proposal.taken else "; not sure, please confirm"
            if proposal.words and not proposal.taken:
                doubt = f': "{proposal.words}"{doubt}'
            lines.append(
                f"    {proposal.field}: {proposal.value} ({proposal.origin}{doubt})"
            )
        lines += [f"    {note}" for note in document.notes]
        return outcome, 0, "\n".join(lines)

    def _ingest(self, source: Source, control: JobControl, *, lifts: bool) -> Result:
        result = self._service.ingest(
            source, overrides=self._overrides, lifts=lifts, control=control
        )
        record = self._service.documents.get(result.document_id)
        assert record is not None
        about = _about(record.metadata)
        title = f"{record.title}  ({about})" if about else record.title
        return result.outcome, result.chunks, " ".join((title, *result.notes))


def _about(metadata: Mapping[str, Any]) -> str:
    return ", ".join(
        str(metadata[name])
        for name in ("country_name", "year", "type")
        if name in metadata
    )
