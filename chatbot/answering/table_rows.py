"""Answers from the rows of one document's table: a cell as a sentence with its row;
rows ranked, counted, beside each other or over years.

A question means a table whose passage has all of its words: in title, headings, heads
of columns or rows. Which row and which column are meant is told by the words that tell
them apart inside the table, never by its whole path of headings.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from textwrap import shorten

from ..domain import Chunk, ReportedFigure, Scope
from ..domain.documents import SECTION_SEPARATOR, Quotation
from ..domain.protocols import Passages
from ..domain.scope import NamedYears
from ..domain.tables import Texts
from ..language.analysis import STOP_WORDS, TERM_PATTERN, has_term
from ..language.detection import analyzer_for
from ..language.markdown import escape_markdown, quotation_item
from ..language.reported_figures import dated_text, figures_of, year_of
from ..language.table_words import is_total
from ..language.words import Say
from ..questions.kinds import topic_of_figures
from ..questions.reading import NEUTRAL_WORDS, SHARE_WORDS, in_a_sentence
from ..search.weights import read_weight
from .figure_tables import FigureTables, IndicatorFigures
from .turn import Turn

__all__ = ["LACKING", "AskedWords", "RowFigures", "RowReader"]

PASSAGES = int(read_weight("cells.passages"))
ROWS = int(read_weight("cells.rows"))
ANSWER_CHARACTERS = int(read_weight("cells.answer"))
NAME_CHARACTERS = int(read_weight("cells.name"))
LACKING = read_weight("cells.lacking")
MOST_CELLS = int(read_weight("cells.cells"))
_SAYS_NOTHING = NEUTRAL_WORDS.union(SHARE_WORDS, *STOP_WORDS.values())
_LETTER = re.compile(r"(?<!\w)[A-Z](?!\w)")
Words = frozenset[str]
FiguresByRow = dict[str, list[ReportedFigure]]


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

    def within(self, *texts: str) -> Words:
        """Return the words that say what is asked and that the texts have."""
        terms = set(self.terms(" ".join(texts)))
        return frozenset(word for word in self.words if has_term(terms, word))

    def count_within(self, *texts: str) -> int:
        """Return how many of all words the texts have: "value" may name a column."""
        terms = set(self.terms(" ".join(texts)))
        return sum(has_term(terms, word) for word in self.every)

    def names(self, text: str) -> bool:
        """Return whether the question has all words of a name, and its single letters:
        "Block A".
        """
        terms = self.terms(text)
        letters = set(_LETTER.findall(text))
        if not letters <= self.letters:
            return False
        for term in terms:
            if not has_term(self.every, term):
                return False
        return bool(terms)

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
        figures = []
        for figure in figures_of(self.chunk):
            figures.append(of_row(figure, self.chunk))
        return figures

    @property
    def context(self) -> str:
        """What all of its figures are in: document, edition and headings."""
        chunk = self.chunk
        words = f"{chunk.title} {chunk.section}"
        if chunk.year:
            words = f"{words} {chunk.year}"
        return words

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


def written(figure: ReportedFigure) -> str:
    """Return a figure as its cell has it, without what its column's head adds."""
    number, _, _ = figure.text.partition(" ")
    return number.rstrip("%")


