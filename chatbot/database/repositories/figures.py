"""The table of figures, and the glossary of the terms that ask for them.

A figure of a passage is a row, written and removed with the version of its report. It
has the filter fields of its passage, so that scopes filter it. ``place`` orders the
rows of lists by indicator, subject, year and edition; a figure that a report repeats
has none, so no list shows it twice.
"""

import base64
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from itertools import groupby, islice
from typing import Any, Protocol, TypeVar

from ...domain import Chunk, DocumentRecord, Scope
from ...domain.errors import InvalidRequestError
from ...domain.figures import GlossaryEntry, Indicators, ReportedFigure, newest_marked
from ...domain.scope import NO_VALUE
from ...language.reported_figures import Stated, figures_of
from ..changes import CATALOG, FIGURES, GLOSSARY, PASSAGES
from ..core import Database, Json
from ..rows import from_row, now
from .caches import keep
from .documents import NAME

READING = 2
"""Raise it when figures are read differently: then those of every report are read
again.
"""
WRITTEN_AT_ONCE, SHOWN_CHANGES = 1_000, 100
FOLLOWED = "followed"
STORED = ("subject", "heading", "label", "unit", "text", "estimate")
"""Fields of a figure that its row has under the same name."""
SEPARATOR = "\x1f"
"""Between the parts of a ``place``; below every character of a text."""
LAST = "\U0010ffff"
T = TypeVar("T")
ReadChunk = tuple[Chunk, Iterable[Stated]]
"""A passage and what its text states."""


class VisibleVersions(Protocol):
    """What questions may see."""

    def shows_version(self, document_id: str, version: str) -> bool:
        """Return whether questions may see this version of a report."""


class EveryVersion:
    """All versions can be seen."""

    def shows_version(self, document_id: str, version: str) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class VersionFigures:
    """The rows of a version's figures, ready to be stored."""

    document_id: str
    version: str
    rows: Sequence[Json]
    summary: Json
    """Fields of the version's row in `figure_versions`."""


@dataclass(frozen=True, slots=True)
class FigurePage:
    """Figures in the order of `FigureRepository.page`, the number of all, and the
    cursor of the next page.
    """

    figures: Sequence[ReportedFigure]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True)
class FigureChange:
    """What two versions of a report state differently: ``old`` or ``new`` is "" where
    one of them has no such figure. ``at``: the time when the older version was removed,
    as ISO text.
    """

    document_id: str
    subject: str
    indicator: str
    year: int | None
    old: str
    new: str
    at: str


@dataclass(slots=True)
class _Results:
    """What readers of all limits have read, as of these numbers of changes."""

    kept: tuple[tuple[int, int], dict[str, Any]] = ((-1, -1), {})


