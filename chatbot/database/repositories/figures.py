"""The table of figures: one row for each figure of each passage, written and removed with the passage's version."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from ...domain import Chunk, DocumentRecord, Scope
from ...domain.figures import ReportedFigure
from ...domain.scope import NO_VALUE
from ..core import Database, Json
from .corpus import FIGURES, CorpusChanges

KEPT_SCOPES = 64
"""Scopes whose indicators are kept until the next write."""
WRITTEN_AT_ONCE = 500
Read = Callable[[Chunk], Iterable[ReportedFigure]]


class FigureRepository:
    """Collection `figures`. Thread-safe.

    ``fields``: those that scopes filter. ``read``: returns the figures that a passage states. ``unsettled``: the
    versions that may be seen of reports that are being written (`protocols.Catalog`).
    """

    def __init__(
        self, database: Database, fields: Sequence[str], read: Read, unsettled: Callable[[], Mapping[str, str]]
    ) -> None:
        self._rows = database["figures"]
        self._written = database["figure_versions"]
        self._log = CorpusChanges(database, FIGURES)
        self._fields = tuple(fields)
        self._read = read
        self._unsettled = unsettled
        self._kept: tuple[int, dict[str, list[tuple[str, str, int]]]] = (-1, {})

    def ensure_indexes(self) -> None:
        """Create the indexes that look-ups need."""
        self._rows.create_index([("heading", 1), ("country_name", 1)])
        self._rows.create_index("document_id")
        self._rows.create_index("chunk_id")

    def write(self, document_id: str, version: str, chunks: Sequence[Chunk]) -> None:
        """Store the figures of a version's passages; writing them again changes nothing. Raises DatabaseError."""
        rows = [row for chunk in chunks if not chunk.is_summary for row in self._rows_of(chunk)]
        for start in range(0, len(rows), WRITTEN_AT_ONCE):
            self._rows.replace_many(rows[start : start + WRITTEN_AT_ONCE])
        self._written.replace_many([{"_id": document_id, "version": version}])
        if rows:
            self._log.record(())

    def remove(self, document_id: str, *, keep: str = "") -> None:
        """Remove the figures of a report, but for those of the version ``keep``. Raises DatabaseError."""
        if not keep:
            self._written.delete_many({"_id": document_id})
        if self._rows.delete_many({"document_id": document_id, "version": {"$ne": keep}}):
            self._log.record(())

    def missing(self, records: Iterable[DocumentRecord]) -> list[DocumentRecord]:
        """Return the searchable reports whose figures are not stored: of an older release, or of another program."""
        written = {row["_id"]: row["version"] for row in self._written.find()}
        return [one for one in records if one.status == "ready" and written.get(one.id) != one.version]

    def find(self, scope: Scope, *, headings: Collection[str] = ()) -> list[ReportedFigure]:
        """Return the figures in a scope, under these headings if some are given, in reading order."""
        conditions = {"heading": {"$in": sorted(headings)}} if headings else {}
        return list(self._visible(self._rows.find({**_filter(scope), **conditions}, sort=[("_id", 1)])))

    def of_passages(self, chunk_ids: Sequence[str]) -> list[ReportedFigure]:
        """Return the figures of these passages, in the order of the passages."""
        found: dict[str, list[ReportedFigure]] = {id: [] for id in chunk_ids}
        for figure in self._visible(self._rows.find({"chunk_id": {"$in": list(chunk_ids)}}, sort=[("_id", 1)])):
            found[figure.chunk_id].append(figure)
        return [figure for figures in found.values() for figure in figures]

    def indicators(self, scope: Scope) -> Sequence[tuple[str, str, int]]:
        """Return the headings and labels in a scope, each with the number of subjects that have it."""
        position, condition = self._log.position(), _filter(scope)
        key = json.dumps(condition, sort_keys=True, default=str)
        before, kept = self._kept
        if before != position or len(kept) >= KEPT_SCOPES:
            kept = {}
            self._kept = position, kept
        if key not in kept:
            subjects: dict[tuple[str, str], int] = {}
            for heading, label, _ in self._rows.distinct_rows(("heading", "label", "subject"), condition):
                subjects[heading, label] = subjects.get((heading, label), 0) + 1
            kept[key] = [(heading, label, count) for (heading, label), count in sorted(subjects.items())]
        return kept[key]

    def _rows_of(self, chunk: Chunk) -> Iterator[Json]:
        document_id, version = Chunk.version_of(chunk.id)
        about = {**dict.fromkeys(self._fields, NO_VALUE), **chunk.metadata, "document_name": chunk.document_name}
        for number, figure in enumerate(self._read(chunk)):
            yield {
                "_id": f"{chunk.id}#{number:04d}",
                "document_id": document_id or chunk.document_id,
                "version": version,
                "chunk_id": chunk.id,
                "collection": chunk.collection,
                **about,
                "subject": figure.subject,
                "heading": figure.heading,
                "label": figure.label,
                "value": str(figure.value),
                "unit": figure.unit,
                "text": figure.text,
                "of_year": figure.year,
                "estimate": figure.estimate,
            }

    def _visible(self, rows: Iterable[Json]) -> Iterator[ReportedFigure]:
        unsettled = self._unsettled()
        for row in rows:
            if unsettled.get(row["document_id"], row["version"]) == row["version"]:
                yield ReportedFigure(
                    subject=row["subject"],
                    heading=row["heading"],
                    label=row["label"],
                    value=Decimal(row["value"]),
                    unit=row["unit"],
                    text=row["text"],
                    year=row["of_year"],
                    estimate=row["estimate"],
                    document_id=row["document_id"],
                    chunk_id=row["chunk_id"],
                    edition=None if row.get("year", NO_VALUE) == NO_VALUE else row["year"],
                )


def _filter(scope: Scope) -> Json:
    inside = {"collection": {"$in": list(scope.collections)}} if scope.collections else {}
    return {**scope.to_mql(), **inside}
