"""Every way to answer, with a real model's replies: whatever it says, there is an
answer, and a full ledger.
"""

from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.library.pipeline import Registration
from tests.answering.modes.conftest import MALI_2021
from tests.app.web.live import ask, served
from tests.conftest import ingest_file, write_report
from tests.real_llm.conftest import MARKS

pytestmark = [*MARKS, pytest.mark.usefixtures("kenya")]
QUESTION = "How does the population of Kenya differ from that of Mali?"
STAGES = {
    "direct": ["generate"],
    "deep": ["plan", "relevance", "generate"],
    "chain": ["follow_up", "intermediate", "generate"],
    "auto": ["auto", "generate"],
    "compare": ["generate"],
    "report": ["plan", "relevance", "generate"],
}
"""What calls the model in any case, where passages are found."""


def answered(app: Flask, query: str = QUESTION, **fields: Any) -> dict[str, Any]:
    """The answer's body; all that holds whatever the model says is checked here."""
    response = app.test_client().post("/query", json={"query": query, **fields})
    body: dict[str, Any] = response.get_json()
    assert response.status_code == 200, body
    assert body["response"].strip()
    trace = body["trace"]
    assert not [step for step in trace["path"] if step["failed"]]
    assert trace["stopped_by"] == ""
    asked = [row for row in trace["ledger"] if row["calls"]]
    assert all(
        row["prompt_tokens"] > 20 and row["completion_tokens"] >= 1 for row in asked
    ), asked
    for name in ("calls", "prompt_tokens", "completion_tokens", "failed_calls"):
        assert sum(row[name] for row in trace["ledger"]) == trace["usage"][name]
    assert trace["usage"]["failed_calls"] == 0
    return body


def stages(body: dict[str, Any]) -> dict[str, int]:
    """How often each stage called the model."""
    return {
        row["stage"]: row["calls"] for row in body["trace"]["ledger"] if row["calls"]
    }


@pytest.mark.usefixtures("mali")
@pytest.mark.parametrize("mode", STAGES)
def test_each_way_ends_in_an_answer_and_a_ledger(app: Flask, mode: str) -> None:
    """R-C7, R-C9: no reply of the planning calls went unread, and each call's tokens
    are in its stage's row.
    """
    body = answered(app, mode=mode)
    calls = stages(body)
    assert body["trace"]["mode"] == mode or mode == "auto"
    assert set(STAGES[mode]) <= set(calls), (calls, body["trace"]["path"])
    assert "repair" not in calls


@pytest.mark.usefixtures("mali")
def test_steps_and_text_are_streamed_as_they_come(app: Flask) -> None:
    with served(app) as port:
        events = [
            event
            for event in ask(port, query=QUESTION, mode="deep")
            if event.name != ":"
        ]
    steps = [event for event in events if event.name == "step"]
    tokens = [event for event in events if event.name == "token"]
    done = events[-1]
    assert done.name == "done", done.data
    assert [step.data["name"] for step in steps if not step.data["failed"]][
        -1
    ] == "generate"
    assert len(tokens) > 1
    assert (
        "".join(token.data["text"] for token in tokens).strip() == done.data["response"]
    )
    assert (
        steps[0].at < steps[-1].at < tokens[-1].at
    )  # the plan is seen while the rest is still being made
    assert [step.data for step in steps] == done.data["trace"]["path"]


@pytest.mark.usefixtures("mali")
def test_a_follow_up_is_condensed_by_the_model(app: Flask) -> None:
    first = answered(app, "What is the population of Kenya?")
    second = answered(app, "And of Mali?", conversation_id=first["conversation_id"])
    assert stages(second)["condense_model"] == 1
    assert second["trace"]["query"]
    assert second["conversation_usage"]["calls"] == sum(stages(first).values()) + sum(
        stages(second).values()
    )


class TestCollections:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(
            collections={
                "news": "Daily news of Mali.",
                "report_chatting": "Country reports.",
            }
        )

    @pytest.fixture(autouse=True)
    def _news(self, services: Services, tmp_path: Path) -> None:
        path = write_report(tmp_path / "news", MALI_2021, "mali-2021")
        ingest_file(
            services,
            path,
            "test/mali",
            Registration("news"),
            country_name="Mali",
            year=2021,
        )

    def test_the_model_chooses_where_to_search(self, app: Flask) -> None:
        """R-C5."""
        body = answered(app, mode="deep")
        assert stages(body)["collections"] == 1
        (chosen,) = [
            step for step in body["trace"]["path"] if step["name"] == "collections"
        ]
        assert chosen["items"][0] == "chatbot_data"  # always
        assert set(chosen["items"][1:]) <= {"report_chatting", "news"}
        assert len(chosen["items"]) > 1
