"""All rows of a sheet: added up, averaged, ranked by what a column names, beside each
other; never one of them by accident.
"""

from collections.abc import Callable, Iterator

import pytest

from chatbot.domain import Answer
from chatbot.language.table_words import measure_kind, with_base_forms
from tests.answering.modes.conftest import answers_of, services_of_sheets

SHEETS = {
    "ferry.csv": "Month,Passengers,Delay rate (%)\nJanuary,310,4\nFebruary,205,9\n"
    "March,420,2\nTotal,935,5\n",
    "seeds.csv": "Village,Month,Seed bags,Meetings\nOro,May,20,3\nOro,June,30,1\n"
    "Luz,May,55,2\nLuz,June,10,8\n",
    "nepal-stoves-2024.csv": "Country,Month,Stoves built\nNepal,2024-01,11\n"
    "Nepal,2024-02,25\n",
    "chad-stoves-2024.csv": "Country,Month,Stoves built\nChad,2024-01,40\n"
    "Chad,2024-02,21\n",
    "camp.csv": "Quarter,Spent (USD)\nQ1,100\nQ2,250\n",
    "vacunas.csv": "Distrito;Dosis\nNorte;70\nSur;95\n",
    "wards.csv": "Month,Ward,Births,Midwives,Tariff (CFA/visit)\n"
    "2024-01,Tabou,40,8,500\n2024-01,Sassa,70,3,500\n2024-02,Tabou,55,8,550\n"
    "2024-02,Sassa,20,4,500\n2024-03,Tabou,90,9,600\n2024-03,Sassa,30,4,600\n",
    "vans.csv": "Month,Depot,Vans,Desks\nJanuary,Gao,4,50\nFebruary,Gao,6,50\n"
    "March,Gao,5,51\nJanuary,Ber,2,20\nFebruary,Ber,3,20\nMarch,Ber,1,20\n",
    "lamps.csv": "Item,Jan,Feb,Mar\nLamps given,7,8,9\nWires laid,1,2,3\n",
}


@pytest.fixture(scope="module")
def ask(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Answer]]:
    """Answers from these sheets."""
    folder = tmp_path_factory.mktemp("sheets")
    with services_of_sheets(folder, SHEETS) as keyless:
        yield answers_of(keyless.everything.flow)


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        (
            "How many passengers were there altogether?",
            "**ferry:** Total Passengers of 3 rows: 935 [1][2][3].",
        ),
        ("How many passengers were there in total?", "Passengers: 935 [1]."),
        (
            "What was the average number of passengers?",
            "**ferry:** Average Passengers of 3 rows: 311.67 [1][2][3].",
        ),
        (
            "How many seed bags did Oro get in total?",
            "**seeds:** Total Seed bags, Oro of 2 rows: 50 [1][2].",
        ),
        (
            "How many seed bags were there in May?",
            "**seeds:** Total Seed bags, May of 2 rows: 75 [1][2].",
        ),
        (
            "Which village got the most seed bags?",
            "Highest Seed bags: Luz, 65 (sum of 2) [1][2]. Of 2 rows",
        ),
        (
            "Which month had the most meetings in Luz?",
            "Highest Meetings, Luz: June, 8 [1]. Of 2 rows",
        ),
        (
            "How many stoves were built in Nepal in 2024?",
            "**nepal-stoves-2024:** Total Stoves built, Nepal of 2 rows: 36 [1][2].",
        ),
        (
            "Compare Nepal and Chad in January: stoves built",
            "Stoves built, 2024-01: higher in Chad, 40 (2024) [1], than in Nepal, 11",
        ),
        (
            "How much did the camp spend altogether?",
            "**camp:** Total Spent (USD) of 2 rows: $350 [1][2].",
        ),
        (
            "How many lamps were given in total?",
            "**lamps:** Total Lamps given of 3 rows: 24 [1].",
        ),
        (
            "¿Cuántas dosis hubo en total?",
            "**vacunas:** Total de Dosis de 2 filas: 165",
        ),
        ("¿Qué distrito tuvo más dosis?", "Dosis, lo más alto: Sur, 95 [1]."),
    ],
)
def test_the_rows_that_a_question_means_are_computed(
    ask: Callable[[str], Answer], query: str, beginning: str
) -> None:
    answer = ask(query)
    assert answer.response.startswith(beginning)
    assert answer.answered


