"""Objects of several fields out of a model's reply: a chain's next question, a report's outline (R-C3, R-C9)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .json_values import first_of, json_values
from .questions import LONGEST, clean_question, marked_lines, one_line, questions_on_lines, refuses
from .selections import is_yes, read_yes_no
from .stream import readable

TITLE = 150
"""Characters of a title."""
_ENOUGH = ("enough", "sufficient", "isenough", "done", "complete")
_QUESTION = ("question", "followup", "followupquestion", "nextquestion", "query")
_SECTIONS = ("sections", "outline", "chapters", "parts")
_TITLE = ("title", "heading", "section", "name", "reporttitle")
_ABOUT = ("question", "query", "focus", "description")
_FIELD = re.compile(r"^[^\w\n]*(enough|question|title)[^\w\n]{0,4}:[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_SPLIT = re.compile(r"(.{2,150}?)\s*(?::|\s[-–—])\s+(.+[?？؟])")


@dataclass(frozen=True, slots=True)
class FollowUp:
    """``question`` is "" where what was found is enough, and one line of at most 300 characters otherwise."""

    enough: bool
    question: str


@dataclass(frozen=True, slots=True)
class OutlineSection:
    """A section to be written, and the question that it answers."""

    title: str
    question: str


@dataclass(frozen=True, slots=True)
class ReportOutline:
    """``title`` may be ""; the sections' titles and questions are not."""

    title: str
    sections: tuple[OutlineSection, ...]


def read_follow_up(reply: str) -> FollowUp | None:
    """The follow-up question in a reply: an object; "Enough: ..." and "Question: ..." on lines; "Yes" alone; a
    question alone.
    """
    text = readable(reply)
    for found in json_values(text):
        if not isinstance(found.value, Mapping):
            continue
        if answer := _follow_up(first_of(found.value, _ENOUGH), first_of(found.value, _QUESTION)):
            return answer
    fields = _fields_on_lines(text)
    if "enough" in fields:
        return _follow_up(fields["enough"], fields.get("question"))
    if refuses(text):
        return None
    questions = questions_on_lines(text, LONGEST)
    if len(questions) == 1:
        return _follow_up(None, questions[0])
    return FollowUp(True, "") if read_yes_no(text) and len(text.split()) == 1 else None


def _follow_up(enough: object, question: object) -> FollowUp | None:
    asked = clean_question(question) if isinstance(question, str) else ""
    stop = is_yes(enough)
    if stop is None and isinstance(question, str):
        stop = not asked and not refuses(question)
    if stop:
        return FollowUp(True, "")
    return FollowUp(False, asked) if asked else None


def read_outline(reply: str, most: int) -> ReportOutline | None:
    """The outline in a reply: an object or a list of sections; else headings, numbered or bulleted lines are the
    sections.
    """
    text = readable(reply)
    for found in json_values(text):
        if isinstance(found.value, Mapping):
            sections = first_of(found.value, _SECTIONS)
            title = first_of(found.value, _TITLE)
        else:
            sections, title = found.value, ""
        if outline := _outline(title, _sections(sections), most):
            return outline
    return None if refuses(text) else _outline_on_lines(text, most)


def _outline(title: object, sections: Iterable[OutlineSection], most: int) -> ReportOutline | None:
    distinct: dict[str, OutlineSection] = {}
    for section in sections:
        distinct.setdefault(section.title.casefold(), section)
    kept = tuple(distinct.values())[:most]
    return ReportOutline(one_line(title, TITLE) if isinstance(title, str) else "", kept) if kept else None


def _sections(value: object) -> Iterator[OutlineSection]:
    items = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
    for item in items:
        fields = item if isinstance(item, Mapping) else {"title": item}
        title, question = first_of(fields, _TITLE), first_of(fields, _ABOUT)
        yield from _section(title if isinstance(title, str) else "", question if isinstance(question, str) else "")


def _section(title: str, question: str) -> Iterator[OutlineSection]:
    title, question = one_line(title, TITLE), one_line(question, LONGEST)
    if title or question:
        yield OutlineSection(title or one_line(question, TITLE), question or title)


def _fields_on_lines(text: str) -> dict[str, str]:
    return {name.casefold(): field.strip(' ,\t"“”') for name, field in _FIELD.findall(text)}


def _outline_on_lines(text: str, most: int) -> ReportOutline | None:
    """With numbers or headings, bullets below them are their questions. The first of headings may be the title."""
    lines = list(marked_lines(text, LONGEST))
    numbered = [line for line in lines if line.mark == "number"]
    headings = [line for line in lines if line.mark == "heading"]
    mark = "number" if numbered else "heading" if len(headings) > 1 else "bullet"
    title = _fields_on_lines(text).get("title", headings[0].text if headings and mark != "heading" else "")
    sections: list[OutlineSection] = []
    for line in lines:
        if line.mark == mark:
            parts = _SPLIT.fullmatch(line.text)
            sections += _section(*(parts.groups() if parts else (line.text.rstrip(":"), "")))
        elif (
            line.mark == "bullet"
            and sections
            and line.text.endswith("?")
            and sections[-1].question == sections[-1].title
        ):
            sections[-1] = OutlineSection(sections[-1].title, line.text)
    return _outline(title, sections, most)
