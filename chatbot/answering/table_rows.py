"""Answers from the rows of one document's table: a cell as a sentence with its row;
rows ranked, counted, beside each other or over years.

A question means a table whose passage has all of its words: in title, headings, heads
of columns or rows. Which row and which column are meant is told by the words that tell
them apart inside the table, never by its whole path of headings.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from textwrap import shorten

from ..domain import Chunk, ReportedFigure, Scope
from ..domain.documents import SECTION_SEPARATOR, Quotation
from ..domain.protocols import Catalog, Passages
from ..domain.tables import Texts
from ..language.analysis import STOP_WORDS, TERM_PATTERN
from ..language.detection import analyzer_for
from ..language.markdown import escape_markdown, quotation_item
from ..language.periods import is_time, periods_in, unify_periods
from ..language.reported_figures import dated_text, year_of
from ..language.table_words import also_written, is_total
from ..language.words import Say
from ..questions.computations import HAPPENS_WORDS, quality_asked, without_span
from ..questions.kinds import thing_asked, topic_of_figures, without_altogether
from ..questions.reading import NEUTRAL_WORDS, SHARE_WORDS, in_a_sentence
from ..questions.sides import COMPARES
from ..search.weights import read_weight
from .asked_words import (
    LACKING,
    LETTER,
    ROWS,
    ROWS_OF_SUM,
    AskedWords,
    FoundTables,
    RowFigures,
    Words,
    table_terms,
)
from .figure_tables import FigureTables, IndicatorFigures
from .turn import Turn

__all__ = [
    "AskedFigures",
    "RowReader",
]

DOCUMENTS = int(read_weight("cells.documents"))
PASSAGES = int(read_weight("cells.passages"))
ANSWER_CHARACTERS = int(read_weight("cells.answer"))
NAME_CHARACTERS = int(read_weight("cells.name"))
MOST_CELLS = int(read_weight("cells.cells"))
SHARED = read_weight("cells.shared")
SUM_TOLERANCE = Decimal(str(read_weight("cells.sum")))
_SAYS_NOTHING = NEUTRAL_WORDS.union(SHARE_WORDS, HAPPENS_WORDS, *STOP_WORDS.values())
_ASIDE = re.compile(r"\([^()]*\)")
_IN_A_YEAR = {"month": 12, "quarter": 4, "week": 53}
FiguresByRow = dict[str, list[ReportedFigure]]
ColumnScore = tuple[bool, bool, float, float, int, int]
"""Named whole; a share that is asked for; the weights of its words, beside those of the
title and among them; headings not named, and words left out, both negative.
"""


@dataclass(frozen=True, slots=True)
class AskedFigures:
    """The figures that a question means: one, or those of one column's parts.

    ``lacking``: the words of the question that nothing around them has. ``score``: how
    well they are named; the best of several tables answers.
    """

    figures: Sequence[ReportedFigure]
    lacking: Words
    score: tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads questions against the tables of documents. ``language``: of the reports."""

    passages: Passages
    catalog: Catalog
    tables: FigureTables
    language: str

    def read(
        self,
        turn: Turn,
        *,
        is_of_rows: bool = True,
        without: Callable[[str], str] = str,
    ) -> AskedWords:
        """Return the words that a question asks with. ``is_of_rows``: without those
        that ask to rank or compare rows. ``without`` leaves further words out.
        """
        text = turn.reading.text
        terms = partial(table_terms, analyzer_for(text, self.language).terms)
        topic = without_span(without(text))
        if is_of_rows:
            topic = without_altogether(topic_of_figures(topic))
        words: set[str] = set()
        written_words: list[str] = []
        for word in TERM_PATTERN.findall(unify_periods(topic)):
            if word.lower() not in _SAYS_NOTHING:
                words.update(terms(word))
                written_words.append(word)
        years = turn.reading.figure_years
        letters = frozenset(LETTER.findall(text))
        every = frozenset(terms(text))
        plain = " ".join(re.findall(r"\w+", text))
        quality = frozenset(terms(quality_asked(text)))
        words |= quality
        message = turn.question.query if turn.condensed else ""
        if COMPARES.search(message):
            message = ""
        return AskedWords(
            words=frozenset(words),
            every=every,
            years=years,
            letters=letters,
            terms=terms,
            text=plain,
            query=f"{' '.join(written_words)} {quality_asked(text)}".strip(),
            quality=quality,
            message=message,
        )

    def find(self, turn: Turn, asked: AskedWords) -> FoundTables:
        """Return the passages of tables that have the words of a question, best first.
        Raises SearchEngineError.
        """
        found = FoundTables([], [])
        query = asked.query
        scope = turn.question.scope
        if not query or not self.catalog.holdings(scope).with_tables:
            return found
        count = len(asked.words)
        least = count * (1 - LACKING)
        written = f"{query} {also_written(query)}".strip()
        matches = self.passages.keyword_search(written, top_k=PASSAGES, scope=scope)
        ids = [match.chunk_id for match in matches]
        ids = [chunk_id for chunk_id in ids if self._may_be_table(chunk_id)]
        by_id = {chunk.id: chunk for chunk in self.passages.get(ids)}
        of_document: dict[str, list[RowFigures]] = defaultdict(list)
        covered: dict[str, Words] = defaultdict(Words)
        for chunk_id in ids:
            chunk = by_id.get(chunk_id)
            if chunk is None or not chunk.statements:
                continue
            table = RowFigures(chunk)
            words = asked.within(table.about)
            if len(words) == count:
                found.whole.append(table)
            elif len(words) >= least:
                found.near.append(table)
            of_document[chunk.document_id].append(table)
            covered[chunk.document_id] |= words
        if found.whole:
            return found
        for document_id, tables in of_document.items():
            if len(covered[document_id]) == count:
                found.whole.extend(tables)
                break
        return found

    def own_documents(self, turn: Turn) -> FoundTables:
        """Return the documents with tables that people added themselves, for a question
        like "Who has been here longest?"; none where they are too many to read.
        """
        ids: list[str] = []
        for record in self.catalog.all(turn.question.scope):
            if record.may_have_tables and not record.sample:
                ids.append(record.id)
        return FoundTables([], [], ids if len(ids) <= DOCUMENTS else ())

    def near_row(self, turn: Turn, asked: AskedWords) -> tuple[str, str] | None:
        """Return the passage and the quotation of the row that a question names, where
        that has nothing of the quality that it asks for: "How old is Rosa?". Raises
        SearchEngineError.
        """
        others = replace(asked, words=asked.words - asked.quality)
        for table in self.find(turn, others).whole:
            row, length = _named_row(others, table)
            for figure in table.figures:
                if length and figure.subject == row:
                    quotation = _row_of(table, figure, 1)
                    return table.chunk.id, quotation_item(quotation, turn.say)
        return None

    def _may_be_table(self, chunk_id: str) -> bool:
        """Return whether a passage is of a report that may have tables: the others need
        not be read.
        """
        document_id, _ = Chunk.version_of(chunk_id)
        counts = self.catalog.heading_counts(document_id)
        return counts is None or counts.may_have_tables

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

    def cells(
        self, asked: AskedWords, tables: Sequence[RowFigures]
    ) -> list[tuple[RowFigures, AskedFigures]]:
        """Return the cells of tables that a question may mean, best first, each with
        its table: few of its words may be missing, said in others there. None where two
        rows fit as well.
        """
        cells: list[tuple[RowFigures, AskedFigures]] = []
        for table in tables:
            cell = _cell(asked, table)
            if cell is not None:
                cells.append((table, cell))
        cells.sort(key=lambda of_table: of_table[1].score, reverse=True)
        most = len(asked.words) * LACKING
        if not cells or len(cells[0][1].lacking) > most:
            return []
        first = cells[0][1]
        if first.lacking and any(asked.are_all_in(table) for table in tables):
            # What it lacks tells the row that is meant from this one.
            return []
        if any(_is_rival(asked, cell, first) for _, cell in cells[1:]):
            return []
        return cells

    def nearest_period(
        self, turn: Turn, asked: AskedWords, found: FoundTables
    ) -> tuple[str, RowFigures, AskedFigures] | None:
        """Return the one period that a question asks for, as written, and the cell of
        the nearest, of a table that lacks nothing else of it; None where there is none.
        """
        text = turn.reading.text
        periods = periods_in(text)
        if len(periods) != 1:
            return None
        ((term, year),) = periods
        others: list[tuple[int, RowFigures, str, str]] = []
        for table in found.whole + found.near:
            for other, of_other in periods_in(table.chunk.text):
                if other[2:] == term[2:]:
                    years = int(year or of_other or 0) - int(of_other or year or 0)
                    distance = years * _IN_A_YEAR[term[2:]]
                    distance += int(term[:2]) - int(other[:2])
                    others.append((abs(distance), table, other, of_other))
        others.sort(key=lambda one: one[0])
        for _, table, other, of_other in others:
            words = frozenset({other, of_other} - {""})
            cell = _cell(asked.instead({term, year}, words, of_other), table)
            if cell is not None and not cell.lacking:
                return _written(text, year), table, cell
        return None

    def tell(
        self,
        asked: AskedWords,
        table: RowFigures,
        figures: Sequence[ReportedFigure],
        say: Say,
        number: int = 1,
    ) -> str:
        """Return figures of one row as a sentence, with the row where there is room.
        ``number``: of the passage.
        """
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
            return _across(asked, table)
        heading, label, unit = column
        figures = list(self._under(heading, table, scope))
        lines = [passage.line_of(figure) for figure, passage in figures]
        of_groups = any(_asks_for_groups(asked, line) for line in lines)
        rows: FiguresByRow = defaultdict(list)
        covered: dict[str, int] = defaultdict(int)
        for (figure, passage), line in zip(figures, lines, strict=True):
            is_in_column = _is_under(figure, label, unit)
            if not is_in_column or _is_subtotal(line) != of_groups:
                continue
            if _is_whole(figure, passage, asked):
                continue
            subject = figure.subject
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
        named = asked.preferred(_without_contained(asked, named))
        by_subject = _without_sum(by_subject)
        if not by_subject:
            of_label = [figure for figure, _ in figures if figure.label == label]
            by_subject = _by_year(of_label)
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
                yield passage.of_row(figure), passage


