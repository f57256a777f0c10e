"""Questions that take a rise or a fall for granted, or ask whether there was one."""

import pytest

from chatbot.answering.figure_premises import FigurePremises
from chatbot.domain import Scope
from chatbot.language.words import in_english
from chatbot.questions.operations import read_course
from chatbot.questions.reading import read_names
from tests.answering.test_figure_queries import CATALOG, queries
from tests.answering.test_figure_tables import ANALYZER, figure

FIGURES = (
    figure("Kenya", "Unemployment rate", "5.8", 2022, 2025),
    figure("Kenya", "Unemployment rate", "5.1", 2023, 2025),
    figure("Kenya", "Unemployment rate", "5.5", 2024, 2025),
    figure("Kenya", "Economic growth", "4.5", 2024, 2025),
    figure("Kenya", "Economic growth", "-0.3", 2020, 2025),
)


def answer(question: str) -> str:
    """Return what is said of a premise; "" where it is right, or is none."""
    reading = read_names(question, CATALOG)
    course = read_course(reading)
    if course is None:
        return ""
    premises = FigurePremises(queries(*FIGURES), ANALYZER.terms)
    found = premises.check(course, reading, "Kenya", Scope(), in_english)
    return found[1] if found else ""


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        (
            "Why has unemployment in Kenya risen since 2022?",
            "Kenya, Unemployment rate: fell from 5.8% (2022) [1] to 5.5% (2024) [1].",
        ),
        (
            "Why did Kenya's unemployment rate increase in 2023?",
            "Kenya, Unemployment rate: fell from 5.8% (2022) [1] to 5.1% (2023) [1].",
        ),
        ("Has unemployment fallen in Kenya?", "No. Kenya, Unemployment rate: rose"),
        ("Is unemployment rising in Kenya?", "Yes. Kenya, Unemployment rate: rose"),
        ("Why did the Kenyan economic growth shrink?", "Kenya, Economic growth: 4.5%"),
    ],
)
def test_a_wrong_premise_is_said(question: str, beginning: str) -> None:
    assert answer(question).startswith(beginning)


@pytest.mark.parametrize(
    "question",
    [
        "Why has unemployment in Kenya fallen since 2022?",
        "Why did unemployment of young fishermen in Kenya fall in 2024?",
        "How did unemployment rise and fall in Kenya?",
        "What is the unemployment rate of Kenya?",
        "Does Kenya grow tea?",
        "Has unemployment fallen in Kenya since 2031?",
    ],
)
def test_what_is_right_or_no_figure_is_left_to_the_search(question: str) -> None:
    assert answer(question) == ""
