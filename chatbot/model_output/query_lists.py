"""Search questions out of a model's reply (R-C9)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .lines import marked_lines, one_line, questions_on_lines, refuses, says_none
from .values import first_of, named_fields, said, values

LONGEST = 300
"""Characters of a question."""
SEVERAL = (
    "queries",
    "questions",
    "sub_queries",
    "subqueries",
    "sub_questions",
    "subquestions",
    "search_queries",
    "gap_queries",
    "follow_up",
    "follow_ups",
    "follow_up_questions",
    "follow_up_queries",
)
ONE = ("query", "question", "sub_query", "subquery", "sub_question", "subquestion", "search_query", "text", "q")
_COUNTED = re.compile(r"(?:q|(?:sub_?)?(?:query|question))?_?\d{1,2}")


def read_queries(reply: str, most: int) -> list[str] | None:
    """At most ``most`` questions, each once. [] = the reply says that there are none, None = it lists nothing.

    Read in this order: lists and objects; numbered or bulleted lines; lines that are questions; words for "none".
    """
    text = said(reply)
    standing = values(text)
    listed = [_of_value(one.value) for one in standing]
    if questions := next(filter(None, listed), None):
        return questions[:most]
    if any(one.meant and questions == [] for one, questions in zip(standing, listed, strict=True)):
        return []
    singles = [_of_single(one.value) for one in standing]
    questions = _distinct(question for question in singles if question) or _on_lines(text)
    return questions[:most] or ([] if "" in singles or says_none(text) else None)


def _on_lines(text: str) -> list[str]:
    if refuses(text):
        return []
    marked = [line.text for line in marked_lines(text, LONGEST) if line.mark != "heading"]
    return _distinct([line for line in marked if not line.endswith(":")] or questions_on_lines(text, LONGEST))


def cleaned(text: str) -> str:
    """A question as it is searched for; "" where it is none."""
    line = one_line(text, LONGEST)
    return "" if refuses(line) or says_none(line) else line


def _of_value(value: object) -> list[str] | None:
    if isinstance(value, list):
        return _of_list(value)
    return _of_object(value) if isinstance(value, dict) else None


def _of_list(items: list[object]) -> list[str] | None:
    """[] for an empty list and for one that says "none"; None for a list of something else."""
    texts = [text for item in items if (text := _text(item)) is not None]
    if items and not texts:
        return None
    nothing = all(not text.strip() or says_none(text) for text in texts)
    return _distinct(texts) or ([] if nothing else None)


def _text(item: object) -> str | None:
    if isinstance(item, dict):
        item = first_of(item, ONE)
    return item if isinstance(item, str) else None


def _of_object(value: Mapping[str, object]) -> list[str] | None:
    """Under one of `SEVERAL`, or in the only list that is there, or one by one ({"q1": ..., "q2": ...})."""
    fields = named_fields(value)
    for name in SEVERAL:
        if name in fields:
            return _under(fields[name])
    lists = [field for field in fields.values() if isinstance(field, list)]
    if len(lists) == 1 and not any(isinstance(field, dict) for field in fields.values()):
        return _of_list(lists[0])
    return _of_list(list(fields.values())) if fields and all(map(_COUNTED.fullmatch, fields)) else None


def _of_single(value: object) -> str | None:
    """The question of an object that has one; "" where it says that there is none."""
    text = _text(value) if isinstance(value, dict) else None
    return None if text is None or refuses(text) else cleaned(text)


def _under(field: object) -> list[str] | None:
    if isinstance(field, dict):
        return _of_list(list(field.values()))
    if isinstance(field, str):
        return _of_list([line for line in field.splitlines() if line.strip()])
    if field is None:
        return []
    return _of_list(field) if isinstance(field, list) else None


def _distinct(texts: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for text in texts:
        if line := cleaned(text):
            found.setdefault(line.casefold(), line)
    return list(found.values())
