"""Messages that no report can answer: no words, no figure, a word that none has."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from flask import Flask

from tests.app.web.knowledge import add_countries
from tests.app.web.live import application
from tests.conftest import small_settings

REPORT = """# {name}: Country Report 2025

## Government

### Capital

**name:** {name} City

**time difference:** UTC+{hours}

## Economy

### Inflation rate (consumer prices)

**Inflation rate (consumer prices) 2024:** {inflation}% (2024 est.)
"""
NUMBERS = {"Kenya": (3, 4), "Peru": (5, 2)}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("data")
    with application(small_settings(folder, embedding_provider="minilm")) as made:
        add_countries(
            made,
            {
                name: REPORT.format(name=name, hours=hours, inflation=inflation)
                for name, (hours, inflation) in NUMBERS.items()
            },
        )
        yield made


def said(app: Flask, questions: Sequence[str], language: str = "en") -> str:
    """Return the text of the answer to the last question of a conversation."""
    text: str = last_answer(app, questions, language)["response"]
    return text


def last_answer(app: Flask, questions: Sequence[str], language: str) -> dict[str, Any]:
    """Return the answer to the last question of a conversation."""
    client = app.test_client()
    answer: dict[str, Any] = {}
    for question in questions:
        body = {"query": question, "conversation_id": answer.get("conversation_id")}
        headers = {"Accept-Language": language}
        answer = client.post("/query", json=body, headers=headers).get_json()
    return answer


CAPITAL = "What is the capital of Kenya?"
RANKING = "Which country has the highest inflation?"


@pytest.mark.parametrize("questions", [["?"], [CAPITAL, "?"]])
def test_a_message_without_words_is_told_what_to_ask(
    app: Flask, questions: list[str]
) -> None:
    assert "no question in this message" in said(app, questions)


@pytest.mark.parametrize("question", ["and the lowest?", "and the average?"])
def test_a_capital_has_no_lowest_and_no_average(app: Flask, question: str) -> None:
    assert "does not say of which figure" in said(app, [CAPITAL, question])


def test_the_average_of_a_ranking(app: Flask) -> None:
    text = said(app, [RANKING, "and the average?"])
    assert text.startswith(
        "Average Inflation rate (consumer prices) of 2 countries: 3%"
    )


@pytest.mark.parametrize("questions", [["asdf"], [RANKING, "What does asdf mean?"]])
def test_a_word_that_no_report_has_is_named(app: Flask, questions: list[str]) -> None:
    text = said(app, questions)
    assert "No report has “asdf”." in text
    assert "closest passages" not in text
