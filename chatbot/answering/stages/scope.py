"""Decides which reports a question is asked of: the scope that a person chose, and what
the question itself says (R-D4).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...domain.chat import Question
from ...domain.protocols import Catalog
from ...domain.scope import Reading, Scope
from ...language.markdown import escape_markdown
from ...language.words import Say, in_english
from ...questions.kinds import OF_ALL, asks_what_it_is_about, read_request
from ...questions.reading import list_in_words, name_in_words
from ...search.scope import summarise
from ...search.subjects import everything_asked, reports_of_groups, suggest_scope
from ..turn import Draft, Turn

_PAGE = re.compile(r"\b(?:page|p\.) ?(\d{1,4})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ScopeOfQuestion:
    """The stage that takes the scope from the question where AUTO_SCOPE asks for it,
    else offers it; and says how names were read.
    """

    def run(self, turn: Turn) -> Draft | None:
        question = turn.question
        if question.attachments:
            return None
        chosen = question.scope
        reading = turn.reading
        if turn.is_led:
            turn.hints += hints_of(turn)
            return None
        asked = everything_asked(reading, chosen, turn.catalog)
        suggestion = suggest_scope(asked, chosen, turn.catalog)
        turn.events.notes += taken_as(reading, turn.corrections, turn.say)
        if turn.missing:
            turn.events.notes.append(turn.missing)
        refusal = _say_of_groups(turn)
        if refusal is not None:
            return refusal
        _say_what_is_asked(turn)
        page = question.page
        if page is None:
            page = _page_in(question, turn.catalog)
        inferred = Scope()
        if question.auto_scope and suggestion:
            inferred = suggestion.beyond(chosen)
        # The members of a group are what is asked about, not where: with AUTO_SCOPE or
        # without.
        of_groups = Reading(groups=reading.groups)
        narrowed = suggest_scope(of_groups, chosen, turn.catalog)
        if narrowed:
            inferred = inferred.and_(_added(narrowed, chosen))
        if question.auto_scope or narrowed:
            earlier = turn.events.earlier_scope
            turn.events.inferred_scope = inferred.minus(earlier)
            turn.change(scope=chosen.and_(inferred), chosen_scope=chosen, page=page)
        scope = turn.question.scope
        is_offered = suggestion is not None and suggestion != scope
        if is_offered or page != turn.question.page:
            summary = summarise(turn.catalog, suggestion or scope)
            turn.suggested_scope = replace(summary, page=page)
        # Done; a cached answer is the same with it and without.
        turn.change(auto_scope=False)
        return None


def hints_of(turn: Turn) -> list[str]:
    """Return what a rule has read in a question, for a model that plans: misspelt
    names, and groups of countries with the members that have a report.
    """
    hints = taken_as(turn.reading, {}, in_english)
    groups = [named.group for named in turn.reading.groups]
    if groups:
        reports = reports_of_groups(
            groups, turn.question.scope, turn.catalog, in_english
        )
        names = ", ".join(map(str, reports.countries))
        hints.append(f"{reports.in_words(in_english)} {names}")
    return hints


def _added(narrowed: Scope, chosen: Scope) -> Scope:
    """Return the conditions that are not those of the chosen scope."""
    added = [item for item in narrowed.conditions if item not in chosen.conditions]
    return Scope(tuple(added))


def _say_of_groups(turn: Turn) -> Draft | None:
    """Say of how many countries of a group there are reports. Return a draft where
    there is none of any, and the question ranks, filters or counts them.
    """
    groups = [named.group for named in turn.reading.groups]
    groups += turn.question.groups
    if not groups:
        return None
    scope = turn.question.scope
    reports = reports_of_groups(groups, scope, turn.catalog, turn.say)
    text = reports.in_words(turn.say)
    of_all = read_request(turn.reading, countries=0).kind in OF_ALL
    if reports.countries or not of_all:
        turn.events.notes.append(text)
        return None
    summary = summarise(turn.catalog, scope)
    turn.events.sources((), summary)
    turn.events.text(text)
    return Draft(
        text=text,
        scope=summary,
        is_sent=True,
        why="No report is about a country of the group.",
    )


def taken_as(reading: Reading, corrections: Mapping[str, str], say: Say) -> list[str]:
    """Return what is said of names and words that were misspelt."""
    names = [(name.text, name.taken_as) for name in reading.about if name.taken_as]
    readings = dict.fromkeys([*names, *corrections.items()])
    text = "({name}: taken as {taken})"
    return [
        say(text, name=escape_markdown(name), taken=taken) for name, taken in readings
    ]


def _say_what_is_asked(turn: Turn) -> None:
    """Make a sentence of a name alone, which is nearest to what a country is called:
    nobody asks for that.
    """
    question = turn.question
    reading = turn.reading
    if not reading.countries or reading.every_year:
        return
    if not asks_what_it_is_about(question.search_text, reading.names):
        return
    names = list_in_words(
        name_in_words(question.search_text, country) for country in reading.countries
    )
    text = f"Tell me about {names}"
    if text != question.search_text:
        turn.change(standalone=text, reading=turn.read(text))


def _page_in(question: Question, catalog: Catalog) -> int | None:
    """Return the one page that a question names, where there are reports that long."""
    pages = {int(page) for page in _PAGE.findall(question.search_text)}
    if len(pages) != 1:
        return None
    [page] = pages
    if any(0 < page <= (record.pages or 0) for record in catalog.all()):
        return page
    return None
