"""Questions that the page suggests over documents of one's own, beside other reports:
about these documents, and answered from them.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.app.web.knowledge import add_countries, added
from tests.app.web.live import application
from tests.app.web.test_messages_that_ask_nothing import NUMBERS, REPORT
from tests.conftest import small_settings

SHEET = """County,Boreholes,People served,Spent (USD)
Turkana,42,16800,210000
Marsabit,31,9300,155000
Garissa,25,10000,98000
"""
VISITS = """Month,Clinic,Visits,Malaria cases,Nurses
January,Lafiabougou,1200,310,8
January,Kalaban,900,205,5
February,Lafiabougou,1100,280,8
"""
NOTE = """# Kenya: displacement sites, Situation Report No. 7

## Sites

Five sites near Dadaab host 14,350 people.

## Needs

The most urgent need is latrines: 61 more are needed.

## Funding

Of USD 3.2 million requested, USD 1.1 million was received.
"""
WATER, CLINICS, SITES = (
    "Kenya water programme 2025",
    "Clinic visits Bamako 2025",
    "Kenya: displacement sites, Situation Report No. 7",
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    folder = tmp_path_factory.mktemp("data")
    with application(small_settings(folder, embedding_provider="minilm")) as made:
        yield _filled(made)


def _filled(app: Flask) -> FlaskClient:
    reports = {
        name: REPORT.format(name=name, hours=hours, inflation=inflation)
        for name, (hours, inflation) in NUMBERS.items()
    }
    add_countries(app, reports)
    client = app.test_client()
    added(client, (f"{WATER}.csv", SHEET), country_name="Kenya", year="2025")
    added(client, (f"{CLINICS}.csv", VISITS))
    added(client, ("sites.md", NOTE), country_name="Kenya", year="2025")
    return client


def answered(client: FlaskClient, question: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/query", json={"query": question}).get_json()
    return answer


def asked_of(client: FlaskClient, title: str) -> list[str]:
    """Return the questions that the guide to a document offers."""
    listed = client.get("/api/documents?limit=100").get_json()["documents"]
    (own,) = [one for one in listed if one["title"] == title]
    guide = client.get(f"/api/documents/{quote(own['document_id'])}/guide")
    questions: list[str] = guide.get_json()["questions"]
    return questions


@pytest.mark.parametrize("title", [WATER, CLINICS, SITES])
def test_the_guide_asks_what_its_document_answers(
    client: FlaskClient, title: str
) -> None:
    questions = asked_of(client, title)
    assert len(questions) == 3
    for question in questions:
        answer = answered(client, question)
        assert answer["answered"], question
        assert answer["citations"][0]["title"] == title, question
        # The sites of a paper are not "Kenya's sites".
        assert not question.startswith(("What is Kenya's", "What are Kenya's"))
    overview = answered(client, questions[0])["response"]
    assert "Total" not in overview


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How many people were served in Turkana?", WATER),
        ("How many visits did Lafiabougou have in February?", CLINICS),
        ("How much of the funding requested for the sites was received?", SITES),
    ],
)
def test_after_an_answer_its_own_document_is_asked_on(
    client: FlaskClient, question: str, title: str
) -> None:
    answer = answered(client, question)
    (first, *_) = answer["citations"]
    assert first["title"] == title
    indicator = ((answer.get("card") or {}).get("indicators") or [""])[0]
    found = client.get(
        f"/api/chunks/{quote(first['chunk_id'])}/further",
        query_string={"q": question, "indicator": indicator},
    )
    suggested = [one["question"] for one in found.get_json()["questions"]]
    assert len(suggested) >= 2
    for text in suggested:
        assert text.startswith(f"What does {title} say about")
        assert answered(client, text)["citations"][0]["title"] == title
