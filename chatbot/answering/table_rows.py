"""Answers from the rows of one document's table: a cell as a sentence with its row;
rows ranked, counted, beside each other or over years.

A question means a table whose passage has all of its words: in title, headings, heads
of columns or rows. Which row and which column are meant is told by the words that tell
them apart inside the table, never by its whole path of headings.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import ceil
from textwrap import shorten

from ..domain import Chunk, ReportedFigure, Scope
from ..domain.documents import SECTION_SEPARATOR, Quotation
from ..domain.protocols import Passages
from ..domain.scope import NamedYears
from ..domain.tables import Texts
from ..language.analysis import STOP_WORDS, TERM_PATTERN
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

PASSAGES = int(read_weight("cells.passages"))
STEM = int(read_weight("cells.stem"))
SHARED = read_weight("cells.shared")
ROWS = int(read_weight("cells.rows"))
ANSWER_CHARACTERS = int(read_weight("cells.answer"))
NAME_CHARACTERS = int(read_weight("cells.name"))
LACKING = read_weight("cells.lacking")
MOST_CELLS = int(read_weight("cells.cells"))
_SAYS_NOTHING = NEUTRAL_WORDS.union(SHARE_WORDS, *STOP_WORDS.values())
Terms = Callable[[str], Sequence[str]]


@lru_cache(65_536)
def _are_alike(term: str, other: str) -> bool:
    """Return whether two stems are of one word: "produc" and "product"."""
    longest = max(len(term), len(other))
    needed = ceil(max(STEM, SHARED * longest))
    if term == other:
        return True
    return longest >= STEM and term[:needed] == other[:needed]


def _in(term: str, terms: AbstractSet[str]) -> bool:
    return term in terms or any(_are_alike(term, other) for other in terms)


@dataclass(frozen=True)
class Asked:
    """The words of a question, and which of them a text has. ``words``: those that say
    what is asked, as stems; ``every``: all of them. ``years`` are the figures'.
    """

    words: frozenset[str]
    every: frozenset[str]
    years: Sequence[NamedYears]
    terms: Terms = field(repr=False)

    def within(self, *texts: str) -> frozenset[str]:
        """Return the words that say what is asked and that the texts have."""
        terms = set(self.terms(" ".join(texts)))
        return frozenset(word for word in self.words if _in(word, terms))

    def names(self, text: str) -> bool:
        """Return whether the question has all words of a name."""
        terms = self.terms(text)
        return bool(terms) and all(_in(term, self.every) for term in terms)

    def of_years(self, figures: Sequence[ReportedFigure]) -> list[ReportedFigure]:
        """Return the figures of the years that are asked for; where no years are, or
        where the figures have none of their own, those of the newest.
        """
        if not any(figure.year for figure in figures):
            return list(figures)
        for named in self.years:
            figures = [one for one in figures if named.condition.matches(year_of(one))]
        newest = max(map(year_of, figures), default=0)
        return [figure for figure in figures if year_of(figure) == newest]


@dataclass(frozen=True)
class TablePassage:
    """A passage of a table, and how its figures are named."""

    chunk: Chunk

    @cached_property
    def figures(self) -> list[ReportedFigure]:
        """The figures of its cells; each is of a row."""
        return [_of_row(figure, self.chunk) for figure in figures_of(self.chunk)]

    @property
    def about(self) -> str:
        """All words of the passage and of what it is in."""
        return f"{self.chunk.search_text} {self.chunk.year or ''}"

    def line_of(self, figure: ReportedFigure) -> str:
        """Return the line of a figure's row; "" if it is not found."""
        name = figure.subject.rpartition(": ")[2]
        number = _number(figure)
        for line in self.chunk.text.splitlines():
            if number in line and (name in line or figure.subject == self.chunk.title):
                return line
        return ""


def _of_row(figure: ReportedFigure, chunk: Chunk) -> ReportedFigure:
    """Return a figure whose subject is its row: of a table whose rows name what is
    counted, the innermost name.
    """
    if figure.subject != chunk.title or not figure.label:
        return figure
    *labels, name = figure.label.split(": ")
    return replace(figure, subject=name, label=": ".join(labels))