def _written(text: str, year: str) -> str:
    """Return the words for the one period of a question, as they are written."""
    words = [word.strip("?!.,") for word in text.split()]
    unified = [word.strip("?!.,") for word in unify_periods(text).split()]
    return " ".join(word for word in words if word not in unified or word == year)


def _cell(asked: AskedWords, table: RowFigures) -> AskedFigures | None:
    """Return the figures that a question means, all of one row; None where it names no
    row or no column, or where several fit as well.
    """
    row, length = _named_row(asked, table)
    if row is None:
        return None
    figures = [figure for figure in table.figures if figure.subject == row]
    figures, score = _best_columns(asked, table, asked.of_years(figures))
    if figures and not length and asked.years:
        # A row of each year is named by it.
        head = table.line_of(figures[0]).partition("; ")[0]
        length = int(str(figures[0].year) in head)
    if not figures or len(figures) > MOST_CELLS:
        return None
    told = table.names_of(figures[0])
    told.append(table.line_of(figures[0]))
    told.append(table.context)
    lacking = asked.words - asked.within(*told)
    if lacking and not length:
        # The row may be one that is not here.
        return None
    if lacking & asked.quality:
        # "How old" asks for no other column of its row.
        return None
    if any(word[:1].isdigit() for word in lacking):
        # A month or a year is said in no other words.
        return None
    return AskedFigures(figures, lacking, (-len(lacking), length, score))


