"""Questions about the library itself: which reports, countries and years there are. They need no search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from ...domain import Scope
from ...domain.protocols import Catalog
from ...domain.scope import Named, Reading
from ...language import escape_markdown
from ...language.words import Say, counted, in_english
from ...questions.reading import COUNTRY, YEAR
from ...questions.wording import remove_names
from ...search.scope import describe, values_inside

MOST_LISTED = 20
Topic = Literal["reports", "countries", "years"]

_REPORTS = r"(?:(?:country|yearly|annual)\s+)?(?:reports?|documents?|files|editions?)"
_PLACE = r"(?:the|your|this) (?:data|database|collection|knowledge base|index)"
_THERE = (
    r"(?:do you (?:have|know|hold|cover)|have you got|are there|exist"
    r"|are (?:available|covered|included|indexed|loaded|searched)"
    r"|(?:can|may|could) (?:i|you|we) (?:ask(?: you)? about|search|use)|do (?:the|your|these) reports cover"
    rf"|are in (?:{_PLACE}|the reports))"
)
_LIST = r"(?:list|show(?: me)?|give me)\s+(?:(?:a list of|all|the|your|of)\s+)*"
_MINE = r"(?:\s+(?:that )?you have)?"
_WORDINGS: tuple[tuple[Topic, str], ...] = (
    ("reports", rf"(?:which|what|how many)\s+{_REPORTS}\s+{_THERE}"),
    ("reports", rf"(?:do you have|have you got|are there)\s+(?:any\s+|an?\s+)?{_REPORTS}"),
    ("reports", rf"{_LIST}{_REPORTS}{_MINE}"),
    ("reports", r"what (?:data |information )?do you (?:have|cover)|what can i ask(?: you)?(?: about)?"),
    ("reports", rf"what(?:'s| is) in {_PLACE}"),
    ("countries", rf"(?:which|what|how many)\s+countries\s+(?!are there$|exist){_THERE}"),
    ("countries", rf"{_LIST}countries{_MINE}"),
    ("years", rf"(?:which|what|how many)\s+years\s+{_THERE}"),
    ("years", rf"{_LIST}years{_MINE}"),
)
_ASKED = [
    (topic, re.compile(rf"^(?:please\s+)?(?:{wording})(?:\s+(?:available|here|in {_PLACE}))?$", re.IGNORECASE))
    for topic, wording in _WORDINGS
]
_LINK = re.compile(r"\b(?:on|about|for|from|of|in|and|or|the|year|years)\b|[,?.!&]", re.IGNORECASE)
_AT_THE_END = re.compile(r"(?:\s*(?:\b(?:on|about|for|from|of|in|and|or|the|year|years)\b|[,&]))+$", re.IGNORECASE)


def topic_of(question: str, reading: Reading) -> Topic | None:
    """Return what a question asks about the library; None if it asks about anything else besides names of a scope."""
    asked = question.strip().rstrip("?.! ").replace("’", "'")
    named: list[Named] = [*reading.countries, *reading.every_year]
    if named:
        first = min(name.start for name in named)
        if _LINK.sub("", remove_names(asked, named)[first:]).strip():
            return None
        asked = _AT_THE_END.sub("", asked[:first].rstrip())
    return next((topic for topic, pattern in _ASKED if pattern.match(asked)), None)


def library_answer(topic: Topic, scope: Scope, catalog: Catalog, say: Say = in_english) -> str:
    """Markdown: how many there are, and the first `MOST_LISTED` of what was asked for."""
    records = [record for record in catalog.all(scope) if record.status == "ready"]
    reports = counted(say, len(records), "report")
    if scope:
        shown = escape_markdown(describe(scope, say))
        reports = say("{reports} for {scope}", reports=reports, scope=shown)
    if topic == "reports":
        years = values_inside(records, scope, YEAR)
        text = say("There is {reports}" if len(records) == 1 else "There are {reports}", reports=reports)
        if years and len(records) > 1:
            shown = ", ".join(map(str, years))
            if len(years) > MOST_LISTED:
                shown = say("{first} to {last}", first=years[0], last=years[-1])
            text = say("{reports}, of {years}", reports=text, years=shown)
        return _list(text, [r.title for r in records], say)
    values = values_inside(records, scope, COUNTRY if topic == "countries" else YEAR)
    covered = counted(say, len(values), "country" if topic == "countries" else "year")
    return _list(say("The {reports} cover {values}", reports=reports, values=covered), list(map(str, values)), say)


def _list(heading: str, items: Sequence[str], say: Say) -> str:
    if not items:
        return f"{heading}."
    lines = [f"- {escape_markdown(item)}" for item in items[:MOST_LISTED]]
    more = ["\n" + say("… and {number} more.", number=len(items) - MOST_LISTED)] if len(items) > MOST_LISTED else []
    return "\n".join([f"{heading}:", "", *lines, *more])
