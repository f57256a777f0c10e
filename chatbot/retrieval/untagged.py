"""Reports without a country, in a scope that was taken from the question: only what they say of that country.

In the country's own reports its name is left out of the search, which would find every other country here. So these
are searched apart, with the whole question, and what does not name the country is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..protocols import Catalog
from ..questions.mentions import COUNTRY, keys_of
from ..questions.names import keys_in
from ..schema import Chunk, Scope, SearchHit, Values
from ..schema.scope import NO_VALUE

PASSING = 0.1
"""Taken off the score of a passing mention: it was searched for by the country's name, unlike its neighbours in the
list.
"""


def parted(scope: Scope, catalog: Catalog) -> tuple[Scope, Scope | None]:
    """The scope with the reports of its countries alone, and with those that say none; None where there are none."""
    countries = scope.get(COUNTRY)
    if not isinstance(countries, Values) or not countries.or_none:
        return scope, None
    untagged = scope.having(COUNTRY, [NO_VALUE], or_none=True)
    there = any(untagged.matches(part.metadata) for record in catalog.all(untagged) for part in record.parts)
    return scope.having(COUNTRY, countries.values), untagged if there else None


def joined(own: Sequence[SearchHit], untagged: Sequence[SearchHit], scope: Scope) -> list[SearchHit]:
    """The country's own hits in their order; another that names it before the first that is less near.

    One whose report is not about the country, but names it in its text, counts as less near than its score says.
    """
    keys = keys_of(scope)
    found = list(own)
    for hit in untagged:
        about = not keys.isdisjoint(keys_in(_described(hit.chunk)))
        if about or not keys.isdisjoint(keys_in(hit.chunk.text)):
            score = (hit.score or 0.0) - (0.0 if about else PASSING)
            behind = (place for place, one in enumerate(found) if (one.score or 0.0) < score)
            found.insert(next(behind, len(found)), hit)
    return found


def _described(chunk: Chunk) -> str:
    """Title, name, labels and description of a passage's report, with commas between."""
    return " , ".join((chunk.title, chunk.document_name, *chunk.labels, chunk.description))
