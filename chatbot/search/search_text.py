"""The text that is searched for: a question without the names that its scope has already, and the years it asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..domain import Scope, Values
from ..domain.scope import Named, NamedCountry, NamedDocument, NamedYears, Reading
from ..language import is_foreign
from ..questions.english import pattern
from ..questions.kinds import asks_for_prose
from ..questions.reading import YEAR, keys_of
from ..questions.wording import tidy

_LED_TO = pattern(r"(?:\s*,)?\s+(?:(?:in|of|for|at|on|about|across|throughout|inside|within)\s+)?(?:the\s+)?$")
_ARTICLE = re.compile(r"\bthe\s+$", re.IGNORECASE)
_OWNED = re.compile(r"['’]s?(?!\w)")


@dataclass(frozen=True, slots=True)
class SearchText:
    """``question`` reads as one, for vectors of passages; ``topic`` has nothing of what the scope says, for words.

    ``figure_years`` and ``editions`` are those the question names, whether or not the scope has them. ``foreign``: it
    is in another language than the keywords of the reports. ``prose``: it asks why or how, which no heading names.
    """

    question: str
    topic: str
    figure_years: tuple[NamedYears, ...] = ()
    editions: tuple[NamedYears, ...] = ()
    foreign: bool = False
    prose: bool = False


def search_text(reading: Reading, scope: Scope, *, language: str) -> SearchText:
    """Return a question without what its scope says; as it is, where nothing would be left.

    ``language``: of the reports.
    """
    query = reading.text
    foreign = language == "english" and is_foreign(query)
    keys, years, documents = keys_of(scope), scope.get(YEAR), scope.get("document_name")
    said: list[Named | NamedDocument] = [name for name in reading.countries if keys.intersection(name.keys)]
    if isinstance(years, Values):
        said += [named for named in reading.editions if all(map(named.condition.matches, years.values))]
    if reading.document and documents and any(map(documents.matches, reading.document.names)):
        said.append(reading.document)
    topic = _without(query, said)
    question = topic if foreign or not said else _without(query, said, "the country")
    if not any(map(str.isalpha, topic)):
        question = topic = query
    return SearchText(question, topic, reading.figure_years, reading.editions, foreign, asks_for_prose(query))


def _without(query: str, said: Sequence[Named | NamedDocument], country: str = "") -> str:
    """The question without these names and the words that only lead to them.

    With ``country`` in the place of a country's name: what is left reads as a question, and embeds as one.
    """
    for name in sorted(said, key=lambda name: -name.start):
        before, after = query[: name.start], query[name.end :]
        if not isinstance(name, NamedCountry) or name.by_people:
            before = f"{before} "
        elif country:
            before, after = _ARTICLE.sub("", before), f"{country}{after}"
        elif owned := _OWNED.match(after):
            before, after = f"{before} ", after[owned.end() :]
        else:
            before = f"{_LED_TO.sub('', before)} "
        query = f"{before}{after}"
    return tidy(query)