@dataclass(frozen=True, slots=True)
class TableRows:
    """Reads questions against the tables of documents. ``language``: of the reports."""

    passages: Passages
    tables: FigureTables
    language: str

    def read(self, turn: Turn) -> Asked:
        """Return the words that a question asks with."""
        text = turn.reading.text
        terms = analyzer_for(text, self.language).terms
        topic = topic_of_figures(text)
        words: set[str] = set()
        for word in TERM_PATTERN.findall(topic):
            if word.lower() not in _SAYS_NOTHING:
                words.update(terms(word))
        every = frozenset(terms(text))
        return Asked(frozenset(words), every, turn.reading.figure_years, terms)

    def find(self, turn: Turn, asked: Asked) -> list[TablePassage]:
        """Return the passages of tables that have all words of a question, best first;
        where none has, those of the first document that has them in several rows.
        Raises SearchEngineError.
        """
        query = " ".join(asked.words)
        if not query:
            return []
        scope = turn.question.scope
        matches = self.passages.keyword_search(query, top_k=PASSAGES, scope=scope)
        ids = [match.chunk_id for match in matches]
        by_id = {chunk.id: chunk for chunk in self.passages.get(ids)}
        whole: list[TablePassage] = []
        of_document: dict[str, list[TablePassage]] = defaultdict(list)
        covered: dict[str, frozenset[str]] = defaultdict(frozenset)
        for chunk_id in ids:
            chunk = by_id.get(chunk_id)
            if chunk is None or not chunk.statements:
                continue
            table = TablePassage(chunk)
            words = asked.within(table.about)
            if words == asked.words:
                whole.append(table)
            of_document[chunk.document_id].append(table)
            covered[chunk.document_id] |= words
        if whole:
            return whole
        for document_id, tables in of_document.items():
            if covered[document_id] == asked.words:
                return tables
        return []

    def cell(
        self,
        asked: Asked,
        table: TablePassage,
        say: Say,
        number: int = 1,
        *,
        is_sure: bool = False,
    ) -> str:
        """Return the cell that a question means as a sentence, with its row; of one
        column with several parts, the cells of these. "" where none is surely meant.
        ``number``: of the passage. ``is_sure``: it is known to answer, and may
        lack a few words.
        """
        figures = self._cells(asked, table, is_sure=is_sure)
        if not figures:
            return ""
        title = table.chunk.title
        paths = [_path(figure, title) for figure in table.figures]
        shown: list[str] = []
        for figure in figures:
            name = _short_name(_path(figure, title), paths, asked)
            if not shown and figure.subject != title:
                names = [figure.subject, in_a_sentence(name)]
                name = ", ".join(filter(None, names))
            name = escape_markdown(name or title)
            shown.append(f"{name}: {dated_text(figure, say)}")
        sentence = f"{'; '.join(shown)} [{number}]."
        room = ANSWER_CHARACTERS - len(sentence) - 2
        for row in _quotations(table, figures, number, say):
            item = quotation_item(row, say)
            if len(item) <= room:
                return f"{sentence}\n\n{item}"
        return sentence

    def _cells(
        self, asked: Asked, table: TablePassage, *, is_sure: bool
    ) -> list[ReportedFigure]:
        """Return the figures that a question means, all of one row."""
        title = table.chunk.title
        rows: dict[str, list[ReportedFigure]] = defaultdict(list)
        named = [(one, asked.within(*_names(one, title))) for one in table.figures]
        every = frozenset[str]().union(*(words for _, words in named))
        # What title and headings say, too, may be meant of all cells.
        needed = every - asked.within(title, table.chunk.section)
        most = 0
        for figure, words in named:
            # Without a row in the question the total is meant.
            is_named = figure.subject == title or asked.names(figure.subject)
            if not is_named or not needed <= words or len(words) < most:
                continue
            if len(words) > most:
                rows.clear()
            most = len(words)
            rows[figure.subject].append(figure)
        # Of "Kivu" and "North Kivu" the second, if the question has all of it.
        subject = max(rows, key=lambda name: (name != title, len(name)), default="")
        figures = asked.of_years(rows[subject])
        columns = {_path(figure, title) for figure in table.figures}
        exact = [one for one in figures if asked.names(one.indicator)]
        if len(figures) > 1 and len(exact) == 1:
            figures = exact
        if not figures or len(figures) > MOST_CELLS:
            return []
        of_columns = asked.within(*(one.indicator for one in figures))
        if len(columns) > 1 and of_columns <= asked.within(subject):
            return []
        told = [title, table.chunk.section, table.line_of(figures[0])]
        told += _names(figures[0], title)
        lacking = asked.words - asked.within(*told, str(table.chunk.year or ""))
        lacking -= {str(figure.year) for figure in figures}
        most_lacking = LACKING * len(asked.words) if is_sure and subject != title else 0
        if len(lacking) > most_lacking:
            return []
        return figures

    def of_rows(
        self, asked: Asked, table: TablePassage, scope: Scope
    ) -> tuple[IndicatorFigures, list[str]]:
        """Return what a question measures in the rows of a table, without those that
        are totals, and the rows that it names.
        """
        heading, label = self._column(asked, table)
        stored = self.tables.find(scope, heading, table.chunk.document_id)
        ids = dict.fromkeys(figure.chunk_id for figure in stored)
        chunks = {chunk.id: chunk for chunk in self.passages.get(list(ids)[:ROWS])}
        rows: dict[str, list[ReportedFigure]] = defaultdict(list)
        covered: dict[str, int] = defaultdict(int)
        for stored_figure in stored:
            chunk = chunks.get(stored_figure.chunk_id)
            if chunk is None:
                continue
            figure = _of_row(stored_figure, chunk)
            if figure.label != label or _is_whole(figure, chunk, asked):
                continue
            line = TablePassage(chunk).line_of(figure)
            words = len(asked.within(chunk.section, line))
            rows[figure.subject].append(figure)
            covered[figure.subject] = max(words, covered[figure.subject])
        named = [subject for subject in rows if asked.names(subject)]
        most = max(covered.values(), default=0)
        by_subject: dict[str, list[ReportedFigure]] = {}
        for subject, figures in rows.items():
            if subject in named or covered[subject] == most:
                by_subject[subject] = sorted(figures, key=year_of)
        return IndicatorFigures(heading, label, by_subject), named

    def _column(self, asked: Asked, table: TablePassage) -> tuple[str, str]:
        """Return the heading and label of the column that a question names with most
        words; of several the one that it names in full, else the first.
        """
        best: tuple[int, bool] = (-1, False)
        column = ("", "")
        for figure in table.figures:
            words = asked.within(figure.indicator, figure.unit)
            score = (len(words), asked.names(figure.indicator))
            if score > best:
                best = score
                column = (figure.heading, figure.label)
        return column


