"""A name that two indicators have means the same one in each kind of question."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.app.web.knowledge import add_countries
from tests.app.web.live import application
from tests.app.web.test_messages_that_ask_nothing import said
from tests.conftest import small_settings

REPORT = """# {name}: Country Report 2025

## Economy

### Real GDP (purchasing power parity)

**Real GDP (purchasing power parity) 2024:** ${real} billion (2024 est.)

### GDP (official exchange rate)

${official} billion (2024 est.)
"""
NUMBERS = {"Kenya": (328, 124), "Peru": (548, 289)}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("data")
    with application(small_settings(folder, embedding_provider="minilm")) as made:
        add_countries(
            made,
            {
                name: REPORT.format(name=name, real=real, official=official)
                for name, (real, official) in NUMBERS.items()
            },
        )
        yield made


@pytest.mark.parametrize(
    "question",
    [
        "What is the GDP of Peru?",
        "Compare the GDP of Kenya and Peru",
        "Which country has the highest GDP?",
    ],
)
def test_the_gdp_is_that_at_the_exchange_rate(app: Flask, question: str) -> None:
    first, _, _ = said(app, [question]).partition("[1]")
    assert "GDP (official exchange rate)" in first
    assert "$289 billion" in first


def test_the_other_gdp_is_named_beside_it(app: Flask) -> None:
    text = said(app, ["What is the GDP of Peru?"])
    assert (
        "can also mean real GDP (purchasing power parity): Peru, $548 billion" in text
    )


def test_names_are_those_of_the_language_of_the_question(app: Flask) -> None:
    text = said(app, ["Quel est le PIB du Pérou ?"], "fr")
    assert text.startswith("Pérou, PIB")
    text = said(app, ["¿Cuál es el PIB de Perú?"], "es")
    assert text.startswith("Perú, PIB")
