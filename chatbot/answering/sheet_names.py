"""Where a question names the columns, labels and heads of a sheet."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..language.analysis import TERM_PATTERN, has_term
from ..language.periods import DAY, is_time, periods_in, unify_periods
from ..language.table_words import (
    denominators,
    is_share,
    is_total,
    part_units,
    role_of_head,
    with_base_forms,
)
from ..language.units import PERCENT
from ..questions.computations import Computation, read_computations
from .asked_words import AskedWords
from .sheet_rows import DOCUMENT, PERIOD, SheetRow, total_column

__all__ = ["AskedToken", "Mention", "SheetNames", "computed_text"]

_TIME_WORD = re.compile(
    r"\b(?:(month)s?|(quarter)s?|(week)s?|(mois|mes(?:es)?|m[êe]s(?:es)?|شهر)"
    r"|(trimestres?)|(semaines?|semanas?))\b",
    re.IGNORECASE,
)
"""What each row is of, where no head says so: "visits per month"."""
_WEAK_ROLES = frozenset({"item", "indicator"})
"""Roles of heads whose labels say what is counted, as heads of columns do."""
_IDLE_KINDS = frozenset({"unknown", "ratio", "per", "mean", "sum", "difference"})


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that a question has, between two places of its text. ``head``: that of a
    label; "" of a column and of a head itself.
    """

    start: int
    end: int
    name: str
    head: str = ""


@dataclass(frozen=True, slots=True)
class AskedToken:
    """A word of a question that says something, as its stems."""

    start: int
    end: int
    terms: tuple[str, ...]


def computed_text(text: str) -> str:
    """Return a question as computations are read in it: its periods and verbs in one
    spelling, as the words of rows are.
    """
    return unify_periods(with_base_forms(text)).lower()