def of_row(figure: ReportedFigure, chunk: Chunk) -> ReportedFigure:
    """Return a figure whose subject is its row: of a table whose rows name what is
    counted, the innermost name.
    """
    if figure.subject != chunk.title or not figure.label:
        return figure
    *labels, name = figure.label.split(": ")
    return replace(figure, subject=name, label=": ".join(labels))


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads questions against the tables of documents. ``language``: of the reports."""

    passages: Passages
    tables: FigureTables
    language: str

    def read(self, turn: Turn, *, is_of_rows: bool = True) -> AskedWords:
        """Return the words that a question asks with. ``is_of_rows``: without those
        that ask to rank or compare rows.
        """
        text = turn.reading.text
        terms = analyzer_for(text, self.language).terms
        topic = topic_of_figures(text) if is_of_rows else text
        words: set[str] = set()
        for word in TERM_PATTERN.findall(topic):
            if word.lower() not in _SAYS_NOTHING:
                words.update(terms(word))
        years = turn.reading.figure_years
        letters = frozenset(_LETTER.findall(text))
        every = frozenset(terms(text))
        return AskedWords(frozenset(words), every, years, letters, terms)

    def find(
        self, turn: Turn, asked: AskedWords, *, most_lacking: float = 0.0
    ) -> list[RowFigures]:
        """Return the passages of tables that have all words of a question, best first;
        where none has, those of the first document that has them in several rows.
        ``most_lacking``: the share of the words that they may lack. Raises
        SearchEngineError.
        """
        query = " ".join(asked.words)
        if not query:
            return []
        least = len(asked.words) * (1 - most_lacking)
        scope = turn.question.scope
        matches = self.passages.keyword_search(query, top_k=PASSAGES, scope=scope)
        ids = [match.chunk_id for match in matches]
        by_id = {chunk.id: chunk for chunk in self.passages.get(ids)}
        whole: list[RowFigures] = []
        of_document: dict[str, list[RowFigures]] = defaultdict(list)
        covered: dict[str, Words] = defaultdict(Words)
        for chunk_id in ids:
            chunk = by_id.get(chunk_id)
            if chunk is None or not chunk.statements:
                continue
            table = RowFigures(chunk)
            words = asked.within(table.about)
            if len(words) >= least:
                whole.append(table)
            of_document[chunk.document_id].append(table)
            covered[chunk.document_id] |= words
        if whole:
            return whole
        for document_id, tables in of_document.items():
            if len(covered[document_id]) >= least:
                return tables
        return []

    def names_row(self, turn: Turn, chunks: Sequence[Chunk]) -> bool:
        """Return whether a question names a row of the table of one of these passages,
        and has few words that it lacks.
        """
        asked = self.read(turn)
        least = len(asked.words) * (1 - LACKING)
        for chunk in chunks:
            if not chunk.statements:
                continue
            table = RowFigures(chunk)
            words = asked.within(table.about)
            if len(words) < least:
                continue
            if any(map(asked.names, table.rows)):
                return True
        return False

    def cell(
        self,
        asked: AskedWords,
        table: RowFigures,
        say: Say,
        number: int = 1,
        *,
        is_sure: bool = False,
    ) -> str:
        """Return the cell that a question means as a sentence, with its row; of one
        column with several parts, the cells of these. "" where none is surely meant.
        ``number``: of the passage. ``is_sure``: it is known to answer, and may lack a
        few words.
        """
        figures = _cells(asked, table, is_sure=is_sure)
        if not figures:
            return ""
        shown: list[str] = []
        for figure in figures:
            name = _short_name(table, figure, asked)
            if not shown and figure.subject in table.rows:
                names = [figure.subject, in_a_sentence(name)]
                name = ", ".join(filter(None, names))
            name = escape_markdown(name or table.chunk.title)
            shown.append(f"{name}: {dated_text(figure, say)}")
        sentence = f"{'; '.join(shown)} [{number}]."
        row = _row_of(table, figures[0], number)
        answer = f"{sentence}\n\n{quotation_item(row, say)}"
        if row.text and len(answer) <= ANSWER_CHARACTERS:
            return answer
        return sentence

    def of_rows(
        self, asked: AskedWords, table: RowFigures, scope: Scope
    ) -> tuple[IndicatorFigures, list[str]]:
        """Return what a question measures in the rows of a table, without those that
        are totals, and the rows that it names; no rows where no column has all that
        columns have of the question.
        """
        column = _column(asked, table)
        if column is None:
            return IndicatorFigures("", "", {}), []
        heading, label = column
        figures = self._under(heading, table, scope)
        rows: FiguresByRow = defaultdict(list)
        covered: dict[str, int] = defaultdict(int)
        for figure, passage in figures:
            if figure.label != label or _is_whole(figure, passage, asked):
                continue
            subject = figure.subject
            line = passage.line_of(figure)
            words = asked.within(passage.chunk.section, line)
            covered[subject] = max(len(words), covered[subject])
            rows[subject].append(figure)
        most = max(covered.values(), default=0)
        named: list[str] = []
        by_subject: FiguresByRow = {}
        for subject, of_subject in rows.items():
            is_named = asked.names(subject)
            if is_named:
                named.append(subject)
            if is_named or covered[subject] == most:
                of_subject.sort(key=year_of)
                by_subject[subject] = of_subject
        return IndicatorFigures(heading, label, by_subject), named

    def _under(
        self, heading: str, table: RowFigures, scope: Scope
    ) -> Iterator[tuple[ReportedFigure, RowFigures]]:
        """Yield the figures under a heading of a table's document, each of its row,
        with their passages.
        """
        stored = self.tables.find(scope, heading, table.chunk.document_id)
        ids = dict.fromkeys(figure.chunk_id for figure in stored)
        passages: dict[str, RowFigures] = {}
        for chunk in self.passages.get(list(ids)[:ROWS]):
            passages[chunk.id] = RowFigures(chunk)
        for figure in stored:
            passage = passages.get(figure.chunk_id)
            if passage is not None:
                yield of_row(figure, passage.chunk), passage


def _cells(
    asked: AskedWords, table: RowFigures, *, is_sure: bool
) -> list[ReportedFigure]:
    """Return the figures that a question means, all of one row."""
    figures = asked.of_years(_of_named_row(asked, table))
    if len(figures) > 1:
        exact = [figure for figure in figures if asked.names(figure.indicator)]
        if len(exact) == 1:
            figures = exact
    if not figures or len(figures) > MOST_CELLS:
        return []
    first = figures[0]
    row = asked.within(first.subject)
    if len(table.columns) > 1:
        column = asked.within(first.indicator)
        if column <= row:
            return []
    told = table.names_of(first)
    told.append(table.line_of(first))
    told.append(table.context)
    lacking = asked.words - asked.within(*told)
    most_lacking = 0.0
    is_of_row = first.subject in table.rows
    if is_sure and (is_of_row or not table.rows):
        most_lacking = LACKING * len(asked.words)
    if len(lacking) > most_lacking:
        return []
    return figures


def _of_named_row(asked: AskedWords, table: RowFigures) -> list[ReportedFigure]:
    """Return the figures of the one row that a question names, in the columns that have
    most of its words; of the total where it names no row.
    """
    named: list[Words] = []
    for figure in table.figures:
        names = table.names_of(figure)
        named.append(asked.within(*names))
    needed = _needed(asked, table, named)
    rows: FiguresByRow = defaultdict(list)
    most = 0
    for figure, words in zip(table.figures, named, strict=True):
        subject = figure.subject
        if subject in table.rows and not asked.names(subject):
            continue
        count = asked.count_within(*table.names_of(figure))
        if not needed <= words or count < most:
            continue
        if count > most:
            rows.clear()
            most = count
        rows[subject].append(figure)
    longest = -1
    chosen: list[ReportedFigure] = []
    for subject, figures in rows.items():
        length = 0
        if subject in table.rows:
            length = len(asked.terms(subject))
        # Of "Kivu" and "North Kivu" the second, if the question has all of it; of two
        # others neither.
        if length == longest:
            chosen = []
        if length > longest:
            longest = length
            chosen = figures
    return chosen


def _needed(asked: AskedWords, table: RowFigures, named: Sequence[Words]) -> Words:
    """Return the words that names have and a cell must have: what title and headings
    say, too, may be meant of all cells.
    """
    every = Words().union(*named)
    return every - asked.within(table.context)


def _column(asked: AskedWords, table: RowFigures) -> tuple[str, str] | None:
    """Return the heading and label of the column that a question names with most words;
    of several the one that it names in full, else the first. None where no column has
    all of these words.
    """
    named: list[Words] = []
    for figure in table.figures:
        words = asked.within(figure.indicator, figure.unit)
        named.append(words)
    needed = _needed(asked, table, named)
    best = (0, False)
    column: tuple[str, str] | None = None
    for figure, words in zip(table.figures, named, strict=True):
        if not needed <= words:
            continue
        is_exact = asked.names(figure.indicator)
        score = (len(words), is_exact)
        if column is None or score > best:
            best = score
            column = (figure.heading, figure.label)
    return column


def _is_whole(figure: ReportedFigure, passage: RowFigures, asked: AskedWords) -> bool:
    """Return whether a row is that of all others: a total, or what the document is
    about.
    """
    name = figure.subject
    title = passage.chunk.title
    if name == title or is_total(name):
        return True
    words = set(asked.terms(title))
    return words.issuperset(asked.terms(name))


def _short_name(table: RowFigures, figure: ReportedFigure, asked: AskedWords) -> str:
    """Return the innermost heading of a column, behind those that the question names or
    that tell it from another column.
    """
    path = table.path_of(figure)
    rivals = [other for other in table.columns if other[-1:] == path[-1:]]
    parts: list[str] = []
    for part in path[:-1]:
        is_common = all(part in rival for rival in rivals)
        if not is_common or asked.within(part):
            parts.append(part)
    parts += path[-1:]
    return shorten(", ".join(parts), NAME_CHARACTERS, placeholder=" …")


def _row_of(table: RowFigures, figure: ReportedFigure, number: int) -> Quotation:
    """Return the quotation of a figure's row, under the title of its table."""
    chunk = table.chunk
    line = table.line_of(figure)
    names = [chunk.title]
    # The title of the table, not the path to the row.
    headings = chunk.section.split(SECTION_SEPARATOR)
    for name in reversed(headings):
        if name in line or name == chunk.title:
            continue
        names.append(name)
        break
    shown = [shorten(name, NAME_CHARACTERS, placeholder=" …") for name in names]
    if chunk.page is not None:
        shown.append(f"page {chunk.page}")
    return Quotation(number, ", ".join(shown), line)
