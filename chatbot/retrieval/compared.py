"""Which names a question compares: what it is about, and what stands at the other end ("than in Mali").

`roles` takes the other end for named in passing, because an answer without it is one. A comparison needs both. The
rules know English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from .country_names import NamedCountry
from .mentions import Mentions
from .years import NamedYears, find_years

_I = re.IGNORECASE
LONGEST_LEAD = 200
"""Characters before a name that say whether it is compared."""
N = TypeVar("N", NamedCountry, NamedYears)
_COMPARED = re.compile(
    r"\b(?:than|(?:compar(?:ed|e|es|ison)|relative|as opposed)\s+(?:to|with|against)|differ\w*\s+from|versus|vs\.?)"
    r"\s+(?:(?:in|of|for|that|those|the|one|ones|figures?)\s+)*$"
    r"|\b(?:differences?|differ|gap|comparison)\b[^.?!]*\b(?:between|among)\s+(?:the\s+)?$",
    _I,
)
"""What stands before the name at the other end of a comparison, which `roles` takes for one in passing."""
_LISTED = re.compile(r"(?:['’]s)?\s*(?:,\s*)?(?:\b(?:and|or|vs\.?|versus)|[,&/+])\s*(?:(?:in|of|for|the)\s+)*", _I)


def compared_countries(text: str, mentions: Mentions) -> list[NamedCountry]:
    """What the question is about, and what it is compared with ("higher in Kenya than in Mali"), in text order."""
    return list(_with_compared(text, mentions.countries, lambda country: country in mentions.about))


def compared_years(text: str) -> list[NamedYears]:
    """The same for years."""
    return list(_with_compared(text, find_years(text), lambda named: named.is_subject))


def _with_compared(text: str, names: Sequence[N], is_subject: Callable[[N], bool]) -> Iterator[N]:
    before: N | None = None  # the last name, where it is at the other end of a comparison: a list may follow
    for name in names:
        lead = text[max(0, name.start - LONGEST_LEAD) : name.start]
        listed = before is not None and _LISTED.fullmatch(text[before.end : name.start]) is not None
        before = name if not is_subject(name) and (listed or _COMPARED.search(lead)) else None
        if before is not None or is_subject(name):
            yield name
