"""The budget in a request: less than the settings allow, and in the right words (R-C7)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from chatbot.factory import close_app, create_app
from chatbot.services import Services
from chatbot.settings import Settings
from tests.fakes.openai_server import CHAT, FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel

pytestmark = pytest.mark.usefixtures("kenya", "mali")


class TestRequests:
    @pytest.fixture
    def client(self, settings: Settings, services: Services) -> Iterator[FlaskClient]:
        del services  # it has written the reports
        app = create_app(settings.override(budget_calls=4, budget_tokens=5000, budget_seconds=30))
        yield app.test_client()
        close_app(app)

    @pytest.mark.parametrize(
        ("budget", "field"),
        [
            ({"calls": 0}, "budget.calls"),
            ({"calls": -1}, "budget.calls"),
            ({"calls": 5}, "budget.calls"),
            ({"calls": 2.5}, "budget.calls"),
            ({"calls": "2"}, "budget.calls"),
            ({"calls": True}, "budget.calls"),
            ({"tokens": 0}, "budget.tokens"),
            ({"tokens": 5001}, "budget.tokens"),
            ({"tokens": [1]}, "budget.tokens"),
            ({"seconds": 0.5}, "budget.seconds"),
            ({"seconds": 31}, "budget.seconds"),
            ({"seconds": "1"}, "budget.seconds"),
            ({"seconds": True}, "budget.seconds"),
            ({"minutes": 1}, "budget.minutes"),
            (7, "budget"),
            ([], "budget"),
        ],
    )
    def test_what_cannot_be_is_named(self, client: FlaskClient, server: FakeOpenAI, budget, field: str) -> None:
        response = client.post("/query", json={"query": "What is the population?", "budget": budget})
        assert response.status_code == 400
        assert [detail["field"] for detail in response.get_json()["error"]["details"]] == [field]
        assert server.requests == []

    def test_a_number_that_is_none(self, client: FlaskClient) -> None:
        body = '{"query": "What is the population?", "budget": {"seconds": NaN}}'
        response = client.post("/query", data=body, content_type="application/json")
        assert response.status_code == 400

    @pytest.mark.parametrize("fields", [{}, {"budget": {"calls": 2}}], ids=["settings", "request"])
    def test_it_holds_for_the_question(self, client: FlaskClient, server: FakeOpenAI, fields) -> None:
        server.always(CHAT, ScriptedModel(plan="Well."))
        body = client.post("/query", json={"query": "What is the population?", "mode": "deep", **fields}).get_json()
        assert body["trace"]["stopped_by"] == "calls"
        assert any(step["name"] == "budget" and step["failed"] for step in body["trace"]["path"])
        assert server.calls(CHAT) <= (2 if fields else 4)
