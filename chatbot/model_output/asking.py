"""A model asked for something that a program reads: its schema, how it is read, one try more where it cannot be (R-C9).

A server that knows JSON schemas is held to the schema (`Prompt.json_schema`); any other is read as it comes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from ..errors import ChatModelError
from ..protocols import ChatModel
from ..request import RequestContext
from ..schema import Context, Message, Prompt, StepTiming
from .questions import read_queries
from .records import FollowUp, ReportOutline, read_follow_up, read_outline
from .selections import read_choice, read_numbers
from .stream import Reply, complete, readable

T = TypeVar("T")
REPAIR = "repair"
"""The step of the second try: it is counted apart."""
SHOWN_AGAIN = 2000
"""Characters of a reply that the model is shown where it has to repair it: the beginning says what went wrong."""
_TEXT = {"type": "string"}


@dataclass(frozen=True)
class Shape(Generic[T]):
    """``schema``: a JSON schema within what OpenAI's strict mode takes, with a ``title``; None for prose.

    ``read`` gives None where nothing can be read, and never raises. ``repair``: what the model is told then.
    """

    schema: Mapping[str, Any] | None
    read: Callable[[str], T | None]
    repair: str


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """``value`` is None where nothing could be read, or the model failed: then ``why`` says it in a few words."""

    value: T | None
    steps: tuple[StepTiming, ...]
    why: str = ""
    error: ChatModelError | None = None


def shape_prompt(messages: Sequence[Message], question: str, shape: Shape[T]) -> Prompt:
    """The prompt that asks for ``shape``; ``question`` is what a person asked, for models that only quote."""
    return Prompt(tuple(messages), question, Context(), json_schema=shape.schema)


def ask(
    model: ChatModel,
    prompt: Prompt,
    shape: Shape[T],
    request: RequestContext,
    *,
    stage: str,
) -> Asked[T]:
    """One call, two where the first reply cannot be read. The steps are called ``stage`` and `REPAIR`.

    A failure is an outcome, too: the caller has a fallback, or raises it. Each call asks ``request.may_call`` first.
    """
    steps: list[StepTiming] = []
    for name in (stage, REPAIR):
        if not request.may_call():
            return Asked(None, tuple(steps), "no call is left")
        started, reply = time.perf_counter(), Reply(prompt)
        try:
            done = complete(model, prompt, request, reply)
        except ChatModelError as error:
            steps.append(StepTiming.since(name, started, reply.usage_of_failed(error)))
            return Asked(None, tuple(steps), error.finding, error)
        steps.append(StepTiming.since(name, started, done.usage))
        if (value := shape.read(done.text)) is not None:
            return Asked(value, tuple(steps))
        if request.cancelled:
            return Asked(None, tuple(steps), "it took too long")
        # Some servers refuse an empty message.
        again = (Message("assistant", done.text[:SHOWN_AGAIN] or "(nothing)"), Message("user", shape.repair))
        prompt = replace(prompt, messages=(*prompt.messages, *again))
    return Asked(None, tuple(steps), "its reply could not be read")


def queries(most: int) -> Shape[list[str]]:
    """At most ``most`` search questions, each once, on one line, of at most 300 characters. [] = none needed."""
    some, none = _example({"queries": ["first question", "second question"]}), _example({"queries": []})
    wanted = f"{some} (at most {most}), or {none} for none"
    return _shape("queries", {"queries": _list(_TEXT)}, partial(read_queries, most=most), "list of questions", wanted)


def numbers(count: int) -> Shape[list[int]]:
    """1-based numbers of passages, at most ``count``, each once, best first. [] = none."""
    some, none = _example({"numbers": [2, 1][-count:]}), _example({"numbers": []})
    wanted = f"{some}, with numbers from 1 to {count}, or {none} for none"
    fields = {"numbers": _list({"type": "integer"})}
    return _shape("numbers", fields, partial(read_numbers, count=count), "list of passage numbers", wanted)


def choice(names: Sequence[str]) -> Shape[int]:
    """The 1-based place of one of ``names``, of which there is at least one."""
    wanted = f"{_example({'choice': names[0]})}, with one of: {', '.join(names)}"
    fields = {"choice": {"type": "string", "enum": list(names)}}
    return _shape("choice", fields, partial(read_choice, names=tuple(names)), "choice of one", wanted)


def follow_up() -> Shape[FollowUp]:
    """Whether what was found is enough, else the next question."""
    fields = {"enough": {"type": "boolean"}, "question": _TEXT}
    more, done = {"enough": False, "question": "the next question"}, {"enough": True, "question": ""}
    return _shape("follow_up", fields, read_follow_up, "next question", f"{_example(more)} or {_example(done)}")


def outline(most: int) -> Shape[ReportOutline]:
    """A title and at most ``most`` sections, each with the question that it answers."""
    section = {"title": "title of the section", "question": "question that it answers"}
    wanted = f"{_example({'title': 'title of the report', 'sections': [section]})} (at most {most} sections)"
    fields = {"title": _TEXT, "sections": _list(_record({"title": _TEXT, "question": _TEXT}))}
    return _shape("outline", fields, partial(read_outline, most=most), "outline", wanted)


def prose() -> Shape[str]:
    """Any text, without thoughts, of at most 20,000 characters."""
    return Shape(None, lambda reply: readable(reply) or None, "Your reply was empty. Write only the answer.")


def _shape(name: str, fields: Mapping[str, Any], read: Callable[[str], T | None], what: str, wanted: str) -> Shape[T]:
    repair = f"That was no {what} that can be read. Write only JSON like this: {wanted}."
    return Shape({"title": name, **_record(fields)}, read, repair)


def _example(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _record(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}
