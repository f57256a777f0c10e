"""Answers with a table of figures: series, comparisons, rankings, filters, counts."""

from dataclasses import dataclass, replace

from ...domain.scope import NamedDocument
from ...language.counts import count_of
from ...language.units import convert, is_convertible
from ...questions.kinds import asks_meaning, asks_what_it_is_about
from ...questions.operations import read_conversion
from ..figure_steps import in_unit
from ..figure_words import Rendered
from ..tools.figures import FigureTool
from ..turn import Draft, Turn
from ..writers import Desk
from ..writers.prose import Computed


@dataclass(frozen=True, slots=True)
class TableOfFigures:
    """Compiles the table that a question asks for. Without a language model it is the
    answer; with one it is a source of it.
    """

    figures: FigureTool
    desk: Desk

    def run(self, turn: Turn) -> Draft | None:
        if turn.mode is None or not turn.mode.takes_tables or turn.question.page:
            return None
        if asks_meaning(turn.question.search_text) or _asks_about_report(turn):
            return None
        if turn.absent is not None:
            return None
        if turn.has_model and turn.mode.searches_often:
            return None
        conversion = read_conversion(turn.question.search_text)
        if conversion and is_convertible(conversion.unit, conversion.to):
            value = convert(conversion.value, conversion.unit, conversion.to)
            text = f"{conversion.quantity} = {in_unit(value, conversion.to)}"
            why = "It asks for another unit, and of no report."
            return Draft(text=text, scope=turn.scope, is_answer=True, why=why)
        table = self.figures.compile(turn)
        if table is None:
            return None
        if turn.has_model:
            turn.found.table = table
            return None
        return table_alone(turn, table, self.figures, self.desk)


def table_alone(
    turn: Turn, table: Rendered, figures: FigureTool, desk: Desk
) -> Draft | None:
    """Answer with a table and its passages; None where one of these is no longer
    there.
    """
    count = len(table.chunk_ids)
    turn.events.step("figures", f"Read a table from {count_of(count, 'passage')}")
    hits = figures.passages_of(table)
    if not hits:
        return None
    if table.is_near:
        turn.closest_only = True
        turn.unused = table.unused
    draft = Computed(desk, table).write_from(turn, hits)
    return replace(
        draft,
        is_computed=True,
        is_stated=True,
        why="The table of figures has what it asks.",
        card=table.card,
    )


def _asks_about_report(turn: Turn) -> bool:
    """Return whether a question asks what one report is about, whose title may have the
    words of its columns.
    """
    names = turn.reading.names
    documents = [one for one in names if isinstance(one, NamedDocument)]
    text = turn.question.search_text
    return len(documents) == 1 and asks_what_it_is_about(text, names)
