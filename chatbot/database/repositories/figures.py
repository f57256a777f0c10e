"""The table of figures, and the glossary of the terms that ask for them.

A figure of a passage is a row, written and removed with the version of its report. It
has the filter fields of its passage, so that scopes filter it. ``place`` orders the
rows of lists by indicator, subject, year and edition; a figure that a report repeats
has none, so no list shows it twice.
"""

import base64
import hashlib
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol, TypeVar

from ...domain import Chunk, DocumentRecord, Scope
from ...domain.differences import ChangedFigure, StatedFigure, TextDifferences
from ...domain.errors import InvalidRequestError
from ...domain.figures import (
    DEFAULT_GLOSSARY,
    GlossaryEntry,
    Indicators,
    ReportedFigure,
    indicator_name,
    newest_marked,
)
from ...domain.scope import NO_VALUE
from ...domain.tables import Stated
from ...language.reported_figures import named_statements
from ..changes import (
    CATALOG,
    FIGURES,
    GLOSSARY,
    PASSAGES,
    Change,
    KeptUntilWritten,
    new_token,
)
from ..core import Database, Json
from ..rows import from_row, now
from .caches import keep
from .corpus import DISMISSED
from .documents import NAME

READING = 4
"""Raise it when figures are read differently: then those of every report are read
again.
"""
MAX_ROWS_PER_WRITE = 2_000
"""Some 800 KB: far below what a server takes at once, in far less than a time limit;
other writers of the embedded file wait for 0.1 s.
"""
INCOMPLETE = "incomplete"
"""The field of a version in `figure_versions` whose rows are being written or removed:
the token of the work. Its rows count nowhere.
"""
COMPLETE: Json = {INCOMPLETE: {"$exists": False}}
FOLLOWED = "followed"
"""The row with the position up to which rows of other programs are read."""
SEPARATOR = "\x1f"
"""Between the parts of a ``place``; below every character of a text."""
LAST_CHARACTER = "\U0010ffff"
"""Above every character of a text."""
OLD_DEFAULTS = "sample_data"
"""The source of the shipped entries in databases of earlier releases, which stored
them; that they were cleared is noted by this name.
"""
T = TypeVar("T")
ReadChunk = tuple[Chunk, Iterable[Stated]]
"""A passage and what its text states."""
StatementKey = tuple[str, str, int | None]
"""Subject, indicator and year of a figure."""


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
    token: str = ""
    """Of the work that has stored the rows already (`store_ahead`)."""

    def headings(self) -> set[tuple[str, str]]:
        """Return the passage and the heading of each figure."""
        return {(_passage_of(row), row["heading"]) for row in self.rows}


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

    latest: tuple[tuple[int, int], dict[str, Any]] = ((-1, -1), {})


