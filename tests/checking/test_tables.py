"""Tables: a cell that says something has a source of its own side, whatever the table
looks like.
"""

import time
from dataclasses import asdict
from typing import Any

import pytest

from chatbot.answering.writers.table import quotes_table
from chatbot.checking.tables import EMPTY, CheckedTables, with_sources
from chatbot.domain import Quotation
from tests.data import cases

SIDES = {"Kenya": [1, 2], "Mali": [3, 4]}
YEARS = {"Kenya, 2021": [1], "Kenya, 2023": [2], "Mali, 2021": [3], "Mali, 2023": [4]}
CASES = cases(__file__)


def body(text: str) -> list[list[str]]:
    """The cells below the rule."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_table_keeps_the_cells_that_have_a_source(case: dict[str, Any]) -> None:
    sides = YEARS if case.get("sides") == "years" else case.get("sides", SIDES)
    checked = with_sources("\n".join(case["lines"]), sides)
    found = {
        **asdict(checked),
        "dropped": list(checked.dropped),
        "rows": body(checked.text),
    }
    expected = {
        name: value for name, value in case.items() if name not in {"lines", "sides"}
    }
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        (
            (
                "By side:\n\n| Aspect | Kenya | Mali |\n| :--- | ---: | --- |\n| "
                "Growth | 2.1 % [1] | 2.9 % [3] |\n\nSo."
            ),
            1,
        ),
        ("```python\na | b\n```\n\n```\nno table\n```", 0),
        *(
            (text, 0)
            for text in (
                "",
                "No table.",
                "Kenya | Mali\n---\nA heading.",
                "a\n\n---\n\nb | c",
            )
        ),
        *((text, 0) for text in ("| a |", "|---|\n| a |", "| - |")),
    ],
)
def test_what_has_its_sources_or_is_no_table_stays_as_it_is(
    text: str, tables: int
) -> None:
    assert with_sources(text, SIDES) == CheckedTables(text, tables, ())


def test_long_rubbish_takes_no_time() -> None:
    began = time.process_time()
    for piece in ("|", "-", "| - ", "\\", "[1", "a|", "—", "` "):
        with_sources(
            (
                f"| Aspect | Kenya |\n|---|---|\n| x | {piece * 20_000}x |\n"
                f"{piece * 20_000}\n|-|-|"
            ),
            SIDES,
        )
    assert time.process_time() - began < 30


class TestQuotes:
    def quote(self, number: int, where: str = "Kenya: Report, Growth") -> Quotation:
        return Quotation(number, where, "2.1 % | of [all]")

    def test_few_sides_stand_beside_each_other(self) -> None:
        table = quotes_table(
            {"Kenya": [self.quote(1), self.quote(2)], "Mali": [self.quote(3)]}
        )
        cell = r"**Kenya: Report, Growth:** “2.1 % \| of [all]” [{}]"
        assert table.splitlines() == [
            "| Kenya | Mali |",
            "| --- | --- |",
            f"| {cell.format(1)} | {cell.format(3)} |",
            f"| {cell.format(2)} | {EMPTY} |",
        ]

    def test_many_stand_below_each_other(self) -> None:
        table = quotes_table(
            {
                name: [self.quote(n)]
                for n, name in enumerate(["Kenya", "Mali", "Peru", "Chad"], 1)
            }
        )
        assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == [
            "| Kenya",
            "| Mali",
            "| Peru",
            "| Chad",
        ]

    def test_a_place_does_not_repeat_the_name_of_the_side(self) -> None:
        assert "| **Growth:** “" in quotes_table({"Kenya: Report": [self.quote(1)]})

    @pytest.mark.parametrize("others", [1, 4])
    def test_a_table_of_quotations_passes_the_check(self, others: int) -> None:
        quotes = {"Kenya": [self.quote(1), self.quote(2)], "Mali": list[Quotation]()}
        quotes |= {f"Side {n}": [self.quote(10 + n)] for n in range(others)}
        table = quotes_table(quotes)
        found = with_sources(
            table,
            {name: [quote.number for quote in side] for name, side in quotes.items()},
        )
        assert found == CheckedTables(table, 1, ())
        assert "Nothing was found." in table

    def test_nothing_at_all(self) -> None:
        table = quotes_table({"Kenya": [], "Mali": []})
        assert with_sources(table, {"Kenya": [], "Mali": []}) == CheckedTables(
            table, 1, ()
        )
