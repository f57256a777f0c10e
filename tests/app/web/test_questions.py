"""Around a question: what it would add to the scope, and what can be asked after its
answer.
"""

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.app.web.conftest import error_of
from tests.app.web.knowledge import added

REPORT = (
    "# {country}: Country Report {year}\n\n## Inflation rate\n\n{rate}% ({year} "
    "est.)\n\n"
    "## GDP per capita\n\n$5,700, growing like the inflation rate of {country}.\n"
)
QUESTION = "What is the inflation rate of Kenya?"


@pytest.fixture
def reports(client: FlaskClient) -> dict[str, str]:
    """A report's id by country and year."""
    found = {}
    for country, year, rate in (
        ("Kenya", 2021, 6.1),
        ("Kenya", 2023, 7.7),
        ("Mali", 2023, 2.1),
    ):
        name, text = (
            f"{country.lower()}-{year}.md",
            REPORT.format(country=country, year=year, rate=rate),
        )
        (found[f"{country} {year}"],) = added(
            client, (name, text), country_name=country, year=str(year)
        )
    return found


def test_what_a_question_adds_to_the_scope(
    client: FlaskClient, reports: dict[str, str]
) -> None:
    def scope(**asked: Any) -> dict[str, Any]:
        found: dict[str, Any] = client.get("/api/scope", query_string=asked).get_json()
        return found

    everything = scope()
    assert (everything["filters"], everything["documents"]) == ({}, 3)
    kenya = {"country_name": ["Kenya"]}
    narrowed = scope(q=QUESTION)
    assert (narrowed["filters"], narrowed["documents"], narrowed["from_question"]) == (
        kenya,
        2,
        kenya,
    )
    assert "from_question" not in scope(q=QUESTION, country_name="Kenya")
    error_of(
        client.get("/api/scope", query_string={"q": "x" * 2001}), 400, "invalid_request"
    )


def test_reports_searched_beside_the_scope_are_counted(
    client: FlaskClient, reports: dict[str, str]
) -> None:
    """Those without a country are cited under "Kenya", too."""
    assert "documents_beside" not in asked(client, QUESTION)["scope"]
    added(client, ("notes.md", "# Field notes\n\nIn Kenya 37 pumps were repaired."))
    scope = asked(client, QUESTION)["scope"]
    assert (scope["documents"], scope["documents_beside"]) == (2, 1)
    chosen = asked(client, QUESTION, filters={"country_name": ["Kenya"]})["scope"]
    assert (chosen["documents"], chosen["documents_beside"]) == (2, 1)
    assert "documents_beside" not in asked(client, "What is inflation?")["scope"]


def asked(client: FlaskClient, question: str, **fields: Any) -> dict[str, Any]:
    answer = client.post("/query", json={"query": question, **fields})
    found: dict[str, Any] = answer.get_json()
    return found


def test_what_a_question_takes_over_is_from_earlier(
    client: FlaskClient, reports: dict[str, str]
) -> None:
    kenya = {"country_name": ["Kenya"]}
    first = client.post("/query", json={"query": f"{QUESTION[:-1]} in 2023?"})
    place = {"conversation_id": first.get_json()["conversation_id"]}
    taken = {**kenya, "figure_year": [2023]}
    asked = {"q": "and the GDP per capita?", **place}
    before = client.get("/api/scope", query_string=asked).get_json()
    assert before["from_earlier"] == taken
    assert (before["filters"], before["documents"]) == (kenya, 2)
    assert "from_question" not in before

    body = {"query": asked["q"], **place}
    scope = client.post("/query", json=body).get_json()["scope"]
    assert (scope["filters"], scope["from_earlier"]) == (kenya, taken)
    assert "from_question" not in scope

    replaced = {**asked, "replaces": first.get_json()["message_id"]}
    alone = client.get("/api/scope", query_string=replaced).get_json()
    assert "from_earlier" not in alone


