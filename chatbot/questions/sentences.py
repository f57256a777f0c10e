"""The questions of a text one by one, each with the names that it needs of those before it; messages that ask nothing.

"Its", "there" or "that country" is the country of the question before. What may as well be something else stays as it
is: "the exports of Kenya, and how do they ...".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ..domain import Scope
from ..domain.protocols import Catalog
from ..domain.reading import Reading
from ..language import WORD_PATTERN, analyzer
from .english import pattern, words
from .exchange import exchange_names
from .reading import COUNTRY, read_names
from .wording import add_name, as_sentence, list_in_words, name_in_words, possessive, remove_names, singular

SHORTEST = 3
"""Words of a sentence that is a question of its own."""
MOST = 12
"""Questions, and clauses of each, that are looked at; what follows stays with the last."""
_GREETS = pattern(r"^\W*{greeting}\b")
_GREETING_WORDS = words("greeting_words")
_ASKS_OF_IT = pattern(r"\b(?:how|is|was)\b(?!\s+are\s+you\b)(?=.*\?)")
"""Asks that of something said before: "ok, how is it today?"."""
_SENTENCE_END = re.compile(r"(?<=\?)\s+(?!\()")
"""What stands in brackets behind a question belongs to it."""
_AND = pattern(r",?\s+(?:and|but)\s+(?:also\s+|then\s+)?(?={wh}\b)")
ASKS = pattern(r"\b(?:{wh}|{tell}|{be}|{do}|{have}|can)\b")
"""A word of a question or a command, anywhere in it."""
_RELATIVE = pattern(r"(?<=\w)\s+{relative}\b")
"""A clause about a noun: an "and who" behind it may go on with that."""
_LEAD = pattern(r"^\W*(?:(?:and|but|or|so|also|then)\b,?\s*)+")
_CLAUSE = pattern(
    r"{wh}\b(?!\s+(?:other|else)\b)(?:\s+\S+){0,4}?\s+{auxiliary}\b(?:\s+\S+)"
    r"|how\s+(?:many|much)\b(?:\s+\S+){1,4}?\s+{numbered_verb}\b(?:\s+\S+)"
    r"|who\s+{governs}\b(?:\s+\S+)"
)
"""A clause that asks something: with a verb, and something behind it."""
_SOMETHING = pattern(r"\b{something}\b")
_SOMEBODY = pattern(r"\b{somebody}\b")
_ITS = pattern(r"\bits\b")
_THEIR = pattern(r"\btheir\b")
_THEY = pattern(r"\b(?P<verb>do|did|have|are|were|can|could|will|would|should)\s+they\b")
_THAT_COUNTRY = pattern(r"\b{that_country}")
_THERE = pattern(
    r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )(?<!\bbeen )\bthere\b"
    r"(?! (?:is|are|was|were|has|have|will|can)\b)"
)
"""The place, not "is there"."""
ALL_COUNTRIES = pattern("{all_countries}")
"""A question with one of these may be about more than the country named before."""
_PLURAL = re.compile(
    r"(?<!\b[Ww]ho )(?<!\b[Ww]hat )(?!\b(?:does|goes|has)\b)\b[a-z]{2,}[^suiA-Z\W]s\b|\b(?:people|men|women|children)\b"
)
"""What "they" may be, other than a country."""
_ASKED_OF = pattern(r"\b(?:{do}|has|have|{be}|can|will)\s+(?:the\s+)?$")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A question as it was written, and what stood before it."""

    text: str
    lead: str

    @property
    def is_clause(self) -> bool:
        return bool(self.lead.strip(" ,"))


@dataclass(frozen=True, slots=True)
class _Known:
    """What the questions before name: their countries, and those and their years as a list in words.

    Of the last, ``names_others``: it names countries that it is not about; ``is_subject``: it asks what a country does;
    ``has_several``: it has a plural noun.
    """

    countries: tuple[str, ...] = ()
    years: str = ""
    names_others: bool = False
    is_subject: bool = False
    has_several: bool = False

    @property
    def places(self) -> str:
        return list_in_words(self.countries)


