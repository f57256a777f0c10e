"""What a question wants done with figures, read from its words."""

from decimal import Decimal

import pytest

from chatbot.domain.scope import Reading
from chatbot.questions.operations import (
    Operation,
    read_conversion,
    read_operation,
    unmet_words,
)
from chatbot.questions.reading import asking_clause, read_names
from chatbot.questions.sides import asks_several, compared_countries
from tests.questions.reports import Reports

CATALOG = Reports(("Chad", 2023), ("Ghana", 2023), ("Laos", 2023))


def read(text: str) -> tuple[Reading, Operation]:
    reading = read_names(text, CATALOG)
    about = {key for one in compared_countries(reading) for key in one.keys}
    return reading, read_operation(reading, subjects=len(about))


@pytest.mark.parametrize(
    ("question", "wanted", "units"),
    [
        ("How many acres of forest does Ghana have?", "convert", ("acres",)),
        ("Ghana's coast in nautical miles", "convert", ("nautical miles",)),
        ("Debt of Laos in billions of dollars", "convert", ("billions of dollars",)),
        ("Gallons: how many gallons does Chad use daily?", "convert", None),
        ("Nurses per 10,000 people in Chad", "convert", ("per 10,000 people",)),
        ("How much older are people in Laos than in Chad?", "difference", ()),
        ("the gap in literacy between Chad and Ghana", "difference", ()),
        ("How many times as large as Laos is Chad?", "ratio", ()),
        ("By how much in percent is Ghana richer than Chad?", "per_cent", ()),
        ("How much did Ghana's population grow from 2021 to 2023?", "gain", ()),
        (
            "By how many percentage points did Ghana's debt fall from 2021 to 2023?",
            "gain",
            (),
        ),
        ("By what per cent did Ghana's debt rise from 2021 to 2023?", "per_cent", ()),
        ("Per head, how many tonnes of coal does Chad use?", "each", ("tonnes",)),
        ("How much coal does the average person in Chad use?", "each", ()),
        ("How much coal does each Chadian use?", "each", ()),
        ("How long does the average person in Chad live?", "", ()),
        ("How old is the average Chadian?", "", ()),
        ("What share of the roads of Ghana is paved?", "share", ()),
        ("Some think in acres - how large is Chad in those?", "convert", ("acres",)),
        ("Give the number of Chadians in thousands", "convert", ("thousands",)),
        ("How many Laos would fit into Chad?", "ratio", ()),
        ("Twice as many people live in Chad as in Laos, right?", "ratio", ()),
        ("By how much do Chad's imports exceed its exports?", "difference", ()),
        ("How much do Chad's imports outweigh its exports?", "difference", ()),
        ("Coal and gas put together, how much does Chad use?", "sum", ()),
        ("Soldiers for every thousand people in Chad", "convert", None),
        ("How many cows per square mile has Chad?", "dense", ("per square mile",)),
        ("How many cows per square kilometre has Chad?", "dense", ()),
        ("Is Chad poorer than Laos?", "verdict", ()),
        ("Chad or Laos, which has more cattle?", "verdict", ()),
        ("Chad is poorer than Laos, right?", "verdict", ()),
        ("They say Chad is poorer than Laos. Is that true?", "verdict", ()),
        ("What is exported less what is imported by Chad, minus aid?", "", ()),
        ("How many people live in Chad?", "", ()),
        ("Which country has the most people?", "", ()),
        ("Compare Chad and Laos", "", ()),
    ],
)
def test_what_is_wanted(
    question: str, wanted: str, units: tuple[str, ...] | None
) -> None:
    _, operation = read(question)
    assert operation.wanted == wanted
    if units is not None:
        assert operation.units == units


def test_people_by_their_name_are_counted_as_people() -> None:
    _, operation = read("How many Chadians live in towns, in millions?")
    assert operation.topics == ("How people live towns",)


