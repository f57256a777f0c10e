"""A table of figures, compiled from all reports in scope: indicators x subjects x
years, every figure with its passage.

Which indicator is meant is decided by the index of indicators; that a heading has
another name in another edition, by the data: two headings or labels are one indicator
where their words agree and no report has both.
"""

import re
from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import zip_longest
from typing import Protocol

from ..domain import Scope
from ..domain.figures import Indicators, ReportedFigure, indicator_name
from ..domain.request import RequestContext
from ..domain.scope import Condition, Value, Values
from ..language.reported_figures import year_of
from ..language.units import PERCENT, read_unit
from ..questions.counted import says_nothing, says_people
from ..questions.kinds import main_things, topic_of_figures
from ..questions.operations import read_units
from ..questions.reading import COUNTRY
from ..search.indicators import REST, SURELY_ASKED, TOTAL, IndicatorIndex
from ..search.weights import read_weight
from .key_figures import most_asked, sizes

LEAST = read_weight("figures.least")
LEAD = read_weight("labels.second")
"""What a heading needs to be computed with: a score, and a lead over the next one."""
LEAST_OF_PART = read_weight("figures.least_of_part")
ALIKE = read_weight("figures.alike")
KEY_FIGURES, MIN_KEY_FIGURES = 8, 4
"""Key figures at most, and the number from which those that people ask for most are
enough.
"""
SUBJECTS = int(read_weight("figures.subjects"))
MOST_THINGS = int(read_weight("figures.things"))
SHARE = "share"
KEPT_SCOPES = 30
_AND = re.compile(
    (
        r"\s*(?:[,;/&+]|\b(?:and|or|as well "
        r"as|plus|versus|vs\.?)\b)\s*(?:\b(?:the|its|their)\b\s*)?"
    ),
    re.IGNORECASE,
)
_WORD = re.compile(r"\w[\w'’.%-]*")
Terms = Callable[[str], Sequence[str]]


class Figures(Protocol):
    """The table of figures in the database."""

    def indicators(self, scope: Scope) -> Indicators:
        """The labels of each heading in a scope, with the number of subjects that have
        each.
        """

    def find(
        self,
        scope: Scope,
        *,
        headings: Collection[str] = (),
        document_id: str = "",
    ) -> Sequence[ReportedFigure]:
        """The figures in a scope under these headings, in reading order; of one
        document where it is named.
        """


_Named = dict[tuple[str, str], list[ReportedFigure]]
"""Figures by their heading and label."""


@dataclass(frozen=True, slots=True)
class IndicatorFigures:
    """One indicator: of each subject its figures, one a year, the oldest first, each
    from the newest edition. A figure without a year counts for the year of its edition.
    """

    heading: str
    label: str
    by_subject: Mapping[str, Sequence[ReportedFigure]]

    @property
    def name(self) -> str:
        return indicator_name(self.heading, self.label)

    @property
    def units(self) -> set[str]:
        """The units of its figures."""
        return {one.unit for figures in self.by_subject.values() for one in figures}

    @property
    def newest_year(self) -> int:
        """The newest year of its figures, 0 without any."""
        figures = [one for of_one in self.by_subject.values() for one in of_one]
        return max(map(year_of, figures), default=0)

    @property
    def is_amount(self) -> bool:
        """Whether it is neither a share nor a rate of something."""
        if not self.by_subject or " per " in f" {self.name} ":
            return False
        for unit in self.units:
            if any(power < 0 or kind == SHARE for kind, power in read_unit(unit).kinds):
                return False
        return True

    def newest(
        self, subject: str, years: Sequence[Condition] = ()
    ) -> ReportedFigure | None:
        """The subject's newest figure of its newest edition, of ``years`` where some
        are given; None without one.
        """
        of_subject = self.by_subject.get(subject, ())
        figures = [
            one
            for one in of_subject
            if not years or any(named.matches(year_of(one)) for named in years)
        ]
        return max(
            figures, key=lambda one: (_edition(one.edition), year_of(one)), default=None
        )

    def shared_year(self, subjects: Iterable[str]) -> int | None:
        """Return the newest year of which all of these subjects that have figures have
        one in their newest edition.
        """
        years = []
        for subject in subjects:
            of_subject = self.by_subject.get(subject, ())
            newest = max((_edition(one.edition) for one in of_subject), default=0)
            same = [one for one in of_subject if _edition(one.edition) == newest]
            if same:
                years.append({year_of(one) for one in same})
        if not years:
            return None
        return max(set.intersection(*years) - {0}, default=None)