@dataclass(frozen=True)
class SheetNames:
    """What a question names of the rows of a sheet."""

    asked: AskedWords
    rows: Sequence[SheetRow]
    text: str = field(repr=False)
    """The question, as `computed_text` gives it."""

    @cached_property
    def columns(self) -> list[Mention]:
        """The columns that the question names, in its order: those all of whose words
        it has, then those that one of its other words surely means.
        """
        heads = dict.fromkeys(head for row in self.rows for head in row.figures)
        total = total_column(self.rows)
        if total and not is_total(total):
            # "Which school" asks for none of "All schools".
            del heads[total]
        covered = self._covered(self._label_mentions)
        return self._of_message(self._named(heads, "", covered, weakly=True))

    @cached_property
    def labels(self) -> Mapping[str, Sequence[Mention]]:
        """The labels that the question names, by their heads."""
        by_head: dict[str, list[Mention]] = {}
        for mention in self._label_mentions:
            by_head.setdefault(mention.head, []).append(mention)
        return {head: self._of_message(one) for head, one in by_head.items()}

    def _of_message(self, mentions: list[Mention]) -> list[Mention]:
        """Return the mentions in the message of a follow-up, which stands before what
        the conversation adds to it; all without any.
        """
        end = len(computed_text(self.asked.message))
        return [mention for mention in mentions if mention.start < end] or mentions

    @cached_property
    def heads(self) -> list[Mention]:
        """The heads of labels that the question names: "county", "month"."""
        mentions: list[Mention] = []
        for head in self._label_heads:
            place = self._find(head)
            if place is not None:
                mentions.append(Mention(*place, head))
            elif self._is_of_time(head):
                match = _TIME_WORD.search(self.text)
                labels = [row.labels.get(head, "") for row in self.rows]
                # Years are no months.
                if match is not None and not all(len(one) == 4 for one in labels):
                    mentions.append(Mention(match.start(), match.end(), head))
        return sorted(mentions, key=lambda mention: mention.start)

    @cached_property
    def has_shares(self) -> bool:
        """Whether a column or row of shares has a word of the question: it answers."""
        for row in self.rows:
            names = [(label, "") for label in row.labels.values()]
            names += [(head, figure.unit) for head, figure in row.figures.items()]
            for name, unit in names:
                is_of_shares = PERCENT in {unit, *name} or is_share(name)
                # "Yes" has no words that say something elsewhere.
                is_named = self.asked.within(name) or not self.asked.terms(name)
                if is_of_shares and is_named:
                    return True
        return False

    @cached_property
    def computations(self) -> list[Computation]:
        """What the question asks to compute, without the words of a column's name:
        "Meals per day".
        """
        kept: list[Computation] = []
        for computation in read_computations(self.text):
            if computation.kind == "share" and self.has_shares:
                continue
            if self._is_of_unit(computation):
                continue
            if not any(self._is_of_name(computation, one) for one in self.columns):
                kept.append(computation)
        return kept

    def _is_of_unit(self, computation: Computation) -> bool:
        """Return whether "per" and the word behind it say again what the unit of a
        column does: "per month" of a salary in "USD/month".
        """
        token = self.token_at(computation.end)
        if computation.kind != "per" or token is None:
            return False
        for column in self.columns:
            for row in self.rows:
                figure = row.figures.get(column.name)
                unit = figure.unit if figure is not None else ""
                behind = " ".join(denominators(unit))
                if set(token.terms) & set(self.asked.terms(behind)):
                    return True
        return False

    def _is_of_name(self, computation: Computation, column: Mention) -> bool:
        """Return whether words of a computation stand in a column's name, which no
        other column's name interrupts: "meals per pupil per day".
        """
        if computation.start < column.start or column.end < computation.end:
            return False
        for other in self.columns:
            if other is not column and computation.end <= other.start < column.end:
                return False
        return True

    @cached_property
    def _idle(self) -> set[int]:
        """The places of words that ask to compute something, and name no column."""
        places: set[int] = set()
        for computation in read_computations(self.text):
            if computation.kind in _IDLE_KINDS:
                places.update(range(computation.start, computation.end))
        return places

    @cached_property
    def _label_heads(self) -> list[str]:
        heads = dict.fromkeys(head for row in self.rows for head in row.labels)
        return [head for head in heads if head != DOCUMENT]

    @cached_property
    def _label_mentions(self) -> list[Mention]:
        mentions: list[Mention] = []
        for head in [DOCUMENT, *self._label_heads]:
            labels = [row.labels.get(head, "") for row in self.rows]
            distinct = list(dict.fromkeys(filter(None, labels)))
            if self._is_of_time(head) and not DAY.search(self.text):
                of_time = [one for one in distinct if periods_in(f"{head}: {one}")]
                mentions += self._periods(head, of_time)
                distinct = [one for one in distinct if one not in of_time]
            weakly = role_of_head(head) in _WEAK_ROLES
            mentions += self._named(distinct, head, set(), weakly=weakly)
        return mentions

    def _is_of_time(self, head: str) -> bool:
        labels = {row.labels.get(head, "") for row in self.rows}
        return head == PERIOD or all(map(is_time, labels))

    def _periods(self, head: str, labels: Iterable[str]) -> list[Mention]:
        """Return the labels that stand for a period which the question names, also
        without its year.
        """
        years = {year for named in self.asked.years for year in named.ends}
        mentions: list[Mention] = []
        for label in labels:
            periods = periods_in(f"{head}: {label}")
            if len(periods) != 1:
                continue
            ((term, year),) = periods
            for match in re.finditer(
                rf"(?:\b(\d{{4}}) )?\b{term}\b(?: (\d{{4}})\b)?", self.text
            ):
                asked_year = match[1] or match[2] or ""
                wanted = {int(asked_year)} if asked_year else years
                if not wanted or not year or int(year) in wanted:
                    mentions.append(Mention(match.start(), match.end(), label, head))
        return mentions

    def _named(
        self, names: Iterable[str], head: str, covered: set[int], *, weakly: bool
    ) -> list[Mention]:
        """Return the names that the question has, in its order. ``covered``: the places
        of words that name something else; ``weakly``: also those that one word means.
        """
        names = list(names)
        mentions: list[Mention] = []
        terms = {name: self._terms(name) for name in names}
        for name in names:
            place = self._find(name)
            if place is not None:
                mentions.append(Mention(*place, name, head))
        longer = [set(terms[mention.name]) for mention in mentions]
        mentions = [
            mention
            for mention in mentions
            if not any(set(terms[mention.name]) < other for other in longer)
        ]
        if weakly:
            covered = covered | self._covered(mentions)
            known = {mention.name for mention in mentions}
            for token in self._tokens:
                if token.start in covered or token.start in self._idle:
                    continue
                name = self._meant(token, terms)
                if name and name not in known:
                    known.add(name)
                    mentions.append(Mention(token.start, token.end, name, head))
        return sorted(mentions, key=lambda mention: mention.start)

    def _meant(self, token: AskedToken, terms: Mapping[str, Sequence[str]]) -> str:
        """Return the one name that a word surely means: that with fewest other words;
        "" where two have as few.
        """
        best = self._of_unit(token, terms)
        if best:
            return best
        fewest = 0
        for name, of_name in terms.items():
            if not any(has_term(set(of_name), term) for term in token.terms):
                continue
            if best and len(of_name) == fewest:
                return ""
            if not best or len(of_name) < fewest:
                best = name
                fewest = len(of_name)
        return best

    def _of_unit(self, token: AskedToken, names: Iterable[str]) -> str:
        """Return the one name whose unit a word is: "tonnes" of "Catch (tonnes)"."""
        of_unit: list[str] = []
        for name in names:
            _, unit = part_units(name)
            if unit is not None and set(self.asked.terms(unit.text)) & set(token.terms):
                of_unit.append(name)
        if len(of_unit) == 1:
            return of_unit[0]
        return ""

    def with_word_behind(self, place: int) -> list[str]:
        """Return the columns that have the first word behind a place: all pumps of
        "what share of the pumps".
        """
        heads = dict.fromkeys(head for row in self.rows for head in row.figures)
        for token in self._tokens:
            if token.start >= place:
                terms = set(token.terms)
                return [head for head in heads if terms & set(self._terms(head))]
        return []

    def token_at(self, place: int) -> AskedToken | None:
        """Return the first word behind a place that says something."""
        for token in self._tokens:
            if token.start >= place:
                return token
        return None

    def head_at(self, place: int) -> str | None:
        """Return the head of labels that is the first word behind a place."""
        token = self.token_at(place)
        for head in self.heads:
            if token is not None and head.start == token.start:
                return head.name
        return None

    def is_whole(self, mention: Mention) -> bool:
        """Return whether the question has all words of a name."""
        return self._find(mention.name) is not None

    def _terms(self, name: str) -> list[str]:
        plain, _ = part_units(name)
        return list(self.asked.terms(plain or name))

    @cached_property
    def _tokens(self) -> list[AskedToken]:
        tokens: list[AskedToken] = []
        for match in TERM_PATTERN.finditer(self.text):
            terms = tuple(self.asked.terms(match[0]))
            if terms:
                tokens.append(AskedToken(match.start(), match.end(), terms))
        return tokens

    def _find(self, name: str) -> tuple[int, int] | None:
        """Return where the question has all words of a name; None where it has not."""
        terms = self._terms(name)
        start = len(self.text)
        end = 0
        for term in terms:
            for token in self._tokens:
                if has_term(set(token.terms), term):
                    start = min(start, token.start)
                    end = max(end, token.end)
                    break
            else:
                return None
        if not terms:
            return None
        return start, end

    def _covered(self, mentions: Iterable[Mention]) -> set[int]:
        """Return the places of the words of mentions."""
        covered: set[int] = set()
        for mention in mentions:
            terms = set(self._terms(mention.name))
            for token in self._tokens:
                is_inside = mention.start <= token.start < mention.end
                is_whole = token.start == mention.start and token.end == mention.end
                of_name = any(has_term(terms, term) for term in token.terms)
                if is_inside and (is_whole or of_name):
                    covered.add(token.start)
        return covered
