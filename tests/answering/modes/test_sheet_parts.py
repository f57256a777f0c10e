"""Own sheets: parts and their sums, dates on which something began, and follow-ups."""

from collections.abc import Callable, Iterator

import pytest

from chatbot.domain import Answer, Message
from tests.answering.modes.conftest import answers_of, services_of_sheets

SHEETS = {
    "crew.csv": "Name,Port,Duty,Start date,Pay (EUR)\n"
    "Bo Lund,Visby,Cook,2012-04-01,2900\nIda Falk,Visby,Mate,2019-06-15,3300\n"
    "Jens Ro,Turku,Cook,2021-02-20,2700\nKai Vik,Turku,Mate,2023-09-05,3100\n"
    "Liv Ek,Visby,Cook,2023-11-30,2650\n",
    "riders.csv": "Month,Red line,Blue line,Green line,All lines\n"
    "January,410,230,150,790\nFebruary,380,260,170,810\nMarch,450,240,190,880\n"
    "April,300,250,160,710\nTotal,1540,980,670,3190\n",
    "stalls.csv": "Week,Stall,Fruit,Price (EUR per kg)\n"
    "2025-W10,North,Plum,3.10\n2025-W10,South,Plum,2.90\n"
    "2025-W11,North,Plum,3.30\n2025-W11,South,Plum,3.40\n"
    "2025-W10,North,Pear,2.20\n2025-W10,South,Pear,2.30\n",
}


@pytest.fixture(scope="module")
def ask(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., Answer]]:
    """Answers from these sheets."""
    folder = tmp_path_factory.mktemp("parts")
    with services_of_sheets(folder, SHEETS) as keyless:
        yield answers_of(keyless.everything.flow)


def test_a_figure_is_not_of_the_year_when_its_row_began(
    ask: Callable[..., Answer],
) -> None:
    """ "3,300 (2019)" was the pay of somebody who started in 2019."""
    assert ask("What is the pay of Ida Falk?").response.startswith(
        "Ida Falk, pay: 3300 EUR [1]."
    )


def test_another_column_is_no_answer_to_how_old(ask: Callable[..., Answer]) -> None:
    """The pay was the answer."""
    assert "3300 EUR" not in ask("How old is Ida Falk?").response.split("\n")[0]


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        ("Which line had the most riders in February?", "Highest February: Red line"),
        ("How many riders were there in March?", "March, all lines: 880"),
        (
            "How many riders were there in the first two months?",
            "**riders:** Total All lines of 2 rows: 1,600",
        ),
        (
            "What share of all riders took the Green line?",
            "riders, Green line / All lines: 21%",
        ),
        (
            "How much more is the pay of the mate in Visby than of the cook in Turku?",
            "Mate - Cook, Pay (EUR): €600",
        ),
        (
            "Which stall was cheaper for plums in week 11 of 2025?",
            "Lowest Price (EUR per kg), 2025-W11, Plum: North",
        ),
    ],
)
def test_parts_and_their_sums(
    ask: Callable[..., Answer], query: str, beginning: str
) -> None:
    assert ask(query).response.startswith(beginning)


@pytest.mark.parametrize(
    ("before", "query", "beginning"),
    [
        (
            "How many people work in Visby?",
            "How many of them are cooks?",
            "**crew:** Cook: 2 of",
        ),
        (
            "What did plums cost at North in week 10 of 2025?",
            "And at South?",
            "South: Plum, price, 2025-W10: 2.90",
        ),
        (
            "How many riders took the Red line in March?",
            "And the Blue line?",
            "March, blue",
        ),
    ],
)
def test_a_follow_up_keeps_what_it_does_not_replace(
    ask: Callable[..., Answer], before: str, query: str, beginning: str
) -> None:
    history = (
        Message("user", before),
        Message("assistant", ask(before).response),
    )
    answer = ask(query, history)
    assert answer.response.startswith(beginning)


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        ("Who has been here the longest?", "Start date: Bo Lund, 2012-04-01."),
        ("Who joined last?", "Start date: Liv Ek, 2023-11-30."),
        ("Who started in 2023?", "Start date: Kai Vik, 2023-09-05; Liv Ek, 2023-11"),
    ],
)
def test_people_of_the_only_own_list_are_told_by_their_start(
    ask: Callable[..., Answer], query: str, beginning: str
) -> None:
    """No word of the sheet is asked: countries' reports answered."""
    assert ask(query).response.startswith(beginning)


def test_a_row_without_the_quality_asked_is_only_near(
    ask: Callable[..., Answer],
) -> None:
    answer = ask("How old is Ida Falk?")
    assert not answer.answered
    assert "Ida Falk" in answer.response
