"""Which figures a question asks for: what is shown large is never a weak guess."""

from dataclasses import replace
from decimal import Decimal

import pytest

from chatbot.answering.answer_card import asked_card, card_of
from chatbot.answering.asked_figures import AskedNames
from chatbot.domain.figures import GlossaryEntry, ReportedFigure
from chatbot.domain.scope import NamedCountry, NamedYears, Reading
from chatbot.language.analysis import analyzer

LIFE = "Life expectancy at birth"
GLOSSARY = [
    GlossaryEntry("life expectancy", "", ("how long people live",), LIFE),
    GlossaryEntry("highest point", "", ("tallest peak",), "Elevation", "highest point"),
]


def figure(heading: str, label: str = "", text: str = "17") -> ReportedFigure:
    return ReportedFigure(
        subject="Haiti",
        heading=heading,
        label=label,
        value=Decimal(17),
        unit="",
        text=text,
        year=2025,
        estimate=False,
        document_id="haiti",
        chunk_id="haiti-1",
        edition=2025,
        citation=1,
    )


def names(text: str, *years: NamedYears) -> AskedNames:
    about = ()
    if "Haiti" in text:
        start = text.index("Haiti")
        about = (NamedCountry("Haiti", start, start + 5, ("haiti",)),)
    reading = Reading(text, countries=about, about=about, figure_years=years)
    return AskedNames(reading, GLOSSARY, analyzer("english").terms)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("How many airports does Haiti have?", figure("Airports")),
        ("inflation in Haiti", figure("Inflation rate (consumer prices)")),
        ("How long do people live in Haiti?", figure(LIFE)),
        (
            "the tallest peak of Haiti",
            figure("Elevation", "highest point: Pic la Selle"),
        ),
        ("female literacy in Haiti", figure("Literacy", "female")),
        ("Literacy in Haiti", figure("Literacy", "total population")),
        (
            "How many families were displaced?",
            figure("News", "", "17 displaced families"),
        ),
    ],
)
def test_a_figure_is_asked_for_by_its_name(query: str, asked: ReportedFigure) -> None:
    assert names(query).is_asked(asked)


@pytest.mark.parametrize(
    ("query", "other"),
    [
        ("Is it safe to travel to Haiti?", figure("Airports")),
        ("life in Haiti", figure(LIFE)),
        ("population of Haiti", figure("Population growth rate")),
        ("the tallest peak of Haiti", figure("Elevation", "lowest point: the sea")),
        ("literacy in Haiti", figure("Literacy", "female")),
        ("Why did inflation in Haiti rise?", figure("Inflation rate")),
        ("Who runs the airports of Haiti?", figure("Airports")),
        # The name of the country is no name of a figure.
        ("Which party leads in Haiti?", figure("Seats", "Haiti forward")),
    ],
)
def test_a_word_of_a_name_does_not_ask_for_it(
    query: str, other: ReportedFigure
) -> None:
    assert not names(query).is_asked(other)


def test_a_card_has_what_the_first_quotation_says_of_the_question() -> None:
    asked = figure("Airports")
    card = card_of([asked, figure("Railways"), replace(asked, citation=2)])
    shown = asked_card(card, names("How many airports has Haiti?"))
    assert shown is not None
    assert shown.figures == (asked,)
    assert asked_card(card, names("Is it safe to travel to Haiti?")) is None
