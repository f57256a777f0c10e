"""Find out whether a figure of an answer is calculated from those that the answer names
beside it, or from those of the cited passages.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from decimal import Decimal

from ..language.characters import lowered
from ..language.figures import Figure, figures
from .amounts import Amount, amounts, is_of_edition
from .arithmetic import (
    A_SHARE,
    as_points,
    fractions,
    group_results,
    is_result,
    names_operation,
    operations_left,
    operations_of,
    proven_amount,
    row_groups,
    said_sign,
)
from .clauses import Clause
from .contradictions import Defect
from .evidence import Evidence, PassageRow, Sentence, is_supported
from .foreign import Headings
from .wording import BOUNDS, LIMITS, pattern

__all__ = ["MAX_CELLS", "Calculations", "is_undecided"]

_COMPARES = pattern(r"\b{compares}\b")
MAX_CELLS = LIMITS["cells"]
MAX_NAMED = LIMITS["named_figures"]
MAX_CARRIED = LIMITS["carried_figures"]
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

    def carry(self, supported: Iterable[Amount]) -> None:
        """Keep the figures of a sentence: a later one may be their difference."""
        of_sentence = [amount for amount in supported if not amount.figure.year]
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
        if not self._fits_order(clause, claim):
            return None
        operations = operations_left(terms.operations, claim, clause.words)
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
        if compares and group_results(claim, compared, of_kind):
            return None
        is_points = points is not None
        if not is_points and any(source.amounts_like(claim) for source in cited):
            return None
        return self._of_passages(
            clause, claim, terms, operations, cited, is_points=is_points
        )

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
        for group in named:
            has_share = any(amount.measure == "share" for amount in group)
            meant = as_share if has_share else plain
            proven = self._proven(clause, meant, group, operations, is_named=True)
            if proven is not None:
                return proven
        return None

    def _fits_order(self, clause: Clause, claim: Amount) -> bool:
        """Return whether two figures around their difference are as a sentence says:
        "3.4 %, .8 points more than the 2.6 % of 2016".
        """
        sign = said_sign(claim, clause.words)
        at = clause.sentence.find(clause.words.strip())
        if not sign or at < 0:
            return True
        meant = as_points(claim, clause.words) or claim
        at += claim.figure.start
        named = self._named_in(clause.sentence)
        orders: set[bool] = set()
        for left in named:
            for right in named:
                if left.figure.start < at < right.figure.start:
                    difference = left.base - right.base
                    if left.measures_as(right) and is_result(meant, difference):
                        orders.add(difference * sign > 0)
        return orders != {False}

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
        results = group_results(claim, group, operations)
        proven = proven_amount(claim, results, is_named=is_named)
        if proven is None or claim.measure != "share" or "ratio" not in operations:
            return proven
        others = [id(one) for one in group if self._is_of_another(one, clause.sentence)]
        if not others:
            return proven
        results = group_results(claim, group, operations, others)
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
            if kind == "since" and not is_points:
                continue
            # Two rows that the sentence means are as good as named, and so are two
            # years of one row, or all where it says points.
            is_pair = len(group) == 2 and bool(claim.measure)
            is_named = kind == "pair" or (kind == "meant" and len(group) == 2)
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
        """Yield the parts in words ("a third") that no share of the passages has, where
        the clause has such a share or the passages are rows of figures.
        """
        stated = list(fractions(clause.words))
        if not stated:
            return
        has_share = any(amount.measure == "share" for amount in claimed)
        if not has_share and not all(source.is_table for source in cited):
            return
        named = [amount.base for amount in claimed if amount.measure == "share"]
        shares = self._shares(clause, claimed, cited)
        for fraction in stated:
            if fraction.bound == "over" and max(named, default=0) > fraction.value:
                # "More than half: 69 %".
                continue
            if shares and not any(fraction.fits(share) for share in shares):
                yield Defect("figure", fraction.text)

    def _terms(self, clause: Clause, cited: Sequence[Evidence]) -> _Terms:
        """Return what the figures of a clause may be calculated from."""
        key = (clause, *map(id, cited))
        if key not in self._terms_of:
            own = self._named_in(clause.words)
            named = self._named_in(clause.sentence)
            groups = list(self._groups(clause, named, cited))
            operations = operations_of(clause.sentence)
            carried = [*self._carried, *self._computed, *named]
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
            for statement in source.nearest(keys):
                values = [one for one in statement.amounts if not one.figure.year]
                if len(values) <= MAX_NAMED:
                    yield "sentence", values

    def _shares(
        self, clause: Clause, claimed: Sequence[Amount], cited: Sequence[Evidence]
    ) -> set[Decimal]:
        """Return the shares that the passages state, or that their figures give."""
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
            named = [
                amount
                for amount in amounts(sentence, comma=self.comma)
                if not amount.figure.year and is_supported(amount, self.evidence)
            ]
            self._named = {sentence: named if len(named) <= MAX_NAMED else []}
        return self._named[sentence]


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
    if len(editions) > 1:
        return set()
    return years


def is_undecided(sentence: str, evidence: Sequence[Evidence], *, comma: bool) -> bool:
    """Return whether a figure without a source may be right: its sentence says that it
    computes, and does not name of what. ``evidence``, ``comma``: as of `Calculations`.
    """
    if not names_operation(sentence):
        return False
    return not Calculations(evidence, Headings(), comma).names_terms(sentence)
