"""The questions of a text one by one, each with the names that it needs of those before it.

The rules know English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..protocols import Catalog
from ..text import analyzer
from .comparisons import tidy
from .mentions import find_mentions
from .names import ALL_COUNTRIES, exchanged

SHORTEST = 3
"""Words of a clause that is a question of its own."""
_I = re.IGNORECASE
_WH = r"what|which|who|whom|whose|when|where|why|how"
_TELL = r"tell|give|show|list|describe|explain|summari[sz]e|compare"
_SENTENCE_END = re.compile(r"(?<=\?)\s+")
_AND = re.compile(rf",?\s+(?:and|but)\s+(?:also\s+|then\s+)?(?=(?:{_WH})\b)", _I)
ASKS = re.compile(rf"\b(?:{_WH}|{_TELL}|is|are|was|were|do|does|did|has|have|had|can)\b", _I)
_RELATIVE = re.compile(r"(?<=\w)\s+(?:who|whom|which|whose|that|where|when)\b", _I)
"""A clause about a noun: an "and who" behind it may go on with that."""
_LEAD = re.compile(r"^\W*(?:(?:and|but|or|so|also|then)\b,?\s*)+", _I)
_ITS = re.compile(r"\b(?:its|their)\b", _I)
_SINCE = re.compile(r"(?:since|from|between)\b", _I)
_COMMAND = re.compile(rf"^(?:{_TELL})\b", _I)


def questions(text: str, catalog: Catalog) -> list[str]:
    """Sentences, and clauses joined by "and" with a question word; one that names no country has those before it."""
    return _carried(_asked(text), catalog)


def ended(text: str) -> str:
    """As a sentence: a capital, and the sign that ends it."""
    text = tidy(text).rstrip(" ?.!")
    return f"{text[:1].upper()}{text[1:]}{'.' if _COMMAND.match(text) else '?'}"


def joined(names: Sequence[str]) -> str:
    """As a list in words, each once."""
    names = list(dict.fromkeys(names))
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _asked(text: str) -> list[str]:
    """The questions as they follow each other: sentences, and clauses joined by "and" with a question word."""
    found: list[str] = []
    for sentence in _SENTENCE_END.split(text.strip()):
        if found and not (_words(sentence) and (sentence.endswith("?") or ASKS.match(sentence))):
            found[-1] = f"{found[-1]} {sentence}"
        else:
            found += _clauses(sentence)
    return found


def _clauses(sentence: str) -> Iterator[str]:
    start = 0
    for match in _AND.finditer(sentence):
        before, after = sentence[start : match.start()], sentence[match.end() :]
        is_whole = ASKS.search(before) is not None and not _RELATIVE.search(before) and len(after.split()) >= SHORTEST
        if is_whole and _words(before) and _words(after):
            yield before
            start = match.end()
    yield sentence[start:]


def _carried(asked: Sequence[str], catalog: Catalog) -> list[str]:
    """Each question with the countries and years of those before it, where it has none."""
    found: list[str] = []
    countries = years = ""
    for number, question in enumerate(asked):
        mentions = find_mentions(question, catalog)
        whole = exchanged(question, mentions, found[-1], catalog, _words) if number else ""
        if not whole and number:
            whole = _LEAD.sub("", question)
            if countries and not mentions.countries and not ALL_COUNTRIES.search(question):
                whole = _with_country(whole, countries)
            if years and not mentions.years:
                whole = _with_name(whole, years)
        found.append(ended(whole or question))
        named = find_mentions(found[-1], catalog)
        countries = joined([country.text for country in named.about]) or countries
        years = joined([found[-1][year.start : year.end] for year in named.years]) or years
    return found if len(found) > 1 else list(asked)


def _with_country(question: str, country: str) -> str:
    owns, count = _ITS.subn(f"{country}'s", question, count=1)
    return owns if count else _with_name(question, country)


def _with_name(question: str, name: str) -> str:
    preposition = "" if _SINCE.match(name) else "in "
    return f"{question.rstrip(' ?.!')} {preposition}{name}?"


def _words(text: str) -> list[str]:
    return analyzer("english").terms(text)