def _is_rival(asked: AskedWords, cell: AskedFigures, first: AskedFigures) -> bool:
    """Return whether the row of a cell may be meant instead of the first one's, or
    beside it.
    """
    row = cell.figures[0].subject
    other = first.figures[0].subject
    if row == other or (cell.lacking and not first.lacking):
        return False
    terms = set(asked.terms(row))
    own = set(asked.terms(other))
    if asked.names(row) and not (terms <= own or own <= terms):
        return True
    if not first.lacking.isdisjoint(terms):
        return True
    return cell.score == first.score and not _says_the_same(cell, first)


def _says_the_same(cell: AskedFigures, other: AskedFigures) -> bool:
    """Return whether two cells have the same values, as those of "Tasmania" and of
    "Tasmania (Total)" in another table.
    """
    values = [(figure.value, figure.unit) for figure in cell.figures]
    return values == [(figure.value, figure.unit) for figure in other.figures]


def _named_row(asked: AskedWords, table: RowFigures) -> tuple[str | None, int]:
    """Return the row that a question names, and by how many words; the total where it
    names none. Of "Kivu" and "North Kivu" the second, if the question has all of it; of
    two others neither: (None, 0). Of "Secondary schools: Rural" the group is left out
    where no other row needs it.
    """
    longest = 0
    rows: list[str] = []
    shared = _shared_words(asked, table)
    for name in table.rows:
        group, _, own_name = _ASIDE.sub(" ", name).rpartition(": ")
        terms = set(asked.terms(own_name))
        generic = shared
        if terms <= shared:
            # "Block A" among blocks.
            generic = frozenset()
        if not asked.names(own_name, but=generic):
            continue
        length = len(terms - generic) + len(asked.of_all(group))
        if length < longest:
            continue
        if length > longest:
            longest = length
            rows.clear()
        rows.append(name)
    rows = asked.preferred(rows)
    if len(rows) > 1:
        return None, 0
    if rows:
        return rows[0], longest
    return _partly_named_row(asked, table) or table.chunk.title, 0


