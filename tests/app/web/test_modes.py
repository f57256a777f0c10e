"""The ways to answer over HTTP: which one a request has, what it tells of its steps,
and what needs a model.
"""

import json
import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.answering.modes import MODES
from chatbot.config.settings import Settings
from tests.app.web.conftest import Post, error_of
from tests.app.web.contract import LEDGER, SOURCE, STEP
from tests.data import cases
from tests.fakes.openai_server import CHAT, FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel

CASES = cases(__file__)

COMPARED = "Compare the population of Kenya and Mali"
MODES = MODES.names()
KEYLESS = ["auto", "compare", "deep", "direct"]
Json = dict[str, Any]


@pytest.fixture
def model(server: FakeOpenAI) -> ScriptedModel:
    said = ScriptedModel()
    server.always(CHAT, said)
    return said


@pytest.fixture
def settings(
    settings: Settings, server: FakeOpenAI, request: pytest.FixtureRequest
) -> Settings:
    """With a language model. A test may ask for other settings."""
    return settings.override(**server.as_settings).override(
        **getattr(request, "param", {})
    )


@pytest.fixture(autouse=True)
def _reports(kenya: object, mali: object) -> None:
    """Two of them."""


def answer(post: Post, /, **fields: Any) -> Json:
    response = post(**{"query": COMPARED, **fields})
    assert response.status_code == 200, response.get_data(as_text=True)
    found: Json = response.get_json()
    return found


def streamed(client: FlaskClient, **fields: Any) -> list[tuple[str, Json]]:
    response = client.post("/api/chat", json={"query": COMPARED, **fields})
    found = re.findall(r"event: (\w+)\ndata: (.*)\n\n", response.get_data(as_text=True))
    return [(name, json.loads(data)) for name, data in found]


def path_names(body: Json) -> list[str]:
    return [step["name"] for step in body["trace"]["path"]]


@pytest.mark.usefixtures("model")
class TestWhichMode:
    def test_as_the_request_says(self, query: Post) -> None:
        for mode in [mode for mode in MODES if mode != "auto"]:
            body = answer(query, mode=mode)
            assert body["trace"]["mode"] == mode
            assert body["answered"] is True

    @pytest.mark.parametrize(
        ("settings", "fields", "mode"),
        CASES["else_as_the_preset_or_the_setting_says"],
        indirect=["settings"],
    )
    def test_else_as_the_preset_or_the_setting_says(
        self, query: Post, fields: dict[str, str], mode: str
    ) -> None:
        assert answer(query, **fields)["trace"]["mode"] == mode

    def test_an_unknown_one_is_refused_with_the_valid_ones(
        self, client: FlaskClient
    ) -> None:
        for path in ["/query", "/api/chat"]:
            error = error_of(
                client.post(path, json={"query": COMPARED, "mode": "clairvoyant"}),
                400,
                "unknown_name",
            )
            (detail,) = error["details"]
            assert detail["field"] == "mode"
            assert detail["valid_values"] == MODES


