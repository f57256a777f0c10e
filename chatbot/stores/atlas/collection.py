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
from ...domain.documents import Meaning
from ...domain.errors import SearchEngineError
from ...domain.scope import NO_VALUE, Values
from ..chunks import PassageCount, is_retired
from . import pipelines
from .errors import NOT_QUERYABLE, RATE_LIMITED, UNDECLARED, translate_refusals
from .indexes import TEXT_PATHS, IndexHealth
from .meaning import MeaningField

log = logging.getLogger(__name__)
MAX_EXACT_PASSAGES = 10_000
"""Passages from which on the search is approximate: MongoDB advises to compare all of
fewer.
"""
REMEMBERED_SECONDS = 30.0
"""Seconds for which a number of rows is used: it only chooses between two right
answers, so an old one does no harm.
"""
MAX_REMEMBERED_SCOPES = 500
"""More than are asked for in REMEMBERED_SECONDS."""
MAX_RETIRED_PER_CALL = 200
"""Rows that one call retires. It is one operation for the quota of a free cluster,
whatever its number of rows, and ends well within MONGODB_TIMEOUT.
"""
SETTLING_SECONDS = 60.0
"""The time after which an engine has followed a deletion, twice what was observed."""
YEAR = "year"
TEXT_YEARS_SECONDS = 600.0
"""Seconds between two looks for rows with their year as text: another program writes
them, and rarely.
"""
TEXT_YEARS = range(1900, 2101)
"""Years that a range of years names as text."""


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
    by_meaning: MeaningField
    max_time_ms: int
    trace: SentPipelines
    clock: Callable[[], float]
    changes: Changes
    at_once: Callable[[Sequence[Callable[[], Any]]], list[Any]]
    """`Database.at_once`."""
    passages: PassageCount | None = None
    _total: tuple[float, int] = (float("-inf"), 0)
    """When the rows were counted last, and their number."""
    _widest_search: dict[Scope, tuple[float, int]] = field(default_factory=dict)
    """By scope when its widest search was made, and how many rows it found."""
    _text_years: tuple[float, bool] = (float("-inf"), False)
    """When a row with its year as text was looked for, and whether there was one."""
    _shrank_at: float = float("-inf")
    _unasked: set[str] = field(default_factory=set)
    """Indexes that could not be asked what they have of a document."""
    _looked_at: float = float("-inf")
    """When `vectors` was asked what it has of a document."""

    @property
    def name(self) -> str:
        return self.collection.name

    def nearest(
        self,
        meaning: Meaning,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> list[Json]:
        """Return at least the ``top_k`` nearest rows, with all that tie with the last
        of them.
        """
        if self._is_not_worth_embedding():
            return []
        # An index of another program may lack fields, by which it cannot filter.
        declared = self.vectors.target.theirs
        in_index = []
        not_in_index = []
        for name, condition in self._as_stored(scope).conditions:
            if declared is None or name in declared:
                in_index.append((name, condition))
            else:
                not_in_index.append((name, condition))
        index_scope = replace(scope, conditions=tuple(in_index))

        def pipeline(limit: int) -> list[Json]:
            return [
                self._vector_stage(meaning, index_scope, limit, num_candidates),
                *pipelines.ranked("vectorSearchScore"),
            ]

        rows = self._best_rows(
            self.vectors,
            pipeline,
            top_k,
            ties=num_candidates is None,
            counted=scope,
            unfiltered=Scope(tuple(not_in_index)),
        )
        if not rows and top_k > 0:
            failure = self.vectors.failure()
            if failure:
                raise failure
        return rows

    def best_by_words(self, query: str, top_k: int, scope: Scope) -> list[Json]:
        """Return the best rows by keywords, with ties; none where the index cannot
        answer, which is noted. For a limited caller the score is the number of words.
        """
        if not query.strip() or self.texts.known_failure():
            return []
        scope = self._as_stored(scope)
        index_scope = scope
        unfiltered = Scope()
        if self.texts.target.theirs is not None:  # another program's has no filters
            index_scope = Scope()
            unfiltered = scope
        build_stage = pipelines.text_stage
        if scope.is_limited:
            build_stage = pipelines.counted_words_stage
        stage = build_stage(
            index=self.texts.target.index, query=query, scope=index_scope
        )

        def pipeline(limit: int) -> list[Json]:
            # The engine returns best first, so the cut comes before the sort: otherwise
            # the server would fetch every document with one of the words only to order
            # it.
            return [stage, {"$limit": limit}, *pipelines.ranked("searchScore")]

        try:
            rows = self._best_rows(self.texts, pipeline, top_k, unfiltered=unfiltered)
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
        meaning: Meaning,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> tuple[list[Json], list[Json]] | None:
        """Return what `nearest` and `best_by_words` find, from `$rankFusion`; None
        where retired rows are in the way.

        Raises:
            CommandError: the server refuses it.
        """
        if self.vectors.target.theirs is not None and scope.conditions:
            return None
        if self._is_not_worth_embedding():
            return [], []
        stored = self._as_stored(scope)
        with translate_refusals(self.vectors.target):
            stage = self._vector_stage(meaning, stored, top_k, num_candidates)
        text = pipelines.text_stage(
            index=self.texts.target.index, query=query, scope=stored
        )
        pipeline = pipelines.rank_fusion_pipeline(
            vector_stage=stage, text_stage=text, limit=top_k
        )
        nearest: list[Json] = []
        with_words: list[Json] = []
        for row in self._send(pipeline):
            if is_retired(row):
                return None
            scores = pipelines.leg_scores(row.get("details"))
            if "vector" in scores:
                nearest.append({**row, "score": scores["vector"]})
            if "keyword" in scores:
                with_words.append({**row, "score": scores["keyword"]})
        if not with_words:
            self.texts.failure()
        if not nearest:
            failure = self.vectors.failure()
            if failure:
                raise failure
        short = len(nearest) < top_k
        if short and self._lacks_rows(nearest, self.vectors, top_k, scope):
            nearest = self.nearest(meaning, top_k, scope, num_candidates)
        return nearest, with_words

    def _is_not_worth_embedding(self) -> bool:
        """Return whether a question would be embedded to search no rows."""
        return bool(self.by_meaning.look_seconds) and not self._count_rows()

    def retire(self, document_id: str, keep: set[str]) -> list[str]:
        """See `protocols.LateStore`."""
        update = {
            "$set": {"document_id": f"{RETIRED_PREFIX}{document_id}"},
            "$unset": dict.fromkeys((*WITHOUT_EMBEDDING, *TEXT_PATHS), ""),
        }
        document_ids = [document_id, f"{RETIRED_PREFIX}{document_id}"]
        query = {"document_id": {"$in": document_ids}}
        ids: list[str] = []
        searchable: list[Any] = []
        for row in self.collection.find(query, {"document_id": 1}):
            if row["_id"] in keep:
                continue
            ids.append(str(row["_id"]))
            if not is_retired(row):
                searchable.append(row["_id"])
        for start in range(0, len(searchable), MAX_RETIRED_PER_CALL):
            batch = searchable[start : start + MAX_RETIRED_PER_CALL]
            with self.changes.of([document_id], PASSAGES) as change:
                change[self.name].update_many({"_id": {"$in": batch}}, update)
        return ids

    def unfollowed(
        self, document_id: str, written: AnyOf[str], retired: AnyOf[str]
    ) -> set[str]:
        """See `protocols.LateStore`. An index that cannot answer is not waited for: it
        reads all rows when built.
        """
        # A row without a vector, or without a text to embed, is never indexed.
        has_meaning: Json = {self.by_meaning.path: {"$exists": True, "$ne": ""}}
        arriving: set[str]
        leaving: set[str]
        arriving, leaving, rows = self.at_once(
            [
                lambda: self._stored_ids(written, has_meaning),
                lambda: self._stored_ids(retired, {}),
                lambda: self.collection.count({"document_id": document_id}),
            ]
        )
        if not (arriving or leaving):
            return set()
        limit = max(1, rows + len(leaving))

        def behind(index: IndexHealth) -> set[str]:
            indexed = self._indexed_ids(index, document_id, limit)
            if indexed is None:
                return set()
            return (arriving - indexed) | (leaving & indexed)

        if not self.by_meaning.look_seconds:
            calls = [partial(behind, self.vectors), partial(behind, self.texts)]
            of_vectors, of_texts = self.at_once(calls)
            return {*of_vectors, *of_texts}
        # A row without its text has no embedding, so it leaves both indexes at once.
        unfollowed = behind(self.texts)
        if not arriving:
            return unfollowed
        if unfollowed or self.clock() - self._looked_at < self.by_meaning.look_seconds:
            return arriving | unfollowed
        self._looked_at = self.clock()
        return behind(self.vectors)

    def _stored_ids(self, ids: AnyOf[str], condition: Json) -> set[str]:
        """Return those of the ids whose rows exist and meet a condition."""
        if not ids:
            return set()
        query = {"_id": {"$in": list(ids)}, **condition}
        return {str(row["_id"]) for row in self.collection.find(query, {"_id": 1})}

    def _indexed_ids(
        self, index: IndexHealth, document_id: str, limit: int
    ) -> set[str] | None:
        """Return the ids that an index has of the document, ``limit`` at most; None
        where it cannot be asked.
        """
        if index.failure() is not None:
            return None
        target = index.target
        pipeline = pipelines.listing_pipeline(
            target, document_id, limit=limit, from_index=index.stores_source
        )
        try:
            with translate_refusals(target):
                return {str(row["_id"]) for row in self.collection.search(pipeline)}
        except SearchEngineError as error:
            if index.stores_source:
                # Servers before 8.2 refuse it of an index of vectors.
                index.stores_source = False
                return self._indexed_ids(index, document_id, limit)
            if error.reason not in (UNDECLARED, RATE_LIMITED):
                raise
            # An index of an older release, or one that embeds no question for now:
            # documents are shown without waiting.
            if target.index not in self._unasked:
                self._unasked.add(target.index)
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
            years = tuple(year for year in TEXT_YEARS if condition.matches(year))
            if not years:
                return scope
            condition = Values(years)
        texts = tuple(str(year) for year in condition.values if year != NO_VALUE)
        conditions = dict(scope.conditions)
        conditions[YEAR] = Values((*condition.values, *texts), condition.or_none)
        return replace(scope, conditions=Scope.of(conditions).conditions)

    def _has_text_years(self) -> bool:
        """Return whether a row has its year as text, as of a while ago."""
        looked_at, has_text_years = self._text_years
        if self.clock() - looked_at > TEXT_YEARS_SECONDS:
            # Only texts are compared with texts. Our own rows have "" for no year; ":"
            # comes after the digits.
            texts = {YEAR: {"$gt": NO_VALUE, "$lt": ":"}}
            has_text_years = self.collection.find_one(texts, {"_id": 1}) is not None
            self._text_years = (self.clock(), has_text_years)
        return has_text_years

    def _vector_stage(
        self,
        meaning: Meaning,
        scope: Scope,
        limit: int,
        num_candidates: int | None,
    ) -> Json:
        """`$vectorSearch` for the ``limit`` nearest chunks inside the scope, exact or
        approximate as fits.
        """
        min_rows, max_rows = self._bounds_of(scope)
        compared: int | None = None
        if scope.is_limited:
            # What others have must not decide how this scope is searched.
            if self._bounds_of(scope.widest())[0] >= MAX_EXACT_PASSAGES:
                limit = min(limit, pipelines.MAX_CANDIDATES)
                compared = pipelines.MAX_CANDIDATES
        elif num_candidates is not None or max_rows >= MAX_EXACT_PASSAGES:
            limit = min(limit, pipelines.MAX_CANDIDATES)
            share = max(min_rows, 1) / max(self._rows(), 1)
            compared = num_candidates or pipelines.candidates(limit, share)
            compared = max(compared, limit)
        return pipelines.vector_stage(
            index=self.vectors.target.index,
            field=self.by_meaning,
            meaning=meaning,
            scope=scope,
            limit=limit,
            num_candidates=compared,
        )

    def _best_rows(
        self,
        index: IndexHealth,
        pipeline: Callable[[int], list[Json]],
        top_k: int,
        *,
        ties: bool = True,
        counted: Scope | None = None,
        unfiltered: Scope = Scope(),  # noqa: B008  # frozen and empty
    ) -> list[Json]:
        """At least the ``top_k`` best rows, with every row that ties with the last of
        them if ``ties``.

        The engine cuts ties in an order of its own. So one row more is requested than
        needed, and more again while that one ties with the last, while some rows only
        wait to be deleted, and while there are fewer rows than are ``counted`` in that
        scope: the server drops rows that are gone without an error. Rows outside of
        ``unfiltered``, which the index cannot filter, are left out here.
        """
        needed = top_k + 1 if ties else top_k
        limit = needed
        while top_k > 0:
            with translate_refusals(index.target):
                answer = self._send(pipeline(limit))
            rows = [row for row in answer if _is_in_scope(row, unfiltered)]
            is_cut = len(answer) >= limit  # the engine may have more
            tied = is_cut and _last_ties(rows, top_k)
            short = False
            if len(rows) < needed:
                short = is_cut
                if not is_cut and counted is not None:
                    short = self._lacks_rows(rows, index, needed, counted)
            if limit >= pipelines.MAX_CANDIDATES or not (tied or short):
                if short and counted is not None:
                    # No search finds more of the scope, however many are counted.
                    self._remember_widest_search(counted, len(rows))
                return rows
            # Dropped rows are many at once, ties are few.
            growth = 4 if short else 2
            limit = min(growth * limit, pipelines.MAX_CANDIDATES)
        return []

    def _lacks_rows(
        self, rows: Sequence[Json], index: IndexHealth, needed: int, scope: Scope
    ) -> bool:
        """Whether there should be more rows. False where the index cannot answer, and
        where none were deleted lately: only then may the engine still give ids that the
        server drops.
        """
        if len(rows) >= min(needed, self._max_to_find(scope)):
            return False
        if not rows and index.failure():
            return False
        self._count_rows()
        shrank = self.clock() - self._shrank_at < SETTLING_SECONDS
        return shrank and len(rows) < min(needed, self._max_to_find(scope))

    def _max_to_find(self, scope: Scope) -> int:
        """Return a bound of the rows that a search of the scope may find."""
        widest_search = self._widest_search.get(Scope(scope.conditions))
        if widest_search is not None:
            searched_at, rows = widest_search
            if self.clock() - searched_at < REMEMBERED_SECONDS:
                return rows
        return self._bounds_of(scope)[1]

    def _remember_widest_search(self, scope: Scope, rows: int) -> None:
        if len(self._widest_search) >= MAX_REMEMBERED_SCOPES:
            self._widest_search.clear()
        self._widest_search[Scope(scope.conditions)] = (self.clock(), rows)

    def _bounds_of(self, scope: Scope) -> tuple[int, int]:
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
        in_scope = self.passages(Scope(scope.conditions, collections))
        in_catalogue = self.passages(Scope(collections=collections))
        return in_scope, in_scope + max(0, total - in_catalogue)

    def _rows(self) -> int:
        """Return the number of rows as of a moment ago."""
        counted_at, total = self._total
        if self.clock() - counted_at < REMEMBERED_SECONDS:
            return total
        return self._count_rows()

    def _count_rows(self) -> int:
        """Return the number of rows now, which the server keeps, and note when it has
        fallen.
        """
        _, previous_total = self._total
        total = self.collection.estimated_count()
        if total < previous_total:
            self._shrank_at = self.clock()
        self._total = (self.clock(), total)
        return total


def _is_in_scope(row: Json, scope: Scope) -> bool:
    """Return whether a row is in the scope and not only waits to be deleted."""
    if is_retired(row):
        return False
    values = {name: filter_value(name, row.get(name)) for name, _ in scope.conditions}
    return scope.matches(values)


def _last_ties(rows: Sequence[Json], top_k: int) -> bool:
    """Return whether a row after the ``top_k`` best is as good as the last of those."""
    return len(rows) > top_k and rows[-1]["score"] >= rows[top_k - 1]["score"]
