"""Questions out of a model's reply: lists of them, lines that are marked or ask, words for "none", refusals (R-C9)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from .json_values import first_of, json_values, normalise_names
from .stream import readable

LONGEST = 300
"""Characters of a question."""
LINES = 200
"""Lines of a reply that are looked at."""
SEVERAL = (
    "queries", "questions", "subqueries", "subquestions", "searchqueries", "gapqueries",
    "followup", "followups", "followupquestions", "followupqueries",
)  # fmt: skip
ONE = ("query", "question", "subquery", "subquestion", "searchquery", "text", "q")
_LABEL = r"(?:q|(?:sub[-_ ]?|search |follow[- ]?up )?(?:query|question)|section|chapter)\s*\d{0,2}\s*[:.)]"
_NUMBER = r"\(?\d{1,2}(?:[.):．]+(?=[\s*])|、)"
_BULLET = r"[-*•–—+](?=\s)"
_MARKER = re.compile(rf"^(?:#{{1,6}}\s|(?:{_NUMBER}|{_BULLET}|{_LABEL})\s*(?:\[[ xX]\]\s+)?)", re.IGNORECASE)
_LINE = re.compile(
    rf"(?:>\s*)?(?:\*\*)?(?:(?P<heading>#{{1,6}}\s)|(?P<number>{_NUMBER}|{_LABEL})|(?P<bullet>{_BULLET}))"
    r"\s*(?:\[[ xX]\]\s+)?(?P<text>.+)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“„«'‘`]([^\"“”„«»`]*)[\"”“»'’`]")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Half of a surrogate pair can be written in JSON, but not be sent or stored."""
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m |i am )?(?:very |so )?sorry\b|i (?:can(?:no|['’]?)t|am unable|['’]?m unable|won['’]?t)\b"
    r"|i['’]m (?:unable|not able)|unfortunately\b|as an ai\b|please (?:provide|clarify|specify)\b"
    r"|(?:could|can|would) you (?:please )?(?:clarify|provide|share|tell me|specify|like|rephrase)\b"
    r"|how can i (?:help|assist)\b)",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\W*(?:none|n/?a|null|nil|nothing|no (?:(?:more|further|additional|other|gap|follow[- ]?up|new) )*"
    r"(?:sub[- ]?)?(?:queries|questions|query|question)\b.{0,40})\W*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[^\W\d_]{3}[.!]\s+\S")
_QUESTION = ("?", "？", "؟")
_COUNTED = re.compile(r"(?:q|(?:sub)?(?:query|question))?\d{1,2}")


def read_queries(reply: str, most: int) -> list[str] | None:
    """At most ``most`` questions, each once. [] = the reply says that there are none, None = it lists nothing.

    Read in this order: lists and objects; numbered or bulleted lines; lines that are questions; words for "none".
    """
    text = readable(reply)
    standing = json_values(text)
    listed = [_listed(one.value) for one in standing]
    if questions := next(filter(None, listed), None):
        return questions[:most]
    if any(one.meant and questions == [] for one, questions in zip(standing, listed, strict=True)):
        return []
    singles = [_of_single(one.value) for one in standing]
    questions = _distinct(question for question in singles if question) or _on_lines(text)
    return questions[:most] or ([] if "" in singles or says_none(text) else None)


@dataclass(frozen=True, slots=True)
class ListLine:
    """A line of a list; ``text`` without its mark."""

    mark: Literal["heading", "number", "bullet"]
    text: str


def marked_lines(text: str, longest: int) -> Iterator[ListLine]:
    """Lines with a number ("1.", "Q1:"), a bullet or the signs of a heading before them."""
    for line in text.splitlines()[:LINES]:
        if (match := _LINE.match(line.strip())) and (bare := one_line(match["text"], longest)):
            yield ListLine("heading" if match["heading"] else "number" if match["number"] else "bullet", bare)


def questions_on_lines(text: str, longest: int) -> list[str]:
    """The lines, where every one is a question of one sentence; lines that announce them with a colon do not count."""
    lines = [line.strip(" \t*_`\"”'") for line in text.splitlines()[:LINES] if line.strip()]
    lines = [line for line in lines if not line.endswith((":", "："))]
    if not all(line.endswith(_QUESTION) and len(line) <= longest and not _SENTENCE_END.search(line) for line in lines):
        return []
    return [one_line(line, longest) for line in lines if line[0] not in "[{"]


def one_line(text: str, longest: int) -> str:
    """A text cut to ``longest`` characters, printable, without list marks, quotes around it and bold type; maybe ""."""
    text = _plain(text[: 4 * longest])
    if len(text) > longest:
        text = text[: longest + 1].rsplit(" ", 1)[0][:longest]
    while (bare := _plain(_bare(text))) != text:
        text = bare
    return text if any(sign.isalnum() for sign in text) else ""


def _plain(text: str) -> str:
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


def _bare(text: str) -> str:
    text = _MARKER.sub("", text.replace("**", ""))
    quoted = _QUOTED.fullmatch(text)
    return quoted[1] if quoted else text


def refuses(text: str) -> bool:
    """The model declines, or asks the person something."""
    return bool(_REFUSAL.match(text))


def says_none(text: str) -> bool:
    """Says in words that there is nothing to list."""
    return bool(_NOTHING.fullmatch(text))


def clean_question(text: str) -> str:
    """A question as it is searched for; "" where it is none."""
    line = one_line(text, LONGEST)
    return "" if refuses(line) or says_none(line) else line


def _on_lines(text: str) -> list[str]:
    if refuses(text):
        return []
    marked = [line.text for line in marked_lines(text, LONGEST) if line.mark != "heading"]
    return _distinct([line for line in marked if not line.endswith(":")] or questions_on_lines(text, LONGEST))


def _listed(value: object) -> list[str] | None:
    """The texts of a list; of an object under one of `SEVERAL`, or in its only list, or one by one ({"q1": ...,
    "q2": ...}).
    """
    if not isinstance(value, dict):
        return _of_list(value)
    fields = normalise_names(value)
    for name in SEVERAL:
        if name in fields:
            return _under(fields[name])
    lists = [field for field in fields.values() if isinstance(field, list)]
    if len(lists) == 1 and not any(isinstance(field, dict) for field in fields.values()):
        return _of_list(lists[0])
    return _of_list(list(fields.values())) if fields and all(map(_COUNTED.fullmatch, fields)) else None


def _under(field: object) -> list[str] | None:
    if field is None:
        return []
    if isinstance(field, str):
        field = [line for line in field.splitlines() if line.strip()]
    return _of_list(list(field.values()) if isinstance(field, dict) else field)


def _of_list(items: object) -> list[str] | None:
    """[] for an empty list and for one that says "none"; None for a list of something else."""
    if not isinstance(items, list):
        return None
    texts = [text for item in items if (text := _text(item)) is not None]
    if items and not texts:
        return None
    nothing = all(not text.strip() or says_none(text) for text in texts)
    return _distinct(texts) or ([] if nothing else None)


def _text(item: object) -> str | None:
    if isinstance(item, dict):
        item = first_of(item, ONE)
    return item if isinstance(item, str) else None


def _of_single(value: object) -> str | None:
    """The question of an object that has one; "" where it says that there is none."""
    text = _text(value) if isinstance(value, dict) else None
    return None if text is None or refuses(text) else clean_question(text)


def _distinct(texts: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for text in texts:
        if line := clean_question(text):
            found.setdefault(line.casefold(), line)
    return list(found.values())
