"""Find which passages an answer cites, and which clauses their passages do not support.

A deterministic check of each clause against the passages of its own [n]: figures with
their units and years, dates, quotations, the countries it names and the speakers it
quotes. Where a clause repeats a sentence of its passages, every difference that changes
the meaning counts (`contradictions`). A figure that is rounded, converted or calculated
from cited figures is supported. In doubt nothing is marked.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import chain, groupby
from typing import NamedTuple

from ..domain import Citation, Context, Passage, Question, Range
from ..domain.chat import Mark, MarkKind, Unsupported
from ..domain.figures import GlossaryEntry
from ..language.analysis import analyzer
from ..language.characters import lowered
from ..language.figures import (
    Date,
    comma_decimals,
    date_stands,
    dates,
    figures,
    unify_signs,
)
from ..language.statements import Statement, statements
from .amounts import SMALL_COUNT, Amount, amounts
from .arithmetic import (
    A_SHARE,
    as_points,
    fractions,
    group_results,
    is_proven,
    operations_of,
    row_groups,
)
from .clauses import STOPS, Clause, clauses, marks_in
from .columns import CellPlace, CheckedCells, check_cells
from .contradictions import NEGATORS, Defect, contradicted
from .evidence import WORD, Evidence, PassageRow, Sentence, evidence_of
from .foreign import Foreign, foreign_speakers, headings_of
from .rows import row_defects
from .wording import (
    QUOTATION,
    cited_numbers,
    is_quoted,
    normalise,
    pattern,
    quotations,
    stem,
    unify_brackets,
    without_numbers,
)

_NAME_BEFORE_NUMBER = re.compile(r"[^\W\d_]-$")
"""COVID-19, F-16."""
_REPORT_YEAR = re.compile(r"(1\d{3}|20\d{2}) (?:report|edition)\b", re.IGNORECASE)
_ABSTAINS = pattern(r"\b{abstains}(?!\w)")
NO_WORD = Defect("no_source", "")
_ADDRESSES = pattern(r"\b{addresses}\b")
SNIPPET_CHARACTERS = 400
MAX_CELLS = 400
"""Cells of an answer's tables whose figures are combined."""
MAX_NAMED = 8
"""Figures of one sentence that are combined."""
MAX_CHECKED_CHARACTERS = 50_000
"""A longer passage is not read as evidence, and an answer is checked up to here."""


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """``citations``: one for each number in the answer that belongs to a passage, in
    order of appearance.

    ``unsupported``: clauses that state what their passages do not have or contradict,
    that cite an unknown number, or that give a figure or a name without a source;
    ``marks``: where these are. A citation is supported unless only such clauses have
    it. ``answered``: a sentence states something from the passages, and not
    that they say nothing. ``abstains``: the first one says that.
    """

    citations: tuple[Citation, ...]
    unsupported: tuple[Unsupported, ...]
    marks: tuple[Mark, ...]
    answered: bool
    abstains: bool


def check(
    response: str,
    context: Context,
    question: Question | None = None,
    glossary: Sequence[GlossaryEntry] = (),
) -> CheckedAnswer:
    """Return the answer's citations and what its passages do not support. The answer
    may repeat what the question itself says: its scope's years, "top 5", a quoted name.
    The ``glossary`` has the headings of the reports and other words for them.
    """
    passages = {passage.number: passage for passage in context.passages}
    response = unify_brackets(response, passages)
    cited = [number for number in cited_numbers(response) if number in passages]
    parts = list(clauses(_beginning(response))) if passages else []
    evidence = {
        number: evidence_of(passages[number])
        for number in cited
        if _is_readable(passages[number])
    }
    is_silent = cache(lambda words: _ABSTAINS.search(lowered(words)) is not None)
    foreign = Foreign(evidence, question, response, headings_of(tuple(glossary)))
    checker = _ClauseChecker(foreign, question, response, is_silent)
    checker.cells = _cells_of(parts, evidence, comma=comma_decimals(response))
    unread = {*cited} - {*evidence}
    look = cache(checker.check)  # some answers say the same again and again
    readable = [clause for clause in parts if unread.isdisjoint(clause.beside)]
    results = [(clause, result) for clause in readable if (result := look(clause))]
    unsupported = [lacking for _, (lacking, _) in results]
    findings = [(clause, one) for clause, (_, defects) in results for one in defects]
    marked = {clause for clause, _ in findings}
    # A doubtful clause makes no source doubtful that bears another.
    right = {number for one in parts if one not in marked for number in one.numbers}
    doubtful = {
        number for clause in unsupported if clause.lacking for number in clause.numbers
    } - right
    words = {
        number: clause.words for clause in reversed(parts) for number in clause.numbers
    }
    return CheckedAnswer(
        tuple(
            _citation(passages[n], words.get(n, ""), is_supported=n not in doubtful)
            for n in cited
        ),
        tuple(unsupported),
        marks_in(response, findings),
        answered=_is_answered(parts, passages.values(), is_silent),
        abstains=bool(parts and is_silent(parts[0].words)),
    )


