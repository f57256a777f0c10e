"""Keeping the library as its sources are: new and changed files are read, and those
that are gone may be removed.

Every finished file is noted, so that a run which was interrupted continues where it
stopped.
"""

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from ...database.core import Database, Json
from ...database.repositories.files import FileRepository
from ...database.rows import from_row, now
from ...domain import Cancellation, DocumentRecord, errors
from ...domain.cancellation import heartbeat
from ...domain.documents import MEGABYTE
from ...library.control import LEASE_SECONDS, JobControl, lease
from ...library.pipeline import IngestionService
from ...library.sources import Source, document_id
from .connectors import Connector, Download, SourceFile

log = logging.getLogger(__name__)
MAX_KEPT_CHANGES = 100
"""Changes and failures of a source that are kept."""
CHANGING = frozenset({"added", "replaced", "removed"})
"""Outcomes that change the library."""
LOOK_SECONDS, STOP_SECONDS = 60.0, 0.5
"""Time between two looks whether a run is due, and whether it has to stop."""


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What a run did with a file. ``detail``: why it failed."""

    at: str
    outcome: str
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source and its latest run; ``finished_at`` is empty while it runs or if it was
    interrupted.

    ``counts``: files by outcome: added, replaced, unchanged, removed, failed; deleted
    (a person deleted the report); gone (no longer there, but not removed). ``problem``:
    why the source could not be read, or nothing was removed. ``failures`` are those of
    the run, ``changes`` also of earlier ones, the latest first.
    """

    name: str
    kind: str
    started_at: str = ""
    finished_at: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    failures: tuple[SourceChange, ...] = ()
    changes: tuple[SourceChange, ...] = ()

    def counting(self, change: SourceChange) -> "SourceState":
        """Return the state after one more file."""
        counts = {**self.counts, change.outcome: self.counts.get(change.outcome, 0) + 1}
        failures = self.failures
        if change.outcome == "failed":
            failures = (*failures, change)[:MAX_KEPT_CHANGES]
        changes = self.changes
        if change.outcome in CHANGING:
            changes = (change, *changes)[:MAX_KEPT_CHANGES]
        return replace(self, counts=counts, failures=failures, changes=changes)


READING_ERRORS = (
    errors.LoadError,
    errors.CancelledError,
    errors.SupersededError,
    errors.InvalidRequestError,
)
"""Errors of one file, which stop no other."""
Report = Callable[[str, SourceChange], None]
"""Gets the name of a source and what was done with a file."""