def test_rates_are_listed_instead_of_added_up(ask: Callable[[str], Answer]) -> None:
    answer = ask("What is the delay rate of the ferry altogether?")
    beginning = "**ferry:** Delay rate (%): 3 rows, which are not added up."
    assert answer.response.startswith(beginning)
    assert "1. January: 4% [1]" in answer.response


def test_no_month_stands_for_all_of_them(ask: Callable[[str], Answer]) -> None:
    answer = ask("How many stoves were built in Chad?")
    assert "2024-01: 40 (2024) [1]" in answer.response
    assert "2024-02: 21 (2024) [2]" in answer.response


@pytest.mark.parametrize(
    ("head", "unit", "kind"),
    [
        ("Visits", "", "flow"),
        ("People served", "", "flow"),
        ("New members", "", "flow"),
        ("Nurses", "", "stock"),
        ("Pupils enrolled", "", "stock"),
        ("Médecins", "", "stock"),
        ("Salary", "USD/month", "stock"),
        ("Millet", "CFA/kg", "level"),
        ("Water", "litres per person per day", "level"),
        ("Delay rate (%)", "%", "level"),
        ("Average price (USD)", "$", "level"),
        ("Niveau moyen", "", "level"),
        ("Egypt", "", ""),
    ],
)
def test_words_and_units_tell_what_is_added_up(head: str, unit: str, kind: str) -> None:
    assert measure_kind(head, unit) == kind


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        (
            "How many midwives does Tabou have?",
            "Tabou, midwives, 2024-03: 9 (2024) [1]. Months are not added up here: "
            "this is the newest, 2024-03.",
        ),
        (
            "How many midwives are there in total?",
            "**wards:** Total Midwives of 2 rows: 13 [1][2]. Months are not added up",
        ),
        ("Which ward has the most midwives?", "Highest Midwives: Tabou, 9 (2024-03"),
        ("How many births were there in total?", "**wards:** Total Births of 6 rows: "),
        (
            "How many births per midwife at Tabou?",
            "“per midwife” was not computed. The rows of “wards”",
        ),
        (
            "How many midwives in January?",
            "**wards:** Total Midwives, 2024-01 of 2 rows: 11 [1][2].",
        ),
        (
            "What is the total tariff?",
            "**wards:** Tariff (CFA/visit): 6 rows, which are not",
        ),
        (
            "How many vans came to Gao in total?",
            "**vans:** Total Vans, Gao of 3 rows: 15 [1][2][3].",
        ),
        (
            "How many vans does Gao have?",
            "Gao, vans, March: 5 [1]. Months are not added up here",
        ),
        ("How many desks does Gao have?", "**vans:** Desks, Gao: 3 rows, which are"),
    ],
)
def test_months_of_what_is_there_are_not_added_up(
    ask: Callable[[str], Answer], query: str, beginning: str
) -> None:
    """The nurses of four months were added up."""
    assert ask(query).response.startswith(beginning)


@pytest.mark.parametrize(
    ("query", "result", "drawn"),
    [
        (
            "Which village got the most seed bags?",
            "",
            [("Luz", "65", "sum of 2"), ("Oro", "50", "sum of 2")],
        ),
        (
            "How many passengers were there altogether?",
            "935",
            [("January", "310", ""), ("February", "205", ""), ("March", "420", "")],
        ),
    ],
)
def test_a_card_draws_what_its_answer_says(
    ask: Callable[[str], Answer],
    query: str,
    result: str,
    drawn: list[tuple[str, str, str]],
) -> None:
    """One row of each group was drawn instead of its sum."""
    card = ask(query).card
    assert card is not None
    assert card.result == result
    assert [(one.subject, one.text, one.how) for one in card.figures] == drawn


def test_irregular_verbs_have_one_form() -> None:
    assert with_base_forms("Spent and sold, given") == "spend and sell, give"


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("What does a trumpet cost in Gao?", "trumpet"),
        ("What is the phone number of the depot Gao?", "phone"),
    ],
)
def test_quoted_rows_without_a_word_of_the_question_are_only_the_closest(
    query: str, word: str, ask: Callable[[str], Answer]
) -> None:
    answer = ask(query)
    assert answer.trace.closest_only
    assert word in answer.trace.unused
    assert f"“{word}”" in answer.response
