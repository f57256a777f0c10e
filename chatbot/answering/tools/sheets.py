"""Answers from all rows of a sheet: what a question wants computed of its cells, their
sum or mean, a ranking, or those that it names beside each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...checking.tables import markdown_table
from ...domain.figure_query import (
    Aggregate,
    AnyStep,
    FigureQuery,
    FigureTable,
    Rank,
)
from ...domain.protocols import Passages
from ...language.analysis import TERM_PATTERN
from ...language.markdown import escape_markdown
from ...language.periods import month_names, periods_in
from ...language.reported_figures import dated_text
from ...language.table_words import is_start
from ...questions.computations import (
    Computation,
    compared_end,
    counted_place,
    extreme_of_time,
    read_computations,
    span_asked,
    without_computations,
    without_extreme,
    without_there,
)
from ...questions.kinds import (
    Request,
    asks_altogether,
    asks_average,
    asks_how_many,
    read_request,
)
from ...questions.reading import list_in_words
from ...search.unused_words import UnusedWords
from ...search.weights import read_weight
from ..answer_card import card_of, card_of_table
from ..asked_words import LACKING, AskedWords, FoundTables, RowFigures, Words
from ..figure_queries import cited
from ..figure_questions import steps_of
from ..figure_sentences import in_words, numbered, side_by_side, whole_of
from ..figure_steps import run
from ..figure_tables import FigureTables
from ..figure_words import Rendered, render_table
from ..sheet_counts import SheetCounts
from ..sheet_names import computed_text
from ..sheet_rows import DOCUMENT, SheetRow, moment_of
from ..sheet_sums import ComputedCells, SheetSums
from ..sheets import Sheet, SheetReader
from ..table_rows import RowReader
from ..turn import Turn

__all__ = ["SheetTool"]

MOST_ROWS = int(read_weight("sheets.rows"))
MOST_COUNTED = int(read_weight("sheets.counted"))


@dataclass(frozen=True, slots=True)
class SheetTool:
    """Computes from the rows of sheets, and puts that into words."""

    tables: FigureTables
    store: Passages
    rows: RowReader

    def computed(self, turn: Turn, request: Request) -> Rendered | None:
        """Return what a question wants computed of the cells of a sheet: a change, a
        ratio, a share. Where that is not done, the rows that it may be about, and which
        words were not computed; None where it wants nothing of the kind, or no sheet
        has its words. Raises SearchEngineError.
        """
        if not read_computations(computed_text(turn.reading.text)):
            return None
        asked = self.rows.read(turn, without=without_computations)
        ranks = request.kind == "ranking"
        for sums, lacking in self._sums(turn, asked, ranks=ranks):
            if len(lacking) > LACKING * len(asked.words):
                break
            rows = _shared_rows(sums)
            if any(word.isdigit() for word in lacking):
                # "More than 1,000" or a year is said in no other words.
                result = None
            elif rows is None:
                result = sums.compute()
            else:
                result = rows.share(sums.freed_head() or "")
            rendered = None
            if result is not None:
                rendered = self._result(turn, request, sums, result)
            elif sums.lacking is not None and not turn.has_model:
                words = _with_next_word(sums.text, sums.lacking)
                rendered = self._rows_instead(turn, sums, words)
            if rendered is None:
                continue
            unused = UnusedWords(turn.judge)
            if lacking and unused.of_figures(
                turn.reading, rendered.things, rendered.text
            ):
                continue
            return rendered
        return None

    def _sums(
        self, turn: Turn, asked: AskedWords, *, ranks: bool = False
    ) -> list[tuple[SheetSums, Words]]:
        """Return what computes from each sheet that a question may mean, and its words
        that the sheet lacks: fewest first.
        """
        found = self.rows.find(turn, asked)
        if ranks and all(map(str.isdigit, asked.words)):
            found = self.rows.own_documents(turn)
        reader = SheetReader(self.store, self.tables)
        text = computed_text(turn.reading.text)
        return reader.sums(asked, found, turn.question.scope, text, ranks=ranks)

    def counted(self, turn: Turn, request: Request) -> Rendered | None:
        """Return how many rows, or labels under a head, a question counts that no
        column counts; where it says more of them, the rows that it may be about. None
        where it counts none. Raises SearchEngineError.
        """
        text = computed_text(turn.reading.text)
        place = counted_place(text)
        if place is None or request.bound is not None:
            return None
        asked = self.rows.read(turn, without=without_there)
        near: Rendered | None = None
        for sums, lacking in self._sums(turn, asked):
            counts = SheetCounts(sums, place)
            if counts.shared is not None:
                shared = counts.of_share()
                if shared is not None:
                    return self._result(turn, request, sums, shared)
            elif counts.is_in_column:
                return None
            elif counts.thing is None:
                continue
            elif not counts.lacking:
                return self._counted(turn, counts)
            has_half = 2 * len(lacking) <= len(asked.words)
            if near is None and has_half and not turn.has_model:
                near = self._rows_instead(turn, sums, text[place:].strip(" ?"))
        return near

    def of_person(self, turn: Turn, request: Request) -> Rendered | None:
        """Return who of the people in a sheet has most of what a column counts, or
        began first or last. None of other questions. Raises SearchEngineError.
        """
        asked = self.rows.read(turn, without=without_extreme)
        for sums, lacking in self._sums(turn, asked, ranks=True):
            head = sums.head_of_persons
            if not head or len(lacking) > LACKING * len(asked.words):
                continue
            if sums.names.columns:
                column = sums.names.columns[0].name
                ranked = sums.sums_of_groups(column, head)
                if ranked is not None:
                    return self._result(turn, request, sums, ranked)
            ordered = self._in_order_of_time(turn, sums, head)
            if ordered is not None:
                return ordered
        return None

    def _in_order_of_time(
        self, turn: Turn, sums: SheetSums, head: str
    ) -> Rendered | None:
        """Return the people of a sheet in the order in which they began, those of the
        years that the question names.
        """
        extreme = extreme_of_time(sums.text)
        starts = [one for one in sums.rows[0].labels if is_start(one)]
        years = turn.reading.every_year
        asks_start = extreme or (years and is_start(turn.reading.text))
        if not asks_start or len(starts) != 1:
            return None
        [start] = starts
        names: dict[str, SheetRow] = {}
        for row in sorted(
            sums.chosen(), key=lambda row: moment_of(start, row.labels[start])
        ):
            year = moment_of(start, row.labels[start])[:1]
            if all(one.condition.matches(int(*year)) for one in years):
                names[row.label_of([head, start])] = row
        if extreme == "last":
            names = dict(reversed(names.items()))
        if not names:
            return None
        first = list(names)[: 1 if extreme else MOST_ROWS]
        text = f"{escape_markdown(start)}: {escape_markdown('; '.join(first))}."
        return self._listed(turn, sums, text, names)

    def _counted(self, turn: Turn, counts: SheetCounts) -> Rendered:
        """Return a count in a sentence, above the names of what was counted."""
        assert counts.thing is not None
        sums = counts.sums
        rows = counts.counted(sums.chosen())
        whole = len(counts.counted(sums.rows))
        value = str(len(rows))
        if len(rows) != whole:
            value = turn.say("{value} of {whole}", value=value, whole=whole)
        name = counts.thing.name or sums.subject
        if name:
            value = f"{escape_markdown(name)}: {value}"
        text = f"**{escape_markdown(sums.rows[0].chunk.title)}:** {value}."
        names = {counts.name_of(row): row for row in rows}
        return self._listed(turn, sums, text, names)

    def _listed(
        self, turn: Turn, sums: SheetSums, text: str, names: Mapping[str, SheetRow]
    ) -> Rendered:
        """Return a sentence above the names of rows."""
        rendered = Rendered(turn.say)
        lines: list[str] = []
        for name, row in list(names.items())[:MOST_COUNTED]:
            number = rendered.number_of(row.chunk.id)
            lines.append(f"{len(lines) + 1}. {escape_markdown(name)} [{number}]")
        rendered.text = "\n\n".join([text, "\n".join(lines)])
        return self._with_words(turn, sums, rendered)

    def _result(
        self, turn: Turn, request: Request, sums: SheetSums, result: ComputedCells
    ) -> Rendered | None:
        """Return what was computed as a sentence, of a ranking as a list."""
        table = result.table
        if result.is_ranking:
            steps = (Rank(lowest=request.lowest, most=request.most),)
            table = cited(run(steps, table))
            query = FigureQuery.model_construct(steps=steps)
            text = in_words(query, table, turn.say)
        else:
            table = cited(table)
            text = _sentence(result, table, turn)
        rendered = render_table(table, text, turn.say)
        if rendered is None:
            return None
        rendered.card = card_of_table(table, result.parts or table)
        return self._with_words(turn, sums, rendered)

    def _with_words(self, turn: Turn, sums: SheetSums, rendered: Rendered) -> Rendered:
        """Return an answer with all words of its sheet and of the computation, which it
        uses.
        """
        about = {row.chunk.search_text for row in sums.rows}
        about |= {f"{row.chunk.title} {row.chunk.section}" for row in sums.rows}
        computed = [sums.text[one.start : one.end] for one in sums.names.computations]
        months = month_names(" ".join(about))
        things = (
            *rendered.things,
            *sorted(about),
            *computed,
            turn.reading.text,
            months,
        )
        return replace(rendered, things=things)

    def _rows_instead(self, turn: Turn, sums: SheetSums, words: str) -> Rendered:
        """Return the rows that a question may be about, and which ``words`` of it were
        not computed.
        """
        columns = list(dict.fromkeys(one.name for one in sums.names.columns))
        rows = sums.chosen() or list(sums.rows)
        if not columns:
            columns = list(dict.fromkeys(head for row in rows for head in row.figures))
        heads = [head for head in rows[0].labels if head != DOCUMENT]
        rendered = Rendered(turn.say)
        lines: list[list[str]] = []
        for row in rows[:MOST_ROWS]:
            line = [escape_markdown(row.labels.get(head, "")) for head in heads]
            for column in columns:
                figure = row.figures.get(column)
                text = dated_text(figure, turn.say) if figure is not None else ""
                line.append(text)
            number = rendered.number_of(row.chunk.id)
            line[-1] = f"{line[-1]} [{number}]".strip()
            lines.append(line)
        say = turn.say
        text = say(
            "“{words}” was not computed. The rows of “{title}” that it may be about:",
            words=escape_markdown(words),
            title=escape_markdown(rows[0].chunk.title),
        )
        table = markdown_table(
            [escape_markdown(name) for name in heads + columns], lines
        )
        rendered.text = f"{text}\n\n{table}"
        if len(rows) > MOST_ROWS:
            more = say("… and {number} more.", number=len(rows) - MOST_ROWS)
            rendered.text += f"\n\n{more}"
        rendered.unused = (words,)
        rendered.is_near = True
        return rendered

    def of_sheet(
        self, turn: Turn, asked: AskedWords, found: FoundTables, *, may_lack: bool
    ) -> Rendered | None:
        """Return what a question makes of all rows of a sheet: their sum or mean, a
        ranking, or those that it names beside each other. None where it asks for none
        of these. ``may_lack``: the sheet may lack a few of its words.
        """
        sheet = self._sheet(turn, asked, found, may_lack=may_lack)
        if sheet is None:
            return None
        request = self._request(turn)
        if request.kind == "ranking" and sheet.ranks_columns:
            return self._ranked_columns(turn, sheet, request)
        if len(sheet.rows) == 1 and len(sheet.columns) == 1:
            return self._of_month(turn, asked, sheet)
        if not sheet.opened:
            return None
        if sheet.compared is not None:
            return self._compared_sheet(turn, sheet, [sheet.compared])
        if len(sheet.columns) > 1:
            return None
        if request.kind == "ranking":
            return self._ranked_sheet(turn, sheet, request)
        if asks_average(turn.reading.text):
            mean = (Aggregate(op="mean"),)
            return self._steps_of_sheet(turn, sheet, sheet.opened, mean)
        return self._total(turn, asked, sheet, request)

    def _total(
        self, turn: Turn, asked: AskedWords, sheet: Sheet, request: Request
    ) -> Rendered | None:
        """Return what all rows have together; None where a question asks for no total,
        or counts what the sheet does not.
        """
        text = turn.reading.text
        if asks_how_many(text) and not sheet.counts:
            return None
        is_amount = asks_how_many(text) and sheet.is_added_up
        names_time = bool(asked.years) or span_asked(asked.text) is not None
        is_total = asks_altogether(text) or (is_amount and names_time)
        if is_total or (sheet.has_inner_rows and request.kind == "value"):
            return self._total_of_sheet(turn, asked, sheet)
        return None

    def _request(self, turn: Turn) -> Request:
        """Return what a question asks for: of two things named, which is cheaper, their
        ranking.
        """
        request = read_request(turn.reading, countries=0)
        end = compared_end(turn.reading.text)
        if end and request.kind == "value":
            return replace(request, kind="ranking", lowest=end == "lowest")
        return request

    def _ranked_columns(
        self, turn: Turn, sheet: Sheet, request: Request
    ) -> Rendered | None:
        """Return the columns of a sheet that has their sum, too, ranked by what they
        have in the rows that a question means: the schools of a month.
        """
        table = sheet.table_of_columns()
        if table is None:
            return None
        steps = steps_of(request)
        ranked = cited(run(steps, table))
        query = FigureQuery.model_construct(steps=steps)
        return self._rendered(turn, sheet, ranked, in_words(query, ranked, turn.say))

    def _of_month(self, turn: Turn, asked: AskedWords, sheet: Sheet) -> Rendered | None:
        """Return the one cell of a month that a question names without its year, and
        whether older years have it, too; None where it names no such month.
        """
        periods = periods_in(turn.reading.text)
        if turn.has_model or asked.years or not periods:
            return None
        note = ""
        if sheet.has_older:
            note = turn.say("Several years have this month: this is the newest.")
        return self._of_cell(turn, asked, sheet, note)

    def _of_cell(
        self, turn: Turn, asked: AskedWords, sheet: Sheet, note: str
    ) -> Rendered:
        """Return the one cell of a sheet as a sentence, with a note behind it."""
        [row] = sheet.rows
        figures = [row.figures[sheet.columns[0]]]
        text = self.rows.tell(asked, RowFigures(row.chunk), figures, turn.say)
        if note:
            sentence, _, quotation = text.partition("\n\n")
            text = f"{sentence} {note}\n\n{quotation}".strip()
        things = [*sheet.about, month_names(" ".join(sheet.about))]
        if not sheet.lacking:
            things.append(asked.query)
        return Rendered(turn.say, [row.chunk.id], text, tuple(things), card_of(figures))

    def of_row(
        self, turn: Turn, asked: AskedWords, found: FoundTables
    ) -> Rendered | None:
        """Return the one cell that a question names by all of its labels and words;
        None where it names no such row, or several columns.
        """
        sheet = self._sheet(turn, asked, found, may_lack=False)
        if sheet is None or turn.has_model or sheet.lacking or len(sheet.chosen) < 2:
            return None
        if len(sheet.rows) > 1 or len(sheet.columns) > 1:
            return None
        return self._of_cell(turn, asked, sheet, "")

    def _compared_sheet(
        self, turn: Turn, sheet: Sheet, heads: Sequence[str]
    ) -> Rendered | None:
        """Return the rows that a question names beside each other; None where they are
        no parts of anything: `RowReader.of_rows` reads those.
        """
        if not sheet.has_inner_rows or not sheet.may_be_grouped(heads):
            return None
        table = cited(sheet.grid(heads))
        text = side_by_side(table, turn.say)
        return self._rendered(turn, sheet, table, text)

    def _ranked_sheet(
        self, turn: Turn, sheet: Sheet, request: Request
    ) -> Rendered | None:
        """Return a ranking of inner rows, without those that the sheet itself adds
        up: `RowReader.of_rows` reads the others.
        """
        heads = [sheet.ranked]
        is_plain = not sheet.has_inner_rows or sheet.has_totals
        if is_plain or not sheet.may_be_grouped(heads):
            return None
        return self._steps_of_sheet(turn, sheet, heads, steps_of(request))

    def _sheet(
        self, turn: Turn, asked: AskedWords, found: FoundTables, *, may_lack: bool
    ) -> Sheet | None:
        """Return the sheet that has the words of a question; None where no sheet has
        enough of them.
        """
        reader = SheetReader(self.store, self.tables)
        sheet = reader.read(asked, found, turn.question.scope)
        if sheet is None or len(sheet.lacking) > LACKING * len(asked.words):
            return None
        if any(word[:1].isdigit() for word in sheet.lacking):
            # A month or a year is said in no other words.
            return None
        if sheet.lacking and not may_lack:
            unused = UnusedWords(turn.judge)
            if unused.of_figures(turn.reading, sheet.about, ""):
                return None
        return sheet

    def _total_of_sheet(
        self, turn: Turn, asked: AskedWords, sheet: Sheet
    ) -> Rendered | None:
        """Return the rows of a sheet, behind their sum where they can be added up; of
        what is there at a time, as staff, those of the newest month.
        """
        sheet, period = sheet.at_one_time()
        note = ""
        if period:
            text = "Months are not added up here: this is the newest, {period}."
            note = turn.say(text, period=escape_markdown(period))
        if len(sheet.rows) == 1:
            return self._of_cell(turn, asked, sheet, note)
        if sheet.is_added_up:
            total = (Aggregate(op="sum"),)
            rendered = self._steps_of_sheet(turn, sheet, sheet.opened, total)
            if rendered is not None and note:
                sentence, _, rows = rendered.text.partition("\n\n")
                rendered.text = f"{sentence} {note}\n\n{rows}"
            return rendered
        if len(sheet.columns) == 1 and len(sheet.by_unit) > 1:
            return self._totals_of_units(turn, sheet)
        table = cited(sheet.grid(sheet.opened))
        name = escape_markdown(table.columns[0].indicator)
        rows = whole_of(table, turn.say)
        text = turn.say("{name}: {rows}, which are not added up.", name=name, rows=rows)
        text = f"{_of_title(sheet)}{text}{numbered(table, turn.say)}"
        return self._rendered(turn, sheet, table, text)

    def _totals_of_units(self, turn: Turn, sheet: Sheet) -> Rendered | None:
        """Return the sum of a column for each of its units, above the rows; None where
        its figures cannot be added up.
        """
        totals: list[str] = []
        for of_unit in sheet.by_unit.values():
            if not of_unit.is_added_up:
                return None
            [cell] = of_unit.grid([]).rows[0].cells
            if cell is not None:
                totals.append(escape_markdown(cell.text))
        table = cited(sheet.grid(sheet.opened))
        say = turn.say
        text = say(
            "{name}: {values}. Different units are not added up.",
            name=escape_markdown(table.columns[0].indicator),
            values=list_in_words(totals, say("and"), say(", ")),
        )
        text = f"{_of_title(sheet)}{text}{numbered(table, say)}"
        return self._rendered(turn, sheet, table, text)

    def _steps_of_sheet(
        self,
        turn: Turn,
        sheet: Sheet,
        heads: Sequence[str],
        steps: tuple[AnyStep, ...],
    ) -> Rendered | None:
        """Return what steps make of the rows of a sheet, those with the same labels
        under these heads added up first; below a sum or mean also the rows.
        """
        grid = sheet.grid(heads)
        table = cited(run(steps, grid))
        query = FigureQuery.model_construct(steps=steps)
        text = in_words(query, table, turn.say)
        if not isinstance(steps[0], Aggregate):
            return self._rendered(turn, sheet, table, text)
        text = f"{_of_title(sheet)}{text}{numbered(cited(grid), turn.say)}"
        return self._rendered(turn, sheet, table, text, parts=grid)

    def _rendered(
        self,
        turn: Turn,
        sheet: Sheet,
        table: FigureTable,
        text: str,
        *,
        parts: FigureTable | None = None,
    ) -> Rendered | None:
        """Return a table in words; ``parts``: what its one value was computed from."""
        rendered = render_table(table, text, turn.say)
        if rendered is None:
            return None
        card = card_of_table(table, parts or table)
        # A row of "2024-04" tells of April.
        months = month_names(" ".join(sheet.about))
        things = [*rendered.things, *sheet.about, months]
        if not sheet.lacking:
            # "Rain" of "Rainfall".
            things.append(sheet.asked.query)
        return replace(rendered, things=tuple(things), card=card)


def _with_next_word(text: str, computation: Computation) -> str:
    """Return the words that ask for a computation; of "per" with what it is of."""
    end = computation.end
    if computation.kind == "per":
        behind = TERM_PATTERN.search(text, end)
        if behind is not None:
            end = behind.end()
    return text[computation.start : end].strip()


def _shared_rows(sums: SheetSums) -> SheetCounts | None:
    """Return what counts the rows of a sheet, where the question asks for a share of
    them: "What share of the staff are engineers?" None where it asks for none.
    """
    for computation in sums.names.computations:
        counts = SheetCounts(sums, computation.end)
        if computation.kind == "share" and counts.thing is not None:
            return counts
    return None


def _sentence(result: ComputedCells, table: FigureTable, turn: Turn) -> str:
    """Return what was computed in a sentence."""
    [row] = table.rows
    [cell] = row.cells
    assert cell is not None
    marks = "".join(f"[{number}]" for number in cell.citations)
    text = "{subject}, {name}: {value}, from {how}."
    value = cell.text
    if result.kind == "change":
        text = "{subject}, {name}: rose by {value}: {how}."
        if cell.value < 0:
            text = "{subject}, {name}: fell by {value}: {how}."
        value = value.removeprefix("-")
    return turn.say(
        text,
        subject=escape_markdown(result.subject),
        name=escape_markdown(result.name),
        value=escape_markdown(value),
        how=f"{escape_markdown(cell.how)} {marks}".strip(),
    )


def _of_title(sheet: Sheet) -> str:
    """Return the beginning of a sentence that says which document it is about; "" of
    several documents.
    """
    if sheet.title:
        return f"**{escape_markdown(sheet.title)}:** "
    return ""
