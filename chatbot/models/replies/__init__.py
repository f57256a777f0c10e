"""Ask a model for something that a program reads, once more where its reply cannot be
read (R-C9). A server that knows JSON schemas is held to the schema
(`Prompt.json_schema`); the reply of any other is read as it is.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from ...domain import Context, Message, Prompt
from ...domain.chat import StepTiming
from ...domain.errors import BudgetExhaustedError, ChatModelError
from ...domain.protocols import ChatModel
from ...domain.request import RequestContext
from ..prompts import render
from .readers import (
    read_choice,
    read_follow_up,
    read_numbers,
    read_queries,
)
from .stream import Reply, complete, readable

T = TypeVar("T")
REPAIR = "repair"
"""Name of the second call in the ledger."""
_TEXT = {"type": "string"}


@dataclass(frozen=True)
class Shape(Generic[T]):
    """``schema``: a JSON schema within OpenAI's strict mode, with a ``title``; None for
    prose. ``read`` returns None for an unreadable reply and never raises. ``repair`` is
    the second call's instruction, behind the ``reasons`` for which the reply could not
    be read.
    """

    schema: Mapping[str, Any] | None
    read: Callable[[str], T | None]
    repair: str
    reasons: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class ParsedReply(Generic[T]):
    """``value`` is None if the reply could not be read or the model failed; ``why``
    says so in a few words.
    """

    value: T | None
    steps: tuple[StepTiming, ...]
    why: str = ""
    error: ChatModelError | BudgetExhaustedError | None = None


def stage_prompt(stage: str, shape: Shape[T], query: str, /, **values: str) -> Prompt:
    """Return the prompt made of the two templates of ``stage``, which asks for
    ``shape``; ``query`` is the person's question, for models that only quote.
    """
    messages = (
        Message(role, render(f"{stage}_{role}", **values))
        for role in ("system", "user")
    )
    return Prompt(
        tuple(messages), query, Context(), json_schema=shape.schema, is_plan=True
    )


def ask(
    model: ChatModel,
    prompt: Prompt,
    shape: Shape[T],
    request: RequestContext,
    *,
    stage: str,
) -> ParsedReply[T]:
    """Make one call, or two if the first reply cannot be read. The steps are called
    ``stage`` and `REPAIR`. A failed call is returned, not raised: the caller has a
    fallback. Each call asks ``request.may_call`` first. Raises BudgetExhaustedError:
    the day's tokens were used up before the first call.
    """
    steps: list[StepTiming] = []
    for name in (stage, REPAIR):
        if not request.may_call():
            return ParsedReply(None, tuple(steps), "no call is left")
        started = time.perf_counter()
        reply = Reply(prompt)
        try:
            complete(model, prompt, request, reply)
        except BudgetExhaustedError as error:
            if not steps:
                raise
            return ParsedReply(None, tuple(steps), error.message, error)
        except ChatModelError as error:
            steps.append(StepTiming.since(name, started, reply.usage_of_failed(error)))
            return ParsedReply(None, tuple(steps), error.finding, error)
        steps.append(StepTiming.since(name, started, reply.usage))
        if (value := shape.read(reply.text)) is not None:
            return ParsedReply(value, tuple(steps))
        if request.cancelled:
            return ParsedReply(None, tuple(steps), "it took too long")
        reasons = shape.reasons(reply.text) if shape.reasons else ""
        # Some servers refuse an empty message.
        # The beginning of an unreadable reply shows what went wrong.
        again = (
            Message("assistant", reply.text[:2000] or "(nothing)"),
            Message("user", f"{shape.repair}\n{reasons}".strip()),
        )
        prompt = replace(prompt, messages=(*prompt.messages, *again))
    return ParsedReply(None, tuple(steps), "its reply could not be read")


def queries(most: int) -> Shape[list[str]]:
    """At most ``most`` different search questions, each on one line of at most 300
    characters. [] = none needed.
    """
    examples = [{"queries": ["first question", "second question"]}, {"queries": []}]
    read = partial(read_queries, most=most)
    return _shape(
        "queries",
        {"queries": _list(_TEXT)},
        read,
        "list of questions",
        examples,
        f" (at most {most})",
    )


def numbers(count: int) -> Shape[list[int]]:
    """Different 1-based numbers of passages up to ``count``, best first. [] = none."""
    fields = {"numbers": _list({"type": "integer"})}
    examples = [{"numbers": [2, 1][-count:]}, {"numbers": []}]
    read = partial(read_numbers, count=count)
    note = f", with numbers from 1 to {count}"
    return _shape("numbers", fields, read, "list of passage numbers", examples, note)


def choice(names: Sequence[str]) -> Shape[int]:
    """The 1-based place of one of ``names``, of which there is at least one."""
    fields = {"choice": {"type": "string", "enum": list(names)}}
    read = partial(read_choice, names=tuple(names))
    note = f", with one of: {', '.join(names)}"
    return _shape("choice", fields, read, "choice of one", [{"choice": names[0]}], note)


def follow_up() -> Shape[str]:
    """The next question on one line of at most 300 characters; "" = the passages are
    enough.
    """
    fields = {"enough": {"type": "boolean"}, "question": _TEXT}
    examples = [
        {"enough": False, "question": "the next question"},
        {"enough": True, "question": ""},
    ]
    return _shape("follow_up", fields, read_follow_up, "next question", examples)


def prose() -> Shape[str]:
    """Any text, without thoughts, of at most 20,000 characters."""
    return Shape(
        None,
        lambda reply: readable(reply) or None,
        "Your reply was empty. Write only the answer.",
    )


def _shape(
    name: str,
    fields: Mapping[str, Any],
    read: Callable[[str], T | None],
    what: str,
    examples: Sequence[object],
    note: str = "",
) -> Shape[T]:
    """``what`` and ``examples`` word the second call; ``note`` follows the first
    example.
    """
    first, *others = (json.dumps(example, ensure_ascii=False) for example in examples)
    expected = " or ".join([first + note, *others])
    repair = (
        f"Your reply is not a readable {what}. Write only JSON like this: {expected}."
    )
    return Shape({"title": name, **_record(fields)}, read, repair)


def _record(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}
