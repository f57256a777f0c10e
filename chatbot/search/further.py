"""Suggested questions after an answer; each can be answered in the scope, as a search
has shown.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..domain import Chunk, Scope, SearchHit
from ..domain.protocols import Catalog
from ..domain.scope import Value, Values
from ..language.countries import country_code
from ..language.groups import usual_groups
from ..language.periods import is_time
from ..language.words import ENGLISH, speaking
from ..questions.reading import (
    COUNTRY,
    DASH,
    HEADING_NUMBER,
    OF_A_REPORT,
    YEAR,
    in_a_sentence,
    is_plural,
)
from .subjects import with_article

MAX_FURTHER_QUESTIONS = 3
FEW_WORDS = 4
Search = Callable[[str, Scope], Sequence[SearchHit]]


@dataclass(frozen=True, slots=True)
class Further:
    """A question, and the scope that answers it beside the one that was chosen."""

    question: str
    scope: Scope


def further_questions(
    cited: Chunk,
    query: str,
    scope: Scope,
    catalog: Catalog,
    search: Search,
    *,
    in_english: bool = True,
) -> list[Further]:
    """Return at most three questions: the same of another edition, of another country,
    and what else was found.

    ``cited`` is the passage that the answer rests on; ``scope`` the one a person chose,
    which is never left. ``search`` finds the best passages for words in a scope. Where
    not ``in_english``, questions are names and headings alone: search understands them,
    and they fit a page in any language.
    """
    about = cited.heading
    country = cited.metadata.get(COUNTRY)
    year = cited.metadata.get(YEAR)
    if not about:
        return []
    more: list[Further] = []
    if country is not None and isinstance(year, int) and is_asked_about(about):
        of_country = _within(scope, COUNTRY, country)
        edition = _other(YEAR, year, of_country, about, catalog, search)
        if edition is not None:
            other, inside = edition
            text = _of_edition(about, country, other, in_english=in_english)
            more.append(Further(text, inside))
        of_year = _within(scope, YEAR, year)
        side = _other(COUNTRY, country, of_year, about, catalog, search)
        if of_year is not None and side is not None:
            text = _comparison(about, country, side[0], in_english=in_english)
            more.append(Further(text, of_year))
    inside = scope
    for field, value in ((COUNTRY, country), (YEAR, year)):
        if value is not None:
            inside = _within(inside, field, value) or inside
    # What stands near the cited indicator, whatever else the question named.
    others = _other_headings(search(f"{about} {query}", inside), cited)
    more += (
        Further(_question(cited.title, country, other, in_english=in_english), inside)
        for other in others
    )
    return more[:MAX_FURTHER_QUESTIONS]


def _other_headings(hits: Sequence[SearchHit], cited: Chunk) -> list[str]:
    """Return the headings of hits beside the one that an answer is about, of the same
    chapter where the document has chapters. What reads like a question comes first:
    few words, and no part of a thing.
    """
    about = cited.heading
    chunks = [hit.chunk for hit in hits]
    if cited.chapter != about:
        chunks = [chunk for chunk in chunks if chunk.chapter == cited.chapter]
    headings = dict.fromkeys(chunk.heading for chunk in chunks)
    others = [
        one
        for one in headings
        if is_asked_about(one) and one.casefold() != about.casefold()
    ]
    others.sort(key=lambda heading: DASH in heading or len(heading.split()) > FEW_WORDS)
    return others


def is_asked_about(heading: str) -> bool:
    """Return whether a heading names something: no part of any report, and no time."""
    has_time = any(is_time(part) for part in heading.split(", "))
    return not (has_time or OF_A_REPORT.fullmatch(heading))


def _of_edition(heading: str, country: Value, year: Value, *, in_english: bool) -> str:
    """Return the question for what another edition says under a heading."""
    name = in_a_sentence(heading)
    if not in_english:
        return f"{country}: {name} ({year})"
    verb = "were" if is_plural(name) else "was"
    return f"What {verb} {_possessive(country)} {name} in the {year} report?"


def _comparison(heading: str, country: Value, other: Value, *, in_english: bool) -> str:
    """Return the question that compares what two countries have under a heading."""
    name = in_a_sentence(heading)
    if not in_english:
        return f"{country}, {other}: {name}"
    both = f"{with_article(str(country))} and {with_article(str(other))}"
    return f"Compare {both}: {name}"


def first_questions(
    title: str, country: Value | None, headings: Iterable[str], language: str
) -> list[str]:
    """Return questions to a report that nobody has asked yet: what it is about, then
    about its first headings that read well, as names and headings alone where the
    language is not English.
    """
    usable = [
        one
        for one in dict.fromkeys(
            HEADING_NUMBER.sub("", heading) for heading in headings
        )
        if DASH not in one and len(one.split()) <= FEW_WORDS and is_asked_about(one)
    ]
    others = (
        _question(title, country, one, in_english=language == ENGLISH)
        for one in usable[: MAX_FURTHER_QUESTIONS - 1]
    )
    return [speaking(language)("What is “{title}” about?", title=title), *others]


def _question(
    title: str, country: Value | None, heading: str, *, in_english: bool = True
) -> str:
    name = in_a_sentence(heading)
    if not in_english:
        return f"{title if country is None else country}: {name}"
    if country is None:
        return f"What does {title} say about {name}?"
    return f"What {'are' if is_plural(name) else 'is'} {_possessive(country)} {name}?"


def _other(
    field: str,
    value: Value,
    scope: Scope | None,
    about: str,
    catalog: Catalog,
    search: Search,
) -> tuple[Value, Scope] | None:
    """The nearest other value of a field whose reports say something under the same
    heading, and its scope.
    """
    values = (
        []
        if scope is None
        else [other for other in catalog.values(field, scope) if other != value]
    )
    if isinstance(value, int):
        values.sort(key=lambda other: (abs(int(other) - value), -int(other)))
    else:
        # Neighbours first; then from where the alphabet stands, so that not everything
        # is compared with Afghanistan.
        values.sort(
            key=lambda other: (
                -_closeness(str(value), str(other)),
                str(other) < str(value),
                str(other),
            )
        )
    # Some editions or countries are enough to find one that says something.
    for other in values[:4]:
        inside = _within(scope or Scope(), field, other)
        if inside is not None and any(
            hit.chunk.heading.casefold() == about.casefold()
            for hit in search(about, inside)
        ):
            return other, inside
    return None


def _closeness(country: str, other: str) -> float:
    """Return how much two countries have in common: the more groups of countries, and
    the smaller these are, as "East Africa".
    """
    codes = {country_code(country), country_code(other)}
    closeness = 0.0
    for group in usual_groups():
        if codes <= set(group.members):
            closeness += 1 / len(group.members)
    return closeness


def _possessive(country: Value) -> str:
    name = with_article(str(country))
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _within(scope: Scope, field: str, value: Value) -> Scope | None:
    """The scope with only this value of a field; None where the scope leaves it out."""
    condition = scope.get(field)
    if condition is not None and not condition.matches(value):
        return None
    return scope.and_(Scope.of({field: Values((value,))}))
