"""What a model is asked to write for a program: the schema of it, how it is read, what is said where it cannot be.

A server that knows JSON schemas is held to the schema (`Prompt.json_schema`); any other is read as it comes (R-C9).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from .choices import read_choice
from .number_lists import read_numbers
from .query_lists import read_queries
from .records import FollowUp, Outline, read_follow_up, read_outline
from .values import said

T = TypeVar("T")
_TEXT = {"type": "string"}


@dataclass(frozen=True)
class Shape(Generic[T]):
    """``schema``: a JSON schema within what OpenAI's strict mode takes, its ``title`` is ``name``; None for prose.

    ``read`` gives None where nothing can be read, and never raises. ``repair``: what the model is told then.
    """

    name: str
    schema: Mapping[str, Any] | None
    read: Callable[[str], T | None]
    repair: str


def queries(most: int) -> Shape[list[str]]:
    """At most ``most`` search questions, each once, on one line, of at most 300 characters. [] = none needed."""
    some, none = _example({"queries": ["first question", "second question"]}), _example({"queries": []})
    wanted = f"{some} (at most {most}), or {none} for none"
    schema = _object("queries", {"queries": _list(_TEXT)})
    return Shape("queries", schema, partial(read_queries, most=most), _repair("list of questions", wanted))


def numbers(count: int) -> Shape[list[int]]:
    """1-based numbers of passages, at most ``count``, each once, best first. [] = none."""
    some, none = _example({"numbers": [2, 1][-count:]}), _example({"numbers": []})
    wanted = f"{some}, with numbers from 1 to {count}, or {none} for none"
    schema = _object("numbers", {"numbers": _list({"type": "integer"})})
    return Shape("numbers", schema, partial(read_numbers, count=count), _repair("list of passage numbers", wanted))


def choice(names: Sequence[str]) -> Shape[int]:
    """The 1-based place of one of ``names``, of which there is at least one."""
    wanted = f"{_example({'choice': names[0]})}, with one of: {', '.join(names)}"
    schema = _object("choice", {"choice": {"type": "string", "enum": list(names)}})
    return Shape("choice", schema, partial(read_choice, names=tuple(names)), _repair("choice of one", wanted))


def follow_up() -> Shape[FollowUp]:
    """Whether what was found is enough, else the next question."""
    schema = _object("follow_up", {"enough": {"type": "boolean"}, "question": _TEXT})
    examples = [
        _example({"enough": False, "question": "the next question"}),
        _example({"enough": True, "question": ""}),
    ]
    return Shape("follow_up", schema, read_follow_up, _repair("next question", " or ".join(examples)))


def outline(most: int) -> Shape[Outline]:
    """A title and at most ``most`` sections, each with the question that it answers."""
    section = {"title": "title of the section", "question": "question that it answers"}
    wanted = f"{_example({'title': 'title of the report', 'sections': [section]})} (at most {most} sections)"
    one = _record({"title": _TEXT, "question": _TEXT})
    schema = _object("outline", {"title": _TEXT, "sections": _list(one)})
    return Shape("outline", schema, partial(read_outline, most=most), _repair("outline", wanted))


def prose() -> Shape[str]:
    """Any text, without thoughts, of at most 20,000 characters."""
    return Shape("prose", None, lambda reply: said(reply) or None, "Your reply was empty. Write only the answer.")


def _repair(what: str, wanted: str) -> str:
    return f"That was no {what} that can be read. Write only JSON like this: {wanted}."


def _example(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _object(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"title": name, **_record(properties)}


def _record(properties: Mapping[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}
