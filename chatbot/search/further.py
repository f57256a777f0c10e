"""Suggested questions after an answer; each can be answered in the scope, as a search has shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ..domain import Chunk, Scope, SearchHit, Value, Values
from ..domain.protocols import Catalog
from ..questions.reading import COUNTRY, YEAR
from .subjects import with_article

MOST = 3
DASH = " - "
"""What some headings put between a thing and one of its parts."""
FEW_WORDS = 4
_OF_A_REPORT = re.compile(
    r"(?:executive )?summary|abstract|introduction|background|overview|fore ?word|preface|acknowledge?ments?"
    r"|(?:table of )?contents|methodology|conclusions?|references|bibliography|notes?|(?:annex|appendix)\b.*",
    re.IGNORECASE,
)
"""Headings that name a part of any report, and nothing one could ask about."""
TRIED = 4
"""Editions, and countries, that are looked at for one that says something under the same heading."""
Search = Callable[[str, Scope], Sequence[SearchHit]]


@dataclass(frozen=True, slots=True)
class Further:
    """A question, and the scope that answers it beside the one that was chosen."""

    question: str
    scope: Scope


def further_questions(cited: Chunk, query: str, scope: Scope, catalog: Catalog, search: Search) -> list[Further]:
    """At most three questions: the same of another edition, of another country, and what else was found.

    ``cited`` is the passage that the answer rests on; ``scope`` the one a person chose, which is never left. ``search``
    finds the best passages for words in a scope.
    """
    about = cited.heading
    if not about:
        return []
    kinds = () if _OF_A_REPORT.fullmatch(about) else (_other_editions, _other_countries)
    same = [further for kind in kinds for further in islice(kind(cited, about, scope, catalog, search), 1)]
    beside = islice(_beside(cited, about, query, scope, search), MOST - len(same))
    return [*same, *beside]


def _other_editions(cited: Chunk, about: str, scope: Scope, catalog: Catalog, search: Search) -> Iterator[Further]:
    country, year = cited.metadata.get(COUNTRY), cited.metadata.get(YEAR)
    if country is None or not isinstance(year, int):
        return
    of_country = _within(scope, COUNTRY, country)
    if of_country is None:
        return
    years = [other for other in catalog.values(YEAR, of_country) if isinstance(other, int) and other != year]
    for other in sorted(years, key=lambda one: (abs(one - year), -one))[:TRIED]:
        inside = _within(of_country, YEAR, other)
        if inside is not None and _says(about, inside, search):
            where = f"in {with_article(str(country))}"
            yield Further(f"What does the report of {other} say about {_in_a_sentence(about)} {where}?", inside)


def _other_countries(cited: Chunk, about: str, scope: Scope, catalog: Catalog, search: Search) -> Iterator[Further]:
    country, year = cited.metadata.get(COUNTRY), cited.metadata.get(YEAR)
    if country is None or year is None:
        return
    of_year = _within(scope, YEAR, year)
    both = None if of_year is None else catalog.values(COUNTRY, of_year)
    others = [str(other) for other in both or () if other != country]
    # From where the alphabet stands, so that not everything is compared with Afghanistan.
    others = [*filter(lambda name: name > str(country), others), *filter(lambda name: name < str(country), others)]
    for other in others[:TRIED]:
        inside = _within(of_year or scope, COUNTRY, other)
        if inside is not None and _says(about, inside, search):
            yield Further(
                f"Compare {with_article(str(country))} and {with_article(str(other))}: {_in_a_sentence(about)}",
                of_year or scope,
            )


def _beside(cited: Chunk, about: str, query: str, scope: Scope, search: Search) -> Iterator[Further]:
    """What was found for the question under other headings."""
    inside, country = scope, cited.metadata.get(COUNTRY)
    for field in (COUNTRY, YEAR):
        if (value := cited.metadata.get(field)) is not None:
            inside = _within(inside, field, value) or inside
    where = f"in {with_article(str(country))}" if country is not None else f"in {cited.title}"
    headings = dict.fromkeys(hit.chunk.heading for hit in search(query, inside))
    for other in sorted(headings, key=_is_unwieldy):
        if other and other.casefold() != about.casefold() and not _OF_A_REPORT.fullmatch(other):
            yield Further(f"What do the reports say about {_in_a_sentence(other)} {where}?", inside)


def _says(about: str, inside: Scope, search: Search) -> bool:
    return any(hit.chunk.heading.casefold() == about.casefold() for hit in search(about, inside))


def _within(scope: Scope, field: str, value: Value) -> Scope | None:
    """The scope with only this value of a field; None where the scope leaves it out."""
    condition = scope.get(field)
    if condition is not None and not condition.matches(value):
        return None
    return scope.and_(Scope.of({field: Values((value,))}))


def _is_unwieldy(heading: str) -> bool:
    """Whether a heading has many words, or is one of several parts of a thing: what reads like a question is offered
    first.
    """
    return DASH in heading or len(heading.split()) > FEW_WORDS


def _in_a_sentence(name: str) -> str:
    """An acronym and a name keep their capitals; "Exports - partners" are exports (partners)."""
    name, _, part = name.partition(DASH)
    if part:
        return f"{_in_a_sentence(name)} ({part})"
    first = name.split(" ", 1)[0]
    return name if first[1:] != first[1:].lower() else name[:1].lower() + name[1:]
