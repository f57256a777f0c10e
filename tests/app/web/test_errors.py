"""What a client sees when something is wrong: one shape, the right status, never a
stack trace.
"""

import logging
import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.app.factory import close_app, create_app
from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import DocumentRecord
from chatbot.domain.errors import (
    ChatModelError,
    DatabaseError,
    EmbedderMismatchError,
    IngestingError,
    InvalidRequestError,
    LoadError,
    NotFoundError,
    SettingsError,
)
from tests.app.web.conftest import QUESTION, error_of
from tests.data import cases

CASES = cases(__file__)
# As Chromium 156 sends it.
KINDS = "text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,image/apng,*/*;q=0.8"  # noqa: E501
BROWSER = {"Accept": f"{KINDS},application/signed-exchange;v=b3;q=0.7"}
SECRET = "hunter2 at /home/someone/secret.py"


@pytest.fixture
def raising(app: Flask) -> FlaskClient:
    """/test/<n> raises the n-th of RAISED."""

    @app.route("/test/<int:number>", methods=["GET", "POST"])
    def fail(number: int) -> str:
        raise RAISED[number][0]

    return app.test_client()


RAISED: list[tuple[Exception, int, str, str | None]] = [
    (InvalidRequestError.for_field("a", "wrong", ["b"]), 400, "invalid_request", None),
    (NotFoundError("no such thing"), 404, "not_found", None),
    (LoadError("not a report"), 422, "unreadable_document", None),
    (IngestingError("wait", retry_after=7), 503, "ingesting", "7"),
    (EmbedderMismatchError("another model"), 503, "embedder_mismatch", None),
    (
        DatabaseError("down", remedy="Start it.", retry_after=5),
        503,
        "database_unavailable",
        "5",
    ),
    (ChatModelError("down"), 503, "chat_model_unavailable", None),
    (SettingsError("a setting"), 500, "invalid_setting", None),
    (ValueError(SECRET), 500, "internal_error", None),
    (RecursionError(SECRET), 500, "internal_error", None),
]


def test_each_error_has_its_status_and_code(raising: FlaskClient) -> None:
    for number in range(len(RAISED)):
        _, status, code, retry_after = RAISED[number]
        response = raising.post(f"/test/{number}")
        error = error_of(response, status, code)
        assert response.headers.get("Retry-After") == retry_after
        assert SECRET not in str(error)


def test_details_are_passed_on_and_request_ids_differ(raising: FlaskClient) -> None:
    wrong = error_of(raising.post("/test/0"), 400)
    assert wrong["details"] == [
        {"field": "a", "message": "wrong", "valid_values": ["b"]}
    ]
    down = error_of(raising.post("/test/5"), 503, "database_unavailable")
    assert down["details"] == [{"dependency": "database", "remedy": "Start it."}]
    assert wrong["request_id"] != down["request_id"]


