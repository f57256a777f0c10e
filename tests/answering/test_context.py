"""Numbered passages within a token budget (R-B9, R-C6, R-E4), shown wide, each text once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.answering.context import build_context, in_prompt_order, render_passage, wider_text
from chatbot.domain import Chunk, Context
from chatbot.language import estimate_tokens
from tests.checking.conftest import Shelf, chunk, hits

HUGE = 100_000


def tokens(found: Context) -> int:
    return sum(estimate_tokens(render_passage(passage)) for passage in found.passages)


class TestBudget:
    def test_passages_are_taken_best_first_until_the_budget_is_used(self) -> None:
        shelf = Shelf(["a" * 400, "b" * 400, "c" * 400])
        both = tokens(build_context(hits(*shelf.chunks[:2]), shelf, budget_tokens=HUGE, margin=0))
        found = build_context(hits(*shelf.chunks), shelf, budget_tokens=both, margin=0)
        assert [p.wider_text[0] for p in found.passages] == ["a", "b"]
        assert len(build_context(hits(*shelf.chunks), shelf, budget_tokens=both - 1, margin=0).passages) == 1

    def test_the_budget_is_one_of_tokens_not_of_characters(self) -> None:
        """A page of Chinese costs several times what a page of English does."""
        english = Shelf(["word " * 60 for _ in range(20)])
        chinese = Shelf(["\u4eba\u53e3\u589e\u957f\u7387" * 60 for _ in range(20)])
        counts = [
            len(build_context(hits(*shelf.chunks), shelf, budget_tokens=1500, margin=0).passages)
            for shelf in (english, chinese)
        ]
        assert counts[0] >= 3 * counts[1] > 0

    def test_the_first_passage_always_fits(self) -> None:
        shelf = Shelf(["a" * 4000, "b"])
        found = build_context(hits(*shelf.chunks), shelf, budget_tokens=200, margin=0)
        assert [p.wider_text for p in found.passages] == ["a" * 4000]

    def test_the_first_passage_gives_up_its_surroundings_before_the_budget_is_broken(self) -> None:
        shelf = Shelf(["before\n" * 40, "a" * 600, "after\n" * 40])
        found = build_context(hits(shelf.chunks[1]), shelf, budget_tokens=200, margin=300)
        assert [p.wider_text for p in found.passages] == ["a" * 600]

    def test_a_passage_that_does_not_fit_wide_is_shown_alone(self) -> None:
        shelf = Shelf(["a" * 400, "x\n" * 600, "b" * 400, "y\n" * 100])
        ranked = hits(shelf.chunks[0], shelf.chunks[2])
        narrow = tokens(build_context(ranked, shelf, budget_tokens=HUGE, margin=0))
        found = build_context(ranked, shelf, budget_tokens=narrow + 20, margin=210)
        assert found.passages[1].wider_text == "b" * 400
        assert tokens(found) <= narrow + 20


class TestMerging:
    """Hits of one report whose windows meet are one run of text in reading order; each keeps its number."""

    def test_hits_that_follow_each_other_share_one_window(self) -> None:
        shelf = Shelf(["zero", "one", "two", "three"])
        found = build_context(hits(shelf.chunks[2], shelf.chunks[1]), shelf, budget_tokens=HUGE, margin=300)
        assert [(p.number, p.hit.rank, p.hit.chunk.text, p.wider_text) for p in found.passages] == [
            (1, 1, "two", "two\n\nthree"), (2, 2, "one", "zero\n\none"),
        ]  # fmt: skip
        assert [p.wider_text for p in in_prompt_order(found)] == ["zero\n\none", "two\n\nthree"]

    def test_what_is_between_two_hits_belongs_to_the_first(self) -> None:
        shelf = Shelf(["alpha", "bravo", "charlie", "delta", "echo"])
        found = build_context(hits(shelf.chunks[1], shelf.chunks[3]), shelf, budget_tokens=HUGE, margin=8)
        assert [p.wider_text for p in found.passages] == ["alpha\n\nbravo\n\ncharlie", "delta\n\necho"]

    def test_a_long_text_between_two_hits_is_whole_where_their_windows_meet(self) -> None:
        between = "\n".join(f"line {n:02}" for n in range(10))
        shelf = Shelf(["first", between, "second"])
        ranked = hits(shelf.chunks[0], shelf.chunks[2])
        (first, second) = build_context(ranked, shelf, budget_tokens=HUGE, margin=50).passages
        assert (first.wider_text, second.wider_text) == (f"first\n\n{between}", "second")

    def test_windows_that_do_not_meet_stay_apart(self) -> None:
        between = "\n".join(f"line {n:02}" for n in range(10))
        shelf = Shelf(["first", between, "second"])
        ranked = hits(shelf.chunks[2], shelf.chunks[0])
        found = build_context(ranked, shelf, budget_tokens=HUGE, margin=20)
        assert [p.wider_text for p in found.passages] == ["line 08\nline 09\n\nsecond", "first\n\nline 00\nline 01"]
        assert [p.number for p in in_prompt_order(found)] == [1, 2]

    def test_text_that_two_hits_share_is_shown_with_the_first(self) -> None:
        text = "one two three four five six seven"
        first, second = (chunk(n, text[start:end], start=start) for n, (start, end) in enumerate([(0, 18), (8, 33)]))
        found = build_context(hits(second, first), Shelf([]), budget_tokens=HUGE, margin=0)
        assert [p.wider_text for p in in_prompt_order(found)] == ["one two three four", "five six seven"]
        assert found.passages[0].hit.chunk is second

    def test_hits_of_different_reports_are_never_merged(self) -> None:
        shelves = [Shelf(["same", "same"], document=name) for name in ("a", "b")]
        found = build_context(
            hits(shelves[0].chunks[0], shelves[1].chunks[1]), shelves[0], budget_tokens=HUGE, margin=0
        )
        assert [p.wider_text for p in found.passages] == ["same", "same"]

    def test_rows_about_another_country_are_not_shown_around_a_hit(self) -> None:
        """A scope holds for the wider text too."""
        shelf = Shelf(["Kenya 1", "Kenya 2", "Mali 3"])
        shelf.chunks = [replace(c, metadata={"country_name": c.text.split()[0]}) for c in shelf.chunks]
        found = build_context(hits(shelf.chunks[1]), shelf, budget_tokens=HUGE, margin=300)
        assert [p.wider_text for p in found.passages] == ["Kenya 1\n\nKenya 2"]

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
        texts = ["\n".join(f"line {place}-{line}." for line in range(size)) for place, size in enumerate(sizes)]
        shelf = Shelf(texts)
        ranked = hits(*(shelf.chunks[place] for place in order[:count] if place < len(texts)))
        found = build_context(ranked, shelf, budget_tokens=budget, margin=margin)
        lines = "\n".join(p.wider_text for p in found.passages).split("\n")
        said = [line for line in lines if line]
        assert len(said) == len(set(said))
        assert set(said) <= {line for text in texts for line in text.split("\n")}
        assert all(p.hit.chunk.text in p.wider_text for p in found.passages)
        assert [p.number for p in found.passages] == list(range(1, len(found.passages) + 1))
        assert sorted(found.order) == [p.number for p in found.passages]
        assert len(found.passages) <= 1 or tokens(found) <= budget


class TestPromptOrder:
    """Models read best what stands at the two ends."""

    def context(self, count: int) -> Context:
        shelves = [Shelf([f"text {n}"], document=f"d{n}") for n in range(count)]
        return build_context(hits(*(s.chunks[0] for s in shelves)), Shelf([]), budget_tokens=HUGE, margin=0)

    @pytest.mark.parametrize(
        ("count", "numbers"), [(0, []), (1, [1]), (2, [1, 2]), (3, [1, 3, 2]), (6, [1, 3, 5, 6, 4, 2])]
    )
    def test_the_best_stand_at_both_ends(self, count: int, numbers: list[int]) -> None:
        found = self.context(count)
        assert [p.number for p in in_prompt_order(found)] == numbers
        assert [p.number for p in found.passages] == sorted(numbers)

    def test_a_run_moves_as_one_by_its_best_number(self) -> None:
        shelf, other, third = Shelf(["one", "two"]), Shelf(["other"], document="o"), Shelf(["third"], document="t")
        ranked = hits(other.chunks[0], third.chunks[0], shelf.chunks[1], shelf.chunks[0])
        found = build_context(ranked, shelf, budget_tokens=HUGE, margin=0)
        assert [p.number for p in in_prompt_order(found)] == [1, 4, 3, 2]


# A chunk with the text around it, in reading order, nothing twice (R-C6).


class TestWiderText:
    @pytest.mark.parametrize(("margin", "text"), [(300, "before\n\nthe passage\n\nafter"), (0, "the passage")])
    def test_it_holds_the_neighbours_in_reading_order(self, margin: int, text: str) -> None:
        shelf = Shelf(["before", "the passage", "after"])
        found = build_context(hits(shelf.chunks[1]), shelf, budget_tokens=HUGE, margin=margin)
        assert found.passages[0].wider_text == text

    def test_what_stands_under_another_heading_is_left_out(self) -> None:
        """A figure is never shown under the name of another one, between two hits either."""
        texts, names = (
            ["52 million", "2.09%", "a note", "another note", "$9"],
            ["Population", *["Growth"] * 2, *["GDP"] * 2],
        )
        shelf = Shelf(texts, sections=[f"People \u203a {name}" for name in names])
        found = build_context(hits(shelf.chunks[1], shelf.chunks[4]), shelf, budget_tokens=HUGE, margin=300)
        assert [passage.wider_text for passage in found.passages] == ["2.09%\n\na note", "another note\n\n$9"]

    def test_it_is_cut_to_the_margin_at_whole_lines(self) -> None:
        before, after = "first line\nsecond line\nthird line", "fourth line\nfifth line\nsixth line"
        around = [chunk(0, before), chunk(1, "the passage"), chunk(2, after)]
        # 25 characters reach back into the end of the first line, and on into the sixth
        assert wider_text(around[1], around, margin=25) == (
            "second line\nthird line\n\nthe passage\n\nfourth line\nfifth line"
        )

    def test_a_neighbour_of_one_long_line_is_left_out_rather_than_cut(self) -> None:
        around = [chunk(0, "x" * 100), chunk(1, "the passage"), chunk(2, "y" * 100)]
        assert wider_text(around[1], around, margin=30) == "the passage"


class TestOverlap:
    """Passages that share text with their neighbours: it is shown once."""

    TEXT = "one two three four five six seven"

    def windows(self, *spans: tuple[int, int]) -> list[Chunk]:
        return [chunk(n, self.TEXT[start:end], start=start) for n, (start, end) in enumerate(spans)]

    @pytest.mark.parametrize(
        ("spans", "ordinal"),
        [
            *(([(0, 13), (8, 23), (19, 33)], ordinal) for ordinal in range(3)),
            *(([(0, 18), (4, 23), (8, 27), (14, 33)], ordinal) for ordinal in range(4)),
        ],
    )
    def test_what_neighbours_share_is_shown_once(self, spans: list[tuple[int, int]], ordinal: int) -> None:
        around = self.windows(*spans)  # "three" is in the first two and more
        assert wider_text(around[ordinal], around, margin=300).split() == self.TEXT.split()

    def test_offsets_that_the_texts_contradict_cut_nothing(self) -> None:
        """Passages of older systems have none, and one text may be in several."""
        around = [chunk(n, text, start=0) for n, text in enumerate(["alpha", "bravo", "charlie"])]
        assert wider_text(around[1], around, margin=300) == "alpha\n\nbravo\n\ncharlie"
        apart = [chunk(0, "xxabc"), chunk(1, "abcyy", start=7)]
        assert wider_text(apart[1], apart, margin=300) == "xxabc\n\nabcyy"
        same = [replace(chunk(n, "same text"), end=0) for n in range(2)]
        assert wider_text(same[1], same, margin=300) == "same text\n\nsame text"