def test_what_differs_stays_a_word_of_a_difference() -> None:
    _, operation = read("How many years longer do people in Laos live than in Chad?")
    assert operation.wanted == "difference"
    assert "longer" in operation.topics[0]


def test_how_exact_a_figure_is_asked_is_no_word_of_it() -> None:
    _, operation = read("Debt of Laos in billions of dollars, to two decimals")
    assert (operation.topics, operation.decimals) == (("Debt",), 2)
    _, operation = read("Ghana's people in millions, to the nearest million")
    assert operation.decimals == 0
    assert read("Ghana's coast in miles")[1].decimals is None


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How many feet are 12 miles?", ("12 miles", 12, "miles", "feet")),
        ("convert 1.5 acres to hectares", ("1.5 acres", Decimal("1.5"), "acres")),
        ("How many miles of roads are there per 100 km of rails?", ()),
        ("How many feet are 12 miles of the road to Accra?", ()),
        ("12 miles", ()),
    ],
)
def test_a_conversion_asks_for_nothing_else(
    question: str, wanted: tuple[object, ...]
) -> None:
    found = read_conversion(question)
    told: tuple[object, ...] = ()
    if found is not None:
        told = (found.quantity, found.value, found.unit, found.to)
    assert told[: len(wanted)] == wanted
    assert bool(told) == bool(wanted)


def test_two_things_of_one_country_stand_in_their_order() -> None:
    _, operation = read("Take Chad's imports away from its exports")
    assert operation.topics == ("its exports", "'s imports")
    _, operation = read("How much more did Laos import than it exported?")
    assert operation.topics == ("did import", "exported")


def test_the_smaller_one_is_told_from_the_larger() -> None:
    assert read("Is Chad smaller than Laos?")[1].fewer
    assert not read("Is Chad larger than Laos?")[1].fewer


def test_what_stands_beside_a_question_is_no_second_one() -> None:
    assert not asks_several(read("Chad or Laos, which is larger? I think Laos")[0])
    assert not asks_several(read("Chad has few roads. How many miles is that?")[0])
    assert not asks_several(read("How many gallons? (a barrel is 42 gallons)")[0])
    assert asks_several(read("How large is Chad? And what does it export?")[0])


@pytest.mark.parametrize(
    ("question", "quotes", "unmet"),
    [
        ("Which countries mine tin?", "tin 5%", ["Which countries"]),
        ("Where are fewer than half online?", "40%", ["Where"]),
        ("How long is Ghana's coast in miles?", "539 km", ["miles"]),
        ("How long is Ghana's coast in km?", "539 kilometres", []),
        ("What share of the roads of Ghana is paved?", "9 km paved", ["What share"]),
        ("What share of the roads of Ghana is paved?", "12.6% paved", []),
        ("Is Chad poorer than Laos?", "$1,000", ["poorer than"]),
        ("Why is Chad poorer than Laos?", "$1,000", []),
        ("How many people live in Chad?", "19 million", []),
        ("Compare tea per head in Chad and Laos", "Tea: 9 kg", ["per head"]),
        ("Compare tea per head in Chad and Laos", "Tea per capita: 9 kg", []),
    ],
)
def test_what_quotations_do_not_compute_is_named(
    question: str, quotes: str, unmet: list[str]
) -> None:
    reading, _ = read(question)
    subjects = len({key for one in compared_countries(reading) for key in one.keys})
    assert list(unmet_words(reading, quotes, subjects=subjects)) == unmet


def test_what_stands_before_the_clause_that_asks_is_no_part_of_it() -> None:
    def clause(text: str) -> str:
        return asking_clause(read_names(text, CATALOG)).text.strip()

    assert clause("More than half go short: where are under 50% fed?") == (
        "where are under 50% fed?"
    )
    assert clause("Chad is poor - how poor is it?") == "Chad is poor - how poor is it?"
    assert clause("Tea exporters - which countries are these?").startswith("Tea")
    assert clause("We blend tea. Which countries export it?").startswith("We blend")
