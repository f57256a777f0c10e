"""Find out whether a figure of an answer is calculated from those that the answer names
beside it, or from those of the cited passages.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain

from ..language.characters import lowered
from ..language.figures import Figure, figures
from .amounts import PERCENT, SMALL_COUNT, Amount, amounts, is_of_edition
from .arithmetic import (
    A_SHARE,
    RATE,
    Fraction,
    as_points,
    bound_before,
    direction_of,
    fractions,
    group_results,
    names_operation,
    operations_left,
    operations_of,
    part_around,
    proven_amount,
    row_groups,
    sum_word,
)
from .clauses import Clause
from .contradictions import ABOVE, BELOW, NEGATORS, Defect
from .evidence import WORD, Evidence, PassageRow, Sentence, is_supported
from .foreign import Headings
from .wording import BOUNDS, LIMITS, pattern, stem

__all__ = ["MAX_CELLS", "Calculations", "is_undecided"]

_FOR_EACH = pattern(r"\s?{for_each}\b")
_MAJORITY = pattern(r"\b{majorities}\b")
_COMPARES = pattern(r"\b{compares}\b")
MAX_CELLS = LIMITS["cells"]
MAX_NAMED = LIMITS["named_figures"]
MAX_CARRIED = LIMITS["carried_figures"]
_OF_ALL = frozenset({"sum", "mean", "rest", "compound"})
_OF_SHARES = frozenset({"sum", "difference", "mean", "rest"})
"""Operations on shares of one whole, which are no shares of each other."""


@dataclass(frozen=True, slots=True)
class _Terms:
    """Groups of figures: those that the answer ``named``, and those of the passages."""

    operations: frozenset[str]
    named: Sequence[Sequence[Amount]]
    groups: Sequence[tuple[str, Sequence[Amount]]]

    def of_passages(
        self, operations: frozenset[str]
    ) -> Iterator[tuple[str, Sequence[Amount], frozenset[str]]]:
        """Yield the groups of the passages with the operations that make sense."""
        for kind, group in self.groups:
            if kind == "totals" and "sum" not in operations:
                continue
            if kind == "part":
                yield kind, group, operations & {"ratio"}
                continue
            is_of_whole = kind in ("parts", "meant")
            if is_of_whole and all(amount.measure == "share" for amount in group):
                yield kind, group, operations & _OF_SHARES
            else:
                yield kind, group, operations


@dataclass(slots=True)
class Calculations:
    """The figures that the sentences of one answer may be calculated from.

    ``evidence``: all cited passages. ``comma``: decimals of the answer have a comma.
    """

    evidence: Sequence[Evidence]
    headings: Headings
    comma: bool
    _terms_of: dict[object, _Terms] = field(default_factory=dict)
    _named: dict[str, list[Amount]] = field(default_factory=dict)
    _carried: list[Amount] = field(default_factory=list)
    _computed: list[Amount] = field(default_factory=list)
    _sentence: str = ""
    _current: list[Amount] = field(default_factory=list)
    _before: list[Amount] = field(default_factory=list)

    def carry(self, supported: Iterable[Amount], sentence: str) -> None:
        """Keep the figures of a clause: a later one may be their difference, and those
        of the next sentence what they all give.
        """
        stated = [amount for amount in supported if not amount.figure.year]
        of_sentence = list(map(self._as_stated, stated[: int(BOUNDS["group"])]))
        if sentence != self._sentence:
            self._before = self._current
            self._current = []
            self._sentence = sentence
        self._current = [*self._current, *of_sentence][: int(BOUNDS["group"])]
        self._carried = [*self._carried, *of_sentence][-MAX_CARRIED:]
        self._terms_of.clear()

    def forget_stated(self) -> None:
        """Keep what is calculated alone: for a sentence before those that state it."""
        self._carried = []
        self._terms_of.clear()

    def carry_computed(self, computed: Iterable[Amount]) -> None:
        """Keep figures that are calculated themselves, with their exact values. Many
        shares do not displace the total that they are of.
        """
        known = [*self._computed, *computed]
        shares = [amount for amount in known if amount.measure == "share"]
        others = [amount for amount in known if amount.measure != "share"]
        self._computed = [*shares[-MAX_CARRIED:], *others[-MAX_CARRIED:]]
        self._terms_of.clear()

    def result(
        self, clause: Clause, claim: Amount, cited: Sequence[Evidence]
    ) -> Amount | None:
        """Return a figure that is calculated from those that its sentence names, the
        sentences before it, or the cited passages, with the exact value; else None.
        """
        if claim.figure.year:
            return None
        terms = self._terms(clause, cited)
        operations = operations_left(terms.operations, claim, clause.words)
        behind = lowered(clause.words[claim.end :])
        for_each = _FOR_EACH.match(behind)
        if for_each is not None:
            size = PERCENT if "cent" in for_each[0] else Decimal(1)
            claim = claim._replace(measure="share", size=size)
        elif behind.startswith((" per ", "/")) and not claim.measure:
            claim = claim._replace(measure=RATE)
        majority = self._majority(clause, claim, terms)
        if majority is not None:
            return majority
        if self._is_bound(clause, claim, [*terms.named, *(g for _, g in terms.groups)]):
            return claim
        if claim.is_part:
            fitting = self._fits_beside(clause, claim)
            if fitting is not None:
                return claim if fitting else None
        plain = claim
        points = as_points(claim, clause.words)
        if points is not None:
            claim = points
            operations &= {"difference", "mean"}
        proven = self._of_named(clause, (plain, claim), terms.named, operations)
        if proven is not None:
            return proven
        # A sentence that names what it compares means no other figures, and the figure
        # of another year is not calculated.
        compares = operations.isdisjoint({"sum", "mean"})
        compared = terms.named[0]
        if points is not None:
            compared = [amount for amount in compared if amount.measure == "share"]
        of_kind = operations - {"quotient"}
        step = self._of_step(clause, claim, terms, operations)
        if step is not None:
            return step
        is_within = self._names_other_years(clause, compared)
        if compares and not is_within and group_results(claim, compared, of_kind):
            return None
        is_points = points is not None
        if not is_points and any(source.amounts_like(claim) for source in cited):
            return None
        return self._of_passages(
            clause, claim, terms, operations, cited, is_points=is_points
        )

    def _majority(self, clause: Clause, claim: Amount, terms: _Terms) -> Amount | None:
        """Return a claim that is the least majority of a figure before it, or of the
        whole of the passages.
        """
        if not _MAJORITY.search(lowered(clause.words)):
            return None
        wholes = [*chain(*terms.named), *self._carried]
        for source in self.evidence:
            wholes += [row.amount for row in source.rows[: int(BOUNDS["rows"])]]
        least = {one.base // 2 + 1 for one in wholes if not one.base % 1}
        values = claim.figure.values & least
        if not values or claim.measure:
            return None
        return claim._replace(figure=claim.figure._replace(values=values))

    def _is_bound(
        self, clause: Clause, claim: Amount, groups: Sequence[Sequence[Amount]]
    ) -> bool:
        """Return whether a claim bounds as many figures as its sentence counts, or all
        that it names: "four of the five share more than 600 km".
        """
        bound = bound_before(lowered(clause.words), claim.figure.start)
        if bound.is_close or bound.kind not in ("over", "under"):
            return False
        is_over = bound.kind == "over"
        counts: set[Decimal] = set()
        for amount in amounts(clause.sentence, comma=self.comma):
            if amount.figure.word and amount.figure.bare and not amount.measure:
                counts |= amount.figure.values
        for number, group in enumerate(groups):
            alike = [one for one in group if one.measure == claim.measure != ""]
            within = [one for one in alike if (one.base > claim.base) == is_over]
            is_all = number == 0 and 1 < len(within) == len(alike)
            if len(within) in counts or (is_all and not counts):
                return True
        return False

    def _names_other_years(self, clause: Clause, compared: Sequence[Amount]) -> bool:
        """Return whether a clause names a year that is none of its figures'."""
        years = _years_of_figures(figures(clause.words, comma=self.comma), clause.words)
        of_figures = frozenset[int]().union(*(amount.years for amount in compared))
        return bool(of_figures) and not years <= of_figures

    def _of_step(
        self,
        clause: Clause,
        claim: Amount,
        terms: _Terms,
        operations: frozenset[str],
    ) -> Amount | None:
        """Return a change from the year before to one that is named beside it."""
        if claim.measure != "share" or not any(
            kind == "step" for kind, _ in terms.groups
        ):
            return None
        start, end = part_around(clause.words, claim.figure.start)
        words = clause.words[start:end]
        years = _years_of_figures(figures(words, comma=self.comma), words)
        for kind, group in terms.groups:
            if kind == "step" and group[-1].years & years:
                changes = operations & {"difference", "increase", "decrease"}
                proven = self._proven(clause, claim, group, changes, is_named=True)
                if proven is not None:
                    return proven
        return None

    def _of_named(
        self,
        clause: Clause,
        claims: tuple[Amount, Amount],
        named: Sequence[Sequence[Amount]],
        operations: AbstractSet[str],
    ) -> Amount | None:
        """Return a figure that is calculated from one of some groups of figures.
        ``claims``: the claim as it is, and as a share, which it is beside shares: other
        points may be those of an index.
        """
        plain, as_share = claims
        before = self._current if clause.sentence != self._sentence else self._before
        for carried in (before, self._carried):
            results = group_results(as_share, carried, operations & _OF_ALL)
            proven = proven_amount(as_share, results, is_named=True)
            if proven is not None:
                return proven
        for group in named:
            has_share = any(amount.measure == "share" for amount in group)
            meant = as_share if has_share else plain
            proven = self._proven(clause, meant, group, operations, is_named=True)
            if proven is not None:
                return proven
        return None

    def _proven(
        self,
        clause: Clause,
        claim: Amount,
        group: Sequence[Amount],
        operations: Collection[str],
        *,
        is_named: bool,
    ) -> Amount | None:
        """Return a claim that a group of figures gives, with the exact value. A share
        is none of a row beside the one that the sentence names.
        """
        if not group:
            return None
        direction = direction_of(claim, clause.words, clause.sentence)
        results = group_results(claim, group, operations, (), direction)
        proven = proven_amount(claim, results, is_named=is_named)
        if proven is None or claim.measure != "share" or "ratio" not in operations:
            return proven
        others = [id(one) for one in group if self._is_of_another(one, clause.sentence)]
        if not others:
            return proven
        results = group_results(claim, group, operations, others, direction)
        return proven_amount(claim, results, is_named=is_named)

    def _is_of_another(self, amount: Amount, sentence: str) -> bool:
        """Return whether a sentence names another row than those of a figure."""
        if _COMPARES.search(lowered(sentence)):
            return False
        keys = Sentence(sentence, []).labels
        rows: list[PassageRow | None] = []
        for source in self.evidence:
            alike = source.row_of.get(id(amount))
            if alike is not None:
                rows = [alike]
                break
            stated = source.amounts_like(amount)
            rows += [source.row_of.get(id(one)) for one in stated]
        if not rows:
            return False
        return all(
            row and row.label and self.headings.name_sibling(row, keys) for row in rows
        )

    def _of_passages(
        self,
        clause: Clause,
        claim: Amount,
        terms: _Terms,
        operations: frozenset[str],
        cited: Sequence[Evidence],
        *,
        is_points: bool,
    ) -> Amount | None:
        """Return a claim that the rows of the passages give, with the exact value.
        ``is_points``: it is one of percentage points.
        """
        for kind, group, allowed in terms.of_passages(operations):
            if kind == "step" or (kind == "since" and not is_points):
                continue
            # Two rows that the sentence means are as good as named, and so are two
            # years of one row, or all where it says points.
            is_pair = len(group) == 2 and bool(claim.measure)
            is_named = kind in ("pair", "part") or (kind == "meant" and len(group) == 2)
            is_named |= kind in ("series", "since") and (is_points or is_pair)
            proven = self._proven(clause, claim, group, allowed, is_named=is_named)
            if proven is not None:
                return proven
        return proven_amount(claim, self._with_computed(claim, operations, cited))

    def _with_computed(
        self, claim: Amount, operations: Collection[str], cited: Sequence[Evidence]
    ) -> set[Decimal]:
        """Return what the calculated figures before a claim give with one row of the
        passages each.
        """
        results: set[Decimal] = set()
        for source in cited:
            for row in source.rows[: int(BOUNDS["group"])]:
                for computed in self._computed:
                    results |= group_results(claim, [computed, row.amount], operations)
        return results

    def names_terms(self, sentence: str) -> bool:
        """Return whether a sentence has the figures that its own may be computed of."""
        return len(self._named_in(sentence)) > 1

    def wrong_fractions(
        self, clause: Clause, claimed: Sequence[Amount], cited: Sequence[Evidence]
    ) -> Iterator[Defect]:
        """Yield the parts in words ("a third") that are none of the shares beside them,
        or that the figures of the sentence give; where it has none, that no share of
        the passages is, if the clause has a share or the passages are rows of figures.
        """
        for fraction in fractions(clause.words):
            start, _ = part_around(clause.words, fraction.bound.start)
            before = WORD.findall(clause.words[start : fraction.bound.start])
            if any(stem(word) in NEGATORS for word in before):
                continue
            shares = self._shares_beside(clause, fraction, claimed)
            is_stated = bool(shares)
            if not shares:
                shares = self._shares_of_sentence(clause, cited)
            if not shares:
                shares = self._shares(clause, claimed, cited)
            fits = (fraction.fits(share, is_stated=is_stated) for share in shares)
            if shares and not any(fits):
                yield Defect("figure", fraction.text)

    def _fits_beside(self, clause: Clause, claim: Amount) -> bool | None:
        """Return whether "one in four" is the share beside it, None without one."""
        start = claim.figure.start
        bound = bound_before(lowered(clause.words), start)
        fraction = Fraction(clause.words[start : claim.end], claim.base, bound)
        claimed = clause.amounts(clause.words, comma=self.comma)
        others = [one for one in claimed if one.figure.start != start]
        shares = self._shares_beside(clause, fraction, others)
        if not shares:
            return None
        return any(fraction.fits(share, is_stated=True) for share in shares)

    def _shares_beside(
        self, clause: Clause, fraction: Fraction, claimed: Sequence[Amount]
    ) -> set[Decimal]:
        """Return the shares that stand in the same part of a sentence as a part in
        words, what they give, and, where it speaks of the others, the rest; none where
        it compares.
        """
        bound_start = fraction.bound.start
        start, end = part_around(clause.words, bound_start)
        at = clause.words.find(fraction.text, bound_start)
        around = f"{clause.words[start:bound_start]} {clause.words[at:end]}"
        if _COMPARES.search(lowered(around)):
            return set()
        shares_said = [amount for amount in claimed if amount.measure == "share"]
        summed_at = sum_word(clause.words[:at]) or 0
        before = [one for one in shares_said if one.figure.start < bound_start]
        summed = [one for one in before if one.figure.start < summed_at]
        if len(summed) > 1 and summed == before:
            # "A (28 %), B (21 %) and C (17 %) together take two thirds".
            return {sum((amount.base for amount in summed), Decimal(0))}
        beside: list[Amount] = []
        for amount in shares_said:
            if start <= amount.figure.start < end:
                beside.append(amount)
        shares = {amount.base for amount in beside}
        return shares | group_results(A_SHARE, beside, _fraction_operations(clause))

    def named_beside(self, sentence: str) -> list[Amount]:
        """Return the figures of a sentence that a passage has, else of the one before,
        which it speaks of.
        """
        own = self._named_in(sentence)
        if len(own) > 1:
            return own
        before = self._current if sentence != self._sentence else self._before
        return [*before, *own]

    def _shares_of_sentence(
        self, clause: Clause, cited: Sequence[Evidence]
    ) -> set[Decimal]:
        """Return the shares that the figures of a sentence, else of the one before,
        give, and those that the passages state; none without such figures.
        """
        is_next = clause.sentence != self._sentence
        before = self._current if is_next else self._before
        own = list(self._named_in(clause.sentence))
        for amount in self._computed:
            if amount.figure.text in clause.sentence:
                own.append(amount)
        measures = {amount.measure for amount in own}
        terms = list(own)
        for amount in before:
            if not own or amount.measure in measures:
                terms.append(amount)
        # Ages, durations and small counts are no parts of each other.
        named: list[Amount] = []
        for amount in terms:
            is_count = not amount.measure and abs(amount.base) < SMALL_COUNT
            if not is_count and amount.measure != "time":
                named.append(amount)
        operations = _fraction_operations(clause)
        shares = group_results(A_SHARE, named, operations)
        if not shares:
            return shares
        shares |= {amount.base for amount in named if amount.measure == "share"}
        for source in cited:
            shares |= source.shares
            shares |= {fraction.value for fraction in fractions(source.text)}
        return shares

    def _terms(self, clause: Clause, cited: Sequence[Evidence]) -> _Terms:
        """Return what the figures of a clause may be calculated from."""
        key = (clause, *map(id, cited))
        if key not in self._terms_of:
            own = self._named_in(clause.words)
            named = self._named_in(clause.sentence)
            groups = list(self._groups(clause, named, cited))
            operations = operations_of(clause.sentence)
            texts = {amount.figure.text for amount in named}
            carried = list(named)
            for amount in (*self._carried, *self._computed):
                if amount.figure.text not in texts:
                    carried.append(amount)
            terms = _Terms(operations, [named, own, carried], groups)
            # Only the last clause is asked for again, once for each of its figures.
            self._terms_of = {key: terms}
        return self._terms_of[key]

    def _groups(
        self, clause: Clause, named: Sequence[Amount], cited: Sequence[Evidence]
    ) -> Iterator[tuple[str, Sequence[Amount]]]:
        """Yield the figures of passages that belong together for a clause."""
        sentence = Sentence(clause.sentence, [])
        keys = sentence.keys | sentence.labels
        years = _years_of_figures(figures(clause.words, comma=self.comma), clause.words)
        values_named = {value for amount in named for value in amount.figure.values}

        def is_meant(row: PassageRow) -> bool:
            if not values_named.isdisjoint(row.amount.figure.values):
                return False
            return self.headings.names_row(row, keys)

        yield from row_groups(cited, years, is_meant)
        for source in cited:
            for row in filter(is_meant, source.rows[: int(BOUNDS["rows"])]):
                for amount in named:
                    if self._is_beside(amount, row, source):
                        yield "part", [row.amount, amount]
        for source in cited:
            for statement in source.nearest(keys):
                values = [one for one in statement.amounts if not one.figure.year]
                if len(values) <= MAX_NAMED:
                    yield "sentence", values

    def _is_beside(self, amount: Amount, row: PassageRow, source: Evidence) -> bool:
        """Return whether an amount, not a share, is a figure of a row's heading."""
        for alike in source.amounts_like(amount):
            other = source.row_of.get(id(alike))
            if other is None or other.heading != row.heading:
                continue
            if alike.measure != "share" and alike.shares_year(row.amount):
                return True
        return False

    def _shares(
        self, clause: Clause, claimed: Sequence[Amount], cited: Sequence[Evidence]
    ) -> set[Decimal]:
        """Return the shares that the passages state, or that their figures give."""
        has_share = any(amount.measure == "share" for amount in claimed)
        if not has_share and not all(source.is_table for source in cited):
            return set()
        operations = operations_of(clause.sentence) | {"rest"}
        groups: list[Sequence[Amount]] = [claimed]
        shares: set[Decimal] = set()
        for source in cited:
            shares |= source.shares
            shares |= {fraction.value for fraction in fractions(source.text)}
        has_shares = any(source.shares for source in cited)
        for kind, rows in row_groups(cited, (), lambda _: False):
            if kind == "series" or not has_shares:
                groups.append(rows)
        for group in groups:
            # Ages and durations are no parts of each other.
            if not any(amount.measure == "time" for amount in group):
                shares |= group_results(A_SHARE, group, operations)
        return shares

    def _named_in(self, sentence: str) -> list[Amount]:
        """Return the figures of a sentence that any passage has."""
        if sentence not in self._named:
            named: list[Amount] = []
            for amount in amounts(sentence, comma=self.comma):
                if not amount.figure.year and is_supported(amount, self.evidence):
                    named.append(self._as_stated(amount))
            self._named = {sentence: named if len(named) <= MAX_NAMED else []}
        return self._named[sentence]

    def _as_stated(self, amount: Amount) -> Amount:
        """Return an amount of an answer with the year, the unit and the sign that the
        passages give it.
        """
        alike: list[Amount] = []
        for source in self.evidence:
            for true in source.amounts_like(amount):
                if amount.shares_year(true):
                    alike.append(true)
        years = {true.years for true in alike}
        if len(years) == 1:
            amount = amount._replace(years=years.pop())
        units = {(true.measure, true.size) for true in alike}
        if len(units) == 1 and amount.figure.bare and not amount.measure:
            # "32.6 deaths per 1,000, 8.6 more than in Nepal (24)".
            measure, size = units.pop()
            amount = amount._replace(measure=measure, size=size)
        is_other = all(true.base * amount.base < 0 for true in alike)
        if alike and is_other and amount.falling:
            values = frozenset(-value for value in amount.figure.values)
            amount = amount._replace(figure=amount.figure._replace(values=values))
        return amount


def _fraction_operations(clause: Clause) -> frozenset[str]:
    """Return the operations by which a part in words may be calculated."""
    operations = operations_of(clause.sentence)
    if Sentence(clause.sentence, []).keys.isdisjoint(ABOVE | BELOW):
        return operations - {"increase", "decrease"}
    return operations


def _years_of_figures(in_text: Iterable[Figure], words: str) -> set[int]:
    """Return the years that words give to figures; none where they name several
    editions, whose figures are of whatever years.
    """
    years: set[int] = set()
    editions: set[int] = set()
    for figure in in_text:
        if figure.year is not None:
            is_edition = is_of_edition(words, figure)
            (editions if is_edition else years).add(figure.year)
    return set() if len(editions) > 1 else years


def is_undecided(sentence: str, evidence: Sequence[Evidence], *, comma: bool) -> bool:
    """Return whether a figure without a source may be right: its sentence says that it
    computes, and does not name of what. ``evidence``, ``comma``: as of `Calculations`.
    """
    if not names_operation(sentence):
        return False
    return not Calculations(evidence, Headings(), comma).names_terms(sentence)