def _partly_named_row(asked: AskedWords, table: RowFigures) -> str:
    """Return the one row that has most words of a question, at least half of its own
    name, which neither title nor columns have; "" if there is none.
    """
    heads = [" ".join(path) for path in table.columns]
    of_others = asked.within(table.context, *heads)
    most = 0
    best = ""
    for name in table.rows:
        own_name = _ASIDE.sub(" ", name)
        count = len(asked.within(own_name) - of_others)
        if count == most:
            best = ""
        if count > most:
            most = count
            is_half = 2 * count >= len(set(asked.terms(own_name)))
            best = name if is_half else ""
    return best


def _shared_words(asked: AskedWords, table: RowFigures) -> Words:
    """Return the words that most names of a table's rows have: "Province"."""
    counts = Counter[str]()
    for name in table.rows:
        counts.update(set(asked.terms(name)))
    most = len(table.rows) * SHARED
    return frozenset(term for term, count in counts.items() if count >= max(3, most))


def _best_columns(
    asked: AskedWords, table: RowFigures, figures: Sequence[ReportedFigure]
) -> tuple[list[ReportedFigure], float]:
    """Return the figures in the columns that a question names best, and how well: by
    words that few columns have and the title has not, then by those that it has, which
    may be meant of all columns; then by what the question leaves out.
    """
    weights = _weights(asked, table)
    in_title = asked.of_all(table.context)
    own = asked.own
    if own is not None:
        # "And at Hekima?"
        in_message: list[ReportedFigure] = []
        for figure in figures:
            if any(map(own.names, table.path_of(figure))):
                in_message.append(figure)
        figures = in_message or figures
    best: list[ReportedFigure] = []
    best_score: ColumnScore = (False, False, 0.0, 0.0, 0, 0)
    for figure in figures:
        score = _column_score(
            asked, table.path_of(figure), figure.unit, weights, in_title
        )
        if not best or score > best_score:
            best = []
            best_score = score
        if score == best_score:
            best.append(figure)
    named = sum(best_score[2:4])
    is_named = best_score[0] or named > 0
    if not is_named and len({figure.indicator for figure in figures}) > 1:
        return [], 0.0
    return best, named


def _column_score(
    asked: AskedWords,
    path: Texts,
    unit: str,
    weights: Mapping[str, float],
    in_title: Words,
) -> ColumnScore:
    """Return how well a question names a column."""
    words = asked.of_all(*path, unit)
    weight = sum(weights[word] for word in words - in_title)
    # "No": it has no weight of its own.
    bare = [heading for heading in path if not asked.terms(heading)]
    weight += sum(asked.names(heading) for heading in bare)
    of_title = sum(weights[word] for word in words & in_title)
    unnamed = sum(not asked.of_all(heading) for heading in path)
    left_out = 0
    if not unnamed:
        left_out = len(set(asked.terms(" ".join(path))) - asked.every)
    return (
        bool(path) and asked.names(path[-1]),
        asked.wants_share and unit == "%",
        round(weight, 6),
        round(of_title, 6),
        -unnamed,
        -left_out,
    )


