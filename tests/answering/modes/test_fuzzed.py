"""Replies that no model should write: each question is answered, or honestly not
(R-C9).
"""

import json
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.app.factory import close_app, create_app
from tests.answering.modes.bench import COLLECTIONS, QUESTION, Bench, bench
from tests.answering.modes.nonsense import nonsense
from tests.campaigns import times
from tests.data import cases
from tests.fakes.openai_replies import Recorded, Reply
from tests.fakes.openai_server import CHAT
from tests.fakes.scripted_model import ScriptedModel, ideal, pieces, stage_of

CASES = cases(__file__)
WAYS = ("direct", "deep", "chain", "compare")
MODES = (*WAYS, "auto", "report")
QUESTIONS = times("REPLIES", 3)
MAY_FAIL = {"direct", "auto"}
"""A direct answer that fails is a typed error; auto may choose it."""


class Raving:
    """Two replies of three are nonsense: the others lead to the stages behind."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def __call__(self, request: Recorded) -> Reply:
        if self.random.random() < 0.33:
            way = json.dumps({"choice": self.random.choice(WAYS)})
            return Reply(pieces(way if stage_of(request) == "auto" else ideal(request)))
        return nonsense(self.random.randrange(10**9), request)


@pytest.fixture(scope="module")
def raving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(
        tmp_path_factory.mktemp("raving"),
        collections=COLLECTIONS,
        deep_rounds=2,
        chain_rounds=2,
    ) as opened:
        yield opened


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("mode", "stage", "line"),
    CASES["a model that says one line for ever"],
)
def test_a_model_that_says_one_line_for_ever(
    raving: Bench, mode: str, stage: str, line: str
) -> None:
    """Seconds, not minutes: what is done with a reply does not grow with the square of
    it.
    """
    before = time.process_time()
    raving.ask(mode, ScriptedModel(**{stage: Reply([line * (100_000 // len(line))])}))
    assert time.process_time() - before < 20


@pytest.fixture(scope="module")
def client(raving: Bench) -> Iterator[FlaskClient]:
    """The application over the same reports, with its caches."""
    app = create_app(raving.services.settings.override(cache_seconds=60.0))
    yield app.test_client()
    close_app(app)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", MODES)
def test_the_pages_get_what_can_be_sent(
    raving: Bench, client: FlaskClient, mode: str
) -> None:
    for number in range(QUESTIONS):
        raving.server.always(CHAT, Raving(1000 + number))
        asked = {"query": f"{QUESTION} {number}", "mode": mode}
        response = client.post("/query", json=asked)
        assert response.status_code in ((200, 503) if mode in MAY_FAIL else (200,)), (
            number,
            response.text,
        )
        streamed = client.post("/api/chat", json={**asked, "cache": False})
        assert streamed.status_code in ((200, 503) if mode in MAY_FAIL else (200,)), (
            number,
            streamed.text,
        )
        if streamed.status_code == 200:
            assert_ends_well(events(streamed.get_data()), mode)


def events(body: bytes) -> list[tuple[str, Any]]:
    found = []
    for block in body.decode().split("\n\n"):
        lines = [
            line for line in block.split("\n") if line and not line.startswith(":")
        ]
        if lines:
            name, data = lines
            found.append(
                (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
            )
    return found


def assert_ends_well(sent: list[tuple[str, Any]], mode: str) -> None:
    name, data = sent[-1]
    if name == "error":
        assert (mode in MAY_FAIL, data["error"]["code"]) == (
            True,
            "chat_model_unavailable",
        )
        return
    assert name == "done"
    assert data["response"].strip()
    numbers = [citation["number"] for citation in data["citations"]]
    assert len(numbers) == len(set(numbers)), "what was shown before keeps its number"
    hits = {hit["chunk_id"] for hit in data["trace"]["hits"]}
    assert {citation["chunk_id"] for citation in data["citations"]} <= hits
