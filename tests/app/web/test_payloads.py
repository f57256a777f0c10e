"""Client JSON never becomes a query: every wrong field is a 400 that names it (DESIGN,
Trust).
"""

import json
import re
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from chatbot.answering.modes import MODES
from chatbot.app.factory import create_app
from chatbot.domain.validation import MAX_PROBLEMS
from chatbot.search import RETRIEVAL_METHODS
from tests.answering.modes.conftest import MALI_2021
from tests.app.web.conftest import QUESTION, Post, error_of, fields_of
from tests.conftest import KENYA_2023, ingest_file, small_settings, write_report
from tests.data import cases

CASES = cases(__file__)

HUGE = 10**30


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """One application for the whole table: nothing here is to change anything."""
    folder = tmp_path_factory.mktemp("validation")
    app = create_app(small_settings(folder / "data", chat_model="echo"))
    services = app.extensions["services"]
    for text, country, year in ((KENYA_2023, "Kenya", 2023), (MALI_2021, "Mali", 2021)):
        path = write_report(folder, text, country)
        ingest_file(
            services,
            path,
            country,
            country_name=country,
            year=year,
            type="country_report",
        )
    yield app.test_client()
    services.close()


WRONG_FIELDS = [
    *CASES["wrong_fields"],
    ({"query": "x" * 4001}, "query"),
    ({"limit": HUGE}, "limit"),
    ({"conversation_id": "x" * 65}, "conversation_id"),
    ({"filters": {"country_name": ["Kenya"] * 301}}, "filters.country_name"),
    ({"filters": {"year": "9" * 5000}}, "filters.year"),
    ({"filters": {"year": HUGE}}, "filters.year"),
    ({"filters": {"year": {"gte": -HUGE}}}, "filters.year.gte"),
    ({"filters": {"year": {"gte": 2021, "lte": HUGE}}}, "filters.year.lte"),
    (
        {"report_context": {"type": "year_in_review", "value": HUGE}},
        "report_context.value",
    ),
    (
        {"previous_messages": [{"role": "user", "content": "x" * 20_001}]},
        "previous_messages.0.content",
    ),
    (
        {"previous_messages": [{"role": "user", "content": "x"}] * 201},
        "previous_messages",
    ),
]


def named(parameter: object) -> str | None:
    return json.dumps(parameter)[:60] if isinstance(parameter, dict) else None


def test_a_wrong_field_is_named(client: FlaskClient) -> None:
    for path in ["/query", "/api/chat"]:
        for fields, named_field in WRONG_FIELDS:
            response = client.post(path, json={"query": QUESTION, **fields})
            if "mode" in fields or "retrieval_method" in fields:
                code = (
                    "invalid_request"
                    if not isinstance(next(iter(fields.values())), str)
                    else "unknown_name"
                )
                assert (
                    error_of(response, 400, code)["details"][0]["field"] == named_field
                )
            else:
                assert fields_of(response) == [named_field]
                assert not re.search(
                    "Input should|Value error|Field required|should (?:have|match)",
                    response.text,
                )


def test_what_is_wrong_is_said_in_a_plain_sentence(client: FlaskClient) -> None:
    for fields, message in [
        *CASES["what_is_wrong_is_said_in_a_plain_sentence"],
        (
            {"previous_messages": [{"role": "user", "content": "x" * 20_001}]},
            "must have at most 20000 characters.",
        ),
    ]:
        (detail,) = error_of(
            client.post("/query", json={"query": QUESTION, **fields}), 400
        )["details"]
        assert detail["message"] == message


def test_of_many_thousand_mistakes_only_the_first_are_named(
    client: FlaskClient,
) -> None:
    """60,000 of them made an error of 34 MB, which took six seconds."""
    response = client.post(
        "/query", json={f"field{number}": 1 for number in range(6_000)}
    )
    assert len(error_of(response, 400)["details"]) == MAX_PROBLEMS


def test_every_wrong_field_is_named_at_once(client: FlaskClient) -> None:
    response = client.post(
        "/query", json={"limit": 0, "filters": {"year": 2.5}, "colour": "red"}
    )
    assert sorted(fields_of(response)) == ["colour", "filters.year", "limit", "query"]


