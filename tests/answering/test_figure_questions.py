"""Questions as queries of figures: what is computed, and what is left to a search."""

from dataclasses import replace

import pytest

from chatbot.answering.figure_queries import FigureQueries
from chatbot.answering.figure_questions import FigureQuestions, verdict
from chatbot.answering.figure_sentences import in_words
from chatbot.answering.figure_tables import FigureTables
from chatbot.domain import Scope
from chatbot.domain.figures import GlossaryEntry
from chatbot.language.words import in_english
from chatbot.models.embed.minilm import MiniLMEmbedder
from chatbot.questions.kinds import read_request
from chatbot.questions.operations import read_operation
from chatbot.questions.reading import read_names
from chatbot.questions.sides import by_comparison
from chatbot.search.indicators import IndicatorIndex
from tests.answering.test_figure_queries import CATALOG, queries
from tests.answering.test_figure_tables import ANALYZER, Rows, figure

FIGURES = (
    figure("Kenya", "Population", "58000000", 2024, 2025, unit=""),
    figure("Peru", "Population", "29000000", 2024, 2025, unit=""),
    figure("Kenya", "Area", "580000", None, 2025, unit=" sq km"),
    figure("Peru", "Area", "1285000", None, 2025, unit=" sq km"),
    replace(
        figure("Kenya", "Townspeople", "30", 2024, 2025, unit="% of population"),
        unit="%",
    ),
    figure("Kenya", "Literacy", "80", 2022, 2025),
    figure("Kenya", "Youth joblessness", "12", 2024, 2025),
    figure("Kenya", "Coastline", "500", None, 2025, unit=" km"),
    figure("Kenya", "Railways", "2000", None, 2025, label="total", unit=" km"),
    figure("Kenya", "Railways", "500", None, 2025, label="electrified", unit=" km"),
    figure("Kenya", "Exports", "12000000000", 2024, 2025, unit="$"),
    figure("Kenya", "Imports", "22000000000", 2024, 2025, unit="$"),
    figure("Kenya", "Imports per capita", "400", 2024, 2025, unit="$"),
    figure("Kenya", "Towns - population", "1450000", 2024, 2025, "MOMBASA", ""),
    figure("Kenya", "Life span", "70", 2024, 2025, "female", " years"),
    figure("Kenya", "Life span", "65", 2024, 2025, "male", " years"),
    figure("Kenya", "Unemployment rate", "5.6", 2021, 2021),
    figure("Kenya", "Unemployment rate", "5.1", 2024, 2025),
    figure("Peru", "Unemployment rate", "6", 2024, 2025),
)


