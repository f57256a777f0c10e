"""Follow-ups in other languages than the reports, without a language model."""

from collections.abc import Iterator

import pytest
from flask import Flask

from chatbot.library.derived import default_glossary
from tests.app.web.knowledge import added
from tests.app.web.live import application
from tests.app.web.test_messages_that_ask_nothing import (
    NUMBERS,
    REPORT,
    last_answer,
    said,
)
from tests.conftest import small_settings

FISHERY = """# Note sur la pêche 2025

## Captures

La part de la sardinelle dans les captures de la pêche pélagique était de 38 % en 2024.
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("data")
    with application(small_settings(folder, embedding_provider="minilm")) as made:
        glossary = made.extensions["services"].storage.glossary
        glossary.put("", default_glossary())
        client = made.test_client()
        for name, (hours, inflation) in NUMBERS.items():
            text = REPORT.format(name=name, hours=hours, inflation=inflation)
            file = (f"{name.lower()}-2025.md", text)
            added(client, file, country_name=name, year="2025")
        added(
            client, ("peche-2025.md", FISHERY), country_name="Mauritania", year="2025"
        )
        yield made


@pytest.mark.parametrize(
    ("language", "questions"),
    [
        ("fr", ["Quelle est l'inflation au Kenya ?", "et celle du Pérou ?"]),
        ("es", ["¿Cuál es la inflación de Kenia?", "¿y la de Perú?"]),
        ("pt", ["Qual é a inflação do Quénia?", "e a do Peru?"]),
        ("ar", ["ما هو معدل التضخم في كينيا؟", "وفي بيرو؟"]),
    ],
)
def test_the_figure_of_another_country(
    app: Flask, language: str, questions: list[str]
) -> None:
    text = said(app, questions, language)
    assert "2" in text.partition("(2024")[0]
    assert "[1]" in text
    assert "[2]" not in text
    assert "Inflation rate" not in text


@pytest.mark.parametrize(
    ("language", "questions"),
    [
        ("fr", ["Quel pays a la plus haute inflation ?", "et la plus basse ?"]),
        ("es", ["¿Qué país tiene la inflación más alta?", "¿y la más baja?"]),
        ("pt", ["Que país tem a maior inflação?", "e a mais baixa?"]),
    ],
)
def test_a_ranking_from_its_other_end(
    app: Flask, language: str, questions: list[str]
) -> None:
    query = last_answer(app, questions, language)["trace"]["query"]
    words = query.strip("?").split()
    assert sorted(words) == ["Which", "country", "inflation", "lowest"]


def test_a_ranking_is_none_of_the_country_before(app: Flask) -> None:
    questions = [
        "Quelle est la capitale du Kenya ?",
        "Quel pays a la plus basse inflation ?",
    ]
    answer = last_answer(app, questions, "fr")
    assert answer["trace"]["query"] == "Which country lowest inflation?"


def test_a_word_of_another_document_leaves_the_country_before(app: Flask) -> None:
    questions = [
        "Quelle est la capitale du Kenya ?",
        "Quelle est la part de la sardinelle dans les captures ?",
    ]
    assert "38 %" in said(app, questions, "fr")


def test_what_has_no_figure_has_no_lowest(app: Flask) -> None:
    questions = ["Quelle est la capitale du Kenya ?", "et la plus basse ?"]
    assert "Il manque le chiffre" in said(app, questions, "fr")
