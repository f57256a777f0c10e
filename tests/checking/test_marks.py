"""What the check found, by its place in the answer's text."""

import pytest

from chatbot.checking.citations import check
from tests.checking.conftest import context
from tests.data import cases

CASES = cases(__file__)

GROWTH = (
    "In 2023 the economy of Kenya grew by 5.4 percent. The Central Bank did not raise "
    "its rate of 12 percent."
)
BOOKS = (
    "The library has 300 books, said the World Bank. It rose from 200 books in 2019 to "
    "300 books in 2023."
)


@pytest.mark.parametrize(("response", "found"), CASES["each_kind_has_its_place"])
def test_each_kind_has_its_place(response: str, found: list[list[str]]) -> None:
    marks = check(response, context(GROWTH, BOOKS)).marks
    assert [[mark.kind, mark.detail] for mark in marks] == found
    for mark in marks:
        shown = response[mark.start : mark.end]
        assert shown == mark.detail or mark.kind in {
            "no_source",
            "unknown_citation",
            "negation",
        }, shown
        assert mark.kind != "unknown_citation" or shown == "[1, 7]"
        assert mark.kind != "no_source" or shown == response


def test_the_same_sentence_twice_is_marked_twice() -> None:
    response = "It grew by 9.9 percent [1]. It grew by 9.9 percent [1]."
    first, second = check(response, context(GROWTH)).marks
    assert (response[first.start : first.end], response[second.start : second.end]) == (
        "9.9 percent",
        "9.9 percent",
    )
    assert first.start < second.start


def test_cells_of_a_table_are_marked_where_they_stand() -> None:
    response = (
        "| | Kenya |\n| --- | --- |\n| growth | 5.4 percent [1] |\n| again | **9.9** "
        "percent [1] |"
    )
    (mark,) = check(response, context(GROWTH)).marks
    assert (mark.kind, response[mark.start : mark.end]) == ("figure", "9.9** percent")