def _weights(asked: AskedWords, table: RowFigures) -> dict[str, float]:
    """Return what each word of a question says of a column: little, if many columns
    have it.
    """
    counts = Counter[str]()
    for path in table.columns:
        counts.update(asked.of_all(*path))
    units = {figure.unit for figure in table.figures}
    counts.update(asked.of_all(*units) - counts.keys())
    weights: dict[str, float] = defaultdict(float)
    for word, count in counts.items():
        weights[word] = 1 / count
    return weights


def _column(asked: AskedWords, table: RowFigures) -> tuple[str, str, str] | None:
    """Return the heading, label and unit of the column that a question names best; None
    where it names none of several.
    """
    figures, _ = _best_columns(asked, table, table.figures)
    if not figures:
        return None
    first = figures[0]
    return first.heading, first.label, first.unit


def _across(asked: AskedWords, table: RowFigures) -> tuple[IndicatorFigures, list[str]]:
    """Return what the row that a question names has in its columns, which are what is
    ranked or compared there, and the columns that it names; nothing where it asks which
    row.
    """
    if _asks_for_row(asked, table):
        return IndicatorFigures("", "", {}), []
    row, _ = _named_row(asked, table)
    by_subject: FiguresByRow = defaultdict(list)
    for figure in table.figures:
        path = table.path_of(figure)
        is_of_row = row in table.rows and figure.subject == row
        if is_of_row and path and not is_total(path[-1]):
            by_subject[path[-1]].append(figure)
    named = [name for name in by_subject if asked.names(name)]
    return IndicatorFigures(row or "", "", by_subject), named


def _asks_for_row(asked: AskedWords, table: RowFigures) -> bool:
    """Return whether a question asks which row, by the head of its name, or which month
    of rows that are months: not which column.
    """
    thing = set(asked.terms(thing_asked(asked.text)))
    _, _, line = table.chunk.text.rpartition("\n")
    head, _, rest = line.partition(": ")
    if is_time(rest.partition("; ")[0]):
        head = f"{head} month day week quarter"
    return bool(thing) and thing <= set(asked.terms(head))


def _without_contained(asked: AskedWords, names: Sequence[str]) -> list[str]:
    """Return the named rows without those whose words are all said as words of another:
    "Australia" where "South Australia" is named.
    """
    said = Counter(asked.terms(asked.text))
    kept: list[str] = []
    for name in names:
        own = set(asked.terms(name))
        longer = [other for other in names if own < set(asked.terms(other))]
        if not longer or all(said[term] > len(longer) for term in own):
            kept.append(name)
    return kept


def _without_sum(by_subject: FiguresByRow) -> FiguresByRow:
    """Return rows without one that is the sum of all others: a total that its name does
    not tell.
    """
    values = {subject: rows[-1].value for subject, rows in by_subject.items()}
    total = sum(values.values())
    for subject, value in values.items():
        is_sum = abs(total - 2 * value) <= abs(value) * SUM_TOLERANCE
        if len(values) >= ROWS_OF_SUM and value and is_sum:
            if by_subject[subject][-1].unit == "%":
                continue
            return {name: rows for name, rows in by_subject.items() if name != subject}
    return by_subject


def _by_year(figures: Sequence[ReportedFigure]) -> FiguresByRow:
    """Return the figures of a table each row of which is a year."""
    return {str(figure.year): [figure] for figure in figures if figure.year}


def _is_under(figure: ReportedFigure, label: str, unit: str) -> bool:
    """Return whether a figure is of a column: a share beside the number may have its
    heading.
    """
    if figure.label != label:
        return False
    return figure.unit == unit or "%" not in {unit, figure.unit}


def _is_subtotal(line: str) -> bool:
    """Return whether a row is the total of a group: "District: Total North"."""
    return any(is_total(cell.rpartition(": ")[2]) for cell in line.split("; "))


def _asks_for_groups(asked: AskedWords, line: str) -> bool:
    """Return whether a row is the total of a group of the kind that a question asks
    for: "Region: North; District: Total North" of regions.
    """
    outer, _, inner = line.partition("; ")
    kind, _, group = outer.partition(": ")
    other, _, _ = inner.partition(": ")
    if not group or is_total(group) or not _is_subtotal(line):
        return False
    return asked.names(kind) and not asked.names(other)


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