class FigureReader:
    """Collections `figures`, `figure_changes` and `text_changes`, to be read.
    Thread-safe.

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
        self._text_changes = database["text_changes"]
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

    def _allowed(self, scope: Scope) -> Scope | None:
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
        allowed = self._allowed(scope)
        if allowed is None:
            return []
        conditions = self._filter(allowed)
        if document_id:
            conditions["document_id"] = document_id
        if headings:
            keys = {heading.casefold() for heading in headings}
            conditions["heading_key"] = {"$in": sorted(keys)}
        if year is not None:
            conditions["of_year"] = year
        rows = self._visible(self._rows.find(conditions, sort=[("_id", 1)]))
        if label is not None:
            label = label.casefold()
            rows = (row for row in rows if row["label"].casefold() == label)
        return [_figure(row) for row in rows]

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
        allowed = self._allowed(scope)
        if allowed is None:
            return FigurePage([], 0, None)
        prefix = ""
        if indicator.strip():
            prefix = f"{' '.join(indicator.split()).casefold()}: "
        conditions = self._filter(allowed)
        if year is not None:
            conditions["of_year"] = year
        end = prefix + LAST_CHARACTER
        listed = {**conditions, "place": {"$gte": prefix, "$lt": end}}
        start = max(prefix, _read_cursor(after)) if after else prefix
        # One figure over the limit says that there is a page after this one.
        marked = self._marked(
            {**conditions, "place": {"$gt": start, "$lt": end}}, limit + 1
        )

        def count() -> int:
            narrowed = year is not None or prefix
            if narrowed or self._written.find_one({"listed": -1}, {"_id": 1}):
                return self._rows.count(self._of_complete_versions(listed))
            # All figures of a scope: their versions have counted them.
            counted = {**conditions, "listed": {"$exists": True}}
            versions = self._visible(self._written.find(counted))
            return sum(row["listed"] for row in versions)

        total = self._remember(listed, count)
        cursor = None
        if len(marked) > limit:
            last_place, _ = marked[limit - 1]
            cursor = _cursor(last_place)
        return FigurePage([figure for _, figure in marked[:limit]], total, cursor)

    def changes(self, document_id: str) -> list[FigureChange]:
        """Return what replaced or removed versions of a report stated differently, the
        latest first. A change does not say of which part of a report it is, so there is
        none of a report that is inside in part.
        """
        if not self._is_whole(document_id):
            return []
        order = [("at", -1), ("_id", 1)]
        rows = self._changed.find(
            {"document_id": document_id},
            sort=order,
            limit=100,  # as many as a page shows
        )
        return [from_row(FigureChange, row) for row in rows]

    def text_changes(self, document_id: str) -> TextDifferences:
        """Return what the latest version of a report says otherwise than the one before
        it; nothing of a report that is inside in part, as for `changes`.
        """
        row = None
        if self._is_whole(document_id):
            row = self._text_changes.find_one({"_id": document_id})
        if row is None:
            return TextDifferences()
        return from_row(TextDifferences, row)

    def replaced(self) -> set[str]:
        """Return the reports of which `changes` or `text_changes` say something."""
        ids = {
            *self._changed.distinct("document_id", {}),
            *self._text_changes.distinct("_id", {}),
        }
        return set(filter(self._is_whole, ids))

    def reports(self, scope: Scope) -> Collection[str]:
        """Return the reports with figures in a scope."""
        allowed = self._allowed(scope)
        if allowed is None:
            return ()
        condition = self._filter(allowed)

        def read() -> Collection[str]:
            complete = self._of_complete_versions(condition)
            return frozenset(self._rows.distinct("document_id", complete))

        return self._remember({"reports": condition}, read)

    def indicators(self, scope: Scope = Scope()) -> Indicators:  # noqa: B008  # frozen and empty
        """Return the labels of each heading in a scope, with the number of subjects
        that have each.
        """
        allowed = self._allowed(scope)
        if allowed is None:
            return {}
        condition = self._filter(allowed)

        def read() -> Indicators:
            subjects: defaultdict[str, Counter[str]] = defaultdict(Counter)
            complete = self._of_complete_versions(condition)
            for series in sorted(self._rows.distinct("series", complete)):
                heading, label, _ = series.split(SEPARATOR)
                if heading:
                    subjects[heading][label] += 1
            return dict(subjects)

        return self._remember({"indicators": condition}, read)

    def change_numbers(self) -> tuple[int, int]:
        """Return the numbers of the last changes of figures and of the catalogue."""
        state = self._changes.state()
        return state.of(FIGURES), state.of(CATALOG)

    def _remember(self, key: Json, read: Callable[[], T]) -> T:
        """Return what ``read`` returned for this key since the last change of figures,
        or of the catalogue, which says what is visible.
        """
        state = self._changes.state()
        if state.is_open(FIGURES, CATALOG):
            return read()
        numbers = self.change_numbers()
        numbers_of_results, results = self._results.latest
        if numbers_of_results != numbers:
            results = {}
            self._results.latest = (numbers, results)
        return keep(results, json.dumps(key, sort_keys=True, default=str), read)

    def _filter(self, scope: Scope) -> Json:
        """Return the condition on the rows of a scope."""
        conditions: Json = {**scope.to_mql()}
        if scope.collections:
            conditions["collection"] = {"$in": list(scope.collections)}
        if scope.get(NAME) is None:
            return conditions
        # Ids have an index, unlike the names of reports.
        ids = sorted(self._reports(scope))
        if len(ids) > 1:
            conditions["document_id"] = {"$in": ids}
        elif ids:
            conditions["document_id"] = ids[0]
        return conditions

    def _of_complete_versions(self, condition: Json) -> Json:
        """Return the condition on rows without those of versions that are being written
        or removed.
        """
        others: list[Json] = []
        # A bound has an index, as "exists" has not.
        for row in self._written.find({INCOMPLETE: {"$gt": ""}}):
            other_report = {"document_id": {"$ne": row["document_id"]}}
            other_version = {"version": {"$ne": row["version"]}}
            others.append({"$or": [other_report, other_version]})
        if not others:
            return condition
        return {"$and": [condition, *others]} if condition else {"$and": others}

    def _visible(self, rows: Iterable[Json]) -> Iterator[Json]:
        visible = self._visible_versions()
        return (
            row
            for row in rows
            if visible.shows_version(row["document_id"], row["version"])
        )

    def _marked(self, condition: Json, count: int) -> list[tuple[str, ReportedFigure]]:
        """Return at least so many figures, where there are, with their places;
        ``newest`` within the condition.
        """
        marked: list[tuple[str, ReportedFigure]] = []
        rows = self._visible(self._rows.find(condition, sort=[("place", 1)]))
        # Figures of the same indicator, subject and year are marked together.
        for _, group in groupby(rows, lambda row: row["place"].split(SEPARATOR)[:3]):
            rows_of_group = list(group)
            places = [row["place"] for row in rows_of_group]
            figures = newest_marked([_figure(row) for row in rows_of_group])
            marked += zip(places, figures, strict=True)
            if len(marked) >= count:
                break
        return marked


class FigureRepository(FigureReader):
    """Collections `figures`, `figure_versions`, `figure_changes` and `text_changes`.
    Thread-safe.

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
        rows: list[Json] = []
        repeated: set[tuple[str, str, int | None, str]] = set()
        for chunk, statements in chunks:
            if not chunk.is_summary:  # its figures are those of other passages
                rows += self._rows_of(version, chunk, statements, repeated)
        summary: Json = {"reading": READING, "of_rows": of_rows}
        summary |= self._count_listed(rows)
        return VersionFigures(document_id, version, rows, summary)

    def _count_listed(self, rows: Sequence[Json]) -> Json:
        """Return the number of rows that lists show, with the fields of scopes; -1
        where these differ within the version.
        """
        if not rows:
            return {"listed": 0}
        names = ("collection", NAME, *self._fields)
        values = itemgetter(*names)
        common = values(rows[0])
        listed = 0
        for row in rows:
            if values(row) != common:
                return {"listed": -1}
            if "place" in row:
                listed += 1
        return {"listed": listed, **dict(zip(names, common, strict=True))}

    def store_ahead(self, figures: VersionFigures) -> VersionFigures:
        """Store the rows of a version that no reader sees yet, and let others write to
        the embedded file in between; return what `put` then makes count. Few rows, and
        those of a version that is visible or complete, are left to `put`. Raises
        DatabaseError.
        """
        rows = _in_order_of_indexes(figures.rows)
        if not self._database.embedded or len(rows) <= MAX_ROWS_PER_WRITE:
            return figures
        visible = self._visible_versions()
        if visible.shows_version(figures.document_id, figures.version):
            return figures
        marker = _marker(figures.document_id, figures.version)
        token = new_token()
        with self._changes.of([figures.document_id], FIGURES) as change:
            if self._written.find_one({"_id": marker, **COMPLETE}) is not None:
                return figures
            change["figure_versions"].update_one(
                {"_id": marker},
                {"$set": {INCOMPLETE: token}, "$setOnInsert": _first_fields(figures)},
                upsert=True,
            )

        def store(change: Change, rows: Sequence[Json]) -> None:
            change["figures"].replace_many(rows)

        if not self._take_turns(marker, token, rows, store):
            return figures
        return replace(figures, token=token)

    def put(self, figures: VersionFigures) -> None:
        """Store the figures of a version. Raises DatabaseError."""
        document_id = figures.document_id
        marker = _marker(document_id, figures.version)
        with self._changes.of([document_id], FIGURES) as change:
            stored = change["figures"]
            if not figures.version:
                stored.delete_many({"document_id": document_id})
            if not self._belongs_to(figures.token, marker):
                rows = _in_order_of_indexes(figures.rows)
                for start in range(0, len(rows), MAX_ROWS_PER_WRITE):
                    stored.replace_many(rows[start : start + MAX_ROWS_PER_WRITE])
            change["figure_versions"].update_one(
                {"_id": marker},
                {
                    "$set": figures.summary,
                    "$setOnInsert": _first_fields(figures),
                    "$unset": {INCOMPLETE: ""},
                },
                upsert=True,
            )

    def remove(self, document_id: str, *, keep: Collection[str] = ()) -> None:
        """Remove the figures of a report, but for those of the versions in ``keep``.
        Raises DatabaseError.
        """
        self.sweep(document_id, self.retire(document_id, keep=keep))

    def retire(self, document_id: str, *, keep: Collection[str] = ()) -> str:
        """Let the figures that `remove` removes count nowhere from now on, as part of a
        change that hides them. Return a token for `sweep`, "" if nothing is left to
        remove. Raises DatabaseError.
        """
        gone = {"document_id": document_id, "version": {"$nin": sorted(keep)}}
        with self._changes.of([document_id], FIGURES, frees_space=True) as change:
            versions = change["figure_versions"]
            if self._database.embedded and self._rows.count(gone) > MAX_ROWS_PER_WRITE:
                token = new_token()
                if versions.update_many(gone, {"$set": {INCOMPLETE: token}}):
                    return token
            versions.delete_many(gone)
            change["figures"].delete_many(gone)
        return ""

    def sweep(self, document_id: str, token: str) -> None:
        """Remove what `retire` has left, and let others write to the file in between.
        Raises DatabaseError.
        """
        if not token:
            return
        retired = {"document_id": document_id, INCOMPLETE: token}
        for row in list(self._written.find(retired)):
            self._remove_rows(row, token)

    def _remove_rows(self, version: Json, token: str) -> None:
        """Remove the rows of a retired version, and then the version."""
        of_version = {name: version[name] for name in ("document_id", "version")}
        found = self._rows.find(of_version, {"_id": 1}, sort=[("place", 1)])

        def remove(change: Change, rows: Sequence[Json]) -> None:
            ids = [row["_id"] for row in rows]
            change["figures"].delete_many({"_id": {"$in": ids}})

        if self._take_turns(version["_id"], token, list(found), remove):
            with self._changes.of([version["document_id"]], FIGURES) as change:
                change["figure_versions"].delete_many(
                    {"_id": version["_id"], INCOMPLETE: token}
                )

    def _take_turns(
        self,
        marker: str,
        token: str,
        rows: Sequence[Json],
        write: Callable[[Change, Sequence[Json]], None],
    ) -> bool:
        """Write rows of an incomplete version, a few in each transaction. Return False
        once it belongs to other work, or is gone.
        """
        for start in range(0, len(rows), MAX_ROWS_PER_WRITE):
            # No reader shows these rows, so that there is nothing to announce.
            with (
                self._database.transaction(),
                self._changes.unannounced(FIGURES) as change,
            ):
                if not self._belongs_to(token, marker):
                    return False
                write(change, rows[start : start + MAX_ROWS_PER_WRITE])
            time.sleep(0.01)  # other processes look a few times a second
        return True

    def _belongs_to(self, token: str, marker: str) -> bool:
        """Return whether a version is incomplete and belongs to the work with this
        token.
        """
        if not token:
            return False
        return self._written.find_one({"_id": marker, INCOMPLETE: token}) is not None

    def forget(self, document_id: str) -> None:
        """Remove the figures of a report that is deleted, and what its versions stated
        otherwise. Raises DatabaseError.
        """
        self.remove(document_id)
        with self._changes.of([document_id], FIGURES, frees_space=True) as change:
            change["figure_changes"].delete_many({"document_id": document_id})
            change["text_changes"].delete_many({"_id": document_id})

    def stored_of(self, document_ids: Sequence[str]) -> list[str]:
        """Return those of these reports that have figures."""
        if not document_ids:
            return []
        condition = {"document_id": {"$in": sorted(document_ids)}}
        ids: set[str] = set()
        # A removal that broke off left figures of no version.
        for stored in (self._written, self._rows):
            for row, _ in stored.group(condition, ["document_id"]):
                ids.add(row["document_id"])
        return sorted(ids)

    def missing(self, records: Iterable[DocumentRecord]) -> list[DocumentRecord]:
        """Return the searchable reports whose figures are not stored, or not those of
        today: of an older release, or of another program, which changes rows without a
        version (`follow`).
        """
        written = {
            row["_id"]: row.get("of_rows")
            for row in self._written.find(
                {"reading": READING, **COMPLETE}, {"of_rows": 1}
            )
        }
        ready = [record for record in records if record.status == "ready"]
        changed: frozenset[str] | None = frozenset()
        all_have_versions = all(record.version for record in ready)
        if not self._database.embedded and not all_have_versions:
            followed = self._written.find_one({"_id": FOLLOWED})
            position = followed["position"] if followed else 0
            changed = self._changes.since(position, PASSAGES).ids
        missing = []
        for record in ready:
            marker = _marker(record.id, record.version)
            if marker not in written:
                missing.append(record)
            elif not record.version:
                # Another program writes its rows.
                is_followed = changed is not None and record.id not in changed
                if written[marker] != record.chunks or not is_followed:
                    missing.append(record)
        return missing

    def follow(self, position: int, records: Iterable[DocumentRecord]) -> None:
        """Note that the figures of reports without versions, which are among
        ``records``, are as of this position of the change log; remove those of reports
        that are gone.
        """
        ids = {record.id for record in records}
        for row in self._written.find({"version": ""}, {"document_id": 1}):
            if row["document_id"] not in ids:
                self.remove(row["document_id"])
        with self._changes.of((), FIGURES) as change:
            change["figure_versions"].update_one(
                {"_id": FOLLOWED}, {"$set": {"position": position}}, upsert=True
            )

    def record_changes(self, document_id: str, old: str, new: str) -> None:
        """Keep what ``old`` states otherwise than the later version ``new``. Call it
        before `remove`. Repeated, or with a version whose figures are not all stored,
        it changes nothing. Raises DatabaseError.
        """
        old_marker = _marker(document_id, old)
        new_marker = _marker(document_id, new)
        condition = {"_id": {"$in": [old_marker, new_marker]}, **COMPLETE}
        written = {row["_id"]: row["at"] for row in self._written.find(condition)}
        if old_marker not in written:
            return
        if written.get(new_marker, "") <= written[old_marker]:
            return
        old_statements = _statements(self._listed(document_id, old))
        new_statements = _statements(self._listed(document_id, new))
        at = now()
        prefix = f"{old_marker}-{written[old_marker]}-{new}"
        rows: list[Json] = []
        for key, old_text, new_text in _changed(old_statements, new_statements):
            changed = FigureChange(document_id, *key, old_text, new_text, at)
            rows.append({"_id": f"{prefix}-{len(rows):05d}", **asdict(changed)})
        if not rows:
            return
        with self._changes.of([document_id], FIGURES) as change:
            stored = change["figure_changes"]
            for start in range(0, len(rows), MAX_ROWS_PER_WRITE):
                stored.replace_many(rows[start : start + MAX_ROWS_PER_WRITE])

    def record_text_changes(
        self, document_id: str, differences: TextDifferences
    ) -> None:
        """Keep what a new version says otherwise, in place of what the one before it
        did; nothing is kept of a version with the same text. Raises DatabaseError.
        """
        if not differences.total:
            return
        row = {"_id": document_id, **asdict(differences), "at": now()}
        with self._changes.of([document_id], FIGURES) as change:
            change["text_changes"].replace_many([row])

    def differences(
        self, document_id: str, version: str, new: VersionFigures
    ) -> list[ChangedFigure]:
        """Return what a version that is not stored states otherwise than a stored
        one.
        """
        old_statements = _statements(self._listed(document_id, version))
        new_statements = _statements(row for row in new.rows if "place" in row)
        differences = []
        for key, old_text, new_text in _changed(old_statements, new_statements):
            subject, indicator, year = key
            old_figure = StatedFigure(old_text, year) if old_text else None
            new_figure = StatedFigure(new_text, year) if new_text else None
            changed = ChangedFigure(subject, indicator, old_figure, new_figure)
            differences.append(changed)
        return differences

    def _listed(self, document_id: str, version: str) -> Iterable[Json]:
        """Return the rows of a version that lists show, in reading order."""
        return self._rows.find(
            {"document_id": document_id, "version": version, "place": {"$gt": ""}},
            sort=[("_id", 1)],
        )

    def _rows_of(
        self,
        version: str,
        chunk: Chunk,
        statements: Iterable[Stated],
        seen: set[tuple[str, str, int | None, str]],
    ) -> Iterator[Json]:
        """Yield the rows of a passage's figures. ``seen``: the figures of the version
        so far, to which these are added.
        """
        row_of_chunk: Json = {
            "_id": "",
            "document_id": chunk.document_id,
            "version": version,
            "collection": chunk.collection,
            **dict.fromkeys(self._fields, NO_VALUE),
            **chunk.metadata,
            "document_name": chunk.document_name,
        }
        edition = str(chunk.metadata.get("year", ""))
        # Tells figures of different reports and passages apart.
        passage = f"{chunk.document_id[:12]}{chunk.ordinal:05d}"
        for number, figure in enumerate(named_statements(chunk, statements)):
            heading, label, value, unit, text, _, estimate, subject = figure
            indicator, indicator_key, heading_key = _keys_of(heading, label)
            year = figure.year
            row = row_of_chunk | {
                "_id": f"{chunk.id}#{number:04d}",
                "subject": subject,
                "heading": heading,
                "label": label,
                "unit": unit,
                "text": text,
                "estimate": estimate,
                "heading_key": heading_key,
                "series": _joined(heading, label, subject),
                "value": str(value),
                "of_year": year,
            }
            key = (subject, indicator, year, text)
            if key not in seen:
                seen.add(key)
                row["place"] = _joined(
                    indicator_key,
                    subject,
                    f"{year or 0:04d}",
                    edition,
                    f"{passage}{number:03d}",
                )
            yield row