_Rows = dict[tuple[str, str], IndicatorFigures]
"""What is asked for, by heading and label."""


class FigureTables:
    """Compiles tables. Thread-safe."""

    def __init__(self, figures: Figures, index: IndicatorIndex, terms: Terms) -> None:
        self._figures = figures
        self.index = index
        self._terms = terms
        self._unnamed: dict[int, tuple[Indicators, Indicators]] = {}

    def indicators(self, scope: Scope) -> Indicators:
        """Return the labels of each heading in a scope, without the names in them."""
        pairs = self._figures.indicators(scope)
        # The database keeps them until a figure changes; so does this.
        source, unnamed = self._unnamed.get(id(pairs), ({}, {}))
        if source is pairs:
            return unnamed
        unnamed = {name: without_names(labels) for name, labels in pairs.items()}
        if len(self._unnamed) >= KEPT_SCOPES:
            self._unnamed = {}
        self._unnamed[id(pairs)] = (pairs, unnamed)
        return unnamed

    def find(
        self, scope: Scope, heading: str, document_id: str = ""
    ) -> Sequence[ReportedFigure]:
        """Return the figures of a document under a heading, in reading order; of all
        documents where none is named.
        """
        return self._figures.find(scope, headings=[heading], document_id=document_id)

    def of_document(self, scope: Scope, document_id: str) -> Sequence[ReportedFigure]:
        """Return all figures of a document, in reading order."""
        return self._figures.find(scope, document_id=document_id)

    def comparable(
        self, subjects: Sequence[str], stated: IndicatorFigures, scope: Scope
    ) -> list[str]:
        """Return the subjects that could state an indicator: those that do, and those
        with another one that half of these have. A file that only names a country is no
        report of its figures.
        """
        having = scope.having(COUNTRY, list(stated.by_subject))
        usual: set[str] = set()
        for heading, labels in self._figures.indicators(having).items():
            if 2 * max(labels.values()) >= len(stated.by_subject):
                usual.add(heading)
        comparable = []
        for name in subjects:
            own = scope.having(COUNTRY, [name])
            is_stated = name in stated.by_subject
            if is_stated or usual & self._figures.indicators(own).keys():
                comparable.append(name)
        return comparable

    def compile(
        self,
        topic: str,
        scope: Scope,
        subjects: Collection[str] = (),
        request: RequestContext | None = None,
        *,
        newest: Scope | None = None,
        of_all: bool = False,
    ) -> list[IndicatorFigures]:
        """Return what is asked for: one indicator for each thing in ``topic``; none
        where none is meant surely.

        ``subjects``: only of these, none = of all in ``scope``. ``newest``: the newest
        edition in scope, whose names of indicators are preferred. ``of_all``: one
        indicator, that several subjects have. Raises DependencyError.
        """
        # What a ranking leaves of its sentence is no sentence: "are" and "these" would
        # count.
        words = " ".join(word for word in _WORD.findall(topic) if self._terms(word))
        least = _least_subjects(scope) if of_all else 1
        for inside in [scope] if newest is None else [newest, scope]:
            pairs = self.indicators(inside)
            parts = [words or topic] if of_all else self._things(topic, pairs, request)
            meant = {
                part: self._meant_by(part, pairs, inside, request, subjects=least)
                for part in parts
            }
            if any(meant.values()):
                rows = self._rows(meant, scope, subjects)
                if not self._complete_lists(rows, topic, pairs, scope, subjects):
                    return []
                return [row for row in rows.values() if row.by_subject or len(rows) > 1]
        return []

    def _meant_by(
        self,
        part: str,
        pairs: Indicators,
        scope: Scope,
        request: RequestContext | None,
        *,
        subjects: int,
    ) -> tuple[str, str] | None:
        """Return the heading and label that a part of a topic surely means: of people
        their number. None where so many subjects do not have it.
        """
        population = self.population(scope) if says_people(part) else None
        return population or self._meant(part, pairs, request, subjects=subjects)

    def _rows(
        self,
        meant: Mapping[str, tuple[str, str] | None],
        scope: Scope,
        subjects: Collection[str],
    ) -> _Rows:
        """Return the figures of what the parts of a topic mean, once where two mean the
        same; an empty row for a part that means none.
        """
        every = self.indicators(scope)
        rows: _Rows = {}
        for part, pair in meant.items():
            if pair is None:
                rows[part, ""] = IndicatorFigures(part, "", {})
                continue
            rows[pair] = self.measured(*pair, every, scope, subjects)
        return rows

    def _complete_lists(
        self,
        rows: _Rows,
        topic: str,
        pairs: Indicators,
        scope: Scope,
        subjects: Collection[str],
    ) -> bool:
        """Put the main items of a list in place of one of them that the topic does not
        name; return False where another item might be meant as well.
        """
        for (name, label), row in rows.items():
            if not label or not self._words(topic).isdisjoint(self._words(label)):
                continue
            is_list = TOTAL not in self._words(label) and _is_list(pairs[name])
            if len(row.by_subject) >= len(subjects) and not is_list:
                continue
            if not self._names_main_item(topic, name):
                return False
            rows[name, label] = self._main_items(name, scope, subjects)
        return True

    def _names_main_item(self, topic: str, heading: str) -> bool:
        """Return whether a topic asks for the first of the things that a heading lists:
        "top export partner".
        """
        words = self._words(heading)
        return any(words & self._words(thing) for thing in main_things(topic))

    def _main_items(
        self, heading: str, scope: Scope, subjects: Collection[str]
    ) -> IndicatorFigures:
        """Return of each subject the largest item of a list in its newest edition, with
        its name.
        """
        largest: dict[str, ReportedFigure] = {}
        for figure in _in_usual_unit(self._figures.find(scope, headings=[heading])):
            if figure.label in REST or (subjects and figure.subject not in subjects):
                continue
            best = largest.setdefault(figure.subject, figure)
            editions = _edition(figure.edition), _edition(best.edition)
            if (editions[0], figure.value) > (editions[1], best.value):
                largest[figure.subject] = figure
        by_subject = {}
        for subject, figure in largest.items():
            named = replace(figure, text=f"{figure.label} {figure.text}".strip())
            by_subject[subject] = (named,)
        return IndicatorFigures(heading, "", by_subject)

    def meant(
        self,
        topic: str,
        scope: Scope,
        request: RequestContext | None = None,
    ) -> tuple[str, str] | None:
        """Return the heading and label that a topic surely means: its heading leads
        the next one that names something else. Raises EmbeddingError.
        """
        words = " ".join(word for word in _WORD.findall(topic) if self._terms(word))
        if not words:
            return None
        pairs = self.indicators(scope)
        return self._meant(words, pairs, request, least=SURELY_ASKED, lead=LEAD)

    def sizes(self, scope: Scope) -> list[tuple[str, str]]:
        """Return the headings and labels that "bigger" means of a country."""
        pairs = self._pairs(scope)
        return sizes(pairs, self._terms)

    def population(self, scope: Scope) -> tuple[str, str] | None:
        """Return the heading and label of the number of people, None without one."""
        return next(reversed(self.sizes(scope)), None)

    def key_figures(
        self,
        scope: Scope,
        subjects: Sequence[str],
        chapters: Callable[[Sequence[str]], Mapping[str, str]],
    ) -> list[IndicatorFigures]:
        """Return indicators that all subjects have, at most `KEY_FIGURES`: those that
        people ask for most; where they are few, then in turn the next one of each
        chapter. Of each subject its newest edition counts. ``chapters`` returns the
        chapters of passages by their ids.
        """
        figures = [
            figure for figure in self._figures.find(scope) if figure.subject in subjects
        ]
        first, *others = _newest_passages(figures, subjects)
        shared = {
            pair: id
            for pair, id in first.items()
            if all(pair in other for other in others)
        }
        chosen = most_asked(shared, self._terms)
        if len(chosen) < MIN_KEY_FIGURES:
            rest = {pair: id for pair, id in shared.items() if not pair[1]}
            chosen += _in_turn(rest, chapters(list(rest.values())))
        pairs = self.indicators(scope)
        return [
            self.measured(name, label, pairs, scope, subjects)
            for name, label in list(dict.fromkeys(chosen))[:KEY_FIGURES]
        ]

    def _pairs(self, scope: Scope) -> list[tuple[str, str]]:
        by_heading = self.indicators(scope)
        return [(name, label) for name in by_heading for label in by_heading[name]]

    def most_asked(self, scope: Scope) -> list[str]:
        """Return the headings of the figures in a scope that people ask for most."""
        pairs = self._pairs(scope)
        return [heading for heading, _ in most_asked(pairs, self._terms)]

    def things(
        self, topic: str, scope: Scope, request: RequestContext | None = None
    ) -> Sequence[str]:
        """Return the things that a topic lists, where each of them alone surely means
        an indicator; else the topic.
        """
        return self._things(topic, self.indicators(scope), request)

    def changed(
        self, scope: Scope, first: int, last: int
    ) -> list[tuple[ReportedFigure, ReportedFigure]]:
        """Return what two editions of one subject state differently, the largest
        changes first, headings before parts. Compared are each edition's newest dated
        figures of one indicator and unit; not those of which it gives several.
        """
        before: _ByMeaning = defaultdict(list)
        after: _ByMeaning = defaultdict(list)
        for figure in self._figures.find(scope):
            edition = _edition(figure.edition)
            if not figure.year or edition not in {first, last}:
                continue
            side = after if edition == last else before
            words = self._words(figure.heading, figure.label)
            side[words, figure.unit].append(figure)
        pairs = []
        for key, figures in after.items():
            new = _only_newest(figures)
            old = _only_newest(before[key])
            if old is None or new is None:
                continue
            if old.value != new.value:
                pairs.append((old, new))
        pairs.sort(key=_by_change)
        return pairs

    def _things(
        self, topic: str, pairs: Indicators, request: RequestContext | None
    ) -> Sequence[str]:
        """The parts of a list, where at least two of them surely mean different
        indicators; else the whole.
        """
        parts = []
        for part in _AND.split(topic):
            _, rest = read_units(part)
            # "Compare" and "but in miles" are no things.
            if not says_nothing(topic_of_figures(rest)):
                parts.append(part)
        if not pairs or not 1 < len(parts) <= MOST_THINGS:
            return [topic]
        meant = {
            self._meant(part, pairs, request, least=LEAST_OF_PART) for part in parts
        }
        sure = meant - {None}
        if len(sure) < 2:
            return [topic]
        return parts

    def _meant(
        self,
        topic: str,
        pairs: Indicators,
        request: RequestContext | None,
        least: float = LEAST,
        lead: float = 0.0,
        subjects: int = 1,
    ) -> tuple[str, str] | None:
        """Return the heading and label that a topic surely means; None where so many
        subjects do not have it.
        """
        if not pairs:
            return None
        headings = sorted(pairs)
        near = self.index.near(topic, headings, request, labels=pairs)
        scores = {
            name: closeness.score
            for name, closeness in zip(headings, near, strict=True)
            if closeness is not None
        }
        name = max(scores, key=lambda heading: scores[heading])
        others = [
            scores[heading] for heading in scores if not self.are_alike(name, heading)
        ]
        is_first = scores[name] - max(others, default=0.0) >= lead
        labels = {one: n for one, n in pairs[name].items() if n >= subjects}
        if scores[name] < least or not is_first or not labels:
            return None
        return name, self.index.label(topic, name, labels, request)

    def are_alike(self, heading: str, other: str) -> bool:
        """Return whether two headings may be names of one thing: all words of one are
        words of the other.
        """
        words = self._words(heading)
        others = self._words(other)
        return words <= others or others <= words

    def measured(
        self,
        heading: str,
        label: str,
        pairs: Indicators,
        scope: Scope,
        subjects: Collection[str],
    ) -> IndicatorFigures:
        """Return the figures of a heading and label, with those that other editions
        name otherwise. ``pairs``: all indicators in the scope; ``subjects``: only of
        these, none = of all.
        """
        near = self._alike_headings(heading, pairs)
        named: _Named = defaultdict(list)
        for figure in self._figures.find(scope, headings=near):
            if not subjects or figure.subject in subjects:
                named[figure.heading, figure.label].append(figure)
        figures = [
            figure
            for pair in self._same(heading, label, named)
            for figure in named[pair]
        ]
        figures += _only_ones(heading, named, {figure.subject for figure in figures})
        return IndicatorFigures(heading, label, dict(_by_subject(figures)))

    def of_labels(
        self, heading: str, scope: Scope, labels: Collection[str]
    ) -> IndicatorFigures:
        """Return the figures under a heading by their labels, as those of a sheet's
        months: of these labels.
        """
        figures: list[ReportedFigure] = []
        for figure in self._figures.find(scope, headings=[heading]):
            if figure.label in labels:
                figures.append(replace(figure, subject=figure.label, label=""))
        return IndicatorFigures(heading, "", dict(_by_subject(figures)))

    def _alike_headings(self, heading: str, headings: Iterable[str]) -> list[str]:
        """Return a heading where it is there, and those that may be names of the same
        thing.
        """
        words = self._words(heading)
        near: list[str] = []
        for name in headings:
            others = self._words(name)
            if name == heading or others <= words or others >= words:
                near.append(name)
        return near

    def _same(
        self,
        heading: str,
        label: str,
        named: Mapping[tuple[str, str], Sequence[ReportedFigure]],
    ) -> Iterator[tuple[str, str]]:
        """The pair, and those that say the same in other reports."""
        words = self._words(heading, label)
        own = (heading, label)
        reports: set[str] = set()
        if own in named:
            reports.update(figure.document_id for figure in named[own])
            yield own
        shares: dict[tuple[str, str], float] = {}
        for pair in named:
            if pair != own:
                shares[pair] = _share(words, self._words(*pair))
        for pair in sorted(shares, key=lambda pair: -shares[pair]):
            documents = {figure.document_id for figure in named[pair]}
            is_named = pair[0] == heading and pair[1].startswith(f"{label}: ")
            if not is_named and shares[pair] < ALIKE:
                continue
            if reports.isdisjoint(documents):
                reports |= documents
                yield pair

    def _words(self, heading: str, label: str = "") -> frozenset[str]:
        return frozenset(self._terms(f"{heading} {label}"))


