"""The searches of one question: run in parallel (R-C10), with their findings collected
and numbered.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from itertools import zip_longest
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

from ...domain import Passage, Question, RequestContext, Scope, SearchHit
from ...domain.errors import ChatbotError
from ...domain.protocols import Catalog
from ...language.counts import estimate_tokens
from ...questions.reading import COUNTRY, read_names, values_of
from ...search.scope import describe
from ...search.subjects import everything_asked, suggest_scope
from ..context import render_passage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Search:
    """A query with its scope. ``label`` names it in the steps."""

    label: str
    query: str
    scope: Scope
    top_k: int


def narrowed_search(question: Question, query: str, catalog: Catalog) -> Search:
    """Search under the countries and editions that the query is about, inside the
    question's scope. The whole question stays in all of that where it names a country
    besides: one of its parts may be about it. A part that is about a country outside of
    a scope that nobody chose leaves it.
    """
    scope, is_whole = question.scope, query == question.search_text
    if is_whole:
        reading = question.reading or read_names(query, catalog, scope)
        if len(reading.about) < len(reading.countries):
            return Search(query, query, scope, question.top_k)
    else:
        chosen = scope if question.chosen_scope is None else question.chosen_scope
        reading, countries = read_names(query, catalog, chosen), scope.get(COUNTRY)
        if countries is not None and not all(
            map(countries.matches, values_of(reading.about, catalog))
        ):
            scope = chosen
    inside = (
        suggest_scope(everything_asked(reading, scope, catalog), scope, catalog)
        or scope
    )
    label = query if inside == scope else f"{query} ({describe(inside.within(()))})"
    return Search(label, query, inside, question.top_k)


def new_questions(candidates: Sequence[str], earlier: Sequence[str]) -> list[str]:
    """The candidates that are not among the earlier questions, each once. Case, spacing
    and end marks do not matter.
    """
    keys = [
        " ".join(query.casefold().split()).rstrip("?.! ")
        for query in [*earlier, *candidates]
    ]
    return [
        query
        for place, query in enumerate(candidates, start=len(earlier))
        if keys[place] not in keys[:place]
    ]


class Findings:
    """Passages that were kept, by search; a passage that several searches found is kept
    once.
    """

    def __init__(self) -> None:
        self._by_search: dict[str, list[SearchHit]] = {}
        self._found: dict[str, dict[str, SearchHit]] = {}
        self._seen: set[str] = set()

    def unseen(
        self, results: Sequence[tuple[str, Sequence[SearchHit]]], *, most: int
    ) -> list[tuple[str, SearchHit]]:
        """The hits that are new, with their search: the best of each search in turn,
        ``most`` in all.
        """
        kept: list[tuple[str, SearchHit]] = []
        for search, hits in results:
            self._found.setdefault(search, {}).update(
                {hit.chunk.id: hit for hit in hits}
            )
        for search, hit in alternate(
            [[(search, hit) for hit in hits] for search, hits in results]
        ):
            if hit.chunk.id not in self._seen and len(kept) < most:
                self._seen.add(hit.chunk.id)
                kept.append((search, hit))
        return kept

    def add(self, pairs: Iterable[tuple[str, SearchHit]]) -> None:
        """Keep hits, each with the search that found it."""
        for search, hit in pairs:
            self._by_search.setdefault(search, []).append(hit)
            self._found.setdefault(search, {})[hit.chunk.id] = hit

    @property
    def hits(self) -> list[SearchHit]:
        """The best of each search, then the second best, ..."""
        return list(alternate(list(self._by_search.values())))

    def of(self, search: str) -> list[SearchHit]:
        """The kept hits of this search, also those that another search found first."""
        added = {hit.chunk.id for hits in self._by_search.values() for hit in hits}
        return [
            hit for name, hit in self._found.get(search, {}).items() if name in added
        ]


def distinct(hits: Iterable[SearchHit]) -> list[SearchHit]:
    """The hits without repetitions: each passage at its first place, with the scores of
    its last search.
    """
    return list({hit.chunk.id: hit for hit in hits}.values())


def alternate(columns: Sequence[Sequence[T]]) -> Iterator[T]:
    """The first of each, then the second of each, ..."""
    for row in zip_longest(*columns):
        yield from (each for each in row if each is not None)


def number_passages(hits: Sequence[SearchHit], *, tokens: int | None = None) -> str:
    """The passages as a planning prompt has them, numbered from 1; as many as fit
    ``tokens``, at least one.
    """
    shown: list[str] = []
    left = tokens
    for number, hit in enumerate(hits, start=1):
        text = render_passage(Passage(number, hit, hit.chunk.text))
        if left is not None:
            left -= estimate_tokens(text)
            if left < 0 and shown:
                break
        shown.append(text)
    return "\n\n".join(shown)


def bullet_list(queries: Sequence[str]) -> str:
    """Queries as a bulleted list, for a prompt."""
    return "\n".join(f"- {query}" for query in queries)


Outcome: TypeAlias = T | ChatbotError | None
"""The result of a piece of work, its error, or None if it was too slow."""


def in_parallel(
    work: Sequence[Callable[[RequestContext], T]],
    *,
    threads: int,
    request: RequestContext,
    seconds: float | None = None,
) -> Iterator[tuple[int, Outcome[T]]]:
    """Yield the place and outcome of each piece of work as it ends, ``threads`` at a
    time; those too slow come last. Work that takes longer than ``seconds`` is cancelled
    by its `RequestContext` and not waited for. A piece of work may fail alone, with a
    `ChatbotError`; any other exception is a defect and ends all, as a cancelled
    ``request`` does.
    """
    results, ended = (
        [Future[Outcome[T]]() for _ in work],
        SimpleQueue[Future[Outcome[T]]](),
    )
    todo = zip(work, results, strict=True)
    for each in results:
        each.add_done_callback(ended.put)
    with request.within(seconds) as limited:

        def settle(result: Future[Outcome[T]], outcome: Outcome[T]) -> None:
            with suppress(InvalidStateError):  # it was given up before
                # Work that the end of the time broke off is too slow, whatever it
                # returns: half of a result.
                result.set_result(None if limited.cancelled else outcome)

        def give_up() -> None:
            for result in results:
                settle(result, None)

        def run() -> None:
            for piece, result in todo:
                if limited.cancelled:
                    return
                try:
                    settle(result, piece(limited))
                except ChatbotError as error:
                    settle(result, error)
                finally:
                    result.cancel()  # after a defect

        limited.cancel.on_cancel(give_up)
        try:
            for _ in range(min(threads, len(work))):
                # Daemons, unlike those of a pool: the process must not wait at its end
                # for a search that was given up. In this context, so that they share
                # what the request has read.
                threading.Thread(
                    target=copy_context().run, args=(run,), name="search", daemon=True
                ).start()
            for _ in work:
                result = ended.get()
                if request.cancelled:
                    return
                if result.cancelled():
                    raise RuntimeError(
                        "A piece of work ended in a defect; its own thread has "
                        "reported it."
                    )
                yield results.index(result), result.result()
        finally:
            limited.cancel.cancel()
