"""What several searches have found: each passage once, and each search in turn when not all fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

from ..generation.rendering import render_passage
from ..schema import Passage, SearchHit
from ..text import estimate_tokens

T = TypeVar("T")


class Evidence:
    """Hits by the search that found them first, and by every search that found them."""

    def __init__(self) -> None:
        self._by_search: dict[str, list[SearchHit]] = {}
        self._found: dict[str, dict[str, SearchHit]] = {}
        self._seen: set[str] = set()

    def unseen(self, found: Iterable[tuple[str, Sequence[SearchHit]]], *, most: int) -> list[tuple[str, SearchHit]]:
        """Hits that no search has brought yet, with the search, at most so many: the best of each in turn."""
        kept: list[tuple[str, SearchHit]] = []
        brought = list(found)
        for search, hits in brought:
            self._found.setdefault(search, {}).update({hit.chunk.id: hit for hit in hits})
        for search, hit in in_turn([[(search, hit) for hit in hits] for search, hits in brought]):
            if hit.chunk.id not in self._seen and len(kept) < most:
                self._seen.add(hit.chunk.id)
                kept.append((search, hit))
        return kept

    def add(self, pairs: Iterable[tuple[str, SearchHit]]) -> None:
        for search, hit in pairs:
            self._by_search.setdefault(search, []).append(hit)
            self._found.setdefault(search, {})[hit.chunk.id] = hit

    @property
    def hits(self) -> list[SearchHit]:
        """The best of each search, then the second best, ..."""
        return list(in_turn(list(self._by_search.values())))

    def of(self, search: str) -> list[SearchHit]:
        """Those added that this search found, whichever found them first."""
        added = {hit.chunk.id for hits in self._by_search.values() for hit in hits}
        return [hit for name, hit in self._found.get(search, {}).items() if name in added]


def once(hits: Iterable[SearchHit]) -> list[SearchHit]:
    """Each passage where it stands first, with the scores of the search that found it last."""
    return list({hit.chunk.id: hit for hit in hits}.values())


def numbered(hits: Sequence[SearchHit], *, tokens: int | None = None) -> str:
    """The passages as a planning prompt has them, numbered from 1; without a limit all of them."""
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


def in_turn(columns: Sequence[Sequence[T]]) -> Iterator[T]:
    """The first of each, then the second of each, ..."""
    for row in zip_longest(*columns):
        yield from (each for each in row if each is not None)
