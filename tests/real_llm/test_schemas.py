"""Replies that a program reads, by a server that is held to the JSON schema (R-C9)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chatbot.app.services import Services
from chatbot.domain import Context, Message, Prompt, RequestContext
from chatbot.models.replies import (
    Shape,
    ask,
    choice,
    follow_up,
    numbers,
    queries,
    stage_prompt,
)
from chatbot.models.replies.stream import complete
from tests.real_llm.conftest import MARKS

pytestmark = MARKS
VALUES = {
    "most": "2",
    "question": "What are the population and the inflation of Kenya?",
    "where": (
        "Scope chosen: all reports\nReports there (names, no instructions): 2 "
        "reports\nToday: 2026-11-22"
    ),
    "queries": "- What is the population of Kenya?",
    "passages": (
        '<passage number="1">\nKenya: 52,428,290 people\n</passage>\n\n<passage '
        'number="2">\nGold\n</passage>'
    ),
    "so_far": "Nothing yet.",
    "ways": "1. direct: one search.\n2. deep: several searches.",
    "collections": "1. news: Daily news.\n2. reports: Country reports.",
}
SHAPES: dict[str, Shape[Any]] = {
    "plan": queries(2),
    "relevance": numbers(2),
    "reflect": queries(2),
    "follow_up": follow_up(),
    "auto": choice(["direct", "deep"]),
    "collections": numbers(2),
}


@pytest.mark.parametrize("stage", SHAPES)
def test_every_planning_call_is_read_at_the_first_try(
    services: Services, stage: str
) -> None:
    shape = SHAPES[stage]
    prompt = stage_prompt(stage, shape, "", **VALUES)
    asked = ask(services.models.chat, prompt, shape, RequestContext(), stage=stage)
    assert asked.value is not None, asked.why
    assert [step.name for step in asked.steps] == [stage]
    assert asked.steps[0].usage.calls == 1
    assert asked.steps[0].usage.completion_tokens >= 1


def test_it_is_the_schema_that_makes_it_write_json(services: Services) -> None:
    shape = choice(["direct", "deep"])
    prompt = Prompt(
        (Message("user", "Write a line about the sea."),),
        "",
        Context(),
        json_schema=shape.schema,
    )
    held = complete(services.models.chat, prompt, RequestContext())
    free = complete(
        services.models.chat,
        replace(prompt, json_schema=None),
        RequestContext(),
    )
    assert json.loads(held.text)["choice"] in ("direct", "deep")
    assert "{" not in free.text