@dataclass(kw_only=True, eq=False)
class Synchroniser:
    """Collections `sources`, one row for each, and `source_files`, one for each file
    that a source has brought. ``originals`` keeps fetched files. ``delete`` removes a
    report, ``tidy`` the originals nothing needs.
    """

    database: InitVar[Database]
    service: IngestionService
    originals: FileRepository | None
    max_bytes: int
    download: Download
    delete: Callable[[DocumentRecord], None]
    tidy: Callable[[], None]

    def __post_init__(self, database: Database) -> None:
        self._sources = database["sources"]
        self._files = database["source_files"]

    def states(self) -> list[SourceState]:
        """Return the sources of the latest run in the order of their names."""
        return [
            from_row(SourceState, row)
            for row in self._sources.find({}, sort=[("_id", 1)])
        ]

    def run(
        self,
        sources: Mapping[str, Connector],
        *,
        control: JobControl,
        report: Report,
        prune: bool = False,
        confirmed: bool = False,
        patience: float = LEASE_SECONDS,
    ) -> list[SourceState]:
        """Read what is new or changed. A file or a source that fails stops no other.
        ``prune``: remove what is gone also from sources that do not say so;
        ``confirmed``: however much that is. ``patience``: seconds to wait for another
        process; one that was killed counts for LEASE_SECONDS. Raises ConflictError:
        another process does this; DependencyError, ReadOnlyError: the library cannot be
        written; StoppedError.
        """
        silent = replace(control, waiting=lambda reason: None)
        try:
            with lease(self.service.leases, "sync", silent, longest=patience) as leased:
                others = {"$nin": list(sources)}
                self._files.delete_many({"source": others})
                self._sources.delete_many({"_id": others})
                control = replace(leased, waiting=control.waiting)
                states = [
                    self._sync(name, one, prune, confirmed, control, report)
                    for name, one in sources.items()
                ]
                self.tidy()
                return states
        except errors.ConflictError as error:
            raise errors.ConflictError(
                "Another process reads the sources now. Try again when it is done."
            ) from error

    def follow(
        self,
        stop: threading.Event,
        read: Callable[[], Mapping[str, Connector]],
        every: int,
    ) -> None:
        """Run whenever the latest run is ``every`` seconds old, or was interrupted,
        until ``stop`` is set. Of all processes one runs. What fails is logged, and
        tried again after as long.
        """
        while not stop.is_set():
            control = JobControl(stopping=stop.is_set)

            def look(control: JobControl = control) -> bool:
                if stop.is_set():
                    control.cancel.cancel()
                return not stop.is_set()

            try:
                if self._is_due(every):
                    with heartbeat("sync-stop", lambda: STOP_SECONDS, look):
                        self.run(read(), control=control, report=log_change, patience=0)
            except (errors.ConflictError, errors.StoppedError):
                pass
            except errors.ChatbotError as error:
                log.warning("The sources were not read: %s", error.message)
                stop.wait(every)
            stop.wait(min(every, LOOK_SECONDS))

    def _is_due(self, every: int) -> bool:
        """Return whether the latest run is ``every`` seconds old, or was
        interrupted.
        """
        states = self.states()
        if not all(state.finished_at for state in states):
            return True
        latest = max((state.started_at for state in states), default="")
        due = datetime.now(UTC) - timedelta(seconds=every)
        return latest <= due.isoformat(timespec="milliseconds")

    def _sync(
        self,
        name: str,
        source: Connector,
        prune: bool,
        confirmed: bool,
        control: JobControl,
        report: Report,
    ) -> SourceState:
        before = self._sources.find_one({"_id": name})
        changes = from_row(SourceState, before).changes if before else ()
        state = SourceState(name, source.kind, started_at=now(), changes=changes)
        run = SourceRun(self, source, control, report, state)
        run.save()
        try:
            run.read_files()
        except errors.LoadError as error:
            run.state = replace(run.state, problem=error.message)
        gone = [] if run.state.problem else run.gone()
        if prune or source.prune:
            run.remove(gone, confirmed=confirmed)
        else:
            run.count_gone(gone)
        run.state = replace(run.state, finished_at=now())
        run.save()
        return run.state

    def save(self, state: SourceState) -> None:
        self._sources.replace_many([{"_id": state.name, **asdict(state)}])

    def known(self, source: str) -> dict[str, Json]:
        """Return the rows of the files that a source has brought, by identity."""
        return {row["identity"]: row for row in self._files.find({"source": source})}

    def note_file(self, source: str, identity: str, stamp: str, stated: str) -> None:
        """Note that a file was read: it is unchanged while ``stamp`` and what is
        ``stated`` of it are.
        """
        key = f"{source}:{document_id(identity)}"
        row = {"_id": key, "source": source, "identity": identity}
        self._files.replace_many([{**row, "stamp": stamp, "stated": stated}])

    def remove_file(self, source: str, identity: str) -> None:
        """Remove a report, unless another source has it too."""
        record = self.service.documents.get(document_id(identity))
        others = {"identity": identity, "source": {"$ne": source}}
        if record is not None and not self._files.find_one(others):
            self.delete(record)
        self._files.delete_many({"source": source, "identity": identity})