# A column of a table has one heading and label for all of its rows.
@lru_cache(4096)
def _keys_of(heading: str, label: str) -> tuple[str, str, str]:
    """Return the indicator of figures, its beginning of a ``place``, and the key of
    their heading.
    """
    indicator = indicator_name(heading, label)
    return indicator, f"{indicator.casefold()}: ", heading.casefold()


@dataclass(slots=True)
class _Statement:
    """What a version states: its figures as one text, and their values and units, by
    which statements are compared. "1033 km" and "1,033 km" are the same.
    """

    text: str = ""
    amounts: tuple[tuple[Decimal, str], ...] = ()


def _statements(rows: Iterable[Json]) -> dict[StatementKey, _Statement]:
    """Return statements by subject ("" = the whole report, whose title may change),
    indicator and year.
    """
    statements: defaultdict[StatementKey, _Statement] = defaultdict(_Statement)
    for row in rows:
        figure = _figure(row)
        subject = figure.subject
        if subject == row["document_name"]:
            subject = ""
        key = (subject, figure.indicator, figure.year)
        statement = statements[key]
        if statement.text:
            statement.text += "; "
        statement.text += figure.text
        statement.amounts += ((figure.value, figure.unit),)
    return dict(statements)


def _changed(
    old: dict[StatementKey, _Statement], new: dict[StatementKey, _Statement]
) -> Iterator[tuple[StatementKey, str, str]]:
    """Yield the statements that differ, "" where there is none. One that only has
    another subject is the same: a report that is put under a country speaks of it.
    """
    removed = {(*key[1:], old[key].amounts) for key in old.keys() - new.keys()}
    added = {(*key[1:], new[key].amounts) for key in new.keys() - old.keys()}
    moved = removed & added
    for key in sorted(old | new, key=str):
        before = old.get(key, _Statement())
        after = new.get(key, _Statement())
        if before.amounts == after.amounts:
            continue
        has_both = before.text and after.text
        statement = (*key[1:], before.amounts or after.amounts)
        if has_both or statement not in moved:
            yield key, before.text, after.text


