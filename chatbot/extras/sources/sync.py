"""Keeping the library as its sources are: new and changed files are read, and those
that are gone may go into the bin.

Every finished file is noted, so that a run which was interrupted continues where it
stopped. A file that is gone has been so since a time, which stands in its row: its
report goes once that is long ago. What a person deleted is not added again.
"""

import hashlib
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from ...database.core import Database, Json
from ...database.events import event_fields
from ...database.repositories.files import FileRepository
from ...database.rows import from_row, now
from ...domain import Cancellation, DocumentRecord, errors
from ...domain.cancellation import heartbeat
from ...domain.documents import MEGABYTE
from ...library.control import LEASE_SECONDS, JobControl, lease
from ...library.loaders.text import opened
from ...library.pipeline import IngestionService
from ...library.sources import Source, document_id, require_inside
from .connectors import Connector, Download, SourceFile

log = logging.getLogger(__name__)
MAX_KEPT_CHANGES = 100
"""Changes and failures of a source that are kept."""
CHANGING = frozenset({"added", "replaced", "removed"})
"""Outcomes that change the library."""
NEW_FIELDS = {"bytes", "absent_since", "absent_runs"}
"""Fields of a file's row that older releases did not write."""
RULES = errors.read_table(__package__, "absence")
"""See `absence.toml`."""
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
    the run, ``changes`` also of earlier ones, the latest first. ``removals``: files
    removed on each of the latest days.
    """

    name: str
    kind: str
    started_at: str = ""
    finished_at: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    failures: tuple[SourceChange, ...] = ()
    changes: tuple[SourceChange, ...] = ()
    removals: Mapping[str, int] = field(default_factory=dict)

    def counting(self, change: SourceChange) -> "SourceState":
        """Return the state after one more file."""
        counts = {**self.counts, change.outcome: self.counts.get(change.outcome, 0) + 1}
        failures = self.failures
        if change.outcome == "failed":
            failures = (*failures, change)[:MAX_KEPT_CHANGES]
        changes = self.changes
        if change.outcome in CHANGING:
            changes = (change, *changes)[:MAX_KEPT_CHANGES]
        removals = {
            day: number
            for day, number in self.removals.items()
            if day > now(days_ago=RULES["removal"]["week"])[:10]
        }
        if change.outcome == "removed":
            day = change.at[:10]
            removals[day] = removals.get(day, 0) + 1
        return replace(
            self,
            counts=counts,
            failures=failures,
            changes=changes,
            removals=removals,
        )


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
    that a source has brought. ``originals`` keeps fetched files. ``delete`` puts a
    report that is gone into the bin, ``tidy`` removes the originals nothing needs.
    """

    database: InitVar[Database]
    service: IngestionService
    originals: FileRepository | None
    max_bytes: int
    download: Download
    delete: Callable[[DocumentRecord], None]
    tidy: Callable[[], None]
    follow_links: bool = False
    """True: files outside of a folder may be read."""

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
        patience: float = LEASE_SECONDS,
    ) -> list[SourceState]:
        """Read what is new or changed. A file or a source that fails stops no other.
        ``prune``: remove what has been gone for long also from sources that do not say
        so. ``patience``: seconds to wait for another process; one that was killed
        counts for LEASE_SECONDS. Raises ConflictError: another process does this;
        DependencyError, ReadOnlyError: the library cannot be written; StoppedError.
        """
        with self._alone(control, patience) as leased:
            others = {"$nin": list(sources)}
            self._files.delete_many({"source": others})
            self._sources.delete_many({"_id": others})
            states = [
                self._sync(name, one, prune, leased, report)
                for name, one in sources.items()
            ]
            self.tidy()
            return states

    def prune_now(
        self, source: str, identities: Iterable[str], control: JobControl
    ) -> None:
        """Put the reports of these files of a source into the bin. Raises as `run`."""
        with self._alone(control, LEASE_SECONDS) as leased:
            for identity in identities:
                leased.check()
                self.remove_file(source, identity)

    def absent(self, source: str) -> list[str]:
        """Return the files that the latest run did not find in a source."""
        rows = self._files.find({"source": source, "absent_runs": {"$gt": 0}})
        return sorted(row["identity"] for row in rows)

    @contextmanager
    def _alone(self, control: JobControl, patience: float) -> Iterator[JobControl]:
        """Keep other processes from the sources. Raises ConflictError."""
        silent = replace(control, waiting=lambda reason: None)
        try:
            with lease(self.service.leases, "sync", silent, longest=patience) as leased:
                yield replace(leased, waiting=control.waiting)
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
        control: JobControl,
        report: Report,
    ) -> SourceState:
        before = self._sources.find_one({"_id": name})
        former = from_row(SourceState, before) if before else SourceState(name, "")
        state = SourceState(
            name,
            source.kind,
            started_at=now(),
            changes=former.changes,
            removals=former.removals,
        )
        run = SourceRun(self, source, control, report, state)
        run.save()
        try:
            run.read_files()
        except errors.LoadError as error:
            run.state = replace(run.state, problem=error.message)
        if not run.state.problem:
            gone = run.gone()
            if prune or source.prune:
                gone = run.remove(gone)
            run.count_gone(gone)
        run.state = replace(run.state, finished_at=now())
        run.save()
        return run.state

    def save(self, state: SourceState) -> None:
        row = {"_id": state.name, **asdict(state)}
        if state.problem and state.finished_at:
            row |= event_fields("source.failed", name=state.name, error=state.problem)
        self._sources.replace_many([row])

    def known(self, source: str) -> dict[str, Json]:
        """Return the rows of the files that a source has brought, by identity."""
        return {row["identity"]: row for row in self._files.find({"source": source})}

    def note_file(self, row: Json) -> None:
        """Store the row of a file: its source and identity; the ``stamp`` and what is
        ``stated`` of it, while which it is unchanged; its ``bytes``, which older
        releases did not note; and since when, and for how many runs, it is absent.
        """
        key = f"{row['source']}:{document_id(row['identity'])}"
        self._files.replace_many([{"_id": key, **row}])

    def remove_file(self, source: str, identity: str) -> None:
        """Put a report into the bin, unless another source has it too."""
        record = self.service.documents.get(document_id(identity))
        others = {"identity": identity, "source": {"$ne": source}}
        if record is not None and not self._files.find_one(others):
            self.delete(record)
        self._files.delete_many({"source": source, "identity": identity})


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed file of a known report, on disk. ``row``: of the file, once it is
    read.
    """

    source: Source
    row: Json
    content: str
    former_bytes: int
    is_fetched: bool


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
        self._lost: set[str] = set()
        """Files that are there, but whose content is that of an error."""
        self._held: list[ChangedFile] = []

    def save(self) -> None:
        self._synchroniser.save(self.state)

    def read_files(self) -> None:
        """Make each file searchable unless it is. Raises LoadError: the place cannot be
        read.
        """
        with TemporaryDirectory(prefix="report-chat-") as folder:
            try:
                self._look_at_all(Path(folder))
            except errors.LoadError:
                self._read_held()
                raise
            self._read_held()

    def _look_at_all(self, folder: Path) -> None:
        held_bytes = 0
        for file in self._source.files(self._synchroniser.download):
            self._control.check()
            identity = file.source.identity
            if identity in self._listed:
                continue
            self._listed.add(identity)
            with self._counting(identity):
                outcome = self._look(file, folder)
                if outcome:
                    self._count(outcome, identity)
                else:
                    held_bytes += self._held[-1].row["bytes"]
            if held_bytes > RULES["soft_errors"]["held_mb"] * MEGABYTE:
                self._read_held()
                held_bytes = 0

    @contextmanager
    def _counting(self, identity: str) -> Iterator[None]:
        """Count a file that fails in the block, or that a person deleted."""
        try:
            yield
        except errors.DeletedReportError:
            self._count("deleted", identity)
        except READING_ERRORS as error:
            self._control.check()  # stopped, not cancelled
            self._count("failed", identity, error.message)

    def gone(self) -> list[str]:
        """Return the files that the source no longer has, those that have been gone for
        longest first, and note that in their rows.
        """
        gone = []
        for identity, row in self._known.items():
            if identity in self._listed and identity not in self._lost:
                continue
            absent = {
                "absent_since": row.get("absent_since") or now(),
                "absent_runs": row.get("absent_runs", 0) + 1,
            }
            row.update(absent)
            self._synchroniser.note_file(row)
            gone.append(identity)
        return sorted(gone, key=lambda identity: self._known[identity]["absent_since"])

    def count_gone(self, gone: Sequence[str]) -> None:
        """Note that so many files are gone and stay."""
        counts = dict(self.state.counts)
        counts.pop("gone", None)
        if gone:
            counts["gone"] = len(gone)
        self.state = replace(self.state, counts=counts)

    def remove(self, gone: Sequence[str]) -> list[str]:
        """Put the reports of files that have been gone for long into the bin; return
        the files that stay.
        """
        rules = RULES["removal"]
        name = self.state.name
        known = len(self._known)
        if len(gone) * rules["share"] > known:
            problem = (
                f"{len(gone)} of {known} files are gone, more than a fifth, so none "
                "was removed. If that is right: python -m chatbot sync --prune-now "
                f"{name}"
            )
            self.state = replace(self.state, problem=problem)
            return list(gone)
        removed = sum(self.state.removals.values())
        budget = (known + removed) // rules["share"] - removed
        stays = []
        for identity in gone:
            row = self._known[identity]
            is_old = row["absent_since"] <= now(days_ago=rules["days"])
            if budget <= 0 or not is_old or row["absent_runs"] < rules["runs"]:
                stays.append(identity)
                continue
            self._control.check()
            self._synchroniser.remove_file(name, identity)
            self._count("removed", identity)
            budget -= 1
        return stays

    def _count(self, outcome: str, identity: str, detail: str = "") -> None:
        change = SourceChange(now(), outcome, identity, detail)
        self.state = self.state.counting(change)
        self._report(self.state.name, change)
        if outcome != "unchanged":
            self.save()

    def _look(self, file: SourceFile, folder: Path) -> str:
        """Make a file searchable unless it is, and return the outcome; "" if it is held
        back, because its report is known. Raises as READING_ERRORS names.
        """
        described = self._described(file.source)
        identity = described.identity
        stated = _digest(
            self._reading_key,
            self._overrides(),
            described.title,
            dict(described.metadata),
            described.labels,
            described.description,
        )
        row = self._known.get(identity, {})
        noted = {"stamp": file.stamp, "stated": stated}
        outcome = self._outcome_of_known(identity, row, noted)
        if outcome:
            if outcome == "unchanged" and not row.keys() >= NEW_FIELDS:
                self._note({**row, "bytes": 0})
            elif outcome == "unchanged" and row["absent_runs"]:
                self._note(row)
            return outcome
        is_fetched = file.fetch is not None
        if is_fetched:
            target = folder / document_id(identity)
            target.mkdir(exist_ok=True)
            described = replace(described, path=self._fetch(file, target))
        require_inside(described)
        with opened(described.path) as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
            size = stream.tell()
        new_row = {"source": self.state.name, "identity": identity, **noted}
        changed = ChangedFile(
            described,
            {**new_row, "bytes": size},
            content,
            row.get("bytes", 0),
            is_fetched,
        )
        if self._service.documents.get(document_id(identity)) is not None:
            self._held.append(changed)
            return ""
        return self._read(changed)

    def _note(self, row: Json) -> None:
        """Note that a file is there and has been read."""
        self._synchroniser.note_file({**row, "absent_since": "", "absent_runs": 0})

    def _overrides(self) -> dict[str, str]:
        if self._source.collection:
            return {"collection": self._source.collection}
        return {}

    def _read(self, file: ChangedFile) -> str:
        """Make a file on disk searchable, and return the outcome. Raises as
        READING_ERRORS names.
        """
        # The lease of one report may be lost without an end of the run.
        cancel = Cancellation(self._control.cancel)
        result = self._service.ingest(
            file.source,
            overrides=self._overrides(),
            file_id=self._keep(file.source.path) if file.is_fetched else "",
            control=replace(self._control, cancel=cancel),
        )
        self._note(file.row)
        return result.outcome

    def _read_held(self) -> None:
        """Read the changed files of known reports, but for those that look like errors:
        many that became equal, or shrank.
        """
        lost = self._lost_files()
        for file in self._held:
            identity = file.source.identity
            if identity in lost:
                self._lost.add(identity)
                self._count("gone", identity, lost[identity])
                continue
            with self._counting(identity):
                self._count(self._read(file), identity)
        self._held = []

    def _lost_files(self) -> dict[str, str]:
        """Return those of the changed files that look like errors, with the reason."""
        rules = RULES["soft_errors"]
        shrunk = {}
        contents = Counter[str]()
        for file in self._held:
            contents[file.content] += 1
            if file.row["bytes"] * rules["shrink"] <= file.former_bytes:
                shrunk[file.source.identity] = "Like others it shrank to a tenth."
        lost = shrunk if len(shrunk) >= rules["files"] else {}
        former = self._contents() if self._held else {}
        held = {file.source.identity for file in self._held}
        contents.update(former[identity] for identity in former.keys() - held)
        for file in self._held:
            identity = file.source.identity
            is_new = file.content != former.get(identity)
            if is_new and contents[file.content] >= rules["files"]:
                lost[identity] = "It became equal to others."
        return lost

    def _contents(self) -> dict[str, str]:
        """Return the digests of the files that the reports of this source show."""
        records = self._service.documents.index().records
        contents = {}
        for identity in self._known:
            record = records.get(document_id(identity))
            if record is not None:
                contents[identity] = record.content or record.file_id
        return contents

    def _described(self, file: Source) -> Source:
        """Return a file with what the source states of all its files."""
        source = self._source
        return replace(
            file,
            root=None if self._synchroniser.follow_links else file.root,
            metadata={**source.metadata(), **file.metadata},
            labels=tuple(dict.fromkeys((*file.labels, *source.labels))),
            description=file.description or source.description or "",
        )

    def _outcome_of_known(self, identity: str, row: Json, noted: Json) -> str:
        """Return the outcome for a file that need not be read, "" if it has to be."""
        record = self._service.documents.registered(document_id(identity))
        if record is None:
            # Older releases remembered the deletion of a report in this way.
            is_old = bool(row) and not row.keys() >= NEW_FIELDS
            return "deleted" if is_old and row["stamp"] == noted["stamp"] else ""
        if record.is_tombstone:
            return "deleted"
        is_whole = record.status == "ready" and not record.replacing
        is_same = bool(row) and noted.items() <= row.items()
        if noted["stamp"] and is_same and is_whole:
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