class SourceRun:
    """One run over one source. ``state`` says how far it is."""

    def __init__(
        self,
        synchroniser: Synchroniser,
        source: Connector,
        control: JobControl,
        report: Report,
        state: SourceState,
    ) -> None:
        self.state = state
        self._synchroniser = synchroniser
        self._source = source
        self._control = control
        self._report = report
        self._service = synchroniser.service
        self._known = synchroniser.known(state.name)
        self._reading_key = self._service.reading_key()
        self._listed: set[str] = set()

    def save(self) -> None:
        self._synchroniser.save(self.state)

    def read_files(self) -> None:
        """Make each file searchable unless it is. Raises LoadError: the place cannot be
        read.
        """
        for file in self._source.files(self._synchroniser.download):
            self._control.check()
            identity = file.source.identity
            if identity in self._listed:
                continue
            self._listed.add(identity)
            try:
                outcome = self._read(file)
            except READING_ERRORS as error:
                self._control.check()  # stopped, not cancelled
                self._count("failed", identity, error.message)
                continue
            self._count(outcome, identity)

    def gone(self) -> list[str]:
        """Return the files that the source no longer has."""
        return [identity for identity in self._known if identity not in self._listed]

    def count_gone(self, gone: Sequence[str], problem: str = "") -> None:
        """Note that so many files are gone and stay, and why."""
        if not gone:
            return
        counts = {**self.state.counts, "gone": len(gone)}
        problem = problem or self.state.problem
        self.state = replace(self.state, counts=counts, problem=problem)

    def remove(self, gone: Sequence[str], *, confirmed: bool) -> None:
        """Remove the reports of files that are gone; if they are many, only once that
        is ``confirmed``.
        """
        # An empty disk is no wish to delete: one of five known files goes without a
        # yes.
        if len(gone) * 5 > len(self._known) and not confirmed:
            problem = (
                f"{len(gone)} of {len(self._known)} files are gone, more than a fifth, "
                "so none was removed. If that is right: python -m chatbot sync --prune "
                "--yes"
            )
            self.count_gone(gone, problem)
            return
        for identity in gone:
            self._control.check()
            self._synchroniser.remove_file(self.state.name, identity)
            self._count("removed", identity)

    def _count(self, outcome: str, identity: str, detail: str = "") -> None:
        change = SourceChange(now(), outcome, identity, detail)
        self.state = self.state.counting(change)
        self._report(self.state.name, change)
        if outcome != "unchanged":
            self.save()

    def _read(self, file: SourceFile) -> str:
        """Make a file searchable unless it is, and return the outcome. Raises as
        READING_ERRORS names.
        """
        described = self._described(file.source)
        overrides: dict[str, str] = {}
        if self._source.collection:
            overrides["collection"] = self._source.collection
        stated = _digest(
            self._reading_key,
            overrides,
            described.title,
            dict(described.metadata),
            described.labels,
            described.description,
        )
        outcome = self._outcome_of_known(file, stated)
        if outcome:
            return outcome
        with TemporaryDirectory(prefix="report-chat-") as folder:
            file_id = ""
            if file.fetch is not None:
                described = replace(described, path=self._fetch(file, Path(folder)))
                file_id = self._keep(described.path)
            # The lease of one report may be lost without an end of the run.
            cancel = Cancellation(self._control.cancel)
            result = self._service.ingest(
                described,
                overrides=overrides,
                file_id=file_id,
                control=replace(self._control, cancel=cancel),
            )
        self._synchroniser.note_file(
            self.state.name, described.identity, file.stamp, stated
        )
        return result.outcome

    def _described(self, file: Source) -> Source:
        """Return a file with what the source states of all its files."""
        source = self._source
        return replace(
            file,
            metadata={**source.metadata(), **file.metadata},
            labels=tuple(dict.fromkeys((*file.labels, *source.labels))),
            description=file.description or source.description or "",
        )

    def _outcome_of_known(self, file: SourceFile, stated: str) -> str:
        """Return the outcome for a file that need not be read, "" if it has to be."""
        identity = file.source.identity
        row = self._known.get(identity)
        if row is None or row["stamp"] != file.stamp:
            return ""
        record = self._service.documents.get(document_id(identity))
        if record is None:
            return "deleted"
        is_whole = record.status == "ready" and not record.replacing
        if file.stamp and row["stated"] == stated and is_whole:
            return "unchanged"
        return ""

    def _fetch(self, file: SourceFile, folder: Path) -> Path:
        """Fetch a file. Raises LoadError: it cannot be fetched, or is too large."""
        assert file.fetch is not None
        if file.size > self._synchroniser.max_bytes:
            megabytes = file.size // MEGABYTE
            raise errors.LoadError(f"It has {megabytes:,} MB, more than MAX_UPLOAD_MB.")
        return file.fetch(folder)

    def _keep(self, path: Path) -> str:
        """Keep an original where originals are kept, and return its id."""
        originals = self._synchroniser.originals
        if originals is None:
            return ""
        originals.require_space(path.stat().st_size)
        return originals.put(path)


def _digest(*stated: object) -> str:
    """Return a text that changes with what is stated."""
    return hashlib.sha256(json.dumps(stated).encode()).hexdigest()[:24]


def log_change(name: str, change: SourceChange) -> None:
    if change.outcome not in {"unchanged", "deleted"}:
        level = logging.WARNING if change.outcome == "failed" else logging.INFO
        log.log(
            level,
            "Source %s: %s %s %s",
            name,
            change.outcome,
            change.name,
            change.detail,
        )
