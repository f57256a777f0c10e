"""Questions about the collection itself, answered from what is known of the reports: no search, no model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from ..protocols import Catalog
from ..retrieval.mentions import COUNTRY, YEAR, Mentions
from ..retrieval.scope import describe
from ..schema import DocumentRecord, Scope, Value
from ..text import counted, escape_markdown

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


def collection_topic(question: str, mentions: Mentions) -> Topic | None:
    """What of the collection a question asks for. Strict: all of it has to be that and the names of a scope."""
    asked = question.strip().rstrip("?.! ").replace("’", "'")
    spans = [(country.start, country.end) for country in mentions.countries]
    named = sorted([*spans, *((years.start, years.end) for years in mentions.years)])
    if named:
        head, tail = asked[: named[0][0]], asked[named[0][0] :]
        for start, end in reversed(named):
            shift = named[0][0]
            tail = tail[: start - shift] + tail[end - shift :]
        if _LINK.sub("", tail).strip():
            return None
        asked = _AT_THE_END.sub("", head.rstrip())
    return next((topic for topic, pattern in _ASKED if pattern.match(asked)), None)


def collection_answer(topic: Topic, scope: Scope, catalog: Catalog) -> str:
    """Markdown: counts, and the first of what was asked for."""
    records = [record for record in catalog.all(scope) if record.status == "ready"]
    where = f" for {escape_markdown(describe(scope))}" if scope else ""
    if topic == "reports":
        years = _values(records, scope, YEAR)
        covered = f", of {_range(years)}" if years and len(records) > 1 else ""
        return _list(f"There {_are(len(records), 'report')}{where}{covered}", [r.title for r in records])
    values = _values(records, scope, COUNTRY if topic == "countries" else YEAR)
    noun = "country" if topic == "countries" else "year"
    return _list(
        f"The {counted(len(records), 'report')}{where} cover {counted(len(values), noun)}", list(map(str, values))
    )


def _values(records: Sequence[DocumentRecord], scope: Scope, field: str) -> list[Value]:
    parts = (part.metadata for record in records for part in record.parts)
    return sorted({p[field] for p in parts if field in p and scope.without("document_name").matches(p)}, key=str)


def _range(years: Sequence[Value]) -> str:
    return ", ".join(map(str, years)) if len(years) <= MOST_LISTED else f"{years[0]} to {years[-1]}"


def _list(heading: str, items: Sequence[str]) -> str:
    if not items:
        return f"{heading}."
    lines = [f"- {escape_markdown(item)}" for item in items[:MOST_LISTED]]
    more = [f"\n… and {len(items) - MOST_LISTED} more."] if len(items) > MOST_LISTED else []
    return "\n".join([f"{heading}:", "", *lines, *more])


def _are(count: int, noun: str) -> str:
    return f"{'is' if count == 1 else 'are'} {counted(count, noun)}"
