"""A ranking says which country has the place that is asked for, and which place one
country has.
"""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.app.web.knowledge import add_countries
from tests.app.web.live import application
from tests.app.web.test_messages_that_ask_nothing import last_answer, said
from tests.conftest import small_settings

REPORT = """# {name}: Country Report 2025

## Geography

### Area

**total:** {area} sq km

## People and Society

### Population

**total:** {people} (2025 est.)
"""
NUMBERS = {
    "Kenya": ("580,367", "58,246,378"),
    "Peru": ("1,285,216", "32,600,249"),
    "Laos": ("236,800", "7,953,556"),
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("data")
    with application(small_settings(folder, embedding_provider="minilm")) as made:
        add_countries(
            made,
            {
                name: REPORT.format(name=name, area=area, people=people)
                for name, (area, people) in NUMBERS.items()
            },
        )
        yield made


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "Which is the second largest country by population?",
            "Number 2 of 3 countries by Population: Peru, 32,600,249",
        ),
        (
            "Which country has the second lowest population?",
            "Number 2 of 3 countries by Population, from the lowest: Peru, 32,600,249",
        ),
        (
            "What place does Kenya take by area?",
            "Number 2 of 3 countries by Area: Kenya, 580,367 sq km",
        ),
        (
            "Which is the largest country by population?",
            "Highest Population: Kenya, 58,246,378",
        ),
    ],
)
def test_the_place_that_is_asked_for_is_named(
    app: Flask, question: str, answer: str
) -> None:
    assert answer in said(app, [question])


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Which is the second largest country by population?", "Peru"),
        ("What place does Laos take by area?", "Laos"),
        ("Which is the largest country by population?", ""),
    ],
)
def test_the_card_says_whose_figure_is_asked_for(
    app: Flask, question: str, subject: str
) -> None:
    card = last_answer(app, [question], "en")["card"]
    assert card["subject"] == subject
