"""Tables: a cell that says something has a source of its own side, whatever the table looks like."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import pytest

from chatbot.checking.tables import EMPTY, CheckedTables, quotes_table, with_sources
from chatbot.domain import Quotation

SIDES = {"Kenya": [1, 2], "Mali": [3, 4]}
YEARS = {"Kenya, 2021": [1], "Kenya, 2023": [2], "Mali, 2021": [3], "Mali, 2023": [4]}


def checked(*lines: str, sides: Mapping[str, Sequence[int]] = SIDES) -> CheckedTables:
    return with_sources("\n".join(lines), sides)


def rows(found: CheckedTables) -> list[list[str]]:
    """The cells of the body."""
    lines = [line for line in found.text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_a_table_with_sources_stays_as_it_is() -> None:
    text = (
        "Side by side:\n\n| Aspect | Kenya | Mali |\n| :--- | ---: | --- |\n| Growth | 2.1 % [1] | 2.9 % [3] |\n\nSo."
    )
    assert with_sources(text, SIDES) == CheckedTables(text, 1, ())


@pytest.mark.parametrize("cell", ["2.9 %", "2.9 % [1]", "2.9 % [9]", "2.9 % [1, 2]", "No elections were held"])
def test_a_cell_without_a_source_of_its_side_is_emptied(cell: str) -> None:
    found = checked("| Aspect | Kenya | Mali |", "|---|---|---|", f"| Growth | 2.1 % [1] | {cell} |")
    assert rows(found) == [["Growth", "2.1 % [1]", EMPTY]]
    assert found.dropped == ("Growth, Mali",)


@pytest.mark.parametrize(
    "cell",
    ["", "—", "-", "–", "?", "…", "n/a", "N/A", "NA", "**n/a**", "Not stated", "not mentioned in the passages",
     "unknown", "No data available", "*no information*", "None", "Nothing was found.", "Data not available",
     "not applicable"],
)  # fmt: skip
def test_a_cell_that_says_nothing_needs_no_source(cell: str) -> None:
    found = checked("| Aspect | Kenya | Mali |", "|---|---|---|", f"| Growth | 2.1 % [1] | {cell} |")
    assert rows(found) == [["Growth", "2.1 % [1]", cell]]
    assert found.dropped == ()


def test_a_citation_of_another_side_alone_is_no_content() -> None:
    found = checked("| Aspect | Kenya | Mali |", "|---|---|---|", "| Growth | 2.1 % [1] | [2] |")
    assert rows(found) == [["Growth", "2.1 % [1]", EMPTY]]
    assert found.dropped == ()


def test_one_source_of_its_side_is_enough() -> None:
    found = checked("| Aspect | Kenya | Mali |", "|---|---|---|", "| Growth | less [3][1] | more [1, 3] |")
    assert found.dropped == ()


def test_a_side_without_passages_has_no_cell() -> None:
    found = checked(
        "| Aspect | Kenya | Mali |", "|---|---|---|", "| Growth | 2 [1] | 3 [1] |", sides={"Kenya": [1], "Mali": []}
    )
    assert rows(found) == [["Growth", "2 [1]", EMPTY]]


class TestLayouts:
    def test_sides_as_rows(self) -> None:
        found = checked(
            "| Country | Growth | Literacy |",
            "|---|---|---|",
            "| Kenya | 2.1 [1] | 81 [3] |",
            "| Mali | 2.9 [3] | 35 |",
        )
        assert rows(found) == [["Kenya", "2.1 [1]", EMPTY], ["Mali", "2.9 [3]", EMPTY]]
        assert found.dropped == ("Kenya, Literacy", "Mali, Literacy")

    def test_a_column_of_its_own_may_cite_any_side_but_has_to_cite_one(self) -> None:
        head = ("| Aspect | Kenya | Mali | Difference |", "|---|---|---|---|")
        assert checked(*head, "| Growth | 2.1 [1] | 2.9 [3] | .8 [1][3] |").dropped == ()
        assert checked(*head, "| Growth | 2.1 [1] | 2.9 [3] | .8 |").dropped == ("Growth, Difference",)

    def test_a_difference_beside_sides_as_rows(self) -> None:
        found = checked("| | Growth | Difference to Mali |", "|---|---|---|", "| Kenya | 2.1 [1] | .8 less [3] |")
        assert found.dropped == ()

    def test_the_name_of_the_other_side_in_an_aspect_changes_nothing(self) -> None:
        found = checked("| Aspect | Kenya | Mali |", "|---|---|---|", "| Trade with Mali | much [3] | little [3] |")
        assert found.dropped == ("Trade with Mali, Kenya",)

    @pytest.mark.parametrize(
        "name", ["Kenya, 2021", "**Kenya 2021**", "Kenya (2021)", "KENYA – 2021 [1]", "2021, Kenya", "`Kenya`, *2021*"]
    )
    def test_a_side_is_known_by_its_words(self, name: str) -> None:
        head = (f"| | {name} | Mali, 2021 |", "|---|---|---|")
        assert checked(*head, "| Growth | 2.1 [1] | 2.9 [3] |", sides=YEARS).dropped == ()
        assert len(checked(*head, "| Growth | 2.1 [2] | 2.9 [3] |", sides=YEARS).dropped) == 1

    def test_countries_and_years_head_rows_and_columns(self) -> None:
        found = checked(
            "| | 2021 | 2023 |", "|---|---|---|", "| Kenya | a [1] | b [1] |", "| Mali | c [3] | d [4] |", sides=YEARS
        )
        assert found.dropped == ("Kenya, 2023",)

    def test_a_part_of_a_name_stands_for_all_sides_that_have_it(self) -> None:
        head = ("| Aspect | Kenya | Mali |", "|---|---|---|")
        assert checked(*head, "| Growth | from 2.1 [1] to 2 [2] | 2.9 [4] |", sides=YEARS).dropped == ()
        assert checked(*head, "| Growth in 2021 | 2 [4] | 2.9 [3] |", sides=YEARS).dropped == ("Growth in 2021, Kenya",)

    def test_a_longer_name_is_not_a_shorter_one(self) -> None:
        sides = {"Guinea": [1], "Guinea-Bissau": [2]}
        found = checked("| | Guinea | Guinea-Bissau (2021) |", "|-|-|-|", "| Growth | 2.1 [1] | 2.9 [1] |", sides=sides)
        assert found.dropped == ("Growth, Guinea-Bissau (2021)",)

    def test_the_first_column_may_be_a_side(self) -> None:
        found = checked("| Kenya | Mali |", "|---|---|", "| 2.1 % [3] | 2.9 % [3] |", "| 81 [1] | 35 [4] |")
        assert rows(found) == [[EMPTY, "2.9 % [3]"], ["81 [1]", "35 [4]"]]
        assert found.dropped == ("Kenya",)

    def test_a_heading_of_all_sides_is_no_side(self) -> None:
        found = checked("| Kenya vs Mali | Kenya | Mali |", "|-|-|-|", "| Growth | 2.1 [1] | 2.9 [3] |")
        assert rows(found) == [["Growth", "2.1 [1]", "2.9 [3]"]]


class TestSourcesElsewhere:
    """A cell without a number has those that its table gives it in another place."""

    def test_in_the_heading(self) -> None:
        found = checked("| Aspect | Kenya [1] | Mali [3, 4] |", "|-|-|-|", "| Growth | 2.1 | 2.9 |")
        assert rows(found) == [["Growth", "2.1 [1]", "2.9 [3] [4]"]]

    def test_in_a_column_of_sources(self) -> None:
        found = checked("| Aspect | Kenya | Mali | Source |", "|-|-|-|-|", "| Growth | 2.1 | 2.9 | [1], [3] |")
        assert rows(found) == [["Growth", "2.1 [1]", "2.9 [3]", "[1], [3]"]]

    def test_in_a_row_of_sources(self) -> None:
        found = checked("| Aspect | Kenya | Mali |", "|-|-|-|", "| Growth | 2.1 | 2.9 |", "| Source | [1] | [3] |")
        assert rows(found)[0] == ["Growth", "2.1 [1]", "2.9 [3]"]

    def test_only_those_of_its_side(self) -> None:
        found = checked("| Aspect | Kenya | Mali | Source |", "|-|-|-|-|", "| Growth | 2.1 | 2.9 | [1] |")
        assert rows(found) == [["Growth", "2.1 [1]", EMPTY, "[1]"]]

    def test_not_for_a_cell_that_cites_the_wrong_side(self) -> None:
        found = checked("| Aspect | Kenya [1] | Mali [3] |", "|-|-|-|", "| Growth | 2.1 [3] | 2.9 |")
        assert rows(found) == [["Growth", EMPTY, "2.9 [3]"]]


class TestMarkdown:
    def test_a_border_that_is_escaped_is_a_sign(self) -> None:
        found = checked(r"| a \| b | Kenya | Mali |", "|---|---|---|", r"| x \| y | 1 \| 2 [1] | 2 \| |")
        assert found.text.splitlines()[2] == rf"| x \| y | 1 \| 2 [1] | {EMPTY} |"
        assert found.dropped == (r"x | y, Mali",)

    def test_a_backslash_that_is_escaped_escapes_nothing(self) -> None:
        found = checked("| Aspect | Kenya | Mali |", "|---|---|---|", r"| x \\| 1 [1] | 2 [3] |")
        assert found.dropped == ()
        assert rows(found) == [[r"x \\", "1 [1]", "2 [3]"]]

    def test_borders_at_the_ends_may_be_left_out(self) -> None:
        for row in ("Growth | 2.1 [1] | 2.9", "Growth | 2.1 [1] | 2.9 |", "| Growth | 2.1 [1] | 2.9"):
            assert rows(checked("Aspect | Kenya | Mali", "--- | --- | ---", row)) == [["Growth", "2.1 [1]", EMPTY]]

    def test_rows_may_be_shorter_or_longer_than_the_head(self) -> None:
        found = checked(
            "| Aspect | Kenya | Mali |", "|---|---|---|", "| Growth | 2 [1] |", "| Area | 1 [1] | 2 | 3 [3] |"
        )
        assert rows(found) == [["Growth", "2 [1]"], ["Area", "1 [1]", EMPTY]]
        assert found.dropped == ("Area, Mali",)

    def test_a_rule_of_the_wrong_width_is_mended(self) -> None:
        found = checked("| Aspect | Kenya | Mali |", "|---|---|", "| Growth | 2.1 [1] | 2.9 [3] |")
        assert found.text.splitlines()[1] == "| --- | --- | --- |"

    def test_a_rule_between_rows_is_a_row(self) -> None:
        found = checked(
            "| Aspect | Kenya | Mali |", "|-|-|-|", "| Growth | 2 [1] | 3 [3] |", "|-|-|-|", "| Area | 1 | 2 |"
        )
        assert found.tables == 1
        assert rows(found)[1:] == [["-", "-", "-"], ["Area", EMPTY, EMPTY]]

    def test_each_table_is_looked_at(self) -> None:
        table = ("| Aspect | Kenya | Mali |", "|-|-|-|", "| Growth | 2.1 [1] | 2.9 |")
        found = checked(*table, "", "And:", "", *table)
        assert found.tables == 2
        assert found.dropped == ("Growth, Mali", "Growth, Mali")

    @pytest.mark.parametrize("fence", ["```", "```markdown", "~~~~ md"])
    def test_a_fence_around_a_table_is_taken_away(self, fence: str) -> None:
        table = ("| Aspect | Kenya | Mali |", "| --- | --- | --- |", "| Growth | 2.1 [1] | 2.9 [3] |")
        found = checked("Here:", "", fence, *table, "```" if fence[0] == "`" else "~~~~", "", "So.")
        assert found.text.splitlines() == ["Here:", "", *table, "", "So."]

    def test_other_fences_stay(self) -> None:
        text = "```python\na | b\n```\n\n```\nno table\n```"
        assert with_sources(text, SIDES) == CheckedTables(text, 0, ())

    def test_a_table_in_a_quotation(self) -> None:
        found = checked("> | Aspect | Kenya | Mali |", "> |---|---|---|", "> | Growth | 2.1 [1] | 2.9 |")
        assert found.text.splitlines()[2] == f"> | Growth | 2.1 [1] | {EMPTY} |"

    def test_a_text_that_follows_at_once_is_no_row(self) -> None:
        found = checked("| Aspect | Kenya | Mali |", "|---|---|---|", "| Growth | 2 [1] | 3 [3] |", "They differ [1].")
        assert found.text.endswith("| 3 [3] |\n\nThey differ [1].")

    @pytest.mark.parametrize(
        "text",
        ["", "No table.", "Kenya | Mali\n---\nA heading.", "a\n\n---\n\nb | c", "| a |", "|---|\n| a |", "| - |"],
    )
    def test_what_is_no_table_stays(self, text: str) -> None:
        assert with_sources(text, SIDES) == CheckedTables(text, 0, ())

    def test_long_rubbish_takes_no_time(self) -> None:
        began = time.process_time()
        for piece in ("|", "-", "| - ", "\\", "[1", "a|", "—", "` "):
            checked("| Aspect | Kenya |", "|---|---|", "| x | " + piece * 20_000 + "x |", piece * 20_000, "|-|-|")
        assert time.process_time() - began < 30


def test_a_table_without_any_source_is_taken_out() -> None:
    found = checked("Before.", "", "| Aspect | Kenya | Mali |", "|---|---|---|", "| Growth | 2.1 | 2.9 |", "", "After.")
    assert found == CheckedTables("Before.\n\n\nAfter.", 0, (), emptied=1)


class TestQuotes:
    def quote(self, number: int, where: str = "Kenya: Report, Growth") -> Quotation:
        return Quotation(number, where, "2.1 % | of [all]")

    def test_few_sides_stand_beside_each_other(self) -> None:
        table = quotes_table({"Kenya": [self.quote(1), self.quote(2)], "Mali": [self.quote(3)]})
        cell = r"**Kenya: Report, Growth:** “2.1 % \| of \[all\]” [{}]"
        assert table.splitlines() == [
            "| Kenya | Mali |",
            "| --- | --- |",
            f"| {cell.format(1)} | {cell.format(3)} |",
            f"| {cell.format(2)} | {EMPTY} |",
        ]

    def test_many_stand_below_each_other(self) -> None:
        table = quotes_table({name: [self.quote(n)] for n, name in enumerate(["Kenya", "Mali", "Peru", "Chad"], 1)})
        assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| Kenya", "| Mali", "| Peru", "| Chad"]

    def test_a_place_does_not_repeat_the_name_of_the_side(self) -> None:
        assert "| **Growth:** “" in quotes_table({"Kenya: Report": [self.quote(1)]})

    @pytest.mark.parametrize("others", [1, 4])
    def test_it_passes_the_check_itself(self, others: int) -> None:
        quotes = {"Kenya": [self.quote(1), self.quote(2)], "Mali": list[Quotation]()}
        quotes |= {f"Side {n}": [self.quote(10 + n)] for n in range(others)}
        table = quotes_table(quotes)
        found = with_sources(table, {name: [quote.number for quote in side] for name, side in quotes.items()})
        assert found == CheckedTables(table, 1, ())
        assert "Nothing was found." in table

    def test_nothing_at_all(self) -> None:
        table = quotes_table({"Kenya": [], "Mali": []})
        assert with_sources(table, {"Kenya": [], "Mali": []}) == CheckedTables(table, 1, ())
