"""Servers that only resemble OpenAI's: what they send is a reply, an empty one, or a
typed failure.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chatbot.models.replies import REPAIR
from tests.answering.modes.bench import Bench, bench
from tests.fakes.openai_replies import Reply
from tests.fakes.scripted_model import ScriptedModel

DONE = b"data: [DONE]\n\n"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("malformed")) as opened:
        yield opened


def sent(*bodies: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(body).encode() + b"\n\n" for body in bodies)


def choice(**fields: Any) -> dict[str, Any]:
    return {"id": "1", "model": "fake", "choices": [{"index": 0, **fields}]}


SAID, END = (
    choice(delta={"content": "It is so [1]."}),
    choice(delta={}, finish_reason="stop"),
)
PART = {"type": "text", "text": "so [1]."}
READ = {
    "null": sent(None, SAID, END),
    "list": sent([1], SAID, END),
    "text": sent("x", SAID, END),
    "no choices": sent({"id": "1"}, SAID, END),
    "choices null": sent({"choices": None}, SAID, END),
    "delta null": sent(choice(delta=None), SAID, END),
    "thoughts apart": sent(choice(delta={"reasoning_content": "Hm."}), SAID, END),
    "usage of texts": sent(
        SAID,
        END,
        {"choices": [], "usage": {"prompt_tokens": "12", "completion_tokens": None}},
    ),
    "usage empty": sent(SAID, END, {"choices": [], "usage": {}}),
    "usage wrong": sent(
        SAID,
        END,
        {"choices": [], "usage": {"prompt_tokens": -12, "completion_tokens": 1.5}},
    ),
    "end first": sent(END, SAID),
    "no reason": sent(SAID),
    "parts": sent(
        choice(
            delta={
                "content": [{"type": "text", "text": "It is "}, {"type": "image"}, PART]
            }
        ),
        END,
    ),
}
EMPTY = {
    "no delta": sent(choice(finish_reason="stop")),
    "nothing but the end": b"\n",
    "number": sent(choice(delta={"content": 12}), END),
    "tool": sent(
        choice(
            delta={"tool_calls": [{"index": 0, "function": {"name": "x"}}]},
            finish_reason="tool_calls",
        )
    ),
}
FAILED = {
    "no JSON": b"data: {oops\n\n",
    "no UTF-8": b'data: {"choices": [{"delta": {"content": "\xff"}}]}\n\n',
    "HTML": b"<html>busy</html>",
    "error": sent({"error": {"message": "busy"}}),
    "error in words": sent({"error": "busy"}),
    "refusal": sent(choice(delta={"content": None, "refusal": "No."}), END),
}


@pytest.mark.parametrize("raw", READ.values(), ids=READ)
def test_what_is_there_is_read(plain: Bench, raw: bytes) -> None:
    told = plain.ask("deep", ScriptedModel(answer=Reply(raw=raw + DONE)))
    assert (told.answer.response, told.answer.answered, told.failed) == (
        "It is so [1].",
        True,
        [],
    )
    assert all(
        row.usage.prompt_tokens >= 0 <= row.usage.completion_tokens
        for row in told.answer.trace.ledger
    )


@pytest.mark.parametrize("raw", EMPTY.values(), ids=EMPTY)
def test_what_is_no_text_is_none(plain: Bench, raw: bytes) -> None:
    told = plain.ask(
        "deep", ScriptedModel(plan=Reply(raw=raw + DONE), answer=Reply(raw=raw + DONE))
    )
    assert [step.name for step in told.failed] == ["plan"]
    assert told.timed(REPAIR) == 1
    assert "Quoted from the reports instead:" in told.answer.response


@pytest.mark.parametrize("raw", FAILED.values(), ids=FAILED)
def test_what_is_no_stream_is_a_failure(plain: Bench, raw: bytes) -> None:
    told = plain.ask(
        "deep", ScriptedModel(plan=Reply(raw=raw + DONE), answer=Reply(raw=raw + DONE))
    )
    assert [step.name for step in told.failed] == ["plan", "generate"]
    assert told.answer.trace.stopped_by == "model"
    assert told.answer.answered


@pytest.mark.parametrize("stage", ["plan", "relevance", "reflect"])
def test_a_limit_before_the_first_word_costs_that_stage_only(
    plain: Bench, stage: str
) -> None:
    told = plain.ask(
        "deep", ScriptedModel(**{stage: Reply([], finish_reason="length")})
    )
    assert [step.name for step in told.failed] == [stage]
    assert "before its first word" in told.failed[0].detail
    assert told.answer.answered