def cite(response: str, context: Context) -> CheckedAnswer:
    """Return the citations of a text that a program made of its passages, such as
    quotations and tables of figures. What they say is not checked: it is theirs.
    """
    words = {
        number: line
        for line in reversed(response.splitlines())
        for number in cited_numbers(line)
    }
    passages = {passage.number: passage for passage in context.passages}
    cited = tuple(
        _citation(passages[n], words.get(n, ""))
        for n in cited_numbers(response)
        if n in passages
    )
    return CheckedAnswer(cited, (), (), answered=bool(cited), abstains=False)


def _citation(passage: Passage, words: str, *, is_supported: bool = True) -> Citation:
    text = passage.hit.chunk.text
    return Citation(
        passage.number,
        passage.hit,
        section_of(passage, words),
        snippet_of(text),
        is_supported,
    )


def section_of(passage: Passage, words: str) -> str:
    """Return the heading of the sentence that these words are taken from, since a
    passage may span several. Return the passage's own section, with those above it, if
    that is the heading or the sentence cannot be told.
    """
    chunk = passage.hit.chunk
    candidates = (
        statements(passage)
        if words and any("\n" in one for one in chunk.text.split("\n\n")[1:])
        else []
    )
    if len({one.heading for one in candidates}) < 2:
        return chunk.section
    quoted = quotations(words)
    terms = analyzer("english").terms
    terms_of_words = set(terms(words))

    def nearness(one: Statement) -> tuple[int, int]:
        text = normalise(one.text)
        return sum(is_quoted(quote, text) for quote in quoted), len(
            terms_of_words.intersection(terms(one.whole))
        )

    best = max(candidates, key=nearness)
    quotes, shared = nearness(best)
    # A single shared word may be chance.
    is_told = best.heading != chunk.heading and (quotes or shared >= 2)
    return best.heading if is_told else chunk.section


def _beginning(response: str) -> str:
    """Return the lines, else sentences, of an answer within the limit."""
    text = response[:MAX_CHECKED_CHARACTERS]
    return (
        text
        if text == response
        else text[: max(text.rfind("\n"), text.rfind(". ") + 1, 0)]
    )


class _Terms(NamedTuple):
    """Groups of figures: those that the answer ``named``, and those of the passages."""

    operations: frozenset[str]
    named: Sequence[Sequence[Amount]]
    groups: Sequence[tuple[str, Sequence[Amount]]]

    def of_passages(
        self, operations: frozenset[str]
    ) -> Iterator[tuple[Sequence[Amount], frozenset[str]]]:
        """Yield the groups of the passages with the operations that make sense."""
        for kind, group in self.groups:
            is_shares = all(one.measure == "share" for one in group)
            # Shares of one whole are no shares of each other.
            if is_shares and kind in ("parts", "meant"):
                yield group, operations & {"sum", "difference", "mean", "rest"}
            else:
                yield group, operations