class TestWhatIsTold:
    @pytest.mark.parametrize("mode", ["deep", "chain", "compare", "report", "auto"])
    def test_the_same_in_both_ways_to_ask(
        self, query: Post, client: FlaskClient, model: ScriptedModel, mode: str
    ) -> None:
        """The steps come as they are made, and stand in the answer; `/query` is the
        last event.
        """
        events = streamed(client, mode=mode)
        steps = [data for name, data in events if name == "step"]
        done = events[-1][1]
        others = [name for name, _ in events if name != "step"]
        assert (others[0], set(others[1:-1]), others[-1]) == (
            "sources",
            {"token"},
            "done",
        )
        assert all(set(step) == STEP for step in steps)
        assert done["trace"]["path"] == steps
        assert all(set(row) == LEDGER for row in done["trace"]["ledger"])
        assert sum(row["calls"] for row in done["trace"]["ledger"]) == len(model.stages)
        assert done["trace"]["stopped_by"] == ""
        body = answer(query, mode=mode)
        assert sorted(path_names(body)) == sorted(path_names(done))
        assert body["response"] == done["response"]

    def test_each_sub_question_has_its_sources(
        self, client: FlaskClient, model: ScriptedModel
    ) -> None:
        found = [
            data
            for name, data in streamed(client, mode="compare")
            if name == "step" and data["name"] == "found"
        ]
        assert {
            step["detail"]: {source["country_name"] for source in step["sources"]}
            for step in found
        } == {
            "Kenya": {"Kenya"},
            "Mali": {"Mali"},
        }
        assert set(found[0]["sources"][0]) == SOURCE

    def test_a_budget_may_be_left_open(self, query: Post) -> None:
        for budget in [None, {}]:
            assert answer(query, budget=budget)["trace"]["stopped_by"] == ""

    def test_a_wrong_budget_is_told_with_what_is_valid(self, query: Post) -> None:
        for budget, field, told in CASES["a_wrong_budget_is_told_with_what_is_valid"]:
            (detail,) = error_of(query(budget=budget), 400)["details"]
            assert (detail["field"], detail["message"]) == (field, told)

    def test_a_budget_that_ends_is_named(
        self, query: Post, model: ScriptedModel
    ) -> None:
        body = answer(query, mode="deep", budget={"calls": 2})
        assert body["trace"]["stopped_by"] == "calls"
        (step,) = [step for step in body["trace"]["path"] if step["name"] == "budget"]
        assert step["failed"] is True
        assert step["detail"] == "The budget of 2 model calls is used up."
        assert body["answered"] is True
        assert len(model.stages) == 2

    def test_what_is_attached_is_answered_directly(
        self, client: FlaskClient, model: ScriptedModel
    ) -> None:
        text = "The population of Kenya is 99 people."
        events = streamed(
            client,
            mode="deep",
            query="What is the population of Kenya?",
            attachments=[{"name": "note.md", "text": text}],
        )
        (mode,) = [
            data for name, data in events if name == "step" and data["name"] == "mode"
        ]
        assert mode["detail"] == "Questions with attachments are answered in one step."
        assert events[-1][1]["trace"]["mode"] == "direct"
        assert events[-1][1]["trace"]["path"][0] == mode
        assert model.stages == ["answer"]

    @pytest.mark.parametrize("settings", [{"cache_seconds": 600}], indirect=True)
    @pytest.mark.parametrize("mode", ["deep", "chain", "compare", "report", "auto"])
    def test_an_answer_from_the_cache_still_tells_its_path(
        self, query: Post, model: ScriptedModel, mode: str
    ) -> None:
        first = answer(query, mode=mode)
        calls = len(model.stages)
        again = answer(query, mode=mode)
        assert len(model.stages) == calls
        assert again["trace"]["cached"] is True
        assert again["trace"]["usage"]["calls"] == 0
        for field in ("path", "mode"):
            assert again["trace"][field] == first["trace"][field]
        assert again["response"] == first["response"]

    def test_a_follow_up_in_a_conversation(
        self, query: Post, model: ScriptedModel
    ) -> None:
        first = answer(query, mode="deep", query="What is the population of Kenya?")
        body = answer(
            query,
            mode="deep",
            query="And of Mali?",
            conversation_id=first["conversation_id"],
        )
        assert body["conversation_id"] == first["conversation_id"]
        assert model.stages[4:6] == ["condense", "plan"]
        assert body["trace"]["mode"] == "deep"
        assert body["answered"] is True
        assert body["conversation_usage"]["questions"] == 2
        assert body["conversation_usage"]["calls"] == len(model.stages)


@pytest.mark.parametrize("settings", [{"chat_model": "extractive"}], indirect=True)
class TestWithoutAKey:
    """What can be done by rule is; what is nothing but writing says that it needs a
    model.
    """

    @pytest.mark.parametrize("mode", ["chain", "report"])
    @pytest.mark.parametrize("path", ["/query", "/api/chat"])
    def test_some_need_a_model(self, client: FlaskClient, path: str, mode: str) -> None:
        error = error_of(
            client.post(path, json={"query": COMPARED, "mode": mode}),
            400,
            "unknown_name",
        )
        (detail,) = error["details"]
        assert detail["field"] == "mode"
        assert detail["valid_values"] == KEYLESS
        assert "needs a language model: set OPENAI_API_KEY" in error["message"]

    def test_compare_quotes_side_by_side(self, query: Post) -> None:
        body = answer(query, mode="compare")
        told = (
            "Population: higher in Kenya, 52,428,290 (2023 est.) [1], than in Mali, "
            "20,137,527 (2021 est.) [2].\n\n|  | Kenya | Mali |\n| --- | --- | --- |\n"
        )
        told += (
            "| Population | 52,428,290 (2023 est.) [1] | 20,137,527 (2021 est.) [2] |"
        )
        assert body["response"].startswith(told)
        assert {citation["country_name"] for citation in body["citations"]} == {
            "Kenya",
            "Mali",
        }
        assert body["unsupported"] == []
        assert body["trace"]["usage"]["calls"] == 0

    def test_deep_quotes_under_each_sub_question(self, query: Post) -> None:
        body = answer(
            query,
            mode="deep",
            query="What is the population of Kenya? And what is mined in Mali?",
        )
        ((kenya, mali),) = [
            step["items"] for step in body["trace"]["path"] if step["name"] == "plan"
        ]
        head, of_kenya, of_mali = body["response"].split("**What is")
        assert head.startswith("Quoted from the reports:")
        assert kenya == f"What is{of_kenya.partition('**')[0]}"
        assert mali.endswith(f"hat is{of_mali.partition('**')[0]}")
        assert "52,428,290" in of_kenya
        assert (body["unsupported"], body["trace"]["usage"]["calls"]) == ([], 0)

    @pytest.mark.parametrize("fields", [{}, {"mode": "auto"}])
    def test_auto_is_the_default_and_goes_by_rule(
        self, query: Post, fields: dict[str, str]
    ) -> None:
        body = answer(query, **fields)
        assert body["trace"]["mode"] == "compare"
        assert path_names(body)[0] == "mode"
