"""The words that a question asks a table with, and the passages of tables that have
them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..domain import Chunk, ReportedFigure
from ..domain.scope import NamedYears
from ..domain.tables import Texts
from ..language.analysis import TERM_PATTERN, has_term
from ..language.periods import DAY, unify_periods
from ..language.reported_figures import figures_of, year_of
from ..language.table_words import is_past, with_base_forms
from ..questions.reading import SHARE_WORDS
from ..search.weights import read_weight

__all__ = ["AskedWords", "FoundTables", "RowFigures", "table_terms", "written"]

ROWS = int(read_weight("cells.rows"))
LACKING = read_weight("cells.lacking")
FAMILY_LETTERS = int(read_weight("sheets.family"))
ENDING = int(read_weight("sheets.ending"))
ROWS_OF_SUM = int(read_weight("cells.rows_of_sum"))
LETTER = re.compile(r"(?<!\w)[A-Z](?!\w)")
_PER = re.compile(r"\b(?:per|par|por|لكل)\b", re.IGNORECASE)
Words = frozenset[str]


@dataclass(frozen=True)
class AskedWords:
    """The words of a question, as stems. ``words``: those that say what is asked;
    ``every``: all of them. ``years``: those of the figures. ``letters``: those that
    stand alone.
    """

    words: Words
    every: Words
    years: Sequence[NamedYears]
    letters: frozenset[str]
    terms: Callable[[str], Sequence[str]] = field(repr=False)
    text: str = ""
    query: str = ""
    """The words that say what is asked, as they are written."""
    quality: Words = frozenset()
    """Those for what is asked behind "how": the age of "how old"."""
    message: str = ""
    """The message of a follow-up, without what the conversation adds to it."""

    @cached_property
    def own(self) -> "AskedWords | None":
        """What the message of a follow-up asks with; None of other questions."""
        if not self.message:
            return None
        return replace(
            self,
            every=frozenset(self.terms(self.message)),
            years=(),
            letters=frozenset(LETTER.findall(self.message)),
            text=" ".join(re.findall(r"\w+", self.message)),
            message="",
        )

    def preferred(self, names: Sequence[str]) -> list[str]:
        """Return those of some names that have most words of the message of a
        follow-up: "And in Igoma?" asks no longer for the place of before.
        """
        if self.own is None:
            return list(names)
        counts = {name: len(self.own.of_all(name)) for name in names}
        most = max(counts.values(), default=0)
        return [name for name in names if counts[name] == most]

    @cached_property
    def wants_share(self) -> bool:
        """Whether a share is asked for: "What percentage of ..."."""
        return not SHARE_WORDS.isdisjoint(self.text.lower().split())

    @cached_property
    def says_past(self) -> bool:
        """Whether a word is a past tense, as in "How many trucks arrived?"."""
        return any(is_past(word) for word in re.findall(r"\b[a-z]+\b", self.text))

    def within(self, *texts: str) -> Words:
        """Return the words that say what is asked and that the texts have."""
        terms = set(self.terms(" ".join(texts)))
        return frozenset(word for word in self.words if has_term(terms, word))

    def are_all_in(self, table: "RowFigures") -> bool:
        """Return whether a passage of a table has all words that say what is asked."""
        return self.within(table.context, table.chunk.text) == self.words

    def of_all(self, *texts: str) -> Words:
        """Return the words that the texts have, of all: "lower" may name a column."""
        terms = set(self.terms(" ".join(texts)))
        return frozenset(word for word in self.every if has_term(terms, word))

    def of_family(self, heads: Iterable[str]) -> str | None:
        """Return the one head with a word of the family of one of the question:
        "Delivered" of "deliveries"; None of several, or none.
        """
        asked = TERM_PATTERN.findall(self.text.lower())
        found: list[str] = []
        for head in heads:
            for word in TERM_PATTERN.findall(head.lower()):
                if any(_are_family(word, other) for other in asked):
                    found.append(head)
                    break
        return found[0] if len(found) == 1 else None

    def names(self, text: str, *, but: Words = frozenset()) -> bool:
        """Return whether the question has all words of a name ``but`` these, and its
        single letters: "Block A".
        """
        terms = [term for term in self.terms(text) if term not in but]
        letters = set(LETTER.findall(text))
        if not letters <= self.letters:
            return False
        if not DAY.search(" ".join(self.every)):
            # The month of 2024-05-31 may be asked for.
            terms = [term for term in terms if not DAY.match(term)]
        for term in terms:
            if not has_term(self.every, term):
                return False
        if terms or but:
            return bool(terms)
        # "No" beside "Yes": a word that says nothing elsewhere.
        return bool(text) and f" {text} " in f" {self.text} "

    def instead(self, own: set[str], others: Words, year: str) -> "AskedWords":
        """Return what asks for the words of another period, in the year of that."""
        years = self.years
        if year:
            years = [NamedYears(int(year), int(year), 0, 0)]
        words = self.words - own | others
        return replace(self, words=words, every=self.every - own | others, years=years)

    def of_years(self, figures: Sequence[ReportedFigure]) -> list[ReportedFigure]:
        """Return the figures of the years that are asked for; where no years are, those
        of the newest. All, where they have no years of their own.
        """
        chosen = list(figures)
        if not any(figure.year for figure in figures):
            return chosen
        for named in self.years:
            matches = named.condition.matches
            chosen = [figure for figure in chosen if matches(year_of(figure))]
        newest = max(map(year_of, chosen), default=0)
        return [figure for figure in chosen if year_of(figure) == newest]


@dataclass(frozen=True)
class RowFigures:
    """A passage of a table, and how its figures are named."""

    chunk: Chunk

    @cached_property
    def figures(self) -> list[ReportedFigure]:
        """The figures of its cells; each is of a row."""
        return [self.of_row(figure) for figure in figures_of(self.chunk)]

    def of_row(self, figure: ReportedFigure) -> ReportedFigure:
        """Return a figure whose subject is its row: of a table whose rows name what is
        counted, the innermost name that the row's label has.
        """
        if figure.subject != self.chunk.title or not figure.label:
            return figure
        names = [figure.heading, *figure.label.split(": ")]
        row: int | None = None
        for line in self.chunk.text.splitlines():
            head = line.partition("; ")[0]
            if written(figure) in line:
                for place, name in enumerate(names):
                    if name in head:
                        row = place
            if row is not None:
                break
        if row is None:
            # A total.
            return figure
        subject = names.pop(row)
        heading = figure.heading if row else names[0]
        label = ": ".join(names[1:])
        return replace(figure, subject=subject, heading=heading, label=label)

    @cached_property
    def context(self) -> str:
        """What all of its figures are in: document, edition, headings, and the lines
        above the rows.
        """
        chunk = self.chunk
        words = [chunk.title, chunk.section]
        if chunk.year:
            words.append(str(chunk.year))
        for line in chunk.text.splitlines():
            if ": " in line or "; " in line:
                break
            words.append(line)
        return " ".join(words)

    @property
    def about(self) -> str:
        """All words of the passage and of what it is in."""
        return f"{self.context} {self.chunk.search_text}"

    @cached_property
    def rows(self) -> set[str]:
        """The names of its rows, without a total."""
        subjects = {figure.subject for figure in self.figures}
        return subjects - {self.chunk.title}

    @cached_property
    def columns(self) -> set[Texts]:
        """The paths of its columns."""
        return set(map(self.path_of, self.figures))

    def names_of(self, figure: ReportedFigure) -> list[str]:
        """Return what a cell is called: its column, its unit and its row."""
        names = [figure.indicator, figure.unit]
        if figure.subject in self.rows:
            names.append(figure.subject)
        return names

    def line_of(self, figure: ReportedFigure) -> str:
        """Return the line of a figure's row; "" if it is not found."""
        name = figure.subject.rpartition(": ")[2]
        if figure.subject == self.chunk.title:
            name = ""
        for line in self.chunk.text.splitlines():
            if name in line and written(figure) in line:
                return line
        return ""

    def path_of(self, figure: ReportedFigure) -> Texts:
        """Return what a figure's column says, from the outermost heading inwards."""
        names = [figure.heading]
        names += figure.label.split(": ")
        path: list[str] = []
        for name in names:
            if name and name != self.chunk.title:
                path.append(name)
        return tuple(path)


def _are_family(word: str, other: str) -> bool:
    """Return whether two words begin alike, and differ in an ending only."""
    if len(word) < FAMILY_LETTERS or abs(len(word) - len(other)) > ENDING:
        return False
    return word[:FAMILY_LETTERS] == other[:FAMILY_LETTERS]


def table_terms(terms: Callable[[str], Sequence[str]], text: str) -> Sequence[str]:
    """Return the terms of a text, a period as one and the same in all spellings, and so
    the forms of a verb. "Meals per day" are "meals a day".
    """
    return terms(_PER.sub(" ", with_base_forms(unify_periods(text))))


def written(figure: ReportedFigure) -> str:
    """Return a figure as its cell has it, without what its column's head adds."""
    number, _, _ = figure.text.partition(" ")
    return number.rstrip("%")


@dataclass(frozen=True, slots=True)
class FoundTables:
    """Passages of tables. ``whole``: those with all words of a question; where none
    has, those of the first document that has them in several rows. ``near``: those that
    lack few words. ``documents``: those that a question without such words may mean.
    """

    whole: list[RowFigures]
    near: list[RowFigures]
    documents: Sequence[str] = ()