class FigureReader:
    """Collections `figures` and `figure_changes`, to be read. Thread-safe.

    ``fields``: those that scopes filter. ``visible``: what questions may see.
    ``reports``: the ids of the reports in a scope that names some.
    """

    def __init__(
        self,
        database: Database,
        fields: Sequence[str],
        visible: Callable[[], VisibleVersions] = EveryVersion,
        reports: Callable[[Scope], Iterable[str]] = lambda scope: (),
    ) -> None:
        self._database = database
        self._rows = database["figures"]
        self._written = database["figure_versions"]
        self._changed = database["figure_changes"]
        self._changes = database.changes
        self._fields = tuple(fields)
        self._visible_versions = visible
        self._reports = reports
        self._limit = Scope()
        self._is_whole: Callable[[str], bool] = lambda document_id: True
        self._results = _Results()

    def inside_of(
        self, limit: Scope, is_whole: Callable[[str], bool]
    ) -> "FigureReader":
        """Return a reader of what is inside of a caller's limit. ``is_whole``: whether
        a report is inside with all of its parts.
        """
        reader = FigureReader(
            self._database, self._fields, self._visible_versions, self._reports
        )
        reader._limit = limit
        reader._is_whole = is_whole
        reader._results = self._results
        return reader

    def _inside(self, scope: Scope) -> Scope | None:
        """Return the part of a scope that is inside of the limit."""
        if not self._limit:
            return scope
        return scope.limited_to(self._limit)

    def find(
        self,
        scope: Scope,
        *,
        headings: Collection[str] = (),
        label: str | None = None,
        year: int | None = None,
        document_id: str = "",
    ) -> list[ReportedFigure]:
        """Return the figures in a scope in reading order, repeated ones too.
        ``headings``, ``label``, ``year`` (the figure's own) and ``document_id`` narrow
        them; case does not count. All are ``newest``.
        """
        inside = self._inside(scope)
        if inside is None:
            return []
        conditions = self._filter(inside)
        if document_id:
            conditions["document_id"] = document_id
        if headings:
            conditions["heading_key"] = {
                "$in": sorted({heading.casefold() for heading in headings})
            }
        if year is not None:
            conditions["of_year"] = year
        figures = map(
            _figure, self._visible(self._rows.find(conditions, sort=[("_id", 1)]))
        )
        return [
            figure
            for figure in figures
            if label is None or figure.label.casefold() == label.casefold()
        ]

    def page(
        self,
        scope: Scope,
        *,
        indicator: str = "",
        year: int | None = None,
        limit: int,
        after: str = "",
    ) -> FigurePage:
        """Return up to ``limit`` figures by indicator, subject, year and edition, after
        the cursor ``after``.

        ``indicator``: a heading or what follows it ("Median age: male"), in any case;
        "" = all. While a report is being replaced, the total counts both of its
        versions. Raises InvalidRequestError: ``after`` is no cursor.
        """
        inside = self._inside(scope)
        if inside is None:
            return FigurePage([], 0, None)
        prefix = ""
        if indicator.strip():
            prefix = f"{' '.join(indicator.split()).casefold()}: "
        conditions = self._filter(inside)
        if year is not None:
            conditions["of_year"] = year
        listed = {**conditions, "place": {"$gte": prefix, "$lt": prefix + LAST}}
        start = max(prefix, _read_cursor(after)) if after else prefix
        rest = {**conditions, "place": {"$gt": start, "$lt": prefix + LAST}}
        # One figure over the limit says that there is a page after this one.
        marked = list(islice(self._marked(rest, limit + 1), limit + 1))

        def count() -> int:
            if (
                year is not None
                or prefix
                or self._written.find_one({"listed": -1}, {"_id": 1})
            ):
                return self._rows.count(listed)
            # All figures of a scope: their versions have counted them.
            counted = {**conditions, "listed": {"$exists": True}}
            versions = self._visible(self._written.find(counted))
            return sum(row["listed"] for row in versions)

        total = self._keep(listed, count)
        end = (
            base64.urlsafe_b64encode(marked[limit - 1][0].encode()).decode().rstrip("=")
            if marked[limit:]
            else None
        )
        return FigurePage([figure for _, figure in marked[:limit]], total, end)

    def changes(self, document_id: str) -> list[FigureChange]:
        """Return what replaced or removed versions of a report stated differently, the
        latest first. A change does not say of which part of a report it is, so there is
        none of a report that is inside in part.
        """
        if not self._is_whole(document_id):
            return []
        order = [("at", -1), ("_id", 1)]
        rows = self._changed.find(
            {"document_id": document_id}, sort=order, limit=SHOWN_CHANGES
        )
        return [from_row(FigureChange, row) for row in rows]

    def indicators(self, scope: Scope = Scope()) -> Indicators:  # noqa: B008  # frozen and empty
        """Return the labels of each heading in a scope, with the number of subjects
        that have each.
        """
        inside = self._inside(scope)
        if inside is None:
            return {}
        condition = self._filter(inside)

        def read() -> Indicators:
            pairs: defaultdict[str, Counter[str]] = defaultdict(Counter)
            for one in sorted(self._rows.distinct("series", condition)):
                heading, label, _ = one.split(SEPARATOR)
                if heading:
                    pairs[heading][label] += 1
            return dict(pairs)

        return self._keep({"indicators": condition}, read)

    def _keep(self, key: Json, read: Callable[[], T]) -> T:
        """Return what ``read`` returned for this key since the last change of figures,
        or of the catalogue, which says what is visible.
        """
        state = self._changes.state()
        if state.is_open(FIGURES, CATALOG):
            return read()
        numbers = (state.of(FIGURES), state.of(CATALOG))
        kept = self._results.kept
        if kept[0] != numbers:
            kept = self._results.kept = numbers, {}
        return keep(kept[1], json.dumps(key, sort_keys=True, default=str), read)

    def _filter(self, scope: Scope) -> Json:
        conditions: Json = {**scope.to_mql()}
        if scope.collections:
            conditions["collection"] = {"$in": list(scope.collections)}
        if scope.get(NAME) is not None and (ids := sorted(self._reports(scope))):
            # They have an index, unlike the names of reports.
            conditions["document_id"] = {"$in": ids} if len(ids) > 1 else ids[0]
        return conditions

    def _visible(self, rows: Iterable[Json]) -> Iterator[Json]:
        visible = self._visible_versions()
        return (
            row
            for row in rows
            if visible.shows_version(row["document_id"], row["version"])
        )

    def _marked(
        self, condition: Json, least: int
    ) -> Iterator[tuple[str, ReportedFigure]]:
        """At least so many figures, where there are, with their places; ``newest``
        within the condition.
        """
        count = 0
        rows = self._visible(self._rows.find(condition, sort=[("place", 1)]))
        # Figures of the same indicator, subject and year are marked together.
        for _, group in groupby(rows, lambda row: row["place"].split(SEPARATOR)[:3]):
            together = list(group)
            yield from zip(
                (row["place"] for row in together),
                newest_marked(map(_figure, together)),
                strict=True,
            )
            count += len(together)
            if count >= least:
                return