def test_a_bug_is_logged_with_its_trace_under_the_id_that_the_client_gets(
    raising: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    error = error_of(raising.post("/test/8"), 500, "internal_error")
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert error["request_id"] in record.getMessage()
    assert record.exc_info is not None
    assert SECRET in str(record.exc_info[1])


class TestPages:
    def test_a_browser_gets_a_page_without_a_trace(self, raising: FlaskClient) -> None:
        for path, status in [
            ("/nope", 404),
            ("/test/1", 404),
            ("/static/nope.js", 404),
            ("/test/8", 500),
        ]:
            response = raising.get(path, headers=BROWSER)
            assert (response.status_code, response.mimetype) == (status, "text/html")
            assert not [
                word
                for word in ("Traceback", SECRET, "ValueError")
                if word in response.text
            ]

    def test_what_a_message_holds_is_text_on_the_page(
        self, raising: FlaskClient
    ) -> None:
        RAISED.append(
            (NotFoundError("<script>alert(1)</script>"), 404, "not_found", None)
        )
        page = raising.get(f"/test/{len(RAISED) - 1}", headers=BROWSER).get_data(
            as_text=True
        )
        RAISED.pop()
        assert "<script>alert(1)" not in page
        assert "&lt;script&gt;alert(1)" in page

    def test_the_api_and_programs_get_json(self, client: FlaskClient) -> None:
        for path in ("/api/nope", "/api/chunks/nope"):
            error_of(client.get(path, headers=BROWSER), 404, "not_found")
        assert client.get("/api", headers=BROWSER).status_code == 404
        assert (
            error_of(client.get("/nope"), 404, "not_found")["message"]
            == "Page not found. Check the address."
        )
        error_of(
            client.get("/nope", headers={"Accept": "application/json"}),
            404,
            "not_found",
        )
        error_of(client.post("/nope", headers=BROWSER), 404, "not_found")


class TestHeaders:
    def test_every_response_is_protected(self, raising: FlaskClient) -> None:
        for path in [
            "/",
            "/health",
            "/ready",
            "/api/reports",
            "/api/nope",
            "/nope",
            "/static/nope.js",
            "/test/8",
        ]:
            headers = raising.get(path, headers=BROWSER).headers
            policy = dict(
                part.strip().partition(" ")[::2]
                for part in headers["Content-Security-Policy"].split(";")
            )
            assert policy["default-src"] == policy["script-src"] == "'self'"
            assert "unsafe" not in headers["Content-Security-Policy"]
            assert (
                policy["object-src"]
                == policy["base-uri"]
                == policy["frame-ancestors"]
                == "'none'"
            )
            assert "http" not in policy["img-src"]
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers["X-Request-ID"]
            assert not re.search("<script>| (style|onclick)=", raising.get("/").text)


def test_only_one_page_may_be_framed_and_only_where_it_is_set(
    settings: Settings, client: FlaskClient
) -> None:
    error_of(client.get("/embed"), 404, "not_found")
    app = create_app(
        settings.override(
            embed_origins=("https://intranet.example", "https://wiki.example")
        )
    )
    framed, whole = (
        app.test_client().get(path).headers["Content-Security-Policy"]
        for path in ("/embed", "/")
    )
    close_app(app)
    assert framed.endswith(
        "; frame-ancestors https://intranet.example https://wiki.example"
    )
    assert whole.endswith("; frame-ancestors 'none'")


ALLOWED = {"Origin": "https://app.example.com"}


class TestCors:
    @pytest.fixture
    def settings(self, settings):
        return settings.override(
            cors_origins=("https://app.example.com", "http://localhost:3000")
        )

    def test_an_allowed_origin_may_read_answers_and_errors(self, raising) -> None:
        for path, status in [
            ("/api/reports", 200),
            ("/api/nope", 404),
            ("/test/8", 500),
        ]:
            for origin in ["https://app.example.com", "http://localhost:3000"]:
                response = raising.get(path, headers={"Origin": origin})
                assert response.status_code == status
                assert response.headers["Access-Control-Allow-Origin"] == origin
                assert "Origin" in ", ".join(response.headers.getlist("Vary"))

    def test_another_origin_may_not(self, raising) -> None:
        for path in ["/api/reports", "/api/nope", "/test/8"]:
            for origin in CASES["another origin may not"]:
                assert (
                    "Access-Control-Allow-Origin"
                    not in raising.get(path, headers={"Origin": origin}).headers
                )

    def test_a_preflight_of_an_allowed_origin_is_answered(self, client) -> None:
        asked = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type",
        }
        response = client.options("/query", headers={**ALLOWED, **asked})
        assert response.status_code == 200
        headers = {
            name: value
            for name, value in response.headers
            if name.startswith("Access-Control-")
        }
        assert headers["Access-Control-Allow-Origin"] == "https://app.example.com"
        assert {"POST", "DELETE"} <= set(
            headers["Access-Control-Allow-Methods"].split(", ")
        )
        assert headers["Access-Control-Allow-Headers"].lower() == "content-type"
        assert "Access-Control-Allow-Credentials" not in headers
        response = client.options(
            "/query", headers={**asked, "Origin": "https://evil.example.com"}
        )
        assert not [
            name for name, _ in response.headers if name.startswith("Access-Control-")
        ]

    def test_the_time_to_come_back_can_be_read(self, client) -> None:
        response = client.get("/api/reports", headers=ALLOWED)
        assert "Retry-After" in response.headers["Access-Control-Expose-Headers"]


def test_without_a_setting_no_origin_is_allowed(client: FlaskClient) -> None:
    for origin in ["https://app.example.com", "http://127.0.0.1:8000", "null"]:
        for response in (
            client.get("/api/reports", headers={"Origin": origin}),
            client.options(
                "/query",
                headers={"Origin": origin, "Access-Control-Request-Method": "POST"},
            ),
        ):
            assert not [
                name
                for name, _ in response.headers
                if name.startswith("Access-Control-Allow")
            ]


def test_a_question_about_reports_that_are_being_indexed_may_come_back(
    client: FlaskClient, services: Services
) -> None:
    """Registered before its passages, as the sample reports are."""
    services.storage.documents.put(
        DocumentRecord(
            "x",
            "Chad",
            "Chad",
            "test/chad",
            "report_chatting",
            "pending",
            "1",
            {"country_name": "Chad"},
        )
    )
    for path in ("/query", "/api/chat"):
        response = client.post(path, json={"query": QUESTION})
        error_of(response, 503, "ingesting")
        assert int(response.headers["Retry-After"]) > 0