def test_the_valid_values_are_listed(query: Post) -> None:
    """R-D4."""
    for fields, valid in [
        (
            {"report_context": {"type": "planet", "value": "x"}},
            ["country", "year_in_review"],
        ),
        ({"report_context": {"type": "country", "value": "Narnia"}}, ["Kenya", "Mali"]),
        ({"filters": {"year": 1999}}, [2021, 2023]),
        (
            {"filters": {"planet": "x"}},
            ["country_name", "year", "document_name", "type"],
        ),
        ({"filters": {"year": {"gte": 2024}}}, [2021, 2023]),
        ({"mode": "magic"}, MODES.names()),
        ({"retrieval_method": "magic"}, RETRIEVAL_METHODS.names()),
    ]:
        code = "unknown_name" if "magic" in fields.values() else "invalid_request"
        error = error_of(query(**fields), 400, code)
        assert error["details"][0]["valid_values"] == valid
        assert all(str(value) in error["message"] for value in valid)


def test_odd_questions_are_questions(client: FlaskClient) -> None:
    for text in [
        "a\u0000b",
        "\u202eabc",
        "'; DROP TABLE x; --",
        "${x}",
        "{{7*7}}",
        "x" * 4000,
    ]:
        response = client.post("/query", json={"query": text})
        assert response.status_code == 200
        assert text in response.get_json()["response"]
    response = client.post("/query", json={"query": "\U0001f600"})
    assert response.status_code == 200
    assert "no question in this message" in response.get_json()["response"]


def test_a_question_that_is_too_long_is_refused_with_what_helps(
    client: FlaskClient,
) -> None:
    """R-A7: never cut."""
    for path in ["/query", "/api/chat", "/api/search"]:
        error = error_of(client.post(path, json={"query": "x" * 4001}), 400)
        said = (
            "longer than 4,000 characters (4,001): shorten it, or attach the text as a "
            "file"
        )
        assert error["details"][0]["field"] == "query"
        assert error["details"][0]["message"].startswith(said)
        assert error["message"].startswith(f"query: {said}")


class TestBodies:
    def test_a_body_that_is_no_json_object(self, client: FlaskClient) -> None:
        for path in ["/query", "/api/chat", "/api/search"]:
            for data in [
                b"",
                b"{",
                b"null",
                b"[]",
                b'"query"',
                b"5",
                b"\xff\xfe",
                b'{"query": NaN',
                b"[" * 100_000,
                b'{"query":' * 50_000,
                b'{"limit": ' + b"9" * 5000 + b"}",
            ]:
                error = error_of(
                    client.post(path, data=data, content_type="application/json"), 400
                )
                assert (
                    error["message"]
                    == "The body must be a JSON object, sent as application/json."
                )

    def test_a_body_that_is_not_sent_as_json(self, client: FlaskClient) -> None:
        """So that no form of another site can ask a question in a person's name."""
        for path in ["/query", "/api/chat", "/api/search"]:
            for content_type in [
                "text/plain",
                "application/x-www-form-urlencoded",
                "multipart/form-data",
                "",
            ]:
                response = client.post(
                    path,
                    data=json.dumps({"query": QUESTION}),
                    content_type=content_type,
                )
                assert "application/json" in error_of(response, 400)["message"]

    def test_a_body_that_is_too_large(self, client: FlaskClient) -> None:
        for path in ["/query", "/api/chat", "/api/search"]:
            data = json.dumps({"query": QUESTION, "padding": "x" * 1_000_000})
            error_of(
                client.post(path, data=data, content_type="application/json"),
                413,
                "too_large",
            )

    def test_a_field_that_is_there_twice(self, client: FlaskClient) -> None:
        for path in ["/query", "/api/chat", "/api/search"]:
            data = (
                json.dumps({"query": QUESTION, "filters": {"country_name": "Kenya"}})[
                    :-1
                ]
                + ', "filters": {}}'
            )
            assert fields_of(
                client.post(path, data=data, content_type="application/json")
            ) == ["filters"]

    def test_a_lone_surrogate_is_no_text(self, client: FlaskClient) -> None:
        for path in ["/query", "/api/chat", "/api/search"]:
            data = b'{"query": "\\ud800"}'
            response = client.post(path, data=data, content_type="application/json")
            assert fields_of(response) == ["query"]
            assert "half a character" in error_of(response, 400)["message"]

    def test_the_wrong_method_says_which_one_is_right(
        self, client: FlaskClient
    ) -> None:
        for path in ["/query", "/api/chat", "/api/search"]:
            response = client.get(path)
            error_of(response, 405, "method_not_allowed")
            assert "POST" in response.headers["Allow"]


def test_of_a_wrong_value_the_error_repeats_the_beginning(query: Post, kenya) -> None:
    """900 kB of a filter became an answer of 1.8 MB."""
    for wrong in [
        {"filters": {"country_name": "A" * 100_000}},
        {"report_context": {"type": "B" * 100_000, "value": "Kenya"}},
        {"mode": "C" * 100_000},
    ]:
        assert len(query(**wrong).text) < 3_000
