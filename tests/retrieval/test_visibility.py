"""Matches of versions that are not to be seen are dropped, and nobody's result gets shorter for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from chatbot.retrieval import visibility
from chatbot.retrieval.visibility import TRIES, settled_search
from chatbot.schema import Chunk, Match


def id_of(document: str, version: str, ordinal: int = 0) -> str:
    return Chunk.make_id(document, version, ordinal)


class Search:
    """Finds the first n of two fixed lists; remembers how many were asked for."""

    def __init__(self, near: list[str], worded: list[str] | None = None) -> None:
        self.asked: list[int] = []
        self._found = [Match(id, 1.0) for id in near], [Match(id, 1.0) for id in worded or []]

    def __call__(self, count: int) -> tuple[list[Match], list[Match]]:
        self.asked.append(count)
        near, worded = self._found
        return near[:count], worded[:count]


def ids(matches: list[Match]) -> list[str]:
    return [match.chunk_id for match in matches]


def always(**visible: str) -> Callable[[], Mapping[str, str]]:
    return lambda: visible


def test_where_all_is_settled_it_is_one_plain_search() -> None:
    search = Search([id_of("a", "v1"), id_of("b", "v1")], [id_of("b", "v1")])
    near, worded = settled_search(search, 5, always())
    assert (ids(near), ids(worded), search.asked) == ([id_of("a", "v1"), id_of("b", "v1")], [id_of("b", "v1")], [5])


def test_other_versions_and_reports_that_are_not_to_be_seen_are_dropped_in_both_lists() -> None:
    every = [id_of("a", "v1"), id_of("a", "v2"), id_of("b", "v1"), id_of("b", "v2"), id_of("c", "v1")]
    near, worded = settled_search(Search(every, every[::-1]), 10, always(a="v1", b="", d="v9"))
    assert ids(near) == [id_of("a", "v1"), id_of("c", "v1")]
    assert ids(worded) == ids(near)[::-1]


def test_passages_of_older_systems_are_seen() -> None:
    near, _ = settled_search(Search(["65a1b2c3d4e5f60718293a4b", "report-7", id_of("a", "v2")]), 10, always(a="v1"))
    assert ids(near) == ["65a1b2c3d4e5f60718293a4b", "report-7"]


def test_what_is_dropped_is_searched_for_further_on() -> None:
    """A report in the middle of its replacement must not push the others out."""
    crowd = [id_of("a", "v2", n) for n in range(30)]
    rest = [id_of("b", "v1", n) for n in range(10)]
    search = Search(crowd + rest)
    near, _ = settled_search(search, 5, always(a="v1"))
    assert ids(near) == rest[:5]
    assert search.asked == [5, 10, 20, 40]


def test_it_is_searched_no_further_than_there_is_anything() -> None:
    search = Search([id_of("a", "v2", n) for n in range(7)] + [id_of("b", "v1")])
    near, _ = settled_search(search, 5, always(a="v1"))
    assert (ids(near), search.asked) == ([id_of("b", "v1")], [5, 10])


def test_it_is_searched_no_further_than_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visibility, "MOST", 50)
    search = Search([id_of("a", "v2", n) for n in range(100)])
    near, _ = settled_search(search, 5, always(a="v1"))
    assert (near, search.asked[-1]) == ([], 50)


def test_the_result_is_no_longer_than_asked_for() -> None:
    search = Search([id_of("b", "v1", n) for n in range(20)], [id_of("a", "v2", n) for n in range(40)])
    near, worded = settled_search(search, 5, always(a="v1"))
    assert (ids(near), worded) == ([id_of("b", "v1", n) for n in range(5)], [])


def changing(*answers: Mapping[str, str]) -> Callable[[], Mapping[str, str]]:
    """The answers in turn; the last one stays."""
    left: Iterator[Mapping[str, str]] = iter(answers)
    return lambda: next(left, answers[-1])


def test_a_report_that_is_replaced_meanwhile_is_searched_again() -> None:
    search = Search([id_of("a", "v1"), id_of("a", "v2")])
    near, _ = settled_search(search, 5, changing({"a": "v1"}, {"a": "v2"}))
    assert ids(near) == [id_of("a", "v2")]
    assert len(search.asked) == 2


def test_a_report_replaced_too_quickly_to_be_noticed_is_searched_again() -> None:
    """Settled before and after, but the two searches found different versions."""
    answers = iter([([id_of("a", "v1")], [id_of("a", "v2")]), ([id_of("a", "v2")], [id_of("a", "v2")])])

    def search(count: int) -> tuple[list[Match], list[Match]]:
        near, worded = next(answers)
        return [Match(id, 1.0) for id in near], [Match(id, 1.0) for id in worded]

    near, worded = settled_search(search, 5, always())
    assert ids(near) == ids(worded) == [id_of("a", "v2")]


def test_it_does_not_go_on_for_ever() -> None:
    search = Search([id_of("a", "v1")])
    versions = iter(range(1000))
    settled_search(search, 5, lambda: {"b": str(next(versions))})
    assert len(search.asked) == TRIES