def test_what_was_removed_is_not_taken_over(
    client: FlaskClient, reports: dict[str, str]
) -> None:
    first = client.post("/query", json={"query": f"{QUESTION[:-1]} in 2023?"})
    place = {"conversation_id": first.get_json()["conversation_id"]}
    body = {"query": "and the GDP per capita?", **place}

    def earlier(*left_out: str) -> dict[str, Any]:
        asked = {**body, "without_earlier": list(left_out)}
        scope = client.post("/query", json=asked).get_json()["scope"]
        found: dict[str, Any] = scope.get("from_earlier", {})
        return found

    assert earlier("figure_year") == {"country_name": ["Kenya"]}
    stored = client.get(f"/api/conversations/{place['conversation_id']}").get_json()
    assert stored["messages"][2]["without_earlier"] == ["figure_year"]


def test_a_country_that_was_removed_is_not_searched_for(
    client: FlaskClient, reports: dict[str, str]
) -> None:
    first = client.post("/query", json={"query": QUESTION})
    body = {
        "query": "and the GDP per capita?",
        "conversation_id": first.get_json()["conversation_id"],
        "without_earlier": ["country_name"],
    }
    scope = client.post("/query", json=body).get_json()["scope"]
    assert (scope["filters"], scope["documents"]) == ({}, 3)
    assert "from_earlier" not in scope


def test_wrong_fields_of_what_is_from_earlier(client: FlaskClient) -> None:
    body = {"query": QUESTION, "without_earlier": ["planet"]}
    error = error_of(client.post("/query", json=body), 400, "invalid_request")
    assert error["details"][0]["field"].startswith("without_earlier")
    asked = {"q": QUESTION, "conversation_id": "nobody"}
    error_of(client.get("/api/scope", query_string=asked), 404, "not_found")


def further(
    client: FlaskClient, document_id: str, heading: str = "Inflation rate", **asked: Any
) -> list[str]:
    chunks = client.get(f"/api/documents/{document_id}/chunks").get_json()["chunks"]
    chunk_id = next(
        chunk["chunk_id"] for chunk in chunks if heading in (chunk["section"] or "")
    )
    response = client.get(
        f"/api/chunks/{chunk_id}/further", query_string={"q": QUESTION, **asked}
    )
    return [one["question"] for one in response.get_json()["questions"]]


def test_what_can_be_asked_next(client: FlaskClient, reports: dict[str, str]) -> None:
    assert further(client, reports["Kenya 2023"]) == ["What is Kenya's GDP per capita?"]


def test_countries_that_have_the_same_figure_are_named(
    client: FlaskClient, reports: dict[str, str]
) -> None:
    chunk_id = f"{reports['Kenya 2023']}"
    chunks = client.get(f"/api/documents/{chunk_id}/chunks").get_json()["chunks"]
    path = f"/api/chunks/{chunks[0]['chunk_id']}/further"

    def near(**asked: str) -> list[str]:
        found: list[str] = client.get(path, query_string=asked).get_json()["near"]
        return found

    assert near(indicator="Inflation rate") == ["Mali"]
    assert near(indicator="Inflation rate", country_name="Kenya") == []
    assert near(indicator="Nonsense") == near() == []


def test_the_scope_that_was_chosen_is_never_left(
    client: FlaskClient, reports: dict[str, str]
) -> None:
    chosen = {"country_name": "Kenya", "year": "2023"}
    assert further(client, reports["Kenya 2023"], **chosen) == [
        "What does Kenya: Country Report 2023 say about GDP per capita?"
    ]


def test_nothing_is_offered_that_no_report_says(client: FlaskClient) -> None:
    alone = (
        "# Chad: Country Report 2023\n\n## Lakes\n\nLake Chad is shared by four "
        "countries.\n"
    )
    (document_id,) = added(
        client, ("chad-2023.md", alone), country_name="Chad", year="2023"
    )
    added(
        client,
        ("mali-2023.md", "# Mali\n\n## Rivers\n\nThe Niger.\n"),
        country_name="Mali",
        year="2023",
    )
    about = "What is “Chad: Country Report 2023” about?"
    assert further(client, document_id, "Lakes") == [about]
