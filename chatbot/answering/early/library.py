"""Answers which reports, countries and years the library has, and what is in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...domain import DocumentRecord
from ...domain.protocols import Catalog, Passages
from ...domain.scope import Scope
from ...language.markdown import escape_markdown
from ...language.words import Say, counted, in_english
from ...questions.kinds import Topic, asks_what_this_is, topic_of, without_greeting
from ...questions.reading import COUNTRY, YEAR, in_a_sentence
from ...search.scope import describe, summarise, values_inside
from ...search.subjects import everything_asked, suggest_scope
from ..figure_tables import FigureTables
from ..guide import shared_chapters
from ..turn import Draft, Turn
from .overview import subject_of
from .small_talk import who_answers

MAX_LISTED = 20
"""Items of a list; of the others the number is said."""
MAX_NAMED = 10
"""Titles or topics that say what is in a library."""


@dataclass(frozen=True, slots=True)
class WhatIsHere:
    """Lists what the library has of what is asked for, from its catalogue; says what
    is in it by its topics, too, and by the figures that people ask for most.
    """

    passages: Passages
    tables: FigureTables

    def run(self, turn: Turn) -> Draft | None:
        question = turn.question
        catalog = turn.catalog
        if question.attachments:
            return None
        topic = topic_of(question.search_text, turn.reading)
        if not topic:
            return None
        asked = without_greeting(question.search_text)
        is_of_program = asks_what_this_is(asked)
        is_of_one = bool(question.page) or subject_of(turn)[0] is not None
        if topic == "content" and is_of_one and not is_of_program:
            # Of one report or country, or one page: it is read.
            return None
        reading = everything_asked(turn.reading, question.scope, catalog)
        reading = reading.with_years_of_reports()
        suggestion = suggest_scope(reading, question.scope, catalog)
        inside = (suggestion or question.scope).strict()
        if topic == "content":
            figures = self.tables.most_asked(inside)
            text = content_answer(inside, catalog, self.passages, figures, turn.say)
            if is_of_program or asked != question.search_text:
                text = f"{who_answers(turn, summarise(catalog, inside))}\n\n{text}"
        else:
            text = library_answer(topic, inside, catalog, turn.say)
        lines = [turn.missing, text]
        return Draft(
            text="\n\n".join(line for line in lines if line),
            scope=summarise(catalog, inside),
            is_answer=True,
            why="The catalogue has what it asks.",
        )


def content_answer(
    scope: Scope,
    catalog: Catalog,
    passages: Passages,
    figures: Sequence[str],
    say: Say = in_english,
) -> str:
    """Return Markdown: what is in the reports of a scope. ``figures``: the headings of
    those that people ask for most. Raises DependencyError.
    """
    records = _ready(catalog, scope)
    titles = [record.title for record in records]
    is_short = len(records) <= MAX_NAMED
    listed = titles if is_short else ()
    parts = [_list(_reports(records, scope, say), listed, say)]
    countries = [str(value) for value in values_inside(records, scope, COUNTRY)]
    if countries:
        values = counted(say, len(countries), "country")
        text = "They cover {values}: {names}."
        parts.append(say(text, values=values, names=_in_a_row(countries, say)))
    shared = shared_chapters(records, passages)[:MAX_NAMED]
    chapters = [say(chapter_name) for chapter_name in shared]
    if chapters:
        parts.append(say("Topics: {names}.", names=_in_a_row(chapters, say)))
    elif not is_short:
        some = titles[:: max(1, len(titles) // MAX_NAMED)][:MAX_NAMED]
        parts.append(say("Some of them: {names}.", names=_in_a_row(some, say)))
    text = "Ask about anything in them: each answer shows the passages behind it."
    if figures:
        names = [in_a_sentence(figure) for figure in figures]
        text = "Figures that are often asked for: {names}."
        parts.append(say(text, names=_in_a_row(names, say)))
        text = (
            "Ask for a figure, a comparison, a ranking, a change over the years or a "
            "reason."
        )
    if records:
        parts.append(say(text))
    return "\n\n".join(parts)


def library_answer(
    topic: Topic, scope: Scope, catalog: Catalog, say: Say = in_english
) -> str:
    """Return Markdown: how many there are, and the first `MAX_LISTED` of what was asked
    for.
    """
    records = _ready(catalog, scope)
    if topic == "reports":
        titles = [record.title for record in records]
        return _list(_reports(records, scope, say), titles, say)
    field, noun = (COUNTRY, "country") if topic == "countries" else (YEAR, "year")
    values = [str(value) for value in values_inside(records, scope, field)]
    if topic == "countries" and not values:
        return say("No report here is about a country.")
    covered = counted(say, len(values), noun)
    reports = _counted_in(records, scope, say)
    heading = say("The {reports} cover {values}", reports=reports, values=covered)
    return _list(heading, values, say)


def _ready(catalog: Catalog, scope: Scope) -> list[DocumentRecord]:
    return [record for record in catalog.all(scope) if record.status == "ready"]


def _counted_in(records: Sequence[DocumentRecord], scope: Scope, say: Say) -> str:
    """Return the number of reports, with the scope: "2 reports for Kenya"."""
    reports = counted(say, len(records), "report")
    if not scope:
        return reports
    where = escape_markdown(describe(scope, say))
    return say("{reports} for {scope}", reports=reports, scope=where)


def _reports(records: Sequence[DocumentRecord], scope: Scope, say: Say) -> str:
    """Return how many reports there are, of which years."""
    reports = _counted_in(records, scope, say)
    if len(records) == 1:
        return say("There is {reports}", reports=reports)
    text = say("There are {reports}", reports=reports)
    years = [str(year) for year in values_inside(records, scope, YEAR)]
    if not years:
        return text
    return say("{reports}, of {years}", reports=text, years=_years(years, say))


def _in_a_row(items: Sequence[str], say: Say) -> str:
    """Return the first `MAX_LISTED` in one line, and the number of the others."""
    text = say(", ").join(escape_markdown(item) for item in items[:MAX_LISTED])
    more = len(items) - MAX_LISTED
    if more > 0:
        text += " " + say("… and {number} more.", number=more).rstrip(".")
    return text


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
