"""One collection as MongoDB's search engine searches it: its rows, its vector index and
its text index.

The engine follows writes on its own, up to half a minute late. It answers with ids, and
the server drops those whose rows are gone: a search right after a deletion returns
fewer rows than there are, without an error. So a row is first *retired*, which takes it
out of the indexes, and deleted once they no longer have it.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from collections.abc import Collection as AnyOf
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ...database.changes import PASSAGES, Changes
from ...database.core import Collection, Json
from ...database.rows import RETIRED_PREFIX, WITHOUT_EMBEDDING, filter_value
from ...domain import Range, Scope
from ...domain.errors import SearchEngineError
from ...domain.scope import NO_VALUE, Values
from ..chunks import PassageCount, is_retired
from . import pipelines
from .errors import NOT_QUERYABLE, UNDECLARED, translate_refusals
from .indexes import TEXT_PATHS, IndexHealth

log = logging.getLogger(__name__)
EXACT_BELOW = 10_000
"""Passages that an exact search may compare: below so many MongoDB advises it."""
REMEMBERED_SECONDS = 30.0
"""Seconds for which a number of rows is used: it only chooses between two right
answers, so an old one does no harm.
"""
REMEMBERED_SCOPES = 500
RETIRED_AT_ONCE = 200
"""Rows that one call retires. It is one operation for the quota of a free cluster,
whatever its number of rows, and ends well within MONGODB_TIMEOUT.
"""
SETTLING_SECONDS = 60.0
"""The time after which an engine has followed a deletion."""
YEAR = "year"
TEXT_YEARS_SECONDS = 600.0
"""Seconds between two looks for rows with their year as text: another program writes
them, and rarely.
"""
FIRST_TEXT_YEAR, LAST_TEXT_YEAR = 1900, 2100
"""Years that a range of years names as text."""
WIDER = 4
"""The factor by which more is requested where the server dropped rows."""


class SentPipelines(threading.local):
    """The aggregations that the running thread sends, with their collections; None
    where nobody reads them.
    """

    sent: list[tuple[str, list[Json]]] | None = None


@dataclass(eq=False)
class IndexedCollection:
    """Searches one collection. Thread-safe.

    ``passages``: see `BuiltStore`. ``num_candidates`` of a search: see
    `protocols.Store.vector_search`."""

    collection: Collection
    vectors: IndexHealth
    texts: IndexHealth
    path: str
    dimensions: int
    max_time_ms: int
    trace: SentPipelines
    clock: Callable[[], float]
    changes: Changes
    at_once: Callable[[Sequence[Callable[[], Any]]], list[Any]]
    """`Database.at_once`."""
    passages: PassageCount | None = None
    _total: tuple[float, int] = (float("-inf"), 0)
    """When the rows were counted last, and their number."""
    _most_found: dict[Scope, tuple[float, int]] = field(default_factory=dict)
    """By scope the number of rows that the widest search found, and when."""
    _text_years: tuple[float, bool] = (float("-inf"), False)
    """When a row with its year as text was looked for, and whether there was one."""
    _shrank_at: float = float("-inf")
    _undeclared: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.collection.name

    def near(
        self,
        vector: Sequence[float],
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> list[Json]:
        """Return at least the ``top_k`` nearest rows, with all that tie with the last
        of them.
        """
        # The vector index can filter what is inside: an index of another program may
        # lack fields.
        declared = self.vectors.target.theirs
        all_of = self._as_stored(scope).conditions
        parts = tuple(
            item for item in all_of if declared is None or item[0] in declared
        )
        inside, rest = (
            replace(scope, conditions=parts),
            Scope(tuple(item for item in all_of if item not in parts)),
        )

        def pipeline(limit: int) -> list[Json]:
            return [
                self._vector_stage(vector, inside, limit, num_candidates),
                *pipelines.ranked("vectorSearchScore"),
            ]

        rows = self._best_rows(
            self.vectors,
            pipeline,
            top_k,
            ties=num_candidates is None,
            counted=scope,
            rest=rest,
        )
        if not rows and top_k > 0 and (failure := self.vectors.failure()):
            raise failure
        return rows

    def worded(self, query: str, top_k: int, scope: Scope) -> list[Json]:
        """Return the best rows by keywords, with ties; none where the index cannot
        answer, which is noted. For a limited caller the score is the number of words.
        """
        if not query.strip() or self.texts.known_failure():
            return []
        scope = self._as_stored(scope)
        rest = scope if self.texts.target.theirs is not None else Scope()
        inside = Scope() if rest else scope
        build = pipelines.text_stage
        if scope.is_limited:
            build = pipelines.counted_words_stage
        stage = build(index=self.texts.target.index, query=query, scope=inside)

        def pipeline(limit: int) -> list[Json]:
            # The engine returns best first, so the cut comes before the sort: otherwise
            # the server would fetch every document with one of the words only to order
            # it.
            return [stage, {"$limit": limit}, *pipelines.ranked("searchScore")]

        try:
            rows = self._best_rows(self.texts, pipeline, top_k, rest=rest)
        except SearchEngineError as error:
            if error.reason != NOT_QUERYABLE:
                raise
            rows = []
        if not rows and top_k > 0:
            self.texts.failure()
        return rows

    def fused(
        self,
        query: str,
        vector: Sequence[float],
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> tuple[list[Json], list[Json]] | None:
        """Return what `near` and `worded` find, from `$rankFusion`; None where retired
        rows are in the way.

        Raises:
            CommandError: the server refuses it.
        """
        if self.vectors.target.theirs is not None and scope.conditions:
            return None
        stored = self._as_stored(scope)
        with translate_refusals(self.vectors.target):
            stage = self._vector_stage(vector, stored, top_k, num_candidates)
        text = pipelines.text_stage(
            index=self.texts.target.index, query=query, scope=stored
        )
        rows = self._send(
            pipelines.rank_fusion_pipeline(
                vector_stage=stage, text_stage=text, limit=top_k
            )
        )
        if any(map(is_retired, rows)):
            return None
        scored = [(pipelines.leg_scores(row.get("details")), row) for row in rows]
        near, worded = (
            [{**row, "score": scores[leg]} for scores, row in scored if leg in scores]
            for leg in ("vector", "keyword")
        )
        if not worded:
            self.texts.failure()
        if not near and (failure := self.vectors.failure()):
            raise failure
        if len(near) < top_k and self._lacks_rows(near, self.vectors, top_k, scope):
            near = self.near(vector, top_k, scope, num_candidates)
        return near, worded

    def retire(self, document_id: str, keep: set[str]) -> list[str]:
        """See `protocols.LateStore`."""
        update = {
            "$set": {"document_id": f"{RETIRED_PREFIX}{document_id}"},
            "$unset": dict.fromkeys((*WITHOUT_EMBEDDING, *TEXT_PATHS), ""),
        }
        both = {"document_id": {"$in": [document_id, f"{RETIRED_PREFIX}{document_id}"]}}
        rows = [
            row
            for row in self.collection.find(both, {"document_id": 1})
            if row["_id"] not in keep
        ]
        searchable = [row["_id"] for row in rows if not is_retired(row)]
        for start in range(0, len(searchable), RETIRED_AT_ONCE):
            batch = searchable[start : start + RETIRED_AT_ONCE]
            with self.changes.of([document_id], PASSAGES) as change:
                change[self.name].update_many({"_id": {"$in": batch}}, update)
        return [str(row["_id"]) for row in rows]

    def unfollowed(
        self, document_id: str, written: AnyOf[str], retired: AnyOf[str]
    ) -> set[str]:
        """See `protocols.LateStore`. An index that cannot answer is not waited for: it
        reads all rows when built.
        """
        embedded = {"_id": {"$in": list(written)}, self.path: {"$exists": True}}
        gone = {"_id": {"$in": list(retired)}}
        here, leaving, rows = self.at_once(
            [
                partial(self._ids, embedded if written else None),
                partial(self._ids, gone if retired else None),
                partial(self.collection.count, {"document_id": document_id}),
            ]
        )
        if not (here or leaving):
            return set()
        most = rows + len(leaving)
        waiting: set[str] = set()
        for indexed in self.at_once(
            [
                partial(self._listed, index, document_id, most)
                for index in (self.vectors, self.texts)
            ]
        ):
            if indexed is not None:
                waiting |= (here - indexed) | (leaving & indexed)
        return waiting

    def _ids(self, filter: Json | None) -> set[str]:
        """Return the ids of the matches; None matches nothing."""
        if filter is None:
            return set()
        return {str(row["_id"]) for row in self.collection.find(filter, {"_id": 1})}

    def _listed(
        self, index: IndexHealth, document_id: str, most: int
    ) -> set[str] | None:
        """Return the ids that an index has of the document, ``most`` at most; None
        where it cannot be asked.
        """
        if index.failure() is not None:
            return None
        target, limit = index.target, max(1, most)
        pipeline = pipelines.listing_pipeline(
            target, document_id, dimensions=self.dimensions, path=self.path, limit=limit
        )
        try:
            with translate_refusals(target):
                return {str(row["_id"]) for row in self.collection.search(pipeline)}
        except SearchEngineError as error:
            if error.reason != UNDECLARED:
                raise
            if (
                target.index not in self._undeclared
            ):  # of an older release: documents are shown without waiting
                self._undeclared.add(target.index)
                log.warning("%s", error.message)
            return None

    def _send(self, pipeline: list[Json]) -> list[Json]:
        if self.trace.sent is not None:
            self.trace.sent.append((self.name, pipeline))
        return self.collection.search(pipeline, max_time_ms=self.max_time_ms)

    def _as_stored(self, scope: Scope) -> Scope:
        """Return the scope with years also as text, where this collection has such
        rows: seed 003 stored them as they came, and the engine compares types.
        """
        condition = scope.get(YEAR)
        if condition is None or self.vectors.target.theirs is not None:
            return scope
        if not self._has_text_years():
            return scope
        if isinstance(condition, Range):
            first = max(condition.gte or 0, FIRST_TEXT_YEAR)
            last = LAST_TEXT_YEAR
            if condition.lte is not None:
                last = min(condition.lte, LAST_TEXT_YEAR)
            numbers = tuple(range(first, last + 1))
            if not numbers:
                return scope
            condition = Values(numbers)
        texts = tuple(str(year) for year in condition.values if year != NO_VALUE)
        both = Values((*condition.values, *texts), condition.or_none)
        conditions = {**dict(scope.conditions), YEAR: both}
        return replace(scope, conditions=Scope.of(conditions).conditions)

    def _has_text_years(self) -> bool:
        """Return whether a row has its year as text, as of a while ago."""
        looked_at, found = self._text_years
        if self.clock() - looked_at > TEXT_YEARS_SECONDS:
            # Only texts are compared with texts. Our own rows have "" for no year.
            texts = {YEAR: {"$gt": NO_VALUE, "$lt": ":"}}
            found = self.collection.find_one(texts, {"_id": 1}) is not None
            self._text_years = self.clock(), found
        return found

    def _vector_stage(
        self,
        vector: Sequence[float],
        scope: Scope,
        limit: int,
        num_candidates: int | None,
    ) -> Json:
        """`$vectorSearch` for the ``limit`` nearest chunks inside the scope, exact or
        approximate as fits.
        """
        least, most = self._inside(scope)
        number: int | None = None
        if scope.is_limited:
            # What others have must not decide how this scope is searched.
            if self._inside(scope.widest())[0] >= EXACT_BELOW:
                limit = min(limit, pipelines.MAX_CANDIDATES)
                number = pipelines.MAX_CANDIDATES
        elif num_candidates is not None or most >= EXACT_BELOW:
            limit = min(limit, pipelines.MAX_CANDIDATES)
            share = max(least, 1) / max(self._rows(), 1)
            number = num_candidates or pipelines.candidates(limit, share)
            number = max(number, limit)
        index = self.vectors.target.index
        return pipelines.vector_stage(
            index=index,
            path=self.path,
            vector=vector,
            scope=scope,
            limit=limit,
            num_candidates=number,
        )

    def _best_rows(
        self,
        index: IndexHealth,
        pipeline: Callable[[int], list[Json]],
        top_k: int,
        *,
        ties: bool = True,
        counted: Scope | None = None,
        rest: Scope = Scope(),  # noqa: B008  # frozen and empty
    ) -> list[Json]:
        """At least the ``top_k`` best rows, with every row that ties with the last of
        them if ``ties``.

        The engine cuts ties in an order of its own. So one row more is requested than
        needed, and more again while that one ties with the last, while some rows only
        wait to be deleted, and while there are fewer rows than are ``counted`` in that
        scope: the server drops rows that are gone without an error. Rows outside of
        ``rest``, which the index cannot filter, are left out here.
        """
        names = [name for name, _ in rest.conditions]
        limit = needed = top_k + 1 if ties else top_k
        while top_k > 0:
            with translate_refusals(index.target):
                answer = self._send(pipeline(limit))
            rows = [row for row in answer if not is_retired(row)]
            rows = [
                row
                for row in rows
                if rest.matches(
                    {name: filter_value(name, row.get(name)) for name in names}
                )
            ]
            full = len(answer) >= limit
            tied = (
                full
                and len(rows) > top_k
                and rows[-1]["score"] >= rows[top_k - 1]["score"]
            )
            short = len(rows) < needed and (
                full
                or (
                    counted is not None
                    and self._lacks_rows(rows, index, needed, counted)
                )
            )
            if limit >= pipelines.MAX_CANDIDATES or not (tied or short):
                if short and counted is not None:
                    # No search finds more of the scope, however many are counted.
                    self._remember_most(counted, len(rows))
                return rows
            limit = min((WIDER if short else 2) * limit, pipelines.MAX_CANDIDATES)
        return []

    def _lacks_rows(
        self, rows: Sequence[Json], index: IndexHealth, needed: int, scope: Scope
    ) -> bool:
        """Whether there should be more rows. False where the index cannot answer, and
        where none were deleted lately: only then may the engine still give ids that the
        server drops.
        """
        if len(rows) >= min(needed, self._most_to_find(scope)):
            return False
        if not rows and index.failure():
            return False
        self._count_rows()
        shrank = self.clock() - self._shrank_at < SETTLING_SECONDS
        return shrank and len(rows) < min(needed, self._most_to_find(scope))

    def _most_to_find(self, scope: Scope) -> int:
        """Return a bound of the rows that a search of the scope may find."""
        at, found = self._most_found.get(Scope(scope.conditions), (float("-inf"), 0))
        if self.clock() - at < REMEMBERED_SECONDS:
            return found
        return self._inside(scope)[1]

    def _inside(self, scope: Scope) -> tuple[int, int]:
        """Return the least and the greatest number of rows inside the scope, without
        looking at them: of those that the catalogue does not know, none or all may be
        inside.
        """
        total = self._rows()
        if not scope.conditions:
            return total, total
        if self.passages is None:
            return 0, total
        collections = (self.name,)
        inside = self.passages(Scope(scope.conditions, collections))
        known = self.passages(Scope(collections=collections))
        return inside, inside + max(0, total - known)

    def _remember_most(self, scope: Scope, found: int) -> None:
        if len(self._most_found) >= REMEMBERED_SCOPES:
            self._most_found.clear()
        self._most_found[Scope(scope.conditions)] = self.clock(), found

    def _rows(self) -> int:
        """Return the number of rows as of a moment ago."""
        at, total = self._total
        if self.clock() - at < REMEMBERED_SECONDS:
            return total
        return self._count_rows()

    def _count_rows(self) -> int:
        """Return the number of rows now, which the server keeps, and note when it has
        fallen.
        """
        _, before = self._total
        total = self.collection.estimated_count()
        if total < before:
            self._shrank_at = self.clock()
        self._total = self.clock(), total
        return total
