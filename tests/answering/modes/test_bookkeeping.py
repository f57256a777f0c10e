"""What was asked of the model stands in the ledger, and what nobody wants again is
asked anew (R-C7, R-B10).
"""

import json

import pytest

from chatbot.domain import Message, Usage
from tests.answering.modes.bench import Bench, bench, model
from tests.fakes.openai_replies import Recorded, Reply
from tests.fakes.scripted_model import ScriptedModel

pytestmark = pytest.mark.extras("rerankers")

__all__ = ["model"]
JUDGES = "You judge which passages help"
ASKED = "What is the population of Kenya?"


class Judging(ScriptedModel):
    """Judges passages as it is told; the rest as usual."""

    def __init__(self, judged: Reply, *, only_of: str = "") -> None:
        super().__init__()
        self._judged, self._only_of = judged, only_of

    def __call__(self, request: Recorded) -> Reply:
        said = json.dumps(request.body["messages"])
        if JUDGES not in said:
            return super().__call__(request)
        return self._judged if self._only_of in said else Reply(['{"numbers": [1]}'])


@pytest.mark.parametrize(
    "reply", [Reply(status=500), Reply(silent_before=30.0)], ids=["500", "too slow"]
)
def test_a_search_whose_reranker_fails_has_made_its_call(
    tmp_path_factory: pytest.TempPathFactory, reply: Reply
) -> None:
    with bench(
        tmp_path_factory.mktemp("r"),
        reranker="llm",
        search_seconds=6.0,
        model_retries=0,
    ) as opened:
        told = opened.ask("compare", Judging(reply, only_of="52,428"))
    assert Usage(calls=1, failed_calls=1) in [
        step.usage for step in told.answer.trace.steps if step.name == "rerank"
    ]


class TestAnewMeansAnew:
    def test_a_follow_up_without_the_cache_is_condensed_anew(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        before = [Message("user", ASKED), Message("assistant", "52,428,290 [1].")]
        with bench(tmp_path_factory.mktemp("c"), cache_seconds=1000) as opened:
            for _ in range(2):
                told = opened.ask(
                    "direct", query="And of Mali?", previous=before, cache=False
                )
        assert [
            step.usage.calls
            for step in told.answer.trace.steps
            if step.name == "condense_model"
        ] == [1]
        assert told.answer.trace.usage.cached_calls == 0

    @pytest.mark.parametrize("mode", ["direct", "compare"])
    def test_a_reranker_without_the_cache_is_asked_anew(
        self, tmp_path_factory: pytest.TempPathFactory, mode: str
    ) -> None:
        with bench(
            tmp_path_factory.mktemp("r"), cache_seconds=1000, reranker="llm"
        ) as opened:
            for _ in range(2):
                told = opened.ask(
                    mode, Judging(Reply(['{"numbers": [1]}'])), cache=False
                )
        assert any(
            step.name == "rerank" and step.usage.calls
            for step in told.answer.trace.steps
        )
        assert told.answer.trace.usage.cached_calls == 0


def test_what_ended_at_its_limit_is_not_kept(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def say(request: Recorded) -> Reply:
        return Reply(["The population is 52,428,290 [1]."], finish_reason="length")

    with bench(tmp_path_factory.mktemp("t"), cache_seconds=1000) as opened:
        first, second = (opened.ask("direct", say, ASKED) for _ in range(2))
    assert (first.answer.trace.truncated, first.answer.answered) == (True, True)
    assert not second.answer.trace.cached


def test_the_closest_passages_are_shown_once(model: Bench) -> None:
    links = [
        json.dumps({"enough": False, "question": f"Who rules {name} Kenya?"})
        for name in ("old", "new")
    ]
    scripted = ScriptedModel(
        follow_up=[*links, '{"enough": true, "question": ""}'],
        intermediate="Not found.",
    )
    told = model.ask("chain", scripted, "Who rules Kenya?", top_k=1)
    hits = [hit.chunk.id for hit in told.answer.trace.hits]
    assert len(hits) == len(set(hits)) > 0
