"""Keeping the library as its sources are: new and changed files are read, and those
that are gone may be removed.

Every finished file is noted, so that a run which was interrupted continues where it
stopped.
"""

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Mapping
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
from ...library.sources import document_id
from .connectors import Connector, Download, SourceFile

log = logging.getLogger(__name__)
KEPT_CHANGES = 100
"""Changes and failures of a source that are kept."""
PRUNED_SHARE = 5
"""At most one of so many known files is removed in one run without a yes: an empty disk
is no wish to delete.
"""
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
        failed, changed = (
            change.outcome == "failed",
            change.outcome in {"added", "replaced", "removed"},
        )
        counts = {**self.counts, change.outcome: self.counts.get(change.outcome, 0) + 1}
        failures = (*self.failures, *[change] * failed)[:KEPT_CHANGES]
        changes = (*[change] * changed, *self.changes)[:KEPT_CHANGES]
        return replace(self, counts=counts, failures=failures, changes=changes)


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
        self._sources, self._files = database["sources"], database["source_files"]

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
                for rows, field in ((self._files, "source"), (self._sources, "_id")):
                    rows.delete_many({field: {"$nin": list(sources)}})
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
                states = self.states()
                latest = max((state.started_at for state in states), default="")
                due = (datetime.now(UTC) - timedelta(seconds=every)).isoformat(
                    timespec="milliseconds"
                )
                if latest <= due or not all(state.finished_at for state in states):
                    with heartbeat("sync-stop", lambda: STOP_SECONDS, look):
                        self.run(read(), control=control, report=log_change, patience=0)
            except (errors.ConflictError, errors.StoppedError):
                pass
            except errors.ChatbotError as error:
                log.warning("The sources were not read: %s", error.message)
                stop.wait(every)
            stop.wait(min(every, LOOK_SECONDS))

    def _sync(
        self,
        name: str,
        source: Connector,
        prune: bool,
        confirmed: bool,
        control: JobControl,
        report: Report,
    ) -> SourceState:
        rows, listed = (
            {row["identity"]: row for row in self._files.find({"source": name})},
            set[str](),
        )
        before, settings = (
            self._sources.find_one({"_id": name}),
            self.service.reading_key(),
        )
        state = SourceState(
            name,
            source.kind,
            now(),
            changes=from_row(SourceState, before).changes if before else (),
        )

        def note(outcome: str, identity: str = "", detail: str = "") -> None:
            nonlocal state
            if identity:
                state = state.counting(
                    change := SourceChange(now(), outcome, identity, detail)
                )
                report(name, change)
            if outcome != "unchanged":
                self._sources.replace_many([{"_id": name, **asdict(state)}])

        note("started")
        try:
            for file in source.files(self.download):
                control.check()
                if (identity := file.source.identity) not in listed:
                    listed.add(identity)
                    note(
                        *self._read(
                            name, source, file, rows.get(identity), settings, control
                        )
                    )
        except errors.LoadError as error:
            state = replace(state, problem=error.message)
        gone = (
            []
            if state.problem
            else [identity for identity in rows if identity not in listed]
        )
        if not (prune or source.prune):
            state = replace(
                state,
                counts={**state.counts, "gone": len(gone)} if gone else state.counts,
            )
        elif len(gone) * PRUNED_SHARE > len(rows) and not confirmed:
            problem = (
                f"{len(gone)} of {len(rows)} files are gone, more than a fifth, so "
                "none was removed. "
            )
            problem += "If that is right: python -m chatbot sync --prune --yes"
            state = replace(
                state, problem=problem, counts={**state.counts, "gone": len(gone)}
            )
        else:
            for identity in gone:
                control.check()
                record = self.service.documents.get(document_id(identity))
                if record is not None and not self._files.find_one(
                    {"identity": identity, "source": {"$ne": name}}
                ):
                    self.delete(record)
                self._files.delete_many({"source": name, "identity": identity})
                note("removed", identity)
        state = replace(state, finished_at=now())
        note("finished")
        return state

    def _read(
        self,
        name: str,
        source: Connector,
        file: SourceFile,
        row: Json | None,
        settings: str,
        control: JobControl,
    ) -> tuple[str, str, str]:
        """Make a file searchable unless it is. Return the outcome, its identity, and
        why it failed.
        """
        labels = tuple(dict.fromkeys((*file.source.labels, *source.labels)))
        metadata = {**source.metadata(), **file.source.metadata}
        description = file.source.description or source.description or ""
        described = replace(
            file.source, metadata=metadata, labels=labels, description=description
        )
        identity, overrides = (
            described.identity,
            {"collection": source.collection} if source.collection else {},
        )
        stated = [
            settings,
            overrides,
            described.title,
            dict(described.metadata),
            described.labels,
        ]
        digest = hashlib.sha256(
            json.dumps([*stated, described.description]).encode()
        ).hexdigest()[:24]
        if row is not None and row["stamp"] == file.stamp:
            record = self.service.documents.get(document_id(identity))
            if record is None:
                return "deleted", identity, ""
            if (
                file.stamp
                and row["stated"] == digest
                and record.status == "ready"
                and not record.replacing
            ):
                return "unchanged", identity, ""
        try:
            with TemporaryDirectory(prefix="report-chat-") as folder:
                file_id = ""
                if file.fetch is not None:
                    if file.size > self.max_bytes:
                        raise errors.LoadError(
                            f"It has {file.size // MEGABYTE:,} MB, more than "
                            "MAX_UPLOAD_MB."
                        )
                    described = replace(described, path=file.fetch(Path(folder)))
                    if self.originals is not None:
                        self.originals.require_space(described.path.stat().st_size)
                        file_id = self.originals.put(described.path)
                # The lease of one report may be lost without an end of the run.
                of_file = replace(control, cancel=Cancellation(control.cancel))
                result = self.service.ingest(
                    described, overrides=overrides, file_id=file_id, control=of_file
                )
        except (
            errors.LoadError,
            errors.CancelledError,
            errors.SupersededError,
            errors.InvalidRequestError,
        ) as error:
            control.check()  # stopped, not cancelled
            return "failed", identity, error.message
        key = {
            "_id": f"{name}:{document_id(identity)}",
            "source": name,
            "identity": identity,
        }
        self._files.replace_many([{**key, "stamp": file.stamp, "stated": digest}])
        return result.outcome, identity, ""


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
