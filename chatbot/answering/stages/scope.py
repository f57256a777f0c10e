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
from ...language.words import Say
from ...questions.kinds import asks_what_it_is_about
from ...questions.reading import list_in_words, name_in_words
from ...search.scope import summarise
from ...search.subjects import everything_asked, suggest_scope
from ..turn import Turn

_PAGE = re.compile(r"\b(?:page|p\.) ?(\d{1,4})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ScopeOfQuestion:
    """The stage that takes the scope from the question where AUTO_SCOPE asks for it,
    else offers it; and says how names were read.
    """

    def run(self, turn: Turn) -> None:
        question = turn.question
        if question.attachments:
            return
        chosen = question.scope
        reading = turn.reading
        asked = everything_asked(reading, chosen, turn.catalog)
        suggestion = suggest_scope(asked, chosen, turn.catalog)
        turn.events.notes += taken_as(reading, turn.corrections, turn.say)
        if turn.missing:
            turn.events.notes.append(turn.missing)
        _say_what_is_asked(turn)
        page = question.page
        if page is None:
            page = _page_in(question, turn.catalog)
        if question.auto_scope:
            inferred = suggestion.beyond(chosen) if suggestion else Scope()
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
