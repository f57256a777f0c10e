"""Numbered passages within a token budget (R-B9, R-C6, R-E4), shown wide, each text
once.
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.answering.context import (
    build_context,
    in_prompt_order,
    render_passage,
    window,
)
from chatbot.domain import Chunk, Context
from chatbot.language.counts import estimate_tokens
from tests.checking.conftest import Shelf, chunk, hits
from tests.data import cases

HUGE = 100_000


def tokens(found: Context) -> int:
    return sum(estimate_tokens(render_passage(passage)) for passage in found.passages)


class TestBudget:
    def test_passages_are_taken_best_first_until_the_budget_is_used(self) -> None:
        shelf = Shelf(["a" * 400, "b" * 400, "c" * 400])
        both = tokens(
            build_context(hits(*shelf.chunks[:2]), shelf, budget_tokens=HUGE, margin=0)
        )
        found = build_context(hits(*shelf.chunks), shelf, budget_tokens=both, margin=0)
        assert [p.wider_text[0] for p in found.passages] == ["a", "b"]
        assert (
            len(
                build_context(
                    hits(*shelf.chunks), shelf, budget_tokens=both - 1, margin=0
                ).passages
            )
            == 1
        )

    def test_the_budget_is_one_of_tokens_not_of_characters(self) -> None:
        """A page of Chinese costs several times what a page of English does."""
        english = Shelf(["word " * 60 for _ in range(20)])
        chinese = Shelf(["\u4eba\u53e3\u589e\u957f\u7387" * 60 for _ in range(20)])
        counts = [
            len(
                build_context(
                    hits(*shelf.chunks), shelf, budget_tokens=1500, margin=0
                ).passages
            )
            for shelf in (english, chinese)
        ]
        assert counts[0] >= 3 * counts[1] > 0

    def test_the_first_passage_always_fits(self) -> None:
        shelf = Shelf(["a" * 4000, "b"])
        found = build_context(hits(*shelf.chunks), shelf, budget_tokens=200, margin=0)
        assert [p.wider_text for p in found.passages] == ["a" * 4000]

    def test_the_first_passage_gives_up_its_surroundings_before_the_budget_is_broken(
        self,
    ) -> None:
        shelf = Shelf(["before\n" * 40, "a" * 600, "after\n" * 40])
        found = build_context(
            hits(shelf.chunks[1]), shelf, budget_tokens=200, margin=300
        )
        assert [p.wider_text for p in found.passages] == ["a" * 600]

    def test_a_passage_that_does_not_fit_wide_is_shown_alone(self) -> None:
        shelf = Shelf(["a" * 400, "x\n" * 600, "b" * 400, "y\n" * 100])
        ranked = hits(shelf.chunks[0], shelf.chunks[2])
        narrow = tokens(build_context(ranked, shelf, budget_tokens=HUGE, margin=0))
        found = build_context(ranked, shelf, budget_tokens=narrow + 20, margin=210)
        assert found.passages[1].wider_text == "b" * 400
        assert tokens(found) <= narrow + 20


CASES = cases(__file__)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_hit_is_shown_with_the_text_around_it(case: dict[str, Any]) -> None:
    """Hits whose windows meet are one run of text in reading order; each keeps its
    number.
    """
    shelf = Shelf(case["texts"], sections=case.get("sections", ()))
    if "countries" in case:  # a scope holds for the wider text too
        named = zip(shelf.chunks, case["countries"], strict=True)
        shelf.chunks = [
            replace(one, metadata={"country_name": country}) for one, country in named
        ]
    ranked = hits(*(shelf.chunks[ordinal] for ordinal in case["hits"]))
    found = build_context(ranked, shelf, budget_tokens=HUGE, margin=case["margin"])
    assert [passage.wider_text for passage in found.passages] == case["shown"]
    assert [(p.number, p.hit.chunk.ordinal) for p in found.passages] == list(
        enumerate(case["hits"], start=1)
    )
    if "in the prompt" in case:
        assert [passage.number for passage in in_prompt_order(found)] == case[
            "in the prompt"
        ]


class TestMerging:
    def test_text_that_two_hits_share_is_shown_with_the_first(self) -> None:
        text = "one two three four five six seven"
        first, second = (
            chunk(n, text[start:end], start=start)
            for n, (start, end) in enumerate([(0, 18), (8, 33)])
        )
        found = build_context(
            hits(second, first), Shelf([]), budget_tokens=HUGE, margin=0
        )
        assert [p.wider_text for p in in_prompt_order(found)] == [
            "one two three four",
            "five six seven",
        ]
        assert found.passages[0].hit.chunk is second

    def test_hits_of_different_reports_are_never_merged(self) -> None:
        shelves = [Shelf(["same", "same"], document=name) for name in ("a", "b")]
        found = build_context(
            hits(shelves[0].chunks[0], shelves[1].chunks[1]),
            shelves[0],
            budget_tokens=HUGE,
            margin=0,
        )
        assert [p.wider_text for p in found.passages] == ["same", "same"]

    def test_hits_of_older_systems_have_no_place_in_their_report(self) -> None:
        shelf, older = (
            Shelf(["a", "b"]),
            [
                chunk(0, text, start=9_000, document="old")
                for text in ("alpha", "bravo")
            ],
        )
        found = build_context(hits(*older, shelf.chunks[0]), shelf, budget_tokens=HUGE)
        assert [passage.wider_text for passage in found.passages] == [
            "alpha",
            "bravo",
            "a\n\nb",
        ]

    @given(
        sizes=st.lists(st.integers(1, 6), min_size=1, max_size=12),
        order=st.permutations(range(12)),
        count=st.integers(1, 8),
        margin=st.sampled_from([0, 8, 20, 60, 300]),
        budget=st.sampled_from([60, 150, 400, HUGE]),
    )
    def test_no_line_stands_twice_and_every_hit_is_whole(
        self, sizes: list[int], order: list[int], count: int, margin: int, budget: int
    ) -> None:
        texts = [
            "\n".join(f"line {place}-{line}." for line in range(size))
            for place, size in enumerate(sizes)
        ]
        shelf = Shelf(texts)
        ranked = hits(
            *(shelf.chunks[place] for place in order[:count] if place < len(texts))
        )
        found = build_context(ranked, shelf, budget_tokens=budget, margin=margin)
        lines = "\n".join(p.wider_text for p in found.passages).split("\n")
        said = [line for line in lines if line]
        assert len(said) == len(set(said))
        assert set(said) <= {line for text in texts for line in text.split("\n")}
        assert all(p.hit.chunk.text in p.wider_text for p in found.passages)
        assert [p.number for p in found.passages] == list(
            range(1, len(found.passages) + 1)
        )
        assert sorted(p.number for p in in_prompt_order(found)) == [
            p.number for p in found.passages
        ]
        assert len(found.passages) <= 1 or tokens(found) <= budget


class TestPromptOrder:
    """Models read best what stands at the two ends."""

    def context(self, count: int) -> Context:
        shelves = [Shelf([f"text {n}"], document=f"d{n}") for n in range(count)]
        return build_context(
            hits(*(s.chunks[0] for s in shelves)),
            Shelf([]),
            budget_tokens=HUGE,
            margin=0,
        )

    @pytest.mark.parametrize(
        ("count", "numbers"),
        [(0, []), (1, [1]), (2, [1, 2]), (3, [1, 3, 2]), (6, [1, 3, 5, 6, 4, 2])],
    )
    def test_the_best_stand_at_both_ends(self, count: int, numbers: list[int]) -> None:
        found = self.context(count)
        assert [p.number for p in in_prompt_order(found)] == numbers
        assert [p.number for p in found.passages] == sorted(numbers)

    def test_a_run_moves_as_one_by_its_best_number(self) -> None:
        shelf, other, third = (
            Shelf(["one", "two"]),
            Shelf(["other"], document="o"),
            Shelf(["third"], document="t"),
        )
        ranked = hits(
            other.chunks[0], third.chunks[0], shelf.chunks[1], shelf.chunks[0]
        )
        found = build_context(ranked, shelf, budget_tokens=HUGE, margin=0)
        assert [p.number for p in in_prompt_order(found)] == [1, 4, 3, 2]


class TestOverlap:
    """Passages that share text with their neighbours: it is shown once."""

    TEXT = "one two three four five six seven"

    def windows(self, *spans: tuple[int, int]) -> list[Chunk]:
        return [
            chunk(n, self.TEXT[start:end], start=start)
            for n, (start, end) in enumerate(spans)
        ]

    @pytest.mark.parametrize(
        ("spans", "ordinal"),
        [
            *(([(0, 13), (8, 23), (19, 33)], ordinal) for ordinal in range(3)),
            *(([(0, 18), (4, 23), (8, 27), (14, 33)], ordinal) for ordinal in range(4)),
        ],
    )
    def test_what_neighbours_share_is_shown_once(
        self, spans: list[tuple[int, int]], ordinal: int
    ) -> None:
        around = self.windows(*spans)  # "three" is in the first two and more
        assert (
            window(around[ordinal], around, before=300, after=300).split()
            == self.TEXT.split()
        )

    def test_offsets_that_the_texts_contradict_cut_nothing(self) -> None:
        """Passages of older systems have none, and one text may be in several."""
        around = [
            chunk(n, text, start=0)
            for n, text in enumerate(["alpha", "bravo", "charlie"])
        ]
        assert (
            window(around[1], around, before=300, after=300)
            == "alpha\n\nbravo\n\ncharlie"
        )
        apart = [chunk(0, "xxabc"), chunk(1, "abcyy", start=7)]
        assert window(apart[1], apart, before=300, after=300) == "xxabc\n\nabcyy"
        same = [replace(chunk(n, "same text"), end=0) for n in range(2)]
        assert window(same[1], same, before=300, after=300) == "same text\n\nsame text"
