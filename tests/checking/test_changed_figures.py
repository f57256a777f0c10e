"""What changed between reports: the figures that both ends state and that differ, each with its passage."""

from __future__ import annotations

from typing import Any

import pytest

from chatbot.checking.changed_figures import MOST, changed_figures, changes_table, passages_of
from chatbot.domain import Chunk, Passage
from chatbot.language.reported_figures import figure_years
from chatbot.language.words import in_english
from tests.checking.conftest import chunk, hits

Report = dict[str, str]


def dated(ordinal: int, text: str, **fields: Any) -> Chunk:
    return chunk(ordinal, text, figure_years=figure_years(text), **fields)


def report(document: str, texts: Report, country: str = "Kenya") -> list[Chunk]:
    """A passage for each heading."""
    metadata = {"country_name": country} if country else {}
    return [
        dated(n, text, document=document, section=f"Economy › {heading}", metadata=metadata)
        for n, (heading, text) in enumerate(texts.items())
    ]


def changed(*texts: Report) -> list[tuple[str, list[str]]]:
    """Each change with the figures as they are written."""
    found = changed_figures([report(f"report-{n}", one) for n, one in enumerate(texts)])
    return [(change.indicator, [figure.text if figure else "" for figure in change.figures]) for change in found]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        pytest.param("5.1% (2019 est.)", "6.11% (2021 est.)", ["5.1%", "6.11%"], id="of other years"),
        pytest.param(
            "21.75 million (2021)", "15.37 million (2021)", ["21.75 million", "15.37 million"], id="corrected"
        ),
        pytest.param("5% (2019)\n\n4% (2018)", "6% (2021)\n\n5% (2020)", ["5%", "6%"], id="of each the newest"),
        pytest.param("5% (2019)", "5% (2021)", None, id="the same"),
        pytest.param("5% (2019)", "$6 (2021)", None, id="of another unit"),
        pytest.param("5%", "6%", None, id="of no year"),
        pytest.param("5% (2019)\n\n4% (2019)", "6% (2021)", None, id="several of that year"),
        pytest.param("5% (2019)\n\n4% (2018)\n\n3% (2018)", "6% (2021)", ["5%", "6%"], id="several of an earlier one"),
    ],
)
def test_dated_figures_of_one_thing_that_differ(first: str, last: str, expected: list[str] | None) -> None:
    assert changed({"Inflation": first}, {"Inflation": last}) == ([("Inflation", expected)] if expected else [])


def test_the_largest_change_of_a_heading_first_and_parts_last() -> None:
    found = changed(
        {"Debt": "100 km (2019)", "Age": "**male:** 1 years (2019)", "Trade": "5% (2019)", "Loss": "-1% (2019)"},
        {"Debt": "90 km (2021)", "Age": "**male:** 20 years (2021)", "Trade": "9% (2021)", "Loss": "1% (2021)"},
    )
    assert [name for name, _ in found] == ["Loss", "Trade", "Debt", "Age: male"]


def test_both_ends_have_it_and_between_them_it_may_be_missing() -> None:
    found = changed({"A": "1% (2019)", "B": "1% (2019)"}, {"B": "2% (2020)"}, {"A": "3% (2021)", "C": "1% (2021)"})
    assert found == [("A", ["1%", "", "3%"])]


def test_of_several_countries_nothing_has_changed() -> None:
    sides = [report("a", {"Debt": "5% (2019)"}), report("b", {"Debt": "6% (2019)"}, country="Mali")]
    assert changed_figures(sides) == []
    assert changed_figures(sides[:1]) == []


def test_reports_of_no_country_have_titles_of_their_own() -> None:
    sides = [
        [dated(0, f"{share}% (20{year})", document=year, title=f"Annual report 20{year}", section="Return on equity")]
        for year, share in (("21", 4), ("22", 5))
    ]
    assert [change.indicator for change in changed_figures(sides)] == ["Return on equity"]


class TestTable:
    texts = ({"Debt": "5% (2019 est.)", "Tax *": "8% (2019)"}, {"Debt": "6% (2021)", "Tax *": "8.1% (2021 est.)"})

    def passages(self, *numbers: int) -> list[Passage]:
        chunks = [one for n, texts in enumerate(self.texts) for one in report(f"report-{n}", texts)]
        return [Passage(n, hit, "") for n, hit in enumerate(hits(*chunks), start=1) if n in numbers]

    def test_every_figure_with_its_year_and_its_passage(self) -> None:
        changes = changed_figures([report(f"report-{n}", texts) for n, texts in enumerate(self.texts)])
        assert changes_table(changes, ["2021", "20|23"], self.passages(1, 2, 3, 4), in_english).splitlines() == [
            "|  | 2021 | 20\\|23 |",
            "| --- | --- | --- |",
            "| Debt | 5% (2019 est.) [1] | 6% (2021) [3] |",
            "| Tax \\* | 8% (2019) [2] | 8.1% (2021 est.) [4] |",
        ]

    def test_a_row_needs_both_its_passages(self) -> None:
        changes = changed_figures([report(f"report-{n}", texts) for n, texts in enumerate(self.texts)])
        text = changes_table(changes, ["2021", "2023"], self.passages(2, 3, 4), in_english)
        assert text.startswith("2 figures differ, among them:\n\n|")
        assert "Tax" in text
        assert "Debt" not in text
        assert changes_table(changes, ["2021", "2023"], self.passages(1), in_english) == ""

    def test_more_than_a_person_reads_are_counted(self) -> None:
        sides = [
            report(str(year), {f"Heading {n}": f"{n + 1 + year}% ({year})" for n in range(MOST + 3)})
            for year in (2019, 2021)
        ]
        changes = changed_figures(sides)
        assert len(passages_of(changes, 0)) == len(passages_of(changes, 1)) == MOST
        passages = [Passage(n, hit, "") for n, hit in enumerate(hits(*sides[0], *sides[1]), start=1)]
        text = changes_table(changes, ["2019", "2021"], passages, in_english)
        assert text.startswith(f"{MOST + 3} figures differ, among them:")
        assert text.count("Heading") == MOST