def _in_order_of_indexes(rows: Iterable[Json]) -> list[Json]:
    """Sort rows as most indexes do, whose pages are then written once."""
    return sorted(rows, key=lambda row: row.get("place", ""))


def _first_fields(figures: VersionFigures) -> Json:
    """Return what the first writing of a version notes."""
    return {
        "document_id": figures.document_id,
        "version": figures.version,
        # Says later which of two versions is the older one.
        "at": now("microseconds"),
    }


def _marker(document_id: str, version: str) -> str:
    return f"{document_id}-{version}"


def _joined(*parts: str) -> str:
    joined = SEPARATOR.join(parts)
    if joined.count(SEPARATOR) < len(parts):
        return joined
    return SEPARATOR.join(part.replace(SEPARATOR, " ") for part in parts)


def _passage_of(row: Json) -> str:
    chunk_id: str = row["_id"].rpartition("#")[0]
    return chunk_id


def _figure(row: Json) -> ReportedFigure:
    edition = row.get("year")
    if edition == NO_VALUE:
        edition = None
    return ReportedFigure(
        subject=row["subject"],
        heading=row["heading"],
        label=row["label"],
        unit=row["unit"],
        text=row["text"],
        estimate=row["estimate"],
        value=Decimal(row["value"]),
        year=row["of_year"],
        document_id=row["document_id"],
        chunk_id=_passage_of(row),
        edition=edition,
    )


