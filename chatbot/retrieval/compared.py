"""Which names a question compares: what it is about, and what stands at the other end ("than in Mali").

`roles` takes the other end for named in passing, because an answer without it is one. A comparison needs both. The
rules know English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from .country_names import NamedCountry
from .figures import MORE_OR_LESS
from .mentions import Mentions
from .years import NamedYears, find_years

_I = re.IGNORECASE
LONGEST_LEAD = 200
"""Characters before a name that say whether it is compared."""
N = TypeVar("N", NamedCountry, NamedYears)
COMPARES = re.compile(
    r"\b(?:compar\w+|contrast\w*|versus|vs)\b|\b(?:how|has|have)\b[^.?!]*\b(?<!climate )changed?\b"
    r"|\b(?<!climate )change[ds]?\s+(?:since|between|over|from)\b",
    _I,
)
"""Words of a comparison, whatever is compared."""
MAY_COMPARE = re.compile(
    r"\b(?:differ|differs|differed|differences?|different(?:ly)? (?:from|to|than)|unlike|(?:more|less|\w+er) than"
    rf"|rank(?:ed|ing)?|which of|(?:which|who)\b[^.?!]{{0,100}}\b{MORE_OR_LESS})\b",
    _I,
)
"""Only between countries or years: "What is the difference between a county and a province?" compares no reports."""
_COMPARED = re.compile(
    r"\b(?:than|(?:compar(?:ed|e|es|ison)|relative|as opposed)\s+(?:to|with|against)|differ\w*\s+from|versus|vs\.?)"
    r"\s+(?:(?:in|of|for|that|those|the|one|ones|figures?)\s+)*$"
    r"|\b(?:differences?|differ|gap|comparison)\b[^.?!]*\b(?:between|among)\s+(?:the\s+)?$",
    _I,
)
"""What stands before the name at the other end of a comparison, which `roles` takes for one in passing."""
_RELATED = re.compile(r"(?<!compare )\b(?:from|to|with|by|against|into|towards?)\s+(?:the\s+)?$", _I)
"""What makes a name, and a list that it begins, part of the thing: "imports from France"."""
_LETTER = re.compile(r"[^\W\d]")
_COLON = re.compile(r"\s*:")
_THAT_OF = re.compile(r"['’]s\s*(?:$|[?.!,;]|(?:in|for|since)\b)", _I)
_VERSUS = re.compile(r"(?:['’]s)?\s*(?:\b(?:with|against|from)|\bcompared\s+(?:to|with))\s+(?:the\s+)?", _I)
_LISTED = re.compile(r"(?:['’]s)?\s*(?:,\s*)?(?:\b(?:and|or|vs\.?|versus)|[,&/+])\s*(?:(?:in|of|for|the)\s+)*", _I)


def compared_countries(text: str, mentions: Mentions) -> list[NamedCountry]:
    """What the question is about, and what it is compared with ("higher in Kenya than in Mali"), in text order."""
    return list(_with_compared(text, mentions.countries, lambda country: country in mentions.about))


def compared_years(text: str) -> list[NamedYears]:
    """The same for years."""
    return list(_with_compared(text, find_years(text), lambda named: named.is_subject))


def beside(text: str, names: Sequence[N], said: Sequence[N]) -> list[N]:
    """Of compared names those ``said``, and those they are compared with: "Germany" in "Germany and Kenya"."""
    if not said:
        return []
    found: list[N] = []
    chains = [(chain, text[max(0, chain[0].start - LONGEST_LEAD) : chain[0].start]) for chain in _chains(text, names)]
    has_other_end = any(_COMPARED.search(lead) for _, lead in chains)
    for chain, lead in chains:
        is_compared = has_other_end or any(name in said for name in chain)
        if _COMPARED.search(lead) or (is_compared and not _RELATED.search(lead)):
            found += chain
        else:
            found += [name for name in chain if name in said or _THAT_OF.match(text, name.end)]
    return found


def _chains(text: str, names: Sequence[N]) -> Iterator[list[N]]:
    """Names that follow each other as a list, or as "Kenya with Germany"."""
    chain: list[N] = []
    for name in names:
        between = text[chain[-1].end : name.start] if chain else ""
        if chain and not (_LISTED.fullmatch(between) or _VERSUS.fullmatch(between)):
            yield chain
            chain = []
        chain.append(name)
    if chain:
        yield chain


def _with_compared(text: str, names: Sequence[N], is_subject: Callable[[N], bool]) -> Iterator[N]:
    before: N | None = None  # the last name, where it is at the other end of a comparison: a list may follow
    heading = _heading(text, names)
    for name in names:
        lead = text[max(0, name.start - LONGEST_LEAD) : name.start]
        listed = before is not None and _LISTED.fullmatch(text[before.end : name.start]) is not None
        before = name if not is_subject(name) and (listed or _COMPARED.search(lead)) else None
        if before is not None or is_subject(name) or name in heading:
            yield name


def _heading(text: str, names: Sequence[N]) -> list[N]:
    """The names of "Kenya versus Mali: which has ..."."""
    chain = next(_chains(text, names), [])
    opens = len(chain) > 1 and _LETTER.search(text[: chain[0].start]) is None
    return chain if opens and _COLON.match(text, chain[-1].end) else []
