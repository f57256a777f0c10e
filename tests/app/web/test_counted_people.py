"""Questions that are answered from a share, from all reports, or not by a share."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.app.web.knowledge import added
from tests.app.web.live import application
from tests.conftest import small_settings

REPORT = """# {name}: Country Report 2025

## Geography

### Area

**total:** {area} sq km

### Elevation

**highest point:** Mount {name} 2,000 m

**lowest point:** Lake {name} 400 m

**mean elevation:** 900 m

### Capital

**name:** {name} City

## People and Society

### Population

**total:** {people} (2025 est.)

### Literacy

**total population:** 80% (2022 est.)

### Obesity - adult prevalence rate

{obesity}% (2016)
"""
NUMBERS = {
    "Kenya": ("580,367", "50,000,000", "10"),
    "Peru": ("1,285,216", "30,000,000", "20"),
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with application(small_settings(tmp_path_factory.mktemp("data"))) as made:
        for name, (area, people, obesity) in NUMBERS.items():
            text = REPORT.format(name=name, area=area, people=people, obesity=obesity)
            file = (f"{name.lower()}-2025.md", text)
            added(made.test_client(), file, country_name=name, year="2025")
        yield made


def ask(app: Flask, question: str) -> str:
    response = app.test_client().post("/query", json={"query": question})
    text: str = response.get_json()["response"]
    return text


def test_people_are_counted_from_a_share_of_the_population(app: Flask) -> None:
    text = ask(app, "How many people in Kenya cannot read and write?")
    assert "10,000,000" in text
    assert "80% (2022)" in text
    assert "[1][2]" in text


def test_a_share_of_others_is_no_number_of_people(app: Flask) -> None:
    text = ask(app, "How many Kenyans are obese?")
    assert "10%" in text
    assert "The reports give no number of people." in text


def test_a_share_as_one_of_so_many(app: Flask) -> None:
    assert "one in 5 (20%" in ask(app, "One in how many adults in Peru is obese?")


def test_a_named_peak_in_another_unit(app: Flask) -> None:
    text = ask(app, "How many feet high is the highest point of Kenya?")
    assert "6,562 feet" in text


def test_a_country_is_meant_by_its_rank(app: Flask) -> None:
    text = ask(app, "What is the capital of the largest country?")
    assert "1,285,216 sq km" in text
    assert "Peru City" in text


def test_countries_are_found_by_a_bound_of_a_named_one(app: Flask) -> None:
    text = ask(app, "Which countries are larger than Kenya?")
    assert "above 580,367 sq km in 1 of 2" in text
    assert "Peru" in text


def test_an_indicator_of_no_country_is_listed_for_all(app: Flask) -> None:
    answer = app.test_client().post("/query", json={"query": "What is the area?"}).json
    assert "1. Peru: 1,285,216 sq km" in answer["response"]
    assert "2. Kenya: 580,367 sq km" in answer["response"]


def test_a_label_of_a_heading_is_not_listed_for_the_heading(app: Flask) -> None:
    query = "What is the capital?"
    answer = app.test_client().post("/query", json={"query": query}).json
    assert "card" not in answer
    assert "Kenya City" in answer["response"]


def test_a_figure_of_one_chosen_country_is_its_own(app: Flask) -> None:
    question = {"query": "What is the area?", "filters": {"country_name": "Kenya"}}
    answer = app.test_client().post("/query", json=question).json
    assert [figure["subject"] for figure in answer["card"]["figures"]] == ["Kenya"]