def _cursor(place: str) -> str:
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> str:
    padding = "=" * (-len(cursor) % 4)
    try:
        place = base64.b64decode(cursor + padding, altchars=b"-_", validate=True)
        return place.decode()
    except ValueError as error:
        raise InvalidRequestError.for_field(
            "cursor", "is not the `next` of a page."
        ) from error


class GlossaryRepository:
    """Collection `glossary` with the entries that ship with the program, kept in memory
    until any process writes it. Thread-safe.

    ``shipped`` reads those; an imported entry with the same term, heading and label
    replaces one.
    """

    def __init__(
        self,
        database: Database,
        shipped: Callable[[], Iterable[GlossaryEntry]] = tuple,
    ) -> None:
        self._rows = database["glossary"]
        self._meta = database["meta"]
        self._shipped = shipped
        self._changes = database.changes
        self._kept = KeptUntilWritten[Sequence[GlossaryEntry]](
            self._changes, GLOSSARY, self._read, ()
        )

    def entries(self) -> Sequence[GlossaryEntry]:
        """Return all entries by term: the same object until the next write."""
        return self._kept.current()

    def _read(self) -> tuple[GlossaryEntry, ...]:
        # Earlier releases stored those of the sample reports, too.
        rows = self._rows.find({"source": {"$ne": OLD_DEFAULTS}})
        entries = [from_row(GlossaryEntry, row) for row in rows]
        if self._meta.find_one({"_id": f"{DISMISSED}{OLD_DEFAULTS}"}) is None:
            imported = {_entry_order(entry) for entry in entries if not entry.source}
            for entry in self._shipped():
                if _entry_order(entry) not in imported:
                    entries.append(replace(entry, source=DEFAULT_GLOSSARY))
        entries.sort(key=_entry_order)
        return tuple(entries)

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
        new: dict[str, GlossaryEntry] = {}
        for entry in entries:
            entry_of_source = replace(entry, source=source)
            new[_entry_id(entry_of_source)] = entry_of_source
        # Those of the source only: there are many entries.
        rows = self._rows.find({"source": source})
        old = {row["_id"]: from_row(GlossaryEntry, row) for row in rows}
        changed = [id for id, entry in new.items() if old.get(id) != entry]
        surplus: list[str] = []
        if replace_all:
            surplus = [id for id in old if id not in new]
        if not (changed or surplus):
            return
        with self._changes.of((), GLOSSARY, frees_space=not changed) as change:
            stored = change["glossary"]
            stored.replace_many([{"_id": id, **asdict(new[id])} for id in changed])
            if surplus:
                stored.delete_many({"_id": {"$in": surplus}})

    def clear(self) -> int:
        """Remove all entries and return how many there were; use the shipped ones no
        more.
        """
        self._meta.update_one(
            {"_id": f"{DISMISSED}{OLD_DEFAULTS}"},
            {"$set": {"sample": OLD_DEFAULTS}},
            upsert=True,
        )
        with self._changes.of((), GLOSSARY, frees_space=True) as change:
            return change["glossary"].delete_many({})


def _entry_order(entry: GlossaryEntry) -> tuple[str, str, str]:
    return (entry.term.casefold(), entry.heading, entry.label)


def _entry_id(entry: GlossaryEntry) -> str:
    key = (entry.source, entry.heading, entry.label, entry.term.casefold())
    return hashlib.sha256("\0".join(key).encode()).hexdigest()[:24]
