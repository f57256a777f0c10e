"""What a question is searched with. Names that the scope has already are left out: they
distinguish nothing.
"""

import re
from collections.abc import Sequence

from ..domain import Scope
from ..domain.scope import (
    Named,
    NamedCountry,
    NamedDocument,
    Reading,
    SearchText,
    Values,
)
from ..language.detection import is_foreign
from ..questions.counted import says_people, without_counted_people
from ..questions.english import pattern
from ..questions.kinds import asks_for_prose
from ..questions.reading import YEAR, keys_of, remove_names, tidy

_LED_TO = pattern(
    r"(?:\s*,)?\s+(?:(?:in|of|for|at|on|about|across|throughout|inside|within)\s+)?(?:the\s+)?$"
)
_ARTICLE = re.compile(r"\bthe\s+$", re.IGNORECASE)
_OWNED = re.compile(r"['’]s?(?!\w)")


def search_text(reading: Reading, scope: Scope, *, language: str) -> SearchText:
    """Return a question without what its scope says; as it is, where nothing would be
    left.

    ``language``: of the reports.
    """
    query = reading.text
    foreign = language == "english" and is_foreign(query)
    keys, years, documents = keys_of(scope), scope.get(YEAR), scope.get("document_name")
    names: list[Named | NamedDocument] = [
        name for name in reading.countries if keys.intersection(name.keys)
    ]
    if isinstance(years, Values):
        names += [
            named
            for named in reading.editions
            if all(map(named.condition.matches, years.values))
        ]
    if (
        reading.document
        and documents
        and any(map(documents.matches, reading.document.names))
    ):
        names.append(reading.document)
    topic = _without(query, names)
    question = topic if foreign or not names else _without(query, names, "the country")
    if not any(map(str.isalpha, topic)):
        question = topic = query
    if not says_people(remove_names(query, reading.names)):
        topic = without_counted_people(topic)
    return SearchText(
        question,
        topic,
        reading.figure_years,
        reading.editions,
        foreign,
        asks_for_prose(query),
    )


def _without(
    query: str, names: Sequence[Named | NamedDocument], country: str = ""
) -> str:
    """The question without these names and the words that only lead to them. With
    ``country`` in the place of a country's name: what is left reads as a question, and
    embeds as one.
    """
    for name in sorted(names, key=lambda name: -name.start):
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
