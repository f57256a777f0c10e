"""Answers which reports, countries and years the library has."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...domain.protocols import Catalog
from ...domain.scope import Scope
from ...language.markdown import escape_markdown
from ...language.words import Say, counted, in_english
from ...questions.kinds import Topic, topic_of
from ...questions.reading import COUNTRY, YEAR
from ...search.scope import describe, summarise, values_inside
from ...search.subjects import everything_asked, suggest_scope
from ..turn import Draft, Turn

MAX_LISTED = 20
"""Items of a list; of the others the number is said."""


@dataclass(frozen=True, slots=True)
class WhatIsHere:
    """Lists what the library has of what is asked for, from its catalogue."""

    def run(self, turn: Turn) -> Draft | None:
        question = turn.question
        catalog = turn.catalog
        if question.attachments:
            return None
        topic = topic_of(question.search_text, turn.reading)
        if not topic:
            return None
        asked = everything_asked(turn.reading, question.scope, catalog)
        asked = asked.with_years_of_reports()
        suggestion = suggest_scope(asked, question.scope, catalog)
        inside = (suggestion or question.scope).strict()
        lines = [turn.missing, library_answer(topic, inside, catalog, turn.say)]
        return Draft(
            text="\n\n".join(line for line in lines if line),
            scope=summarise(catalog, inside),
            is_answer=True,
            why="The catalogue has what it asks.",
        )


def library_answer(
    topic: Topic, scope: Scope, catalog: Catalog, say: Say = in_english
) -> str:
    """Return Markdown: how many there are, and the first `MAX_LISTED` of what was asked
    for.
    """
    records = [record for record in catalog.all(scope) if record.status == "ready"]
    reports = counted(say, len(records), "report")
    if scope:
        where = escape_markdown(describe(scope, say))
        reports = say("{reports} for {scope}", reports=reports, scope=where)
    if topic == "reports":
        years = [str(year) for year in values_inside(records, scope, YEAR)]
        text = say("There are {reports}", reports=reports)
        if len(records) == 1:
            text = say("There is {reports}", reports=reports)
        elif years:
            text = say("{reports}, of {years}", reports=text, years=_years(years, say))
        return _list(text, [record.title for record in records], say)
    field, noun = (COUNTRY, "country") if topic == "countries" else (YEAR, "year")
    values = [str(value) for value in values_inside(records, scope, field)]
    covered = counted(say, len(values), noun)
    heading = say("The {reports} cover {values}", reports=reports, values=covered)
    return _list(heading, values, say)


def _years(years: Sequence[str], say: Say) -> str:
    if len(years) > MAX_LISTED:
        return say("{first} to {last}", first=years[0], last=years[-1])
    return say(", ").join(years)


def _list(heading: str, items: Sequence[str], say: Say) -> str:
    if not items:
        return f"{heading}."
    lines = [f"{heading}:", ""]
    lines += [f"- {escape_markdown(item)}" for item in items[:MAX_LISTED]]
    if len(items) > MAX_LISTED:
        lines.append("\n" + say("… and {number} more.", number=len(items) - MAX_LISTED))
    return "\n".join(lines)
