"""Rows, labels and people of own sheets: counted, named and ranked, and never taken for
the sum of another column.
"""

from collections.abc import Callable, Iterator

import pytest

from chatbot.domain import Answer
from tests.answering.modes.conftest import answers_of, services_of_sheets

SHEETS = {
    "oven team.csv": "Name,Shop,Job,Since,Salary (EUR/month)\n"
    "Ines Roth,Harbour,Baker,2018,2100\nOlaf Brandt,Harbour,Seller,2021,1700\n"
    "Mira Kunz,Market,Baker,2020,2000\nPia Lenz,Market,Seller,2023,1650\n"
    "Jon Adler,Market,Baker,2016,2300\n",
    "shelters.csv": "Shelter,Guests,Share without blanket,"
    "Soup (litres per guest per day)\n"
    "Old Mill,400,25%,0.5\nNorth Gate,200,10%,0.8\nPier Nine,150,40%,0.6\n",
    "ferries.csv": "Month,Pier,Crossings,Cars carried,Cars refused\n"
    "January,East,40,900,30\nJanuary,West,20,500,10\nFebruary,East,44,990,45\n"
    "February,West,25,650,26\n",
    "agents.csv": "Nom;District;Fonction;Salaire (EUR/mois)\n"
    "Awa Ba;Nord;Infirmière;900\nIdris Sy;Nord;Chauffeur;500\n"
    "Lala Dia;Sud;Chauffeur;520\n",
    "bridge gifts.csv": "Day,Giver,Purpose,Sum,Currency\n"
    "2025-03-01,Weavers,Bridge,400,EUR\n2025-03-09,Millers,Bridge,900,CHF\n"
    "2025-04-02,Weavers,Bells,100,EUR\n2025-05-05,Smiths,Bells,250,EUR\n",
    "animal ward.md": "# Animal ward\n\n## Patients by illness\n\n"
    "| Illness | Dogs | Cats | Total |\n|---|---|---|---|\n| Mange | 4 | 2 | 6 |\n"
    "| Fracture | 3 | 5 | 8 |\n| Total | 7 | 7 | 14 |\n",
}


@pytest.fixture(scope="module")
def ask(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Answer]]:
    """Answers from these sheets."""
    folder = tmp_path_factory.mktemp("counts")
    with services_of_sheets(folder, SHEETS) as keyless:
        yield answers_of(keyless.everything.flow)


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        (
            "How many bakers are there?",
            "**oven team:** Baker: 3 of 5.\n\n1. Ines Roth",
        ),
        (
            "How many bakers work at Market?",
            "**oven team:** Baker: 2 of 5.\n\n1. Mira Kunz",
        ),
        ("How many people work at the oven?", "**oven team:** 5.\n\n1. Ines Roth"),
        (
            "How many shelters are there?",
            "**shelters:** Shelter: 3.\n\n1. Old Mill [1]",
        ),
        (
            "Combien de chauffeurs y a-t-il ?",
            "**agents:** Chauffeur: 2 sur 3.\n\n1. Idris Sy",
        ),
        (
            "What share of the people in the oven team are sellers?",
            "Seller, oven team: 40%, from 2 / 5",
        ),
        (
            "Who earns the most in the oven team?",
            "Highest Salary (EUR/month): Jon Adler, 2300 EUR/month",
        ),
        (
            "Who has been in the oven team longest?",
            "Since: Jon Adler, 2016.\n\n1. Jon Adler, 2016 [1]\n2. Ines Roth, 2018",
        ),
        (
            "What is the total salary at Harbour per month?",
            "**oven team:** Total Salary (EUR/month), Harbour of 2 rows: 3,800",
        ),
    ],
)
def test_rows_and_people_are_counted_and_named(
    ask: Callable[[str], Answer], query: str, beginning: str
) -> None:
    """Bakers were counted by the sum of their salaries."""
    assert ask(query).response.startswith(beginning)


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        (
            "How many guests at Old Mill have no blanket?",
            "Old Mill, Guests, Share without blanket: 100, from 400 × 25% [1].",
        ),
        (
            "How many guests of the shelters have no blanket?",
            "shelters, Guests, Share without blanket: 180, from 400 × 25% + 200 × 10%",
        ),
        (
            "What share of the guests are at Old Mill?",
            "Old Mill, Guests: 53.33%, from 400 / 750 [1][2][3].",
        ),
        (
            "Which shelter has the least soup per guest?",
            "Lowest Soup: Old Mill, 0.5 litres per guest per day [1].",
        ),
        (
            "How many cars were carried per crossing at each pier?",
            "Highest Cars carried / Crossings: West, 25.56 ((500 + 650) / (20 + 25))",
        ),
        (
            "Which month had the highest refusals at East?",
            "Highest Cars refused, East: February, 45 [1].",
        ),
    ],
)
def test_shares_and_ratios_are_not_taken_of_shares(
    ask: Callable[[str], Answer], query: str, beginning: str
) -> None:
    """The share of a share was divided again."""
    assert ask(query).response.startswith(beginning)


@pytest.mark.parametrize(
    "query",
    [
        "How many bakers at Market resigned?",
        "How many guests at Old Mill have a blanket?",
        "What share of the people in the oven team earn more than 2450?",
    ],
)
def test_what_is_not_counted_shows_the_rows_and_says_so(
    ask: Callable[[str], Answer], query: str
) -> None:
    answer = ask(query)
    assert not answer.answered
    assert "was not computed" in answer.response
    assert answer.card is None


def test_amounts_of_several_currencies_are_listed_and_not_added_up(
    ask: Callable[[str], Answer],
) -> None:
    answer = ask("Total sum for the bridge")
    assert "Sum, Bridge: 400 EUR and 900 CHF. Different units" in answer.response
    assert "1,300" not in answer.response
    assert "Total Sum, Bells of 2 rows: 350" in ask("Total sum for the bells").response


def test_different_labels_are_counted(ask: Callable[[str], Answer]) -> None:
    """They were answered with the sum of the gifts."""
    answer = ask("How many different givers are there?")
    assert answer.response.startswith("**bridge gifts:** Giver: 3.")


def test_rows_are_not_counted_where_a_column_counts(
    ask: Callable[[str], Answer],
) -> None:
    """The illnesses were counted as patients."""
    assert "14" in ask("How many patients did the animal ward have?").response


def test_a_label_that_is_asked_for_is_not_another_cell(
    ask: Callable[[str], Answer],
) -> None:
    """The salary answered "In which shop does she work?"."""
    answer = ask("In which shop does Mira Kunz work?")
    assert "Shop: Market" in answer.response
    assert not answer.response.startswith("Mira Kunz, salary")