_ByMeaning = dict[tuple[frozenset[str], str], list[ReportedFigure]]
"""Figures by the words of their indicator and their unit."""


def _newest_passages(
    figures: Sequence[ReportedFigure], subjects: Sequence[str]
) -> list[dict[tuple[str, str], str]]:
    """Return of each subject the passages of the dated figures of its newest edition,
    by heading and label.
    """
    newest = dict.fromkeys(subjects, 0)
    for figure in figures:
        edition = _edition(figure.edition)
        newest[figure.subject] = max(newest[figure.subject], edition)
    passages: dict[str, dict[tuple[str, str], str]] = {
        subject: {} for subject in subjects
    }
    for figure in figures:
        if figure.year and _edition(figure.edition) == newest[figure.subject]:
            passages[figure.subject].setdefault(
                (figure.heading, figure.label), figure.chunk_id
            )
    return list(passages.values())


def _only_ones(
    heading: str, named: _Named, subjects: Container[str]
) -> list[ReportedFigure]:
    """Return the figures of other ``subjects`` under a heading that have one label
    there: it may name what only one subject has, "Kenyan shillings (KES) per US
    dollar".
    """
    under: list[ReportedFigure] = []
    for (name, _), figures in named.items():
        if name == heading:
            under += figures
    labels = defaultdict[str, set[str]](set)
    for figure in under:
        labels[figure.subject].add(figure.label)
    return [
        figure
        for figure in under
        if figure.subject not in subjects and len(labels[figure.subject]) == 1
    ]