class _ClauseChecker:
    """``is_silent``: whether the words of a clause say that the passages have
    nothing.
    """

    def __init__(
        self,
        foreign: Foreign,
        question: Question | None,
        response: str,
        is_silent: Callable[[str], bool],
    ) -> None:
        self._foreign = foreign
        self._evidence = foreign.evidence
        self._is_silent = is_silent
        self._comma = comma_decimals(response)
        self._given_numbers = (
            _given_numbers(question) if question else frozenset[Decimal]()
        )
        self._terms_of: dict[object, _Terms] = {}
        self._named: dict[str, list[Amount]] = {}
        self._recent: list[Amount] = []
        self.cells = CheckedCells(frozenset(), frozenset())

    def check(self, clause: Clause) -> tuple[Unsupported, list[Defect]] | None:
        """Return what the clause lacks, in total and one by one, or None."""
        if clause.place in self.cells.proven:
            return None
        if clause.place in self.cells.wrong:
            figure = Defect("figure", without_numbers(clause.text).strip())
            lacking = Unsupported(clause.text, clause.numbers, (figure.text,))
            return lacking, [figure]
        if not clause.numbers:
            if not self._needs_source(clause):
                return None
            return Unsupported(clause.text, (), no_source=True), [NO_WORD]
        numbers = tuple(number for number in clause.numbers if number in self._evidence)
        unknown = tuple(
            number for number in clause.numbers if number not in self._evidence
        )
        by_kind = (
            self._compare(clause, [self._evidence[number] for number in numbers])
            if numbers
            else [()] * 4
        )
        if not unknown and not any(by_kind):
            return None
        figures, quoted, names, contrary = (
            tuple(dict.fromkeys(d.text for d in some if d.text)) for some in by_kind
        )
        result = Unsupported(
            clause.text,
            numbers,
            figures,
            quoted,
            unknown,
            names,
            contrary,
            NO_WORD in by_kind[2],
        )
        return result, [
            *(Defect("unknown_citation", str(number)) for number in unknown),
            *chain(*by_kind),
        ]

    def _compare(
        self, clause: Clause, cited: Sequence[Evidence]
    ) -> Sequence[Sequence[Defect]]:
        """Return the figures, quotations and names that no passage has, and what the
        passages contradict.
        """
        quoted = quotations(clause.words)
        foreign = [
            q
            for q in quoted
            if not any(is_quoted(q, e.words) for e in cited)
            and not is_quoted(q, self._foreign.query)
        ]
        is_quotation = not foreign and 2 * sum(map(len, quoted)) > len(clause.words)
        # What is quoted as the passage has it is right, also its decimal marks.
        words = (
            QUOTATION.sub(lambda quote: " " * len(quote[0]), clause.words)
            if is_quotation
            else clause.words
        )
        claimed = amounts(words, comma=self._comma)
        sentence = Sentence(clause.words, claimed)
        quotes = [Defect("quotation", text) for text in foreign]
        missing, supported = self._missing_figures(clause, claimed, cited)
        missing += self._wrong_fractions(clause, claimed, cited)
        names = list[Defect]()
        contradictions = list[Defect]()
        if not self._is_silent(clause.words):
            beside = [
                self._evidence[number]
                for number in clause.beside
                if number in self._evidence
            ]
            names = [
                Defect("name", text)
                for text in self._foreign.countries(sentence, beside)
            ]
            names += [
                Defect("attribution", text)
                for text in foreign_speakers(clause.words, cited)
            ]
            if not is_quotation:
                lacking = {one.text for one in (*missing, *names)}
                contradictions = contradicted(sentence, cited, supported=supported)
                contradictions = contradictions or list(
                    row_defects(sentence, cited, self._foreign.headings)
                )
                contradictions = [
                    one for one in contradictions if one.text not in lacking
                ]
                if not names and not contradictions and not clause.is_cell:
                    names = [
                        Defect("name", text) for text in self._foreign.names(sentence)
                    ]
                is_plain = not any((missing, names, contradictions)) and not any(
                    one.figure.year is None and _is_claim(one, clause.words)
                    for one in claimed
                )
                names = (
                    [NO_WORD] if is_plain and self._foreign.is_all(sentence) else names
                )
        return missing, quotes, names, contradictions

    def _remember(self, carried: Iterable[Amount]) -> None:
        # A later figure may be the difference of two of the last four.
        self._recent = [
            *self._recent,
            *(one for one in carried if not one.figure.year),
        ][-4:]

    def _missing_figures(
        self, clause: Clause, claimed: Sequence[Amount], cited: Sequence[Evidence]
    ) -> tuple[list[Defect], frozenset[str]]:
        """Return the figures and dates that no passage has, and the texts of the
        amounts that one has.
        """
        words = clause.words
        missing = list[tuple[int, Defect]]()
        all_dates = dates(words) if claimed else []
        days = _places_of(date for date in all_dates if date.day is not None)
        # A month that is part of a dated day does not count beside it.
        whole = [
            date for date in all_dates if date.day is not None or date.start not in days
        ]
        in_dates = _places_of(whole)
        passage_dates = [date for one in cited for date in one.dates]
        whole.sort(key=lambda date: (date.start, date.end))
        for (start, end), readings in groupby(
            whole, key=lambda date: (date.start, date.end)
        ):
            if not any(
                date_stands(
                    date, passage_dates, lambda n: any(n in one for one in cited)
                )
                for date in readings
            ):
                missing.append((start, Defect("year", words[start:end])))
        supported = [one for one in claimed if is_supported(one, cited)]
        exact = frozenset(words[one.figure.start : one.end] for one in supported)
        carried = list(supported)
        for one in claimed:
            given = one.figure.bare and one.figure.values & self._given_numbers
            if (
                words[one.figure.start : one.end] in exact
                or given
                or not _is_claim(one, words, in_dates)
            ):
                continue
            # Where so many figures are missing, none is taken for calculated.
            if len(missing) < 50 and self._is_calculated(clause, one, cited):
                carried.append(one)
                continue
            kind: MarkKind = "figure"
            if one.figure.year or any(source.amounts_like(one) for source in cited):
                kind = "year"
            elif any(
                value in source for source in cited for value in one.figure.values
            ):
                kind = "unit"
            missing.append((one.figure.start, Defect(kind, one.figure.text)))
        self._remember(carried)
        for match in _REPORT_YEAR.finditer(words):
            year = Decimal(match[1])
            if year not in self._given_numbers and not any(
                year in one.around for one in cited
            ):
                missing.append((match.start(), Defect("year", match[0])))
        return list({one.text: one for _, one in sorted(missing)}.values()), exact

    def _is_calculated(
        self, clause: Clause, claim: Amount, cited: Sequence[Evidence]
    ) -> bool:
        """Return whether a figure is calculated from those that its sentence names, the
        sentences before it, or the cited passages.
        """
        if claim.figure.year:
            return False
        terms = self._terms(clause, cited)
        operations = terms.operations
        points = as_points(claim, clause.words)
        if points is not None:
            claim = points
            operations &= {"difference", "mean"}
        for group in terms.named:
            results = group_results(claim, group, operations)
            if is_proven(claim, results, is_named=True):
                return True
        # A sentence that names what it compares means no other figures, and the figure
        # of another year is not calculated.
        compares = "sum" not in operations and "mean" not in operations
        is_told = compares and group_results(claim, terms.named[0], operations)
        if is_told or any(source.amounts_like(claim) for source in cited):
            return False
        return any(
            is_proven(claim, group_results(claim, group, allowed))
            for group, allowed in terms.of_passages(operations)
        )

    def _terms(self, clause: Clause, cited: Sequence[Evidence]) -> "_Terms":
        """Return what the figures of a clause may be calculated from."""
        key = (clause, *map(id, cited))
        if key not in self._terms_of:
            named = self._named_in(clause.sentence)
            words = Sentence(clause.words, [])
            keys = words.keys | words.labels
            years = _years_in(clause.words, comma=self._comma)
            names_row = self._foreign.headings.names_row
            rows_named = {
                id(row.amount)
                for one in cited
                for row in one.rows[:MAX_CELLS]
                if names_row(row, keys)
            }
            told = {value for one in named for value in one.figure.values}

            def is_meant(row: PassageRow) -> bool:
                is_told = not told.isdisjoint(row.amount.figure.values)
                return id(row.amount) in rows_named and not is_told

            groups = list(row_groups(cited, years, is_meant))
            for one in cited:
                for sentence in one.nearest(keys):
                    values = [one for one in sentence.amounts if not one.figure.year]
                    if len(values) <= MAX_NAMED:
                        groups.append(("sentence", values))
            operations = operations_of(clause.sentence)
            self._terms_of = {
                key: _Terms(operations, [named, [*self._recent, *named]], groups)
            }
        return self._terms_of[key]

    def _wrong_fractions(
        self, clause: Clause, claimed: Sequence[Amount], cited: Sequence[Evidence]
    ) -> Iterator[Defect]:
        """Yield the parts in words ("a third") that no share of the passages has, where
        the clause has such a share or the passages are rows of figures.
        """
        is_told = any(one.measure == "share" for one in claimed)
        parts = list(fractions(clause.words))
        if not parts or not (is_told or all(one.is_table for one in cited)):
            return
        shares = self._shares(clause, claimed, cited)
        for part in parts:
            if shares and not any(map(part.fits, shares)):
                yield Defect("figure", part.text)

    def _shares(
        self, clause: Clause, claimed: Sequence[Amount], cited: Sequence[Evidence]
    ) -> set[Decimal]:
        """Return the shares that the passages state, or that their figures give."""
        operations = operations_of(clause.sentence) | {"rest"}
        groups: list[Sequence[Amount]] = [claimed]
        shares: set[Decimal] = set()
        for one in cited:
            shares |= one.shares
            shares |= {same.value for same in fractions(one.text)}
        has_shares = any(one.shares for one in cited)
        for kind, rows in row_groups(cited, (), lambda _: False):
            if kind == "series" or not has_shares:
                groups.append(rows)
        for group in groups:
            # Ages and durations are no parts of each other.
            if not any(one.measure == "time" for one in group):
                shares |= group_results(A_SHARE, group, operations)
        return shares

    def _named_in(self, sentence: str) -> list[Amount]:
        """Return the figures of a sentence that any passage has."""
        if sentence not in self._named:
            everywhere = list(self._evidence.values())
            named = [
                one
                for one in amounts(sentence, comma=self._comma)
                if not one.figure.year and is_supported(one, everywhere)
            ]
            # A long list is not combined.
            self._named = {sentence: named if len(named) <= MAX_NAMED else []}
        return self._named[sentence]

    def _needs_source(self, clause: Clause) -> bool:
        """Return whether a sentence without a [n] claims something that the next source
        of its line does not have.
        """
        words = clause.words.strip()
        if words.endswith((":", "?")) or self._is_silent(clause.words):
            return False
        following = [
            self._evidence[number]
            for number in clause.following
            if number in self._evidence
        ]
        claimed = [
            one for one in amounts(words, comma=self._comma) if _is_claim(one, words)
        ]
        lower = lowered(words)
        is_list = len(claimed) > MAX_CELLS
        stated = [
            one
            for one in claimed
            if is_list or not self._is_calculated(clause, one, ())
        ]
        if claimed and not stated:
            return False
        claimed = [one for one in stated if not one.figure.values & self._given_numbers]
        if not re.search(r"[^\W\d_]{2}", words) and not any(
            one.measure for one in claimed
        ):
            return False
        # A longer line without a full stop is no label.
        is_label = len(clause.text) < 60 and not words.endswith(STOPS)
        is_limit = not NEGATORS.isdisjoint(
            map(stem, WORD.findall(words))
        )  # "no figure for 2023"
        if (is_label or (is_limit and claimed)) and all(
            one.figure.year for one in claimed
        ):
            return False
        if claimed and (
            not following
            or self._missing_figures(clause._replace(words=words), claimed, following)[
                0
            ]
        ):
            return True
        sentence = Sentence(words, claimed)
        if any(self._foreign.names(sentence, following)):
            return True
        countries = self._foreign.countries(sentence, [*self._evidence.values()])
        return not _ADDRESSES.search(lower) and (
            any(countries) or self._foreign.is_all(sentence)
        )


