"""Writes a comparison: an answer with a table, every cell with its source; what reports
say in words is quoted side by side, under one heading.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from ...checking.tables import EMPTY, markdown_table, with_sources
from ...domain import Context, Passage, Quotation
from ...domain.chat import Prompt
from ...language.markdown import escape_markdown, quotation_markdown
from ...language.words import Say, in_english
from ...models.prompts import on_one_line
from ..answer import NOTHING, prompt_for
from ..planners.sides import BySides, Compared, listed, no_other_report
from ..turn import Turn
from . import Desk
from .prose import LongProse

MAX_QUOTED_ROWS = 2
"""Rows of quotations where no model writes."""
MAX_COLUMNS = 3
"""More sides are rows instead of columns."""


class ComparisonTable(LongProse):
    """Side by side: the model's table, or quotations."""

    def __init__(self, desk: Desk, planner: BySides) -> None:
        super().__init__(desk)
        self._planner = planner

    @property
    def _compared(self) -> Compared:
        assert self._planner.compared is not None, "the searches are over"
        return self._planner.compared

    def prompt(self, turn: Turn, context: Context) -> Prompt:
        lines = [
            f"- {on_one_line(name)}: {', '.join(map(str, cited)) or 'none'}"
            for name, cited in self._numbers(context).items()
        ]
        table = turn.found.table
        return prompt_for(
            turn.question,
            context,
            rules="compare_system",
            template="compare_user",
            sides="\n".join(lines),
            table=table.text if table else "",
        )

    def quote(self, turn: Turn, context: Context) -> str:
        """Return each side's passages under the headings of most sides, else those its
        own question finds first.
        """
        of_side = {
            name: [one for one in context.passages if one.number in numbers]
            for name, numbers in self._numbers(context).items()
        }
        headings = _shared_headings(of_side)
        queries = {side.name: side.query for side in self._compared.ready}
        cells = {
            name: [
                self._quotation(queries[name], passages, heading)
                for heading in headings
            ]
            for name, passages in of_side.items()
        }
        return quotes_table(cells, turn.say)

    def complete(self, turn: Turn, text: str, context: Context) -> tuple[str, str]:
        """Empty cells without a source; add a table of quotations to an answer without
        a table.
        """
        checked = with_sources(text, self._numbers(context))
        parts = [checked.text]
        if checked.emptied:
            parts.append(turn.say("A table without any source was left out."))
        if not checked.tables:
            heading = turn.say("Side by side, quoted from the reports:")
            parts.append(f"{heading}\n\n{self.quote(turn, context)}")
        below = self._notes(turn, checked.dropped)
        return (
            "\n\n".join(part for part in parts if part),
            "\n\n".join(note for note in below if note),
        )

    def _quotation(
        self, query: str, passages: Sequence[Passage], heading: str
    ) -> Quotation | None:
        under = [one for one in passages if one.hit.chunk.heading == heading]
        quotes = self.desk.quoter.quotes(query, under)
        if quotes:
            return quotes[0]
        return None

    def _notes(self, turn: Turn, dropped: Sequence[str]) -> list[str]:
        """Return sentences below the table on what is not in it: names without a
        source, which no passage bears.
        """
        say = turn.say
        compared = self._compared
        notes: list[str] = []
        if dropped:
            text = "Left out of the table because no source supports them: {names}."
            notes.append(say(text, names=listed(dropped, say)))
        failed = [
            side.name
            for side, result in zip(compared.ready, compared.results, strict=True)
            if result is None
        ]
        if failed:
            text = "The search failed or took too long for {names}."
            notes.append(say(text, names=listed(failed, say)))
        notes.append(no_other_report(compared.every, turn))
        if compared.every.left_out:
            text = "Too many to compare at once; left out: {names}."
            notes.append(say(text, names=listed(compared.every.left_out, say)))
        return notes

    def _numbers(self, context: Context) -> dict[str, list[int]]:
        """Return the numbers of each side's passages."""
        compared = self._compared
        numbers: dict[str, list[int]] = {}
        for side, result in zip(compared.ready, compared.results, strict=True):
            inside = side.scope.strict()
            ids = {
                hit.chunk.id
                for hit in compared.hits
                if inside.matches(hit.chunk.metadata)
            }
            if result is not None:
                ids.update(hit.chunk.id for hit in result.hits)
            numbers[side.name] = [
                passage.number
                for passage in context.passages
                if passage.hit.chunk.id in ids
            ]
        return numbers


def _shared_headings(of_side: Mapping[str, Sequence[Passage]]) -> list[str]:
    """Return the headings of the passages that most sides have, the nearest to what is
    asked first, at most `MAX_QUOTED_ROWS`.
    """
    sides_of = defaultdict[str, set[str]](set)
    scores: dict[str, float] = {}
    for name, passages in of_side.items():
        for passage in passages:
            heading = passage.hit.chunk.heading
            sides_of[heading].add(name)
            scores[heading] = passage.hit.heading_score or 0.0
    counts = [len(names) for names in sides_of.values()]
    most = max(counts, default=0)
    shared: list[str] = []
    for heading, names in sides_of.items():
        if len(names) == most:
            shared.append(heading)
    shared.sort(key=lambda heading: -scores[heading])
    return shared[:MAX_QUOTED_ROWS]


def quotes_table(
    quotes: Mapping[str, Sequence[Quotation | None]], say: Say = in_english
) -> str:
    """Return what each side's quotations say: a column for each side, or a row if there
    are many; None = nothing.
    """
    columns = {
        escape_markdown(name): _cells(name, of_side, say)
        for name, of_side in quotes.items()
    }
    if len(columns) > MAX_COLUMNS:
        rows = [
            (name, " ".join(cell for cell in cells if cell != EMPTY))
            for name, cells in columns.items()
        ]
        return markdown_table(["", say("Quoted")], rows)
    rows_of = list(zip_longest(*columns.values(), fillvalue=EMPTY))
    return markdown_table(list(columns), rows_of)


def _cells(name: str, quotes: Sequence[Quotation | None], say: Say) -> list[str]:
    """Return the cells of one side."""
    if not any(quotes):
        return [say(NOTHING)]
    cells = []
    for quote in quotes:
        if quote is None:
            cells.append(EMPTY)
            continue
        place = escape_markdown(quote.where.removeprefix(f"{name}, "))
        cells.append(f"**{place}:** {quotation_markdown(quote)}")
    return cells