def _quotations(
    table: TablePassage, figures: Sequence[ReportedFigure], number: int, say: Say
) -> Iterator[Quotation]:
    """Yield quotations of the row of figures: the whole row, then its label with their
    cells; none where it is not found.
    """
    chunk = table.chunk
    line = table.line_of(figures[0])
    if not line:
        return
    label, *clauses = line.split("; ")
    kept = [label]
    for clause in clauses:
        if any(_number(figure) in clause for figure in figures):
            kept.append(clause)
    names = [chunk.title]
    # The title of the table, not the path to the row.
    for name in chunk.section.split(SECTION_SEPARATOR)[::-1]:
        if name not in line and name != chunk.title:
            names.append(name)
            break
    names = [shorten(name, NAME_CHARACTERS, placeholder=" …") for name in names if name]
    if chunk.page is not None:
        names.append(f"page {chunk.page}")
    for text in (line, "; … ".join(kept)):
        yield Quotation(number, ", ".join(names), text)


def _number(figure: ReportedFigure) -> str:
    """Return a figure as its cell has it, without what its column's head adds."""
    return figure.text.split(" ")[0].rstrip("%")


def _names(figure: ReportedFigure, title: str) -> list[str]:
    """Return what a cell is called: its row, its column and its unit."""
    names = [figure.indicator, figure.unit]
    if figure.subject != title:
        names.append(figure.subject)
    return names


def _is_whole(figure: ReportedFigure, chunk: Chunk, asked: Asked) -> bool:
    """Return whether a row is that of all others: a total, or what the document is
    about.
    """
    if figure.subject == chunk.title or is_total(figure.subject):
        return True
    title = set(asked.terms(chunk.title))
    return set(asked.terms(figure.subject)) <= title


def _path(figure: ReportedFigure, title: str) -> Texts:
    """Return what a figure's column says, from the outermost heading inwards."""
    names = [figure.heading, *figure.label.split(": ")]
    return tuple(name for name in names if name and name != title)


def _short_name(path: Texts, others: Sequence[Texts], asked: Asked) -> str:
    """Return the shortest part of a column's path that no other column of the table
    has, with what the question names.
    """
    rivals = {other for other in others if other != path}
    parts = list(path)
    for part in sorted(path, key=len, reverse=True):
        rest = [other for other in parts if other != part]
        is_told = rest and not any(set(rest) <= set(rival) for rival in rivals)
        is_common = all(part in rival for rival in rivals)
        if not is_told and not (rivals and is_common):
            continue
        if asked.within(part) <= asked.within(*rest):
            parts = rest
    return shorten(", ".join(parts), NAME_CHARACTERS, placeholder=" …")
