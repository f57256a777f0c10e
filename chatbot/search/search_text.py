"""What a question is searched with. Names that the scope has already are left out: they
distinguish nothing.
"""

from ..domain import Scope
from ..domain.scope import (
    Named,
    NamedDocument,
    Reading,
    SearchText,
    Values,
)
from ..language.detection import is_foreign
from ..questions.counted import says_people, without_counted_people
from ..questions.kinds import asks_for_prose
from ..questions.reading import YEAR, keys_of, leave_out, remove_names


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
    topic = leave_out(query, names)
    question = topic
    if names and not foreign:
        question = leave_out(query, names, "the country")
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
