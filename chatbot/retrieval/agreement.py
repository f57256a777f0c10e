"""The verb of a question about several things, where it is asked of one of them. The rules know English."""

from __future__ import annotations

import re

from .comparisons import NAME

_I = re.IGNORECASE
_TO_ONE = {"are": "is", "were": "was", "have": "has", "do": "does"}
_TO_SEVERAL = {one: several for several, one in _TO_ONE.items()}
_VERB = "|".join([*_TO_ONE, *_TO_SEVERAL])
_BEFORE = re.compile(rf"\b({_VERB})(?=\s+(?:(?:the|its|their)\s+|(?:the\s+)?{NAME}+['’]s?\s+)?$)", _I)
_AFTER = re.compile(rf"^(?:\s+(?:of|in|for)\s+(?:the\s+)?{NAME}+)?\s+({_VERB})\b", _I)
_BESIDE_HEAD = re.compile(r"\s+(?:of|at|per)\b.*$", _I)
_SEVERAL = re.compile(r"(?:[^sui]s|people)$", _I)
_OF_NAMES = re.compile(
    rf"\b(?:(?<=how )(?:are|were)|(?<=why )(?:are|were)|(?<=where )(?:are|were)|have|do)(?=\s+{NAME}(?!['’]))", _I
)


def with_thing(text: str, covered: str, start: int, end: int, thing: str) -> str:
    """The text with one thing in the place of a list; ``covered``: it with `NAME` for each letter of a name."""
    before, after = text[:start], text[end:]
    forms = _TO_SEVERAL if _SEVERAL.search(_BESIDE_HEAD.sub("", thing)) else _TO_ONE
    if verb := _BEFORE.search(covered[:start]):
        before = _exchanged(before, verb, forms)
    if verb := _AFTER.match(covered[end:]):
        after = _exchanged(after, verb, forms)
    return f"{before}{thing}{after}"


def of_one(held: str) -> str:
    """A question of one country, where it was of several: "How have Kenya and Mali changed"."""
    return _OF_NAMES.sub(lambda verb: to_one(verb[0]), held)


def to_one(verb: str) -> str:
    """Of a verb for several the form for one; another one as it is."""
    return _like(verb, _TO_ONE)


def _exchanged(text: str, verb: re.Match[str], forms: dict[str, str]) -> str:
    return f"{text[: verb.start(1)]}{_like(verb[1], forms)}{text[verb.end(1) :]}"


def _like(verb: str, forms: dict[str, str]) -> str:
    """The other form with the capital of the first; the verb where it is right."""
    form = forms.get(verb.lower(), verb)
    return form.capitalize() if verb[0].isupper() else form