class FigureRepository(FigureReader):
    """Collections `figures`, `figure_versions` and `figure_changes`. Thread-safe.

    `figure_versions` names the versions whose figures are all stored.
    """

    def write(
        self,
        document_id: str,
        version: str,
        chunks: Iterable[ReadChunk],
        *,
        of_rows: int = 0,
    ) -> None:
        """Store the figures of a version's passages; writing them again changes
        nothing. ``of_rows``: the rows of a report without versions, whose former
        figures are removed. Raises DatabaseError.
        """
        self.put(self.of_version(document_id, version, chunks, of_rows=of_rows))

    def of_version(
        self,
        document_id: str,
        version: str,
        chunks: Iterable[ReadChunk],
        *,
        of_rows: int = 0,
    ) -> VersionFigures:
        """Return what `put` stores of a version's passages."""
        rows = list(
            self._rows_of(version, (one for one in chunks if not one[0].is_summary))
        )
        # The number of rows that lists show, with the fields of scopes; -1 where these
        # differ within the version.
        about = [
            {name: row[name] for name in (*self._fields, "collection")} for row in rows
        ]
        counted = {
            "listed": sum("place" in row for row in rows),
            **(about[0] if about else {}),
        }
        counted = {"listed": -1} if any(one != about[0] for one in about) else counted
        summary = {"reading": READING, "of_rows": of_rows, **counted}
        return VersionFigures(document_id, version, rows, summary)

    def put(self, figures: VersionFigures) -> None:
        """Store the figures of a version. Raises DatabaseError."""
        document_id, rows = figures.document_id, figures.rows
        # The time of the first writing says later which of two versions is the older
        # one.
        named = {
            "document_id": document_id,
            "version": figures.version,
            "at": now("microseconds"),
        }
        with self._changes.of([document_id], FIGURES) as change:
            stored = change["figures"]
            if not figures.version:
                stored.delete_many({"document_id": document_id})
            for start in range(0, len(rows), WRITTEN_AT_ONCE):
                stored.replace_many(rows[start : start + WRITTEN_AT_ONCE])
            change["figure_versions"].update_one(
                {"_id": _marker(document_id, figures.version)},
                {"$set": figures.summary, "$setOnInsert": named},
                upsert=True,
            )

    def remove(self, document_id: str, *, keep: Collection[str] = ()) -> None:
        """Remove the figures of a report, but for those of the versions in ``keep``.
        Raises DatabaseError.
        """
        gone = {"document_id": document_id, "version": {"$nin": sorted(keep)}}
        with self._changes.of([document_id], FIGURES, frees_space=True) as change:
            change["figure_versions"].delete_many(gone)
            change["figures"].delete_many(gone)

    def missing(self, records: Iterable[DocumentRecord]) -> list[DocumentRecord]:
        """Return the searchable reports whose figures are not stored, or not those of
        today: of an older release, or of another program, which changes rows without a
        version (`follow`).
        """
        written = {
            row["_id"]: row.get("of_rows")
            for row in self._written.find({"reading": READING}, {"of_rows": 1})
        }
        ready = [
            (one, _marker(one.id, one.version))
            for one in records
            if one.status == "ready"
        ]
        changed: frozenset[str] | None = frozenset()
        if not self._database.embedded and not all(one.version for one, _ in ready):
            followed = self._written.find_one({"_id": FOLLOWED})
            position = followed["position"] if followed else 0
            changed = self._changes.since(position, PASSAGES).ids

        def is_missing(record: DocumentRecord, marker: str) -> bool:
            if marker not in written or record.version:
                return marker not in written
            return (
                written[marker] != record.chunks
                or changed is None
                or record.id in changed
            )

        return [one for one, marker in ready if is_missing(one, marker)]

    def follow(self, position: int, records: Iterable[DocumentRecord]) -> None:
        """Note that the figures of reports without versions, which are among
        ``records``, are as of this position of the change log; remove those of reports
        that are gone.
        """
        ids = {one.id for one in records}
        for row in self._written.find({"version": ""}, {"document_id": 1}):
            if row["document_id"] not in ids:
                self.remove(row["document_id"])
        with self._changes.of((), FIGURES) as change:
            change["figure_versions"].update_one(
                {"_id": FOLLOWED}, {"$set": {"position": position}}, upsert=True
            )

    def record_changes(self, document_id: str, old: str, new: str = "") -> None:
        """Keep what ``old`` states otherwise than the later version ``new``, "" = the
        report is removed. Call it before `remove`. Repeated, or with a version whose
        figures are not all stored, it changes nothing. Raises DatabaseError.
        """
        ids = [_marker(document_id, version) for version in (old, new)]
        written = {
            row["_id"]: row["at"] for row in self._written.find({"_id": {"$in": ids}})
        }
        if ids[0] not in written or (
            new and written.get(ids[1], "") <= written[ids[0]]
        ):
            return
        before, after = (
            self._texts(document_id, old),
            self._texts(document_id, new) if new else {},
        )
        different = sorted(
            (key for key in before | after if before.get(key) != after.get(key)),
            key=str,
        )
        at = now()
        changes = (
            FigureChange(document_id, *key, before.get(key, ""), after.get(key, ""), at)
            for key in different
        )
        prefix = f"{ids[0]}-{written[ids[0]]}-{new}"
        rows = [
            {"_id": f"{prefix}-{number:05d}", **asdict(change)}
            for number, change in enumerate(changes)
        ]
        if not rows:
            return
        with self._changes.of([document_id], FIGURES) as change:
            for start in range(0, len(rows), WRITTEN_AT_ONCE):
                change["figure_changes"].replace_many(
                    rows[start : start + WRITTEN_AT_ONCE]
                )

    def _texts(
        self, document_id: str, version: str
    ) -> dict[tuple[str, str, int | None], str]:
        """Return the statements of a version by subject, indicator and year; several
        figures as one text.
        """
        texts: dict[tuple[str, str, int | None], str] = {}
        rows = self._rows.find(
            {"document_id": document_id, "version": version, "place": {"$gt": ""}},
            sort=[("_id", 1)],
        )
        for figure in map(_figure, rows):
            key = (figure.subject, figure.indicator, figure.year)
            texts[key] = f"{texts[key]}; {figure.text}" if key in texts else figure.text
        return texts

    def _rows_of(self, version: str, chunks: Iterable[ReadChunk]) -> Iterator[Json]:
        seen: set[tuple[str, str, int | None, str]] = set()
        for chunk, statements in chunks:
            about = {
                "document_id": chunk.document_id,
                "version": version,
                "collection": chunk.collection,
                **dict.fromkeys(self._fields, NO_VALUE),
                **chunk.metadata,
                "document_name": chunk.document_name,
            }
            for number, figure in enumerate(figures_of(chunk, statements)):
                row: Json = {
                    "_id": f"{chunk.id}#{number:04d}",
                    **about,
                    **{name: getattr(figure, name) for name in STORED},
                    "heading_key": figure.heading.casefold(),
                    "series": _joined(figure.heading, figure.label, figure.subject),
                    "value": str(figure.value),
                    "of_year": figure.year,
                }
                if (
                    key := (figure.subject, figure.indicator, figure.year, figure.text)
                ) not in seen:
                    seen.add(key)
                    # The order of lists; the last part tells figures of different
                    # reports and passages apart.
                    last = f"{chunk.document_id[:12]}{chunk.ordinal:05d}{number:03d}"
                    when = (
                        f"{figure.year or 0:04d}",
                        "" if figure.edition is None else str(figure.edition),
                    )
                    row["place"] = _joined(
                        f"{figure.indicator.casefold()}: ", figure.subject, *when, last
                    )
                yield row


