"""Read a model's verdicts on numbered sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from ...domain.chat import Verdict
from . import Shape
from .readers import MAX_QUESTION_CHARACTERS, json_values
from .stream import readable

__all__ = ["NumberedVerdict", "verdicts"]

_VERDICTS: dict[object, Verdict | Literal[""]] = {
    "supported": "",
    "contradicted": "contradicted",
    "not said": "not_said",
    "not_said": "not_said",
}


@dataclass(frozen=True, slots=True)
class NumberedVerdict:
    """``sentence``: its number, from 1. ``verdict``: "" = supported. ``words``: of a
    passage that say so; ``formulas``: how figures are computed, by the figure.
    """

    sentence: int
    verdict: Verdict | Literal[""]
    words: str
    formulas: Mapping[str, str]


def verdicts(count: int) -> Shape[list[NumberedVerdict]]:
    """What is said of sentences, of ``count``. Those left out are supported."""
    calculation = {
        "type": "object",
        "properties": {"figure": {"type": "string"}, "formula": {"type": "string"}},
        "required": ["figure", "formula"],
        "additionalProperties": False,
    }
    one = {
        "type": "object",
        "properties": {
            "sentence": {"type": "integer"},
            "verdict": {"enum": ["supported", "contradicted", "not said"]},
            "words": {"type": "string"},
            "calculations": {"type": "array", "items": calculation},
        },
        "required": ["sentence", "verdict", "words", "calculations"],
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
            number, verdict, words[:MAX_QUESTION_CHARACTERS], _formulas(row)
        )
    return [found[number] for number in sorted(found)]


def _formulas(row: Mapping[str, Any]) -> dict[str, str]:
    listed = row.get("calculations")
    formulas: dict[str, str] = {}
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, Mapping):
            formulas[str(one.get("figure"))] = str(one.get("formula"))
    return formulas


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