def _cells_of(
    parts: Iterable[Clause], evidence: Mapping[int, Evidence], *, comma: bool
) -> CheckedCells:
    """Check the cells of an answer that have one figure each."""
    everywhere = list(evidence.values())
    figures_of: dict[CellPlace, Amount] = {}
    copied: set[CellPlace] = set()
    for clause in parts:
        if clause.place is None or len(figures_of) == MAX_CELLS:
            continue
        text = without_numbers(clause.text)
        values = [one for one in amounts(text, comma=comma) if not one.figure.year]
        if len(values) != 1:
            continue
        place = CellPlace(*clause.place)
        figures_of[place] = values[0]
        cited = [evidence[number] for number in clause.numbers if number in evidence]
        if is_supported(values[0], cited or everywhere):
            copied.add(place)
    return check_cells(figures_of, copied)


def _years_in(words: str, *, comma: bool) -> frozenset[int]:
    """Return the years that a clause names."""
    return frozenset(
        year for one in figures(words, comma=comma) if (year := one.year) is not None
    )


def _places_of(some: Iterable[Date]) -> frozenset[int]:
    return frozenset(place for date in some for place in range(date.start, date.end))


def _is_claim(amount: Amount, words: str, skip: Collection[int] = ()) -> bool:
    """Return whether an amount states something: it is at no place of ``skip``, no part
    of a name, no "one of them".
    """
    figure = amount.figure
    if figure.start in skip:
        return False
    if not figure.bare or amount.measure not in {"", "time"}:
        return True
    before = unify_signs(words[max(0, figure.start - 3) : figure.start])
    return not (
        figure.word
        or (
            figure.year is None
            and not amount.measure
            and _NAME_BEFORE_NUMBER.search(before)
        )
    )


