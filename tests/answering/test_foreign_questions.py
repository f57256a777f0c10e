"""Questions in another language than most of the reports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.app.services import Services, build
from chatbot.domain import Answer, Question, RequestContext, Scope
from chatbot.library.derived import default_glossary
from tests.conftest import small_settings, write_report
from tests.library.helpers import ingest

KENYA = """# Kenya: Country Report 2023

## Literacy

**total population:** 82.6% (2022 est.)
"""
BIBLIOTECA = """# Informe de la biblioteca

## Préstamos

La biblioteca prestó 4,300 libros de cuentos a los alumnos durante el último mes.
"""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Services]:
    settings = small_settings(tmp_path / "data", chat_model="extractive")
    with build(settings) as services:
        services.storage.glossary.put("", default_glossary())
        path = write_report(tmp_path, KENYA, "kenya")
        about = {"country_name": "Kenya", "year": 2023}
        ingest(services, path, about, identity="uploads/kenya.md")
        yield services


def asked(services: Services, query: str) -> Answer:
    question = Question(
        query,
        Scope(),
        mode="direct",
        top_k=5,
        retrieval_method="hybrid",
        auto_scope=True,
    )
    return services.everything.flow.answer(question, request=RequestContext())


def test_a_report_in_its_language_answers_as_it_stands(
    library: Services, tmp_path: Path
) -> None:
    path = write_report(tmp_path, BIBLIOTECA, "biblioteca")
    ingest(library, path, {}, identity="uploads/biblioteca.md")
    answer = asked(library, "¿Cuántos libros de cuentos prestó la biblioteca?")
    assert "4,300 libros" in answer.response
    assert answer.answered


def test_without_such_a_report_its_english_reading_is_asked(library: Services) -> None:
    answer = asked(library, "¿Cuál es la tasa de alfabetización de Kenia?")
    assert "82,6%" in answer.response
    assert answer.answered