def answer(question: str, of: FigureQueries | None = None) -> str:
    """Return the sentence of what a question computes; "" where it computes nothing."""
    reading = read_names(question, CATALOG)
    keys = dict.fromkeys(key for name in by_comparison(reading) for key in name.keys)
    names = {"KEN": "Kenya", "PER": "Peru"}
    subjects = [names[key] for key in keys]
    operation = read_operation(reading, subjects=len(subjects))
    questions = FigureQuestions(of or queries(*FIGURES), ANALYZER.terms)
    if not operation.wanted:
        return ""
    found = questions.answer(operation, reading, subjects, Scope())
    if found is None:
        return ""
    query, table = found
    if operation.wanted == "verdict":
        return verdict(operation, table, in_english)
    return in_words(query, table, in_english)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("How many miles of coastline has Kenya?", "Kenya, Coastline: 310.69 miles"),
        (
            "Coastline of Kenya in miles, rounded to one decimal",
            "Kenya, Coastline: 310.7 miles (",
        ),
        (
            "How many dollars of exports per head does Kenya have?",
            "Kenya, Exports / Population: 206.9 dollars (",
        ),
        (
            "What are Kenya's imports per head?",
            "Kenya, Imports per capita: 400$",
        ),
        (
            "What share of the railways of Kenya is electrified?",
            "Kenya, Railways: electrified: 25% (500 km / 2000 km)",
        ),
        ("How large is Peru in acres?", "Peru, Area: 317,530,415 acres ("),
        (
            "Townspeople of Kenya in thousands",
            "Kenya, Townspeople * Population: 17,400 thousands (30% of population * 58",
        ),
        (
            "How many Kenyans are townspeople?",
            "Kenya, Townspeople * Population: 17,400,000 (30% of population * 58",
        ),
        (
            "How many people in Kenya have no literacy?",
            "Kenya, Population - Literacy * Population: 11,600,000 (58000000 (2024) - "
            "80% (2022) * 58000000 (2024))",
        ),
        (
            "One in how many Kenyans is townspeople?",
            "Kenya, Townspeople: one in 3.33",
        ),
        ("How many Kenyans face youth joblessness?", ""),
        (
            "How many times as many people as Peru does Kenya have?",
            "Population: Kenya has 2 times what Peru has",
        ),
        ("How many times larger than Peru is Kenya?", "Area: Kenya has 0.451 times"),
        ("Is Kenya bigger than Peru?", "Area: higher in Peru, 1285000 sq km"),
        (
            "Is the unemployment rate lower in Kenya than in Peru?",
            "Yes. Unemployment rate: lower in Kenya, ",
        ),
        (
            "By how many points did the unemployment rate of Kenya fall between the "
            "2021 and the 2025 report?",
            "Kenya, Unemployment rate: fell by 0.5 percentage points",
        ),
        (
            "What are Kenya's exports minus its imports?",
            "Kenya, Exports, Imports: -$10 billion, from ",
        ),
        (
            "Exports minus imports: what deficit did Kenya run?",
            "Kenya, Exports, Imports: -$10 billion, from ",
        ),
        (
            "By how much do Kenya's imports exceed its exports?",
            "Kenya, Imports, Exports: $10 billion, from ",
        ),
        (
            "Exports and imports put together, how much is it for Kenya?",
            "Kenya, Exports + Imports: $34 billion (",
        ),
        (
            "How many times would the population of Peru fit into Kenya's?",
            "Population: Kenya has 2 times what Peru has",
        ),
        (
            "By how many years of life span do females outlive males in Kenya?",
            "Kenya, Life span: female, Life span: male: 5 years, from 70 years - 65",
        ),
        (
            "How many points lie between the unemployment rate of Peru and that of "
            "Kenya?",
            "Unemployment rate: Peru is 0.9 percentage points above Kenya",
        ),
        (
            "How many Kenyans are there per square mile?",
            "Kenya, Population / Area: 259 per square mile (",
        ),
        (
            "What share of all Kenyans live in Mombasa?",
            "Kenya, Towns - population: MOMBASA: 2.5% (1450000 / 58000000",
        ),
        (
            "Dollars of exports per 1,000 inhabitants of Kenya",
            "Kenya, Exports / Population * 1000: $206,897 (",
        ),
    ],
)
def test_is_computed(question: str, beginning: str) -> None:
    assert answer(question).startswith(beginning)


def test_each_of_two_parts_is_told_by_its_own_words() -> None:
    heading = "Youth unemployment rate (ages 15-24)"
    parts = [("", "32.1"), ("male", "27.5"), ("female", "62.7")]
    figures = [figure("Kenya", heading, v, 2024, 2025, part) for part, v in parts]
    glossary = [GlossaryEntry("youth unemployment", "", ("jobless youth",), heading)]
    index = IndicatorIndex(MiniLMEmbedder(), ANALYZER, lambda: glossary)
    tables = FigureTables(Rows(*figures), index, ANALYZER.terms)
    of = FigureQueries(tables, CATALOG, lambda: glossary)
    question = "What is the gap between female and male youth unemployment in Kenya?"
    assert "from 62.7% - 27.5%" in answer(question, of)
    question = "What is the gap between male and female youth unemployment in Kenya?"
    assert "from 27.5% - 62.7%" in answer(question, of)


@pytest.mark.parametrize(
    "question",
    [
        "How many miles of dreams has Kenya?",
        "Is Kenya happier than Peru?",
        "How many square miles of unemployment has Kenya?",
        "What does Kenya export?",
    ],
)
def test_what_is_not_surely_a_figure_is_left_to_the_search(question: str) -> None:
    assert answer(question) == ""


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        (
            "Which country has the most railways per head?",
            "Highest Railways: total / Population: Kenya",
        ),
        (
            "Which country has the largest sum of exports and imports?",
            "Highest Exports + Imports: Kenya, $34 billion (",
        ),
        ("Which country has the largest population?", ""),
    ],
)
def test_what_is_computed_of_each_country_is_ranked(
    question: str, beginning: str
) -> None:
    questions = FigureQuestions(queries(*FIGURES), ANALYZER.terms)
    request = read_request(read_names(question, CATALOG), countries=0)
    found = questions.of_all(request, Scope())
    assert bool(found) == bool(beginning)
    if found is not None:
        assert in_words(*found, in_english).startswith(beginning)