def is_supported(amount: Amount, evidence: Sequence[Evidence]) -> bool:
    """Return whether a passage has this amount, and not for another year."""
    figure = amount.figure
    if figure.bare and any(
        value in one.around for one in evidence for value in figure.values
    ):
        return True
    alike = [true for one in evidence for true in one.amounts_like(amount)]
    if any(map(amount.shares_year, alike)):
        return True
    return (
        not alike
        and bool(figure.parts)
        and all(any(part in one for one in evidence) for part in figure.parts)
    )


def _is_answered(
    parts: Sequence[Clause],
    passages: Collection[Passage],
    is_silent: Callable[[str], bool],
) -> bool:
    """Return whether a sentence cites a passage and says more than "nothing found".
    Without any citation, a sentence that has most words and all figures of a passage
    counts instead.
    """
    numbers = {passage.number for passage in passages}
    citing = [clause for clause in parts if not numbers.isdisjoint(clause.numbers)]
    if citing:
        return not all(is_silent(clause.words) for clause in citing)
    telling = [clause for clause in parts if not is_silent(clause.words)]
    evidence = (
        [evidence_of(passage) for passage in passages if _is_readable(passage)]
        if telling
        else []
    )
    for clause in telling:
        claimed = amounts(clause.words, comma=comma_decimals(clause.words))
        keys = Sentence(clause.words, claimed).keys
        for one in evidence:
            shared = len(keys & one.keys)
            # A sentence is taken from a passage that has half of its words.
            if (
                shared > 1
                and shared >= 0.5 * len(keys)
                and all(is_supported(a, [one]) for a in claimed)
            ):
                return True
    return False


def _is_readable(passage: Passage) -> bool:
    return (
        max(len(passage.wider_text), len(passage.hit.chunk.text))
        <= MAX_CHECKED_CHARACTERS
    )


def _given_numbers(question: Question) -> frozenset[Decimal]:
    """Return the years and small counts ("the top 5") of the question and the years of
    its scope.
    """
    text = f"{question.query}\n{question.search_text}"
    bare = [
        figure for figure in figures(text, comma=comma_decimals(text)) if figure.bare
    ]
    numbers = {
        v
        for figure in bare
        for v in figure.values
        if figure.year or 0 <= v < SMALL_COUNT
    }
    for _, condition in question.scope.conditions:
        bounds = (
            (condition.gte, condition.lte)
            if isinstance(condition, Range)
            else condition.values
        )
        numbers |= {Decimal(bound) for bound in bounds if isinstance(bound, int)}
    return frozenset(numbers)


def snippet_of(text: str) -> str:
    """Return the beginning of a passage's text, as a citation shows it."""
    return (
        text
        if len(text) <= SNIPPET_CHARACTERS
        else text[:SNIPPET_CHARACTERS].rsplit(" ", 1)[0] + " …"
    )
