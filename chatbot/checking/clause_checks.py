"""Check a clause of an answer against the passages that it cites: its figures, dates,
quotations, names, and what it says about them.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain

from ..domain import Question, Range
from ..domain.chat import MarkKind, Unsupported
from ..domain.tables import Texts
from ..language.characters import lowered
from ..language.detection import language_of
from ..language.figures import (
    Date,
    comma_decimals,
    date_stands,
    dates,
    figures,
    unify_signs,
)
from .amounts import SMALL_COUNT, Amount
from .calculations import MAX_CELLS, Calculations
from .clauses import STOPS, Clause
from .columns import CheckedCells
from .contradictions import NEGATORS, Defect, contradicted
from .evidence import WORD, Evidence, Sentence, is_supported
from .foreign import Foreign, foreign_speakers
from .rows import row_defects
from .wording import (
    LIMITS,
    is_quoted,
    pattern,
    quotations,
    stem,
    without_numbers,
    without_quotations,
)

__all__ = ["ClauseChecker"]

NO_SOURCE = Defect("no_source", "")
_NAME_BEFORE_NUMBER = re.compile(r"[^\W\d_]-$")
"""COVID-19, F-16."""
NAME_CHARACTERS = LIMITS["dashed_characters"]
_REPORT_YEAR = re.compile(r"(1\d{3}|20\d{2}) (?:report|edition)\b", re.IGNORECASE)
_ADDRESSES = pattern(r"\b{addresses}\b")
MAX_MISSING = LIMITS["missing_figures"]
MAX_LABEL_CHARACTERS = LIMITS["label_characters"]
_Placed = tuple[int, Defect]
"""A defect, and where it begins in the words of its clause."""


@dataclass(slots=True)
class ClauseDefects:
    """What the passages of a clause do not have, and what they contradict."""

    figures: list[Defect] = field(default_factory=list)
    quotations: list[Defect] = field(default_factory=list)
    names: list[Defect] = field(default_factory=list)
    contradictions: list[Defect] = field(default_factory=list)

    def in_order(self) -> list[Defect]:
        of_all = (self.figures, self.quotations, self.names, self.contradictions)
        return list(chain(*of_all))


class ClauseChecker:
    """Checks the clauses of one answer in their order.

    ``is_silent``: whether words say that the passages have nothing. ``cells``: what is
    known of the cells of the answer's tables. ``computed``: figures that the program
    itself has computed.
    """

    def __init__(
        self,
        foreign: Foreign,
        question: Question | None,
        response: str,
        is_silent: Callable[[str], bool],
        cells: CheckedCells,
        computed: Sequence[Amount],
    ) -> None:
        self._foreign = foreign
        self._evidence = foreign.evidence
        self._is_silent = is_silent
        self._cells = cells
        self._comma = comma_decimals(response)
        self._is_english = language_of(response) == "english"
        self._given_numbers = _given_numbers(question)
        self._computed = computed
        self._calculations = Calculations(
            list(self._evidence.values()), foreign.headings, self._comma
        )

    def check(self, clause: Clause) -> tuple[Unsupported, list[Defect]] | None:
        """Return what the clause lacks, in total and one by one, or None."""
        place = clause.cell and clause.cell.place
        if place in self._cells.proven:
            return None
        if place in self._cells.wrong:
            figure = Defect("figure", without_numbers(clause.text).strip())
            lacking = Unsupported(clause.text, clause.numbers, (figure.text,))
            return lacking, [figure]
        if not clause.numbers:
            if not self._needs_source(clause):
                return None
            return Unsupported(clause.text, (), no_source=True), [NO_SOURCE]
        known = tuple(number for number in clause.numbers if number in self._evidence)
        unknown = tuple(number for number in clause.numbers if number not in known)
        found = ClauseDefects()
        if known:
            found = self._compare(clause, self._evidence_of(known))
        defects = [Defect("unknown_citation", str(number)) for number in unknown]
        defects += found.in_order()
        if not defects:
            return None
        lacking = Unsupported(
            clause.text,
            known,
            figures=_texts(found.figures),
            quotations=_texts(found.quotations),
            unknown=unknown,
            names=_texts(found.names),
            contradicted=_texts(found.contradictions),
            no_source=NO_SOURCE in found.names,
        )
        return lacking, defects

    def check_lead(
        self, clause: Clause, found: tuple[Unsupported, list[Defect]]
    ) -> tuple[Unsupported, list[Defect]] | None:
        """Return what a clause lacks once all were checked: a lead may say first what
        the sentences behind it compute. ``found``: what it lacked then.
        """
        if not found[0].figures:
            return found
        self._calculations.forget_stated()
        return self.check(clause)

    def _evidence_of(self, numbers: Sequence[int]) -> list[Evidence]:
        return [self._evidence[n] for n in numbers if n in self._evidence]

    def _compare(self, clause: Clause, cited: Sequence[Evidence]) -> ClauseDefects:
        """Return what no passage of a clause has, and what its passages contradict."""
        words = clause.words
        quoted = quotations(words)
        invented = [text for text in quoted if not self._is_quotation(text, cited)]
        is_quotation = not invented and 2 * sum(map(len, quoted)) > len(words)
        if is_quotation:
            # What is quoted as the passage has it is right, also its decimal marks.
            words = without_quotations(words)
        claimed = clause.amounts(words, comma=self._comma)
        missing, supported = self._missing_figures(clause, claimed, cited)
        missing += self._calculations.wrong_fractions(clause, claimed, cited)
        defects = ClauseDefects(missing, [Defect("quotation", one) for one in invented])
        if self._is_silent(clause.words):
            return defects
        sentence = Sentence(clause.words, claimed)
        defects.names = self._foreign_names(clause, sentence, cited)
        if is_quotation:
            return defects
        lacking = {defect.text for defect in (*missing, *defects.names)}
        contrary = contradicted(sentence, cited, supported=supported)
        if not contrary:
            contrary = list(row_defects(sentence, cited, self._foreign.headings))
        defects.contradictions = [one for one in contrary if one.text not in lacking]
        if not defects.names and not defects.contradictions:
            defects.names = self._other_names(clause, sentence, has_all=not missing)
        return defects

    def _is_quotation(self, text: str, cited: Sequence[Evidence]) -> bool:
        """Return whether a passage or the question has the text of a quotation."""
        if any(is_quoted(text, source.words) for source in cited):
            return True
        return is_quoted(text, self._foreign.query)

    def _foreign_names(
        self, clause: Clause, sentence: Sentence, cited: Sequence[Evidence]
    ) -> list[Defect]:
        """Return the countries and speakers that the passages do not name."""
        beside = self._evidence_of(clause.beside)
        countries = self._foreign.countries(sentence, beside)
        speakers = foreign_speakers(clause.words, cited)
        return [
            *(Defect("name", text) for text in countries),
            *(Defect("attribution", text) for text in speakers),
        ]

    def _other_names(
        self, clause: Clause, sentence: Sentence, *, has_all: bool
    ) -> list[Defect]:
        """Return the other names that no passage has, else whether no passage has
        anything of the clause. ``has_all``: the passages have all its figures.
        """
        if clause.cell is None:
            names = [Defect("name", text) for text in self._foreign.names(sentence)]
            if names:
                return names
        for amount in sentence.amounts:
            if amount.figure.year is None and _is_claim(amount, clause.words):
                return []
        if has_all and self._foreign.is_all(sentence):
            return [NO_SOURCE]
        return []

    def _missing_figures(
        self, clause: Clause, claimed: Sequence[Amount], cited: Sequence[Evidence]
    ) -> tuple[list[Defect], frozenset[str]]:
        """Return the figures and dates that no passage has, and the texts of the
        amounts that one has.
        """
        words = clause.words
        whole_dates = _whole_dates(words) if claimed else []
        missing = list(_missing_dates(words, whole_dates, cited))
        in_dates = _positions_in(whole_dates)
        supported = [amount for amount in claimed if is_supported(amount, cited)]
        texts = frozenset(_text_of(amount, words) for amount in supported)
        unproven: list[Amount] = []
        for amount in claimed:
            if _text_of(amount, words) in texts or self._is_given(amount):
                continue
            if _is_claim(amount, words, in_dates):
                unproven.append(amount)
        unproven = self._in_no_reading(clause, unproven, cited)
        if len(unproven) <= MAX_MISSING:
            unproven = self._not_proven(clause, unproven, cited)
        self._calculations.carry(supported)
        for amount in unproven:
            defect = Defect(_kind_of_missing(amount, cited), amount.figure.text)
            missing.append((amount.figure.start, defect))
        missing += self._missing_report_years(words, cited)
        by_text = {defect.text: defect for _, defect in sorted(missing)}
        return list(by_text.values()), texts

    def _in_no_reading(
        self, clause: Clause, claims: Sequence[Amount], cited: Sequence[Evidence]
    ) -> list[Amount]:
        """Return the claims that no passage has, in other languages than English with
        either sign for decimals: an answer in German may write 5.199 m or, as its
        report does, 5,199 m.
        """
        if not claims or self._is_english:
            return list(claims)
        supported = set()
        for amount in clause.amounts(clause.words, comma=not self._comma):
            if is_supported(amount, cited):
                supported.add(amount.figure.start)
        return [claim for claim in claims if claim.figure.start not in supported]

    def _not_proven(
        self, clause: Clause, claims: Sequence[Amount], cited: Sequence[Evidence]
    ) -> list[Amount]:
        """Return the claims that are not calculated: a figure may be calculated from
        another that stands behind it.
        """
        left = list(claims)
        for _ in range(2):
            unproven: list[Amount] = []
            computed: list[Amount] = []
            for claim in left:
                result = self._calculations.result(clause, claim, cited)
                if result is None:
                    unproven.append(claim)
                else:
                    computed.append(result)
            self._calculations.carry_computed(computed)
            left = unproven
            if not left or not computed:
                break
        return left

    def _is_given(self, amount: Amount) -> bool:
        """Return whether the question itself has a number, or the program computed the
        figure.
        """
        figure = amount.figure
        if figure.bare and not figure.values.isdisjoint(self._given_numbers):
            return True
        return self._is_computed(amount)

    def _is_computed(self, amount: Amount) -> bool:
        for computed in self._computed:
            if amount.measure == computed.measure and amount.agrees(computed):
                return True
        return False

    def _missing_report_years(
        self, words: str, cited: Sequence[Evidence]
    ) -> Iterator[_Placed]:
        """Yield the years of reports ("the 2021 report") of which no passage is."""
        for match in _REPORT_YEAR.finditer(words):
            year = Decimal(match[1])
            if year in self._given_numbers:
                continue
            if not any(year in source.around for source in cited):
                yield match.start(), Defect("year", match[0])

    def _needs_source(self, clause: Clause) -> bool:
        """Return whether a sentence without a [n] claims something that the next source
        of its line does not have. Its figures claim nothing where it calculates them,
        the question gave them, or the program computed them.
        """
        words = clause.words.strip()
        if words.endswith((":", "?")) or self._is_silent(clause.words):
            return False
        figures = [
            amount
            for amount in clause.amounts(words, comma=self._comma)
            if _is_claim(amount, words)
        ]
        not_calculated = self._not_calculated(clause, figures)
        if figures and not not_calculated:
            return False
        claims = [
            amount
            for amount in not_calculated
            if amount.figure.values.isdisjoint(self._given_numbers)
            and not self._is_computed(amount)
        ]
        if _is_bare(words, claims) or _is_label(clause, words, claims):
            return False
        following = self._evidence_of(clause.following)
        if claims:
            stripped = clause._replace(words=words)
            missing, _ = self._missing_figures(stripped, claims, following)
            if not following or missing:
                return True
        return self._is_foreign(Sentence(words, claims), following)

    def _not_calculated(
        self, clause: Clause, claimed: Sequence[Amount]
    ) -> Sequence[Amount]:
        """Return the figures that the answer does not calculate itself."""
        if len(claimed) > MAX_CELLS:
            return claimed
        return self._not_proven(clause, claimed, ())

    def _is_foreign(self, sentence: Sentence, following: Sequence[Evidence]) -> bool:
        """Return whether a sentence without a [n] names something that the next source
        does not, or says nothing that any passage says.
        """
        if any(self._foreign.names(sentence, following)):
            return True
        if _ADDRESSES.search(lowered(sentence.text)):
            return False
        everything = list(self._evidence.values())
        if any(self._foreign.countries(sentence, everything)):
            return True
        return self._foreign.is_all(sentence)


def _is_bare(words: str, claims: Sequence[Amount]) -> bool:
    """Return whether a text has no word and no figure with a unit."""
    if re.search(r"[^\W\d_]{2}", words):
        return False
    return not any(amount.measure for amount in claims)


def _texts(defects: Sequence[Defect]) -> Texts:
    return tuple(dict.fromkeys(defect.text for defect in defects if defect.text))


def _text_of(amount: Amount, words: str) -> str:
    return words[amount.figure.start : amount.end]


def _is_label(clause: Clause, words: str, claims: Sequence[Amount]) -> bool:
    """Return whether a line states no figure but years, as a label or a denial ("no
    figure for 2023").
    """
    if not all(amount.figure.year for amount in claims):
        return False
    if len(clause.text) < MAX_LABEL_CHARACTERS and not words.endswith(STOPS):
        return True
    return bool(claims) and any(stem(word) in NEGATORS for word in WORD.findall(words))


def _whole_dates(words: str) -> list[Date]:
    """Return the dates of a text; a month that is part of a day does not count beside
    it.
    """
    all_dates = dates(words)
    in_days = _positions_in([date for date in all_dates if date.day is not None])
    return [
        date for date in all_dates if date.day is not None or date.start not in in_days
    ]


def _missing_dates(
    words: str, whole_dates: Sequence[Date], cited: Sequence[Evidence]
) -> Iterator[_Placed]:
    """Yield the dates that no passage has in any reading: 3/4 is two days."""
    passage_dates = [date for source in cited for date in source.dates]

    def has_number(number: Decimal) -> bool:
        return any(number in source for source in cited)

    is_supported_at: dict[tuple[int, int], bool] = {}
    for date in whole_dates:
        span = (date.start, date.end)
        if not is_supported_at.get(span):
            is_supported_at[span] = date_stands(date, passage_dates, has_number)
    for (start, end), is_there in is_supported_at.items():
        if not is_there:
            yield start, Defect("year", words[start:end])


def _kind_of_missing(amount: Amount, cited: Sequence[Evidence]) -> MarkKind:
    """Return what of an amount no passage has: the year, the unit, or the figure."""
    if amount.figure.year or any(source.amounts_like(amount) for source in cited):
        return "year"
    for source in cited:
        if any(value in source for value in amount.figure.values):
            return "unit"
    return "figure"


def _positions_in(some_dates: Sequence[Date]) -> frozenset[int]:
    """Return the positions of all characters of dates."""
    positions: set[int] = set()
    for date in some_dates:
        positions.update(range(date.start, date.end))
    return frozenset(positions)


def _is_claim(amount: Amount, text: str, skip: Collection[int] = ()) -> bool:
    """Return whether an amount of a text states something: it begins at no position of
    ``skip``, and is neither part of a name ("COVID-19") nor a number in letters without
    a unit ("one of them", "the three").
    """
    figure = amount.figure
    if figure.start in skip:
        return False
    has_unit = not figure.bare or amount.measure not in {"", "time"}
    if has_unit:
        return True
    if figure.word:
        return False
    if figure.year is not None or amount.measure == "time":
        return True
    before = unify_signs(text[max(0, figure.start - NAME_CHARACTERS) : figure.start])
    return _NAME_BEFORE_NUMBER.search(before) is None


def _given_numbers(question: Question | None) -> frozenset[Decimal]:
    """Return the years and small counts ("the top 5") of the question and the years of
    its scope.
    """
    if question is None:
        return frozenset()
    text = f"{question.query}\n{question.search_text}"
    numbers: set[Decimal] = set()
    for figure in figures(text, comma=comma_decimals(text)):
        if not figure.bare:
            continue
        for value in figure.values:
            if figure.year or 0 <= value < SMALL_COUNT:
                numbers.add(value)
    for _, condition in question.scope.conditions:
        bounds: Iterable[object] = (
            (condition.gte, condition.lte)
            if isinstance(condition, Range)
            else condition.values
        )
        numbers.update(Decimal(bound) for bound in bounds if isinstance(bound, int))
    return frozenset(numbers)