def is_small_talk(text: str) -> bool:
    """Whether a message says hello, thanks or goodbye, and nothing else: "ok thanks, bye!"."""
    greets = _GREETS.match(text) is not None and _GREETING_WORDS.issuperset(WORD_PATTERN.findall(text.lower()))
    return greets and not _ASKS_OF_IT.search(text)


def separate_questions(text: str, scope: Scope, catalog: Catalog) -> list[str]:
    """Each question with the countries and years of those before it; what needs more than that stays with them."""
    first, *rest = _pieces(text)
    found = [first.text]
    known = _Known()
    for piece in rest:
        known = _after(found[-1], known, catalog)
        if whole := _understood(piece, found[-1], known, scope, catalog):
            found.append(whole)
        else:
            found[-1] += piece.lead + piece.text
    return [as_sentence(question) for question in found] if len(found) > 1 else found


def _pieces(text: str) -> Iterator[_Piece]:
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


def _understood(piece: _Piece, before: str, known: _Known, scope: Scope, catalog: Catalog) -> str:
    """The question with what it needs of those ``before``; "" where it cannot be asked without them."""
    reading = read_names(piece.text, catalog)
    whole = "" if _SOMEBODY.search(piece.text) else exchange_names(piece.text, reading, before, catalog, _words)
    if whole:
        return whole
    whole = _LEAD.sub("", piece.text)
    if not (piece.is_clause or whole.endswith("?") or ASKS.match(whole)):
        return ""
    is_placed = bool(reading.countries) or scope.get(COUNTRY) is not None
    if known.countries and not reading.countries:
        asked, whole = whole, _filled(whole, known)
        if whole == asked and not _refers_still(whole, reading) and not ALL_COUNTRIES.search(whole):
            whole = add_name(whole, known.places)
        is_placed = is_placed or whole != asked
    if known.countries and _refers_still(whole, reading):
        return ""
    is_sentence = not piece.is_clause and ASKS.match(whole) is not None and len(whole.split()) >= SHORTEST
    if not _words(whole) or _SOMETHING.search(whole) or not (is_placed or (is_sentence and not reading.refers)):
        return ""
    return add_name(whole, known.years) if known.years and not reading.every_year else whole


def _after(question: str, known: _Known, catalog: Catalog) -> _Known:
    """What is known after one more question."""
    named = read_names(question, catalog)
    about = named.about
    years = list_in_words([question[year.start : year.end] for year in named.every_year]) or known.years
    countries = tuple(dict.fromkeys(name_in_words(question, country, usual=True) for country in about))
    return _Known(
        countries or known.countries,
        years,
        names_others=len(named.countries) > len(about),
        is_subject=len(about) == 1 and _ASKED_OF.search(question[: about[0].start]) is not None,
        has_several=_PLURAL.search(remove_names(question, [*named.countries, *named.every_year])) is not None,
    )


def _filled(question: str, known: _Known) -> str:
    """The question with the names of the countries before it, where it refers to them."""
    filled = _ITS.sub(lambda _: possessive(known.places), question, count=1)
    if not known.has_several:
        filled = _THEIR.sub(lambda _: possessive(known.places), filled, count=1)
    if known.names_others:
        return filled
    if len(known.countries) == 1:
        filled = _THAT_COUNTRY.sub(lambda _: known.places, filled)
        if known.is_subject and not known.has_several:
            filled = _THEY.sub(lambda match: f"{singular(match['verb'])} {known.places}", filled)
    place = "" if filled != question else f"in {known.places}"
    return _THERE.sub(lambda _: place, filled)


def _refers_still(question: str, reading: Reading) -> bool:
    """Whether it speaks of a country other than those that it names."""
    if _THEIR.search(question) and not reading.countries:
        return True
    return _THERE.search(question) is not None or _THAT_COUNTRY.search(question) is not None


def _words(text: str) -> list[str]:
    return analyzer("english").terms(text)
