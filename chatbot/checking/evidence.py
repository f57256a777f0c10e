"""A passage prepared for the citation check: its statements, and the places of its
amounts, words and dates.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import combinations, islice
from typing import NamedTuple

from ..domain import Passage
from ..domain.documents import ATTACHMENTS
from ..domain.scope import NamedCountry
from ..language.analysis import STOP_WORDS
from ..language.country_names import find_countries
from ..language.figures import Date, comma_decimals, dates, figures, scales_named
from ..language.reported_figures import stated
from ..language.sentences import sentences
from .amounts import BROADLY, CLOSELY, Amount, amounts
from .wording import LABELS, LIMITS, UNITS, normalise, stem, stems, word_list

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
MAX_PLACES = LIMITS["places"]
MIN_NAME_CHARACTERS = LIMITS["name_characters"]
BEGINNING = LIMITS["beginning"]
MAX_TOKENS = LIMITS["tokens"]
MAX_SIBLINGS = LIMITS["siblings"]
ROW_DISTANCE = LIMITS["row_distance"]
CAPITAL = re.compile(r"[A-Z](?<=[a-z,)] [A-Z])[^\W_]+(?:['’][^\W_]+)*")
_RATE = re.compile(r"(?:/|\bper )(\d[\d,]*)\b")
_ABBREVIATION = re.compile(r"[A-Z](?:\.?[A-Z])+\.?")
_WRAPPED = re.compile(
    r"(?:(?<=[^\n]{60}[\w,;&%])[ \t]*\n[ \t]*(?=[\w($€£])|(?<=[\w,;&%])[ \t]*\n[ "
    r"\t]*(?=[a-z(]))(?![^\n:]{0,40}:)"
)
"""A line break within a sentence, as in PDFs; not before an item ("male: 20.6
years").
"""
_LABEL = re.compile(r"[A-Z][\w ,&/()-]{0,60}: (?=[A-Z][^\n:]{40}|[\"“„«‘])")
"""Before prose or a quotation: "Economic overview: Iraq's growth slowed …"."""
_SMALL_WORDS = word_list("small")
_LABELS = {
    key: label
    for label, words in LABELS.items()
    for key in (label, *map(stem, words.split()))
}
_OPPOSITES = {"male": "female", "female": "male", "urban": "rural", "rural": "urban"}
GENERAL = (
    stems("general") | stems("small") | frozenset(map(stem, STOP_WORDS["english"]))
)
_NO_LABELS = GENERAL | stems("no_label")


class Token(NamedTuple):
    """A word or an amount. ``key`` is compared: a stem, "#" for an amount, "#y" for a
    year.

    ``is_capital``: capitalised and no small word; for the first word of a sentence
    (``is_first``) that says little.
    """

    key: str
    text: str
    is_capital: bool = False
    is_first: bool = False
    amount: Amount | None = None


@lru_cache(maxsize=20_000)
def token_of(word: str, is_first: bool) -> Token:
    key = stem(word)
    return Token(key, word, word[0].isupper() and key not in _SMALL_WORDS, is_first)


class Sentence:
    """A sentence or line, of an answer or of a passage."""

    def __init__(self, text: str, amounts_in_order: list[Amount]) -> None:
        self.text = text
        self.amounts = amounts_in_order

    @cached_property
    def tokens(self) -> list[Token]:
        """The first `MAX_TOKENS` tokens in order; a bare number word counts as a
        word.
        """
        label = _LABEL.match(self.text)
        tokens = list[Token]()
        start = label.end() if label else 0
        shown = (
            stated
            for stated in self.amounts
            if stated.figure.start >= start
            and not (stated.figure.word and stated.figure.bare)
        )
        for amount in (*shown, None):
            until = amount.figure.start if amount else len(self.text)
            words = WORD.findall(self.text, start, max(start, until))
            tokens += [
                token_of(word, not (tokens or at)) for at, word in enumerate(words)
            ]
            if amount is None or len(tokens) >= MAX_TOKENS:
                break
            year = amount.figure.year is not None and amount.figure.bare
            tokens.append(
                Token(
                    "#y" if year else "#",
                    self.text[amount.figure.start : amount.end],
                    amount=amount,
                )
            )
            start = amount.end
        return tokens[:MAX_TOKENS]

    @cached_property
    def token_keys(self) -> frozenset[str]:
        """The keys of its tokens."""
        return frozenset(token.key for token in self.tokens)

    @cached_property
    def countries(self) -> tuple[NamedCountry, ...]:
        """The countries that it names."""
        named = find_countries(self.text, misspelt=False)
        return tuple(
            country
            for country in named
            if len(country.text.strip(".")) >= MIN_NAME_CHARACTERS
        )

    @cached_property
    def keys(self) -> frozenset[str]:
        """Stems of its words without the small ones."""
        return frozenset(map(stem, WORD.findall(self.text))) - _SMALL_WORDS

    @cached_property
    def labels(self) -> frozenset[str]:
        """The keys, with synonyms replaced as in labels of rows."""
        return frozenset(_LABELS.get(key, key) for key in self.keys)


REST = frozenset([stem("other")])
"""The label of what a heading has beside the others, which tells none of these."""


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A figure that a passage states under a heading.

    ``label``: keys of the words by which it differs from its ``siblings``, the labels
    of the other figures there.
    """

    heading: str
    label: frozenset[str]
    siblings: frozenset[frozenset[str]]
    amount: Amount

    @property
    def value(self) -> float:
        return float(min(self.amount.figure.values))


class Evidence:
    """A passage as evidence.

    ``around``: the numbers in its title, section, page, metadata and rates ("/1,000"),
    which are no amounts.

    ``heading``: its own. ``comma``: its decimals have a comma (`comma_decimals`).
    """

    def __init__(self, where: str, text: str, heading: str = "") -> None:
        self.heading = heading
        self.text = text
        self.full = f"{where}\n{text}"
        self.where = where
        named = figures(where)
        of_rates = figures(" ".join(_RATE.findall(text)))
        self.around = frozenset(
            value
            for figure in (*named, *of_rates)
            for value in (*figure.values, *figure.parts)
        )
        self.comma = comma_decimals(text)
        self.statements = list(
            _statements(text, scales_named(where, named), comma=self.comma)
        )
        self.rows = list(_rows(self.statements, text, heading))
        self.headings = {heading, *(row.heading for row in self.rows)}
        self.row_of = {
            id(row.amount): row for row in self.rows
        }  # of amounts that are not in prose
        self._places = defaultdict[Decimal, list[Amount]](list)
        self._alike = dict[tuple[object, ...], list[Amount]]()
        self._sentences = defaultdict[str, list[int]](list)
        for position, statement in enumerate(self.statements):
            for amount in statement.amounts:
                for value in {
                    *amount.figure.values,
                    *amount.figure.parts,
                    *amount.also,
                }:
                    self._places[value].append(amount)
            for key in statement.keys:
                self._sentences[key].append(position)
        self._sorted = sorted(self._places)

    @cached_property
    def words(self) -> str:
        """All of it, normalised."""
        return f"{normalise(self.where)}\n{normalise(self.text)}"

    @cached_property
    def dates(self) -> list[Date]:
        """The dates in it."""
        return dates(self.where) + dates(self.text)

    @cached_property
    def keys(self) -> frozenset[str]:
        """Stems of all words of the text, the title, the section and the metadata."""
        return frozenset(map(stem, WORD.findall(self.full)))

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The beginnings of its words' stems; of short names less than all: Shia,
        Shiites.
        """
        short = (key[:-1] for key in self.names if len(key) == BEGINNING)
        return frozenset([*map(beginning, self.keys), *short])

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of names: words with a capital within a sentence."""
        return frozenset(map(stem, CAPITAL.findall(self.full)))

    def mentions(self, name: Sequence[str], but: Set[str]) -> bool:
        """Return whether it has these words without the stems ``but``, their
        abbreviation, or what they abbreviate.
        """
        is_short = len(name) == 1 and name[0].isupper()
        short = name[0] if is_short else "".join(word[0] for word in name).upper()
        initials = (
            self.initials if len(short) < MIN_NAME_CHARACTERS else self.initials.upper()
        )
        is_named = self.keys.issuperset({stem(word) for word in name} - but)
        return (
            is_named or short in self.abbreviations or (is_short and short in initials)
        )

    @cached_property
    def abbreviations(self) -> frozenset[str]:
        """Its abbreviations without full stops."""
        return frozenset(
            word.replace(".", "") for word in _ABBREVIATION.findall(self.full)
        )

    @cached_property
    def initials(self) -> str:
        """The initials of its words without the small ones, in order."""
        return "".join(
            word[0]
            for word in WORD.findall(self.full)
            if word.lower() not in _SMALL_WORDS
        )

    def __contains__(self, number: Decimal) -> bool:
        """Return whether the text, the title, the section or the metadata has this
        number, with any unit.
        """
        return number in self._places or number in self.around

    def amounts_like(self, amount: Amount) -> list[Amount]:
        """Return the amounts that say the same, in any unit."""
        key = (
            amount.figure.text,
            amount.figure.values,  # 5.199 is read in two ways
            amount.measure,
            amount.size,
            amount.falling,
            amount.rounding,
        )
        if key not in self._alike:
            if len(self._alike) == MAX_PLACES:
                self._alike.clear()
            self._alike[key] = self._amounts_like(amount)
        return self._alike[key]

    def _amounts_like(self, amount: Amount) -> list[Amount]:
        sizes = UNITS.get(amount.measure, {}).values()
        factors = {Decimal(1), *(amount.size / size for size in sizes if size)}
        close_values: dict[Decimal, None] = {}
        for value in amount.values:
            if value in self._places:
                close_values[value] = None
            for factor in factors:
                low, high = sorted(
                    value * factor * (1 + sign * (BROADLY + CLOSELY))
                    for sign in (-1, 1)
                )
                start = bisect_left(self._sorted, low)
                end = bisect_right(self._sorted, high)
                close_values.update(
                    dict.fromkeys(self._sorted[start : min(end, start + MAX_PLACES)])
                )
        candidates = (
            candidate
            for value in close_values
            for candidate in self._places[value][:MAX_PLACES]
        )
        return [
            candidate
            for candidate in islice(candidates, MAX_PLACES)
            if amount.agrees(candidate)
        ]

    @cached_property
    def is_table(self) -> bool:
        """True if all its figures are in rows, none in prose."""
        return all(id(amount) in self.row_of for amount in self._values())

    @cached_property
    def shares(self) -> frozenset[Decimal]:
        """Its shares of 1."""
        shares: set[Decimal] = set()
        for amount in self._values():
            if amount.measure == "share":
                shares |= {value * amount.size for value in amount.figure.values}
        return frozenset(shares)

    def _values(self) -> Iterator[Amount]:
        for statement in self.statements:
            for amount in statement.amounts:
                if amount.figure.year is None:
                    yield amount

    def nearest(self, keys: Set[str]) -> list[Sentence]:
        """Return the statements with most of these words, and at least two; rare words
        count more.
        """
        scores = defaultdict[int, float](float)
        for key in keys:
            places = self._sentences.get(key, ())
            for position in places[:MAX_PLACES]:
                scores[position] += 1 / (1 + len(places))
        best = [
            self.statements[position]
            for position in sorted(scores, key=scores.__getitem__, reverse=True)[:3]
        ]
        return [statement for statement in best if len(statement.keys & keys) > 1]


def is_supported(amount: Amount, evidence: Sequence[Evidence]) -> bool:
    """Return whether a passage has this amount, and not for another year."""
    figure = amount.figure
    if figure.bare:
        for source in evidence:
            if not source.around.isdisjoint(figure.values):
                return True
    alike = [true for source in evidence for true in source.amounts_like(amount)]
    if alike or not figure.parts:
        return any(amount.shares_year(true) for true in alike)
    return all(any(number in source for source in evidence) for number in figure.parts)


def evidence_of(passage: Passage) -> Evidence:
    """Return the evidence of a passage, cached except for attachments, of which nothing
    may be kept (R-A1).
    """
    chunk = passage.hit.chunk
    where = " \n".join(
        [
            chunk.title,
            chunk.section,
            str(chunk.page or ""),
            *map(str, chunk.metadata.values()),
        ]
    )
    text = (
        passage.wider_text
        if chunk.text in passage.wider_text
        else f"{passage.wider_text}\n{chunk.text}"
    )
    return (Evidence if chunk.collection == ATTACHMENTS else _read)(
        where, text, chunk.heading
    )


# The dates and figures of a passage take some 100 KB.
_read = lru_cache(maxsize=256)(Evidence)


def _statements(text: str, headed: set[Decimal], *, comma: bool) -> Iterator[Sentence]:
    for sentence in sentences(_WRAPPED.sub(" ", text)):
        in_sentence = amounts(sentence, comma=comma)
        factors = (
            headed | scales_named(sentence, [amount.figure for amount in in_sentence])
            if in_sentence
            else headed
        )
        for position, amount in enumerate(in_sentence):
            if factors and not amount.figure.scaled:
                also = frozenset(
                    (value * factor).normalize() + 0
                    for value in amount.figure.values
                    for factor in factors
                )
                in_sentence[position] = amount._replace(also=also)
        yield Sentence(sentence, in_sentence)


def _rows(
    statements: Sequence[Sentence], text: str, passage_heading: str
) -> Iterator[PassageRow]:
    """Yield the figures that the text states as rows. Changes ``statements``
    (`_stated_amounts`).
    """
    under = defaultdict[str, list[_StatedAmount]](list)
    for row in _stated_amounts(statements, text, passage_heading):
        under[row.heading].append(row)
    for heading, rows in under.items():
        labels = frozenset(row.label for row in rows[:MAX_SIBLINGS]) - {REST}
        labels |= {
            frozenset([_OPPOSITES[key]])
            for label in labels
            for key in label & _OPPOSITES.keys()
        }
        for row in rows:
            siblings = frozenset() if row.is_unnamed else labels - {row.label}
            yield PassageRow(heading, row.label, siblings, row.amount)


class _StatedAmount(NamedTuple):
    """An amount that stands in a row of a passage. ``is_unnamed``: what it counts
    stands in the words before it, and is not known.
    """

    heading: str
    label: frozenset[str]
    amount: Amount
    is_unnamed: bool


def _stated_amounts(
    statements: Sequence[Sentence], text: str, passage_heading: str
) -> Iterator[_StatedAmount]:
    """Find the amounts of the sentences that are figures of rows. In ``statements``
    they get the years that a list shares.
    """
    places = _places_of_amounts(statements)
    next_place = 0
    for figure in stated(text):
        # Amounts in prose may stand between two figures of rows.
        for place in range(next_place, min(next_place + ROW_DISTANCE, len(places))):
            statement, index = places[place]
            amount = statement.amounts[index]
            if figure.value not in amount.figure.values:
                continue
            next_place = place + 1
            amount = amount._replace(years=amount.years or figure.years)
            statement.amounts[index] = amount
            heading = figure.heading or passage_heading
            words = f"{figure.label} {_written_out(figure.label, heading)}"
            is_rest = figure.label.lower().startswith("other")
            label = REST if is_rest else keys_of(words)
            has_words = WORD.search(statement.text, 0, amount.figure.start)
            is_unnamed = not figure.label and has_words is not None
            yield _StatedAmount(heading, label, amount, is_unnamed)
            break


def _places_of_amounts(
    statements: Sequence[Sentence],
) -> list[tuple[Sentence, int]]:
    """Return the statement and the number in it of each amount."""
    places: list[tuple[Sentence, int]] = []
    for statement in statements:
        places += [(statement, index) for index in range(len(statement.amounts))]
    return places


def _written_out(label: str, heading: str) -> str:
    """Return the words of the heading that the label abbreviates: IDPs are internally
    displaced persons.
    """
    words = WORD.findall(heading)
    shorts = set(_ABBREVIATION.findall(label))
    runs = (
        (words[start:end] for start, end in combinations(range(len(words) + 1), 2))
        if shorts
        else ()
    )
    return next(
        (
            " ".join(run)
            for run in runs
            if "".join(word[0] for word in run).upper() in shorts
        ),
        "",
    )


def keys_of(text: str) -> frozenset[str]:
    """Return the keys of the words of a label: boys and men are "male"."""
    return frozenset(map(label_key, WORD.findall(text))) - _NO_LABELS


def label_key(word: str) -> str:
    """Return what a word of a label is compared by."""
    key = stem(word)
    return _LABELS.get(key, key)


def beginning(key: str) -> str:
    """Return what words of one family share: "produced" and "production"."""
    return key[:BEGINNING]