def _marker(document_id: str, version: str) -> str:
    return f"{document_id}-{version}"


def _joined(*parts: str) -> str:
    return SEPARATOR.join(part.replace(SEPARATOR, " ") for part in parts)


def _figure(row: Json) -> ReportedFigure:
    return ReportedFigure(
        **{name: row[name] for name in STORED},
        value=Decimal(row["value"]),
        year=row["of_year"],
        document_id=row["document_id"],
        chunk_id=row["_id"].rpartition("#")[0],
        edition=None if row.get("year", NO_VALUE) == NO_VALUE else row["year"],
    )


def _read_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(
            cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True
        ).decode()
    except ValueError as error:
        raise InvalidRequestError.for_field(
            "cursor", "is not the `next` of a page."
        ) from error


class GlossaryRepository:
    """Collection `glossary`, kept in memory until any process writes it.
    Thread-safe.
    """

    def __init__(self, database: Database) -> None:
        self._rows = database["glossary"]
        self._changes = database.changes
        self._state: tuple[int, Sequence[GlossaryEntry]] = (-1, ())

    def entries(self) -> Sequence[GlossaryEntry]:
        """Return all entries by term: the same object until the next write."""
        # The state before the rows: what is written meanwhile is read the next time.
        state = self._changes.state()
        number, entries = self._state
        if number != state.of(GLOSSARY) or state.is_open(GLOSSARY):
            rows = (from_row(GlossaryEntry, row) for row in self._rows.find())
            read = sorted(rows, key=lambda e: (e.term.casefold(), e.heading, e.label))
            if tuple(read) != entries:
                entries = tuple(read)
            self._state = state.of(GLOSSARY), entries
        return entries

    def has_entries(self, source: str) -> bool:
        """Return whether there are entries of a source."""
        return self._rows.find_one({"source": source}, {"_id": 1}) is not None

    def put(
        self,
        source: str,
        entries: Iterable[GlossaryEntry],
        *,
        replace_all: bool = False,
    ) -> None:
        """Add entries of a source; one with the same term, heading and label is
        replaced. ``replace_all``: its other entries are removed.
        """
        new = {
            _entry_id(entry): entry
            for entry in (replace(entry, source=source) for entry in entries)
        }
        # Its own ones only: there are many entries.
        rows = self._rows.find({"source": source})
        old = {row["_id"]: from_row(GlossaryEntry, row) for row in rows}
        changed = [id for id, entry in new.items() if old.get(id) != entry]
        surplus = [id for id in old if id not in new] if replace_all else []
        if not (changed or surplus):
            return
        with self._changes.of((), GLOSSARY, frees_space=not changed) as change:
            written = change["glossary"]
            written.replace_many([{"_id": id, **asdict(new[id])} for id in changed])
            if surplus:
                written.delete_many({"_id": {"$in": surplus}})

    def clear(self) -> int:
        """Remove all entries and return how many there were."""
        with self._changes.of((), GLOSSARY, frees_space=True) as change:
            return change["glossary"].delete_many({})


def _entry_id(entry: GlossaryEntry) -> str:
    parts = (entry.source, entry.heading, entry.label, entry.term.casefold())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
