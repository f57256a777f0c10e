"""Tables as loaders read them: rows of texts with the headings of rows and columns.

A path is a tuple of headings, from the outermost inwards: ``("Secondary schools",
"Rural")``. Loaders say which headings a cell has; `chatbot/library/tables.py` says
which of them is a subject, an indicator, a year or a unit.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

__all__ = ["Headings", "Stated", "Table", "TableRow", "TableRows", "Texts"]

Texts = tuple[str, ...]
"""Any number of texts, in order."""
Headings = Texts
"""A path of headings, from the outermost inwards."""


class Stated(NamedTuple):
    """One figure that a passage states, in its text or in a cell of its table.

    ``subject``: what the figure is of, "" = what the passage is about. ``heading``: the
    line above it, "" = the passage's own. ``label``: "male", "border countries: Chad".
    ``value`` is exact and has its scale: "1.2" below "US$ million" is 1200000 with the
    unit "$". ``years``: all of a span, of which the last is `year`; none where the text
    gives none.
    """

    heading: str
    label: str
    value: Decimal
    unit: str
    text: str
    years: frozenset[int] = frozenset()
    estimate: bool = False
    subject: str = ""

    @property
    def year(self) -> int | None:
        """The newest year that it is stated for; None where it has none."""
        return max(self.years, default=None)


@dataclass(frozen=True, slots=True)
class TableRow:
    """``texts``: one for each column of the table, as the file shows it, "" = empty.

    ``path`` has the names of groups first, then the row's own headings.
    """

    path: Headings
    texts: Texts


@dataclass(frozen=True, slots=True)
class Table:
    """``columns``: the path of each column, () = it has no heading.

    ``row_heads`` name the last levels of the rows' paths, as the column "Region" names
    its values; "" = no name. ``unit`` and ``note`` are lines that stand beside the
    table, ``place`` is where it stands: a sheet, a page.
    """

    columns: tuple[Headings, ...]
    rows: tuple[TableRow, ...]
    row_heads: Headings = ()
    title: str = ""
    unit: str = ""
    note: str = ""
    place: str = ""
    tags: Headings = ()
    """What the file itself says of the levels of `row_heads` and of the columns, one
    after the other: tags of the Humanitarian Exchange Language; () = nothing.
    """


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table that a section shows, from ``start`` to before ``stop``: a line
    of the section's text for each, below ``head``.

    ``head``: the lines above them, such as title and unit; "" = none.
    """

    table: Table
    start: int
    stop: int
    head: str = ""

    @property
    def rows(self) -> tuple[TableRow, ...]:
        """The rows themselves."""
        return self.table.rows[self.start : self.stop]