def _by_change(pair: tuple[ReportedFigure, ReportedFigure]) -> tuple[bool, Decimal]:
    """Return the place of a changed figure: headings before parts, and the largest
    change first.
    """
    old, new = pair
    change = abs(new.value - old.value)
    larger = max(abs(old.value), abs(new.value))
    return bool(old.label), -change / larger


def _in_turn(
    chunk_ids: Mapping[tuple[str, str], str], chapters: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the indicators, in turn the next one of each chapter. ``chunk_ids``: their
    passages; ``chapters``: those of the passages.
    """
    by_chapter = defaultdict[str, list[tuple[str, str]]](list)
    for pair, chunk_id in chunk_ids.items():
        by_chapter[chapters.get(chunk_id, "")].append(pair)
    taken: list[tuple[str, str]] = []
    for row in zip_longest(*by_chapter.values()):
        for pair in row:
            if pair is not None:
                taken.append(pair)
    return taken


def _is_list(labels: Mapping[str, int]) -> bool:
    """Return whether the labels of a heading are the items of a list, as of languages:
    most differ between subjects.
    """
    most = max(labels.values())
    rare = [label for label, count in labels.items() if count * 2 <= most]
    return len(rare) * 2 > len(labels)


def without_names(labels: Mapping[str, int]) -> Mapping[str, int]:
    """Return labels with one for those that end with a name: "highest point: K2" and
    "highest point: Mount Kenya" are "highest point". So are labels with one beginning
    that no subject has two of, as far as their numbers tell. ``labels``: each with the
    number of subjects that have it.
    """
    most = max(labels.values())
    by_beginning = defaultdict[str, list[str]](list)
    for label in labels:
        beginning, colon, _ = label.partition(": ")
        if colon:
            by_beginning[beginning].append(label)
    merged = dict(labels)
    for beginning, named in by_beginning.items():
        count = sum(labels[label] for label in named)
        # The names of several editions differ a little.
        if beginning in labels or len(named) < 2 or count >= 2 * most:
            continue
        for label in named:
            del merged[label]
        merged[beginning] = min(count, most)
    return merged


def _only_newest(figures: Sequence[ReportedFigure]) -> ReportedFigure | None:
    """The figure of the newest year; None where that year has several values."""
    year = max((year_of(figure) for figure in figures), default=0)
    newest = [figure for figure in figures if year_of(figure) == year]
    values = {figure.value for figure in newest}
    if len(values) != 1:
        return None
    return newest[0]


def _share(some: frozenset[str], others: frozenset[str]) -> float:
    common = some & others
    every = some | others
    if not every:
        return 0.0
    return len(common) / len(every)


def _in_usual_unit(figures: Iterable[ReportedFigure]) -> list[ReportedFigure]:
    """Return the figures in the unit that most have; of shares those of the whole that
    most reports name first, since a share of GDP and one of the budget do not compare.
    """
    figures = list(figures)
    units = Counter(figure.unit for figure in figures)
    usual = max(units, key=lambda unit: units[unit], default="")
    figures = [figure for figure in figures if figure.unit == usual]
    named_first: dict[str, str] = {}
    for figure in figures:
        whole = _whole_of(figure)
        if whole:
            named_first.setdefault(figure.document_id, whole)
    wholes = Counter(named_first.values())
    usual_whole = max(wholes, key=lambda whole: wholes[whole], default="")
    return [figure for figure in figures if _whole_of(figure) in {"", usual_whole}]


def _whole_of(figure: ReportedFigure) -> str:
    """Return the last word of what a figure in per cent is a share of: "gdp" of "2.3%
    of GDP". "" where it does not say.
    """
    if figure.unit != PERCENT:
        return ""
    _, _, behind = figure.text.partition(PERCENT)
    words: list[str] = _WORD.findall(behind.partition("(")[0].casefold())
    if words:
        return words[-1]
    return ""


def _by_subject(
    figures: Iterable[ReportedFigure],
) -> Iterator[tuple[str, Sequence[ReportedFigure]]]:
    """Of each subject and year the first figure of the newest edition, in the unit that
    most have.
    """
    of_subject: dict[str, dict[int, ReportedFigure]] = defaultdict(dict)
    for figure in _in_usual_unit(figures):
        year = year_of(figure)
        edition = _edition(figure.edition)
        by_year = of_subject[figure.subject]
        kept = by_year.get(year)
        if kept is None or edition > _edition(kept.edition):
            by_year[year] = figure
    for subject, by_year in of_subject.items():
        yield subject, [by_year[year] for year in sorted(by_year)]


def _edition(edition: Value | None) -> int:
    if isinstance(edition, int):
        return edition
    return 0


def _least_subjects(scope: Scope) -> int:
    """Return how many subjects an indicator has that can be ranked in a scope: all of
    them, where a group has few.
    """
    countries = scope.get("country_name")
    if isinstance(countries, Values):
        return max(2, min(SUBJECTS, len(countries.values)))
    return SUBJECTS
