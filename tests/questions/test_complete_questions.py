"""Complete questions in a conversation get the answer that they get alone; follow-ups
keep what they take over, and say so.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from benchmarks.mixed import upload
from chatbot.app.factory import create_app
from chatbot.config.settings import Settings
from tests.data import cases

CASES = cases(__file__)
pytestmark = pytest.mark.timeout(600)
"""All sample reports are loaded."""
MANUAL = """# Lindqvist Press: Operating Manual

## Cooling

The pump of the Lindqvist press has to cool down for forty minutes after each shift.

## Repairs

Repairs of the Lindqvist press are done by the workshop in Halmstad only.

## Oil

The press takes hydraulic oil HLP 46. Change the oil once a year.
"""


@pytest.fixture(scope="module")
def client(sample_settings: Settings) -> Iterator[FlaskClient]:
    app = create_app(sample_settings)
    with app.app_context():
        manual = sample_settings.data_dir / "lindqvist-press.md"
        manual.write_text(MANUAL, encoding="utf-8")
        upload(app.test_client(), manual)
        yield app.test_client()


def ask(client: FlaskClient, query: str, **body: Any) -> dict[str, Any]:
    asked = {"query": query, "cache": False, **body}
    response = client.post("/query", json=asked)
    assert response.status_code == 200, response.get_json()
    answer: dict[str, Any] = response.get_json()
    return answer


def asked_in_turn(client: FlaskClient, questions: list[str]) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = []
    for question in questions:
        place = {}
        if answers:
            place = {"conversation_id": answers[-1]["conversation_id"]}
        answers.append(ask(client, question, **place))
    return answers


@pytest.mark.parametrize("questions", CASES["conversations"])
def test_a_complete_question_is_answered_as_if_asked_alone(
    client: FlaskClient, questions: list[str]
) -> None:
    answers = asked_in_turn(client, questions)
    for question, answer in zip(questions[1:], answers[1:], strict=True):
        alone = ask(client, question)
        assert answer["response"] == alone["response"], question
        assert "from_earlier" not in answer["scope"]


@pytest.mark.parametrize(("first", "second", "country"), CASES["follow_ups"])
def test_a_follow_up_keeps_the_country_that_it_takes_over(
    client: FlaskClient, first: str, second: str, country: str
) -> None:
    *_, answer = asked_in_turn(client, [first, second])
    assert answer["scope"]["from_earlier"]["country_name"] == [country]
    assert "from_question" not in answer["scope"]
    assert {one["country_name"] for one in answer["citations"]} == {country}


def test_the_scope_that_was_left_out_is_offered(client: FlaskClient) -> None:
    question = "Who was Jomo Kenyatta?"
    *_, answer = asked_in_turn(client, ["What does Mali export?", question])
    assert answer["citations"][0]["country_name"] == "Kenya"
    offered = answer["suggested_scope"]["filters"]
    assert offered["country_name"] == ["Mali"]


def test_a_follow_up_says_which_of_its_words_nothing_was_found_on(
    client: FlaskClient,
) -> None:
    questions = ["What is the area of Kenya?", "and who is its best singer?"]
    *_, answer = asked_in_turn(client, questions)
    assert answer["response"].startswith(
        "The reports for Kenya were searched, but nothing was found on “"
    )
    assert "singer”" in answer["response"].partition("\n")[0]


def test_a_ranking_that_leaves_a_word_may_be_a_list(client: FlaskClient) -> None:
    listed = ask(client, "Which countries list coffee among their top exports?")
    assert "countries have “coffee” under “Exports - commodities”" in listed["response"]
    ranked = ask(client, "Which countries have the top exports?")
    assert ranked["response"].startswith("Highest Exports: ")


def test_the_least_is_of_what_the_most_is_of(client: FlaskClient) -> None:
    """Not of "lowest 10%" or "smallest", which are names themselves."""
    for least in ("lowest", "smallest"):
        ranked = ask(client, f"Which country has the {least} population?")
        assert ranked["response"].startswith("Lowest Population: ")
    point = ask(client, "Which country has the lowest point?")
    assert point["response"].startswith("Lowest Elevation: lowest point: ")


def test_words_that_an_answer_does_not_use_are_named(client: FlaskClient) -> None:
    whole = ask(client, "Which country has the highest literacy?")
    assert whole["answered"]
    assert not whole["trace"]["unused"]
    computed = ask(client, "Which country has the highest rural literacy?")
    assert computed["response"].startswith("I could not use “rural”: ")
    assert computed["trace"]["unused"] == ["rural"]
    assert computed["trace"]["closest_only"]
    assert not computed["answered"]
    quoted = ask(client, "How many people in Mali have bottled drinking water?")
    assert quoted["trace"]["unused"] == ["bottled"]
    assert quoted["response"].startswith("I could not use “bottled”: ")
    assert quoted["answered"]
