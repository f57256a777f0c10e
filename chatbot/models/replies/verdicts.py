"""Read a model's verdicts on numbered sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...domain.chat import Verdict
from . import Shape
from .readers import MAX_QUESTION_CHARACTERS, json_values
from .stream import readable

__all__ = ["NumberedVerdict", "verdicts"]

_VERDICTS: dict[object, Verdict] = {
    "contradicted": "contradicted",
    "not said": "not_said",
    "not_said": "not_said",
}


@dataclass(frozen=True, slots=True)
class NumberedVerdict:
    """``sentence``: its number, from 1. ``words``: those of a passage that say so."""

    sentence: int
    verdict: Verdict
    words: str


def verdicts(count: int) -> Shape[list[NumberedVerdict]]:
    """The sentences, of ``count``, that are not supported. [] = all are."""
    one = {
        "type": "object",
        "properties": {
            "sentence": {"type": "integer"},
            "verdict": {"enum": ["supported", "contradicted", "not said"]},
            "words": {"type": "string"},
        },
        "required": ["sentence", "verdict", "words"],
        "additionalProperties": False,
    }
    schema = {
        "title": "verdicts",
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": one}},
        "required": ["verdicts"],
        "additionalProperties": False,
    }
    return Shape(schema, partial(_read, count=count), "Write only the JSON.")


def _read(reply: str, *, count: int) -> list[NumberedVerdict] | None:
    rows = _rows(json_values(readable(reply)))
    if rows is None:
        return None
    found: dict[int, NumberedVerdict] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            continue
        number = row.get("sentence")
        verdict = _VERDICTS.get(str(row.get("verdict")).casefold())
        if not isinstance(number, int) or not 1 <= number <= count:
            continue
        if verdict is None:
            continue
        words = " ".join(str(row.get("words") or "").split())
        found[number] = NumberedVerdict(
            number, verdict, words[:MAX_QUESTION_CHARACTERS]
        )
    return [found[number] for number in sorted(found)]


def _rows(values: Sequence[Any]) -> Sequence[Any] | None:
    """Return the listed verdicts, None where the reply has no list."""
    for value in values:
        if isinstance(value, list):
            return value
        if isinstance(value, Mapping):
            listed = value.get("verdicts")
            if isinstance(listed, list):
                return listed
            if "verdict" in value:
                return values
    return None
