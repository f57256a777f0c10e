"""People are counted from shares of all inhabitants, and from no others."""

from collections.abc import Iterator

import pytest
from flask import Flask

from chatbot.library.derived import default_glossary
from tests.app.web.knowledge import added
from tests.app.web.live import application
from tests.conftest import small_settings

REPORT = """# Kenya: Country Report 2025

## People and Society

### Population

**total:** 50,000,000 (2024 est.)

### Age structure

**0-14 years:** 36% (male 9,000,000/female 9,000,000)

**15-64 years:** 60% (male 15,000,000/female 15,000,000)

**65 years and over:** 4% (2024 est.) (male 1,000,000/female 1,000,000)

### Urbanization

**urban population:** 30% of total population (2024)

**rate of urbanization:** 4% annual rate of change (2020-25 est.)

### Drinking water source

**improved: urban:** 90% of population (2024 est.)

**improved: total:** 70% of population (2024 est.)

### Literacy

**total population:** 80% (2024 est.)

**male:** 85% (2024 est.)

**female:** 75% (2024 est.)

## Economy

### Unemployment rate

**Unemployment rate 2024:** 5% (2024 est.)

## Energy

### Electricity

**exports:** 27 million kWh (2024 est.)

### Electricity access

**electrification - total population:** 76% (2024 est.)

**electrification - urban areas:** 98%

**electrification - rural areas:** 66%

## Communications

### Internet users

**total:** 15 million (2021 est.)

**percent of population:** 40% (2024 est.)
"""
SITES = """# Kenya displacement sites 2025

## Water and sanitation

64 % of the 7,450 people in the sites have safe water.

## Food

The programme reached 2,310 people in August 2025.
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with application(small_settings(tmp_path_factory.mktemp("data"))) as made:
        glossary = made.extensions["services"].storage.glossary
        glossary.put("", default_glossary())
        client = made.test_client()
        for name, text in (("kenya-2025.md", REPORT), ("sites-2025.md", SITES)):
            added(client, (name, text), country_name="Kenya", year="2025")
        yield made


def ask(app: Flask, question: str) -> str:
    response = app.test_client().post("/query", json={"query": question})
    text: str = response.get_json()["response"]
    return text


@pytest.mark.parametrize(
    ("question", "people"),
    [
        ("How many people in Kenya have electricity?", "38,000,000"),
        ("How many people in Kenya use the internet?", "20,000,000"),
        ("How many people in Kenya live in cities?", "15,000,000"),
        ("How many people in Kenya live in the countryside?", "35,000,000"),
        ("How many people in Kenya are under 15?", "18,000,000"),
        ("How many people in Kenya are older than 64?", "2,000,000"),
        ("How many people in Kenya are 15 and over?", "32,000,000"),
    ],
)
def test_people_are_counted_from_a_share_of_all(
    app: Flask, question: str, people: str
) -> None:
    assert people in ask(app, question)


@pytest.mark.parametrize(
    ("question", "share", "whose"),
    [
        ("How many people in Kenya are unemployed?", "5%", "the labour force"),
        ("How many women in Kenya can read?", "75%", "women"),
    ],
)
def test_of_a_share_of_others_it_is_said_whose_it_is(
    app: Flask, question: str, share: str, whose: str
) -> None:
    text = ask(app, question)
    assert share in text
    assert f"This is a share of {whose}." in text
    assert "50,000,000" not in text


def test_a_group_without_figures_is_not_counted_from_its_neighbours(app: Flask) -> None:
    text = ask(app, "How many people in Kenya are over 30?")
    assert "Population:" not in text.partition("[1]")[0]


@pytest.mark.parametrize(
    "question",
    [
        "How many people in the sites of Kenya have safe water?",
        "How many people in the camps of Kenya have electricity?",
        "How many people in Turkana province in Kenya have electricity?",
        "How many people over 15 in Kenya can read?",
    ],
)
def test_a_part_of_a_country_is_not_counted_from_its_share(
    app: Flask, question: str
) -> None:
    assert "Population:" not in ask(app, question).partition("[1]")[0]


def test_the_report_on_the_part_answers(app: Flask) -> None:
    text = ask(app, "How many people in the sites of Kenya have safe water?")
    assert "64 % of the 7,450 people in the sites" in text.split("[1]")[0]


def test_the_rest_of_a_share_is_one(app: Flask) -> None:
    text = ask(app, "What is the rural population of Kenya?")
    assert "70% (100 - 30%" in text
