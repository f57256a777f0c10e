"""A chunk with the text around it, in reading order, nothing twice (R-C6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbot.generation.context import build_context
from chatbot.generation.windows import wider_text
from chatbot.schema import Chunk
from tests.generation.conftest import Shelf, chunk, hits

HUGE = 100_000


class TestWiderText:
    def test_it_holds_the_neighbours_in_reading_order(self) -> None:
        shelf = Shelf(["before", "the passage", "after"])
        found = build_context(hits(shelf.chunks[1]), shelf, budget_tokens=HUGE, margin=300)
        assert found.passages[0].wider_text == "before\n\nthe passage\n\nafter"

    def test_without_a_margin_it_is_the_passage(self) -> None:
        shelf = Shelf(["before", "the passage", "after"])
        found = build_context(hits(shelf.chunks[1]), shelf, budget_tokens=HUGE, margin=0)
        assert found.passages[0].wider_text == "the passage"

    def test_parts_under_other_headings_are_introduced_by_their_heading(self) -> None:
        """A figure keeps its name."""
        shelf = Shelf(["52 million", "2.09%"], sections=["People \u203a Population", "People \u203a Growth rate"])
        found = build_context(hits(shelf.chunks[1]), shelf, budget_tokens=HUGE, margin=300)
        assert found.passages[0].wider_text == "Population: 52 million\n\nGrowth rate: 2.09%"

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

    @pytest.mark.parametrize("ordinal", [0, 1, 2])
    def test_what_neighbours_share_is_shown_once(self, ordinal: int) -> None:
        around = self.windows((0, 13), (8, 23), (19, 33))  # "three" in the first two, "five" in the last two
        assert wider_text(around[ordinal], around, margin=300).split() == self.TEXT.split()

    def test_the_chunk_itself_is_whole(self) -> None:
        around = self.windows((0, 13), (8, 23), (19, 33))
        assert wider_text(around[1], around, margin=300) == "one two\n\nthree four five\n\nsix seven"

    @pytest.mark.parametrize("ordinal", range(4))
    def test_more_than_two_may_share_it(self, ordinal: int) -> None:
        around = self.windows((0, 18), (4, 23), (8, 27), (14, 33))
        assert wider_text(around[ordinal], around, margin=300).split() == self.TEXT.split()

    def test_a_neighbour_with_nothing_of_its_own_has_no_heading_either(self) -> None:
        first, second = self.windows((0, 13), (0, 23))
        around = [replace(first, section="A"), replace(second, section="B")]
        assert wider_text(around[1], around, margin=300) == f"B: {self.TEXT[:23]}"

    def test_a_neighbour_further_on_shares_nothing(self) -> None:
        """What stood between them may be shown elsewhere."""
        first, _, third = self.windows((0, 13), (8, 23), (19, 33))
        assert wider_text(first, [first, third], margin=300) == "one two three\n\nfive six seven"

    def test_offsets_that_the_texts_contradict_cut_nothing(self) -> None:
        """Passages of older systems have none, and one text may be in several."""
        around = [chunk(n, text, start=0) for n, text in enumerate(["alpha", "bravo", "charlie"])]
        assert wider_text(around[1], around, margin=300) == "alpha\n\nbravo\n\ncharlie"
        apart = [chunk(0, "xxabc"), chunk(1, "abcyy", start=7)]
        assert wider_text(apart[1], apart, margin=300) == "xxabc\n\nabcyy"
        same = [replace(chunk(n, "same text"), end=0) for n in range(2)]
        assert wider_text(same[1], same, margin=300) == "same text\n\nsame text"
