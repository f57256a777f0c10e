"""The questions of a text one by one, each with the names that it needs of those before it.

The rules know English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ..protocols import Catalog
from ..schema import Scope
from ..text import analyzer
from .comparisons import tidy
from .mentions import COUNTRY, find_mentions
from .names import ALL_COUNTRIES, exchanged
from .referring import Earlier, completed, earlier, refers_still, with_name

SHORTEST = 3
"""Words of a sentence that is a question of its own."""
MOST = 12
"""Questions, and clauses of each, that are looked at; what follows stays with the last."""
_I = re.IGNORECASE
_WH = r"what|which|who|whom|whose|when|where|why|how"
_TELL = r"tell|give|show|list|describe|explain|summari[sz]e|compare"
_SENTENCE_END = re.compile(r"(?<=\?)\s+(?!\()")
"""What stands in brackets behind a question belongs to it."""
_AND = re.compile(rf",?\s+(?:and|but)\s+(?:also\s+|then\s+)?(?=(?:{_WH})\b)", _I)
ASKS = re.compile(rf"\b(?:{_WH}|{_TELL}|is|are|was|were|do|does|did|has|have|had|can)\b", _I)
_RELATIVE = re.compile(r"(?<=\w)\s+(?:who|whom|which|whose|that|where|when)\b", _I)
"""A clause about a noun: an "and who" behind it may go on with that."""
_LEAD = re.compile(r"^\W*(?:(?:and|but|or|so|also|then)\b,?\s*)+", _I)
_CLAUSE = re.compile(
    rf"(?:{_WH})\b(?!\s+(?:other|else)\b)(?:\s+\S+){{0,4}}?\s+(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would"
    r"|should|may|might|must)\b(?:\s+\S+)"
    r"|how\s+(?:many|much)\b(?:\s+\S+){1,4}?\s+(?:lives?|lived|uses?|used|works?|worked|speaks?|goes|go|went|comes?|came"
    r"|needs?|suffer(?:s|ed)?|own(?:s|ed)?|fled|died)\b(?:\s+\S+)"
    r"|who\s+(?:governs|rules|leads|heads|runs|controls)\b(?:\s+\S+)",
    _I,
)
"""A clause that asks something: with a verb, and something behind it."""
_POINTS_BACK = re.compile(
    r"\b(?:it|itself|they|them|this(?! (?:country|year)\b)|these|those|he|him|his|she|hers?|such|so|same)\b", _I
)
"""Words for something other than a country: it is only in the question before."""
_SOMEBODY = re.compile(r"\b(?:they|them|he|him|his|she|hers?)\b", _I)
_COMMAND = re.compile(rf"^(?:{_TELL})\b", _I)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A question as it was written, and what stood before it."""

    text: str
    lead: str

    @property
    def is_clause(self) -> bool:
        return bool(self.lead.strip(" ,"))


def questions(text: str, scope: Scope, catalog: Catalog) -> list[str]:
    """Each question with the countries and years of those before it; what needs more than that stays with them."""
    first, *rest = _asked(text)
    found = [first.text]
    known = Earlier()
    for piece in rest:
        known = earlier(found[-1], known, catalog)
        if whole := _understood(piece, found[-1], known, scope, catalog):
            found.append(whole)
        else:
            found[-1] += piece.lead + piece.text
    return [ended(question) for question in found] if len(found) > 1 else found


def ended(text: str) -> str:
    """As a sentence: a capital, and the sign that ends it."""
    text = tidy(text).rstrip(" ?.!")
    if text.endswith(")") and "?" in text:
        return f"{text[:1].upper()}{text[1:]}"
    return f"{text[:1].upper()}{text[1:]}{'.' if _COMMAND.match(text) else '?'}"


def _asked(text: str) -> Iterator[_Piece]:
    """Sentences with a question mark, and their clauses joined by "and" with a question word."""
    for sentence in _SENTENCE_END.split(text.strip(), MOST):
        start, lead = 0, " "
        for match in islice(_AND.finditer(sentence), MOST):
            before, after = sentence[start : match.start()], sentence[match.end() :]
            asks = ASKS.search(before) is not None and not _RELATIVE.search(before) and _words(before)
            if asks and _CLAUSE.match(after) and _words(after):
                yield _Piece(before, lead)
                start, lead = match.end(), match[0]
        yield _Piece(sentence[start:], lead)


def _understood(piece: _Piece, before: str, known: Earlier, scope: Scope, catalog: Catalog) -> str:
    """The question with what it needs of those ``before``; "" where it cannot be asked without them."""
    mentions = find_mentions(piece.text, catalog)
    whole = "" if _SOMEBODY.search(piece.text) else exchanged(piece.text, mentions, before, catalog, _words)
    if whole:
        return whole
    whole = _LEAD.sub("", piece.text)
    if not (piece.is_clause or whole.endswith("?") or ASKS.match(whole)):
        return ""
    is_placed = bool(mentions.countries) or scope.get(COUNTRY) is not None
    if known.countries and not mentions.countries:
        asked, whole = whole, completed(whole, known)
        if whole == asked and not refers_still(whole, mentions) and not ALL_COUNTRIES.search(whole):
            whole = with_name(whole, known.places)
        is_placed = is_placed or whole != asked
    if known.countries and refers_still(whole, mentions):
        return ""
    is_sentence = not piece.is_clause and ASKS.match(whole) is not None and len(whole.split()) >= SHORTEST
    if not _words(whole) or _POINTS_BACK.search(whole) or not (is_placed or (is_sentence and not mentions.refers)):
        return ""
    return with_name(whole, known.years) if known.years and not mentions.years else whole


def _words(text: str) -> list[str]:
    return analyzer("english").terms(text)
