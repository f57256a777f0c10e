"""Which passages an answer cites, and whether each bears what is said with it (beyond
the seeds, 3).
"""

import time
from typing import Any

import pytest

from chatbot.checking.citations import SNIPPET_CHARACTERS, check
from chatbot.checking.wording import cited_numbers
from tests.checking.conftest import context
from tests.data import cases

CASES = cases(__file__)

KENYA = (
    "Population: 52,428,290 (2023 est.). Population growth rate: 2.09%. The "
    "country\u2019s capital is Nairobi."
)


def supported(response: str, *texts: str, **fields: object) -> dict[int, bool]:
    return {
        c.number: c.supported
        for c in check(response, context(*texts, **fields)).citations
    }


@pytest.mark.parametrize(
    ("response", "numbers"), CASES["numbers_in_order_of_first_appearance"]
)
def test_numbers_in_order_of_first_appearance(
    response: str, numbers: list[int]
) -> None:
    assert cited_numbers(response) == numbers


def test_citations_are_the_numbers_that_occur_and_belong_to_a_passage() -> None:
    found = check(
        "B [2], nothing [9], A [1], zero [0].", context("a", "b", "c")
    ).citations
    assert [(c.number, c.hit.chunk.text) for c in found] == [(2, "b"), (1, "a")]


@pytest.mark.parametrize(
    "figure", CASES["a_number_inside_a_unit_does_not_part_a_figure_from_its_year"]
)
def test_a_number_inside_a_unit_does_not_part_a_figure_from_its_year(
    figure: str,
) -> None:
    """The column is of the 2021 edition, the figure of 2017."""
    table = f"| | 2021 |\n| --- | --- |\n| Ratio | {figure} [1] |"
    assert supported(table, figure, title="Kenya 2021", metadata={"year": 2021}) == {
        1: True
    }
    assert supported(
        f"The ratio was {figure.replace('2017', '2018')} [1].", figure
    ) == {1: False}


SPANNING = """Trade centers are old.

Religions
Christian 85.5%, Muslim 10.9%

Languages
English and Kiswahili are official."""


@pytest.mark.parametrize(
    ("response", "section"), CASES["the_section_is_that_of_the_cited_place"]
)
def test_the_section_is_that_of_the_cited_place(response: str, section: str) -> None:
    """Also where a passage spans several headings."""
    (cited,) = check(
        response, context(SPANNING, section="Introduction › Background")
    ).citations
    assert cited.section == section


@pytest.mark.parametrize("case", CASES["supported"].values(), ids=CASES["supported"])
def test_what_is_said_with_a_number_is_held_against_its_passage(
    case: dict[str, Any],
) -> None:
    found = supported(case["answer"], *case["passages"], **case.get("fields", {}))
    assert found == {
        int(number): expected for number, expected in case["supported"].items()
    }


def test_the_snippet_is_the_passage_cut_between_words() -> None:
    words = "word " * 200
    (short,) = check("[1]", context("short text")).citations
    (long,) = check("[1]", context(words)).citations
    assert short.snippet == "short text"
    assert long.snippet == "word " * (SNIPPET_CHARACTERS // 5) + "\u2026"


@pytest.mark.sampled(3)
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "piece",
    [
        "[1, ",
        '"',
        "'",
        " '",
        "\u00ab ",
        "- ",
        "12 ",
        "1,234 ",
        "7 and ",
        "9.",
        "~",
        "_",
        "*",
        "$",
        "5% (",
        "\u201c",
        "1,",
        "9" * 10,
        ". ",
        "[1]",
        "\\",
        "1.[1]",
        "a" * 50,
        " ",
        "".join(f"{n % 1000}.{n} " for n in range(5_000)),
    ],
)
def test_a_hostile_answer_is_checked_in_bounded_time(piece: str) -> None:
    """100,000 characters, half of them checked; a quadratic check would take minutes of
    the processor.
    """
    started, half = time.process_time(), piece * (49_000 // len(piece))
    check(f"{half} [1]. {half}", context(KENYA))
    assert time.process_time() - started < 5.0


def test_a_row_quoted_behind_its_heading_and_page_is_what_it_says() -> None:
    fields = {
        "title": "Kenya: Country Report 2024",
        "section": "Economy \u203a Real GDP per capita",
        "page": 7,
    }
    rows = [
        f"Item: Real GDP per capita 202{n}; Value: $5,{n}00 (202{n} est.)"
        for n in (3, 2, 1)
    ]
    below = (
        "Inflation rate (consumer prices): Item: Inflation rate (consumer prices) "
        "2023; Value: 7.67% (2023 est.)"
    )
    passage = context(
        "\n".join(["Real GDP per capita: " + rows[0], *rows[1:], "", below]), **fields
    )
    said = (
        "- **Kenya: Country Report 2024, Real GDP per capita, page 7:** "
        f"\u201c{rows[2]}\u201d [1]"
    )
    assert check(said, passage).unsupported == ()
    table = (
        f"| 2021 | 2023 |\n| --- | --- |\n| \u201c{rows[2]}\u201d [1] | "
        f"\u201c{rows[0]}\u201d [1] |"
    )
    assert check(table, passage).unsupported == ()


def test_marks_without_end_are_read_in_linear_time() -> None:
    began = time.process_time()
    for text in (f"a{'_' * 40_000}b [1].", f"It is so [1]{' ' * 40_000}x."):
        check(text, context("It is so."))
    assert time.process_time() - began < 2.0
