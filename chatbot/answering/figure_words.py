"""A table of figures in words: one plain sentence first, computed from the table, then
the table with its citations.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

from ..checking.tables import markdown_table
from ..checking.wording import renumber
from ..domain import ReportedFigure
from ..domain.chat import AnswerCard
from ..domain.figure_query import FigureTable
from ..domain.tables import Texts
from ..language.countries import name_in
from ..language.markdown import escape_markdown
from ..language.reported_figures import dated_text
from ..language.words import Say, counted, spoken
from ..questions.reading import list_in_words
from .answer_card import card_of_table

MOST_LISTED = 30
MOST_CHANGES = 12
MOST_COLUMNS = 4
"""Subjects beside each other; more of them are rows."""


@dataclass(slots=True)
class Rendered:
    """``chunk_ids``: the cited passages, in the order of their numbers, from 1."""

    say: Say
    chunk_ids: list[str] = field(default_factory=list)
    text: str = ""
    things: Texts = ()
    """The indicators that it is about."""
    card: AnswerCard | None = None
    """Its figures, without the numbers of their passages."""
    unused: Sequence[str] = ()
    """The words of the question that it surely does not answer."""
    is_near: bool = False
    """It says that there is no answer, and what is nearest to one."""

    def number_of(self, chunk_id: str) -> int:
        """Return the number of a passage that is cited."""
        if chunk_id not in self.chunk_ids:
            self.chunk_ids.append(chunk_id)
        return self.chunk_ids.index(chunk_id) + 1

    def cite(self, figure: ReportedFigure) -> str:
        """Return the figure's text with its year and number: "4.5% (2024 est.) [1]"."""
        text = dated_text(figure, self.say)
        return f"{text} [{self.number_of(figure.chunk_id)}]"


def lacking(subjects: Sequence[str], stated: Container[str], say: Say) -> str:
    """Return a sentence about the countries in scope of which no report states what
    is asked; "" where there are none. ``stated``: those of which one does.
    """
    without = [subject for subject in subjects if subject not in stated]
    if not without:
        return ""
    return say(
        "{number} of {whole} do not state it: {names}.",
        number=len(without),
        whole=counted(say, len(subjects), "country"),
        names=listed_names([name_in(spoken(say), name) for name in without], say),
    )


def listed_names(names: Sequence[str], say: Say) -> str:
    """Return names as Markdown in a sentence, as many as are listed."""
    listed = [escape_markdown(name) for name in names[:MOST_LISTED]]
    if len(names) > MOST_LISTED:
        listed.append("…")
    return list_in_words(listed, say("and"), say(", "))


def render_changes(
    changes: Sequence[tuple[ReportedFigure, ReportedFigure]],
    editions: tuple[int, int],
    say: Say,
) -> Rendered | None:
    """Return the largest changes between two editions as a table; None without any."""
    rendered = Rendered(say)
    rows = [
        [escape_markdown(new.indicator), rendered.cite(old), rendered.cite(new)]
        for old, new in changes[:MOST_CHANGES]
    ]
    if rows:
        rendered.things = tuple(new.indicator for _, new in changes[:MOST_CHANGES])
        head = say(
            "{number} figures differ, the largest changes first:", number=len(changes)
        )
        rendered.text = f"{head}\n\n{markdown_table(['', *map(str, editions)], rows)}"
    if rows:
        return rendered
    return None


def render_table(
    table: FigureTable, text: str, say: Say, *, subject: str = ""
) -> Rendered | None:
    """Return a table in words with its passages, numbered as the words cite them; None
    of an empty one. ``subject``: whose figure is asked for, "" = the first one's.
    """
    if not table.chunk_ids:
        return None
    numbers = range(1, len(table.chunk_ids) + 1)
    text, order = renumber(text, numbers)
    chunk_ids = [table.chunk_ids[number - 1] for number in order]
    things = tuple(column.indicator for column in table.columns)
    card = card_of_table(table)
    if card is not None and subject:
        card = replace(card, subject=subject)
    return Rendered(say, chunk_ids, text, things, card)
