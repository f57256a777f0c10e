"""One small language for figures: which of them, and what is done with them, step by
step. Rules fill it from a question, a language model through the tool `figures`, a
client by POST /api/figures/query.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from .documents import Chunk
from .figures import Number, ReportedFigure
from .json import Hidden, Inlines

Name = Annotated[str, Field(min_length=1, max_length=200)]
Year = Annotated[int, Field(ge=1000, le=2999)]
Axis = Literal["subjects", "indicators", "years"]
MAX_YEARS = 60
"""Years of one query, and columns of an indicator."""


class Step(BaseModel):
    """One operation over the table so far."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Convert(Step):
    """Express the figures in another unit: "square miles", "million people", "per
    100,000 people". ``decimals``: how many are shown, None = as many as it needs.
    """

    op: Literal["convert"] = "convert"
    unit: Name
    decimals: int | None = Field(default=None, ge=0, le=10)


class Difference(Step):
    """Take the second of two subjects, indicators or years from the first."""

    op: Literal["difference"] = "difference"
    of: Axis | None = None
    """None: the one that has two."""


class Ratio(Step):
    """Divide the first of two subjects, indicators or years by the second."""

    op: Literal["ratio"] = "ratio"
    of: Axis | None = None


class Growth(Step):
    """From the first of two years to the second; of more years, from the oldest to the
    newest. ``percent``: in per cent of the first, else in its unit.
    """

    op: Literal["change"] = "change"
    percent: bool = False
    of: Axis | None = None


class ShareOf(Step):
    """Each figure in per cent of the total of all subjects, or of another indicator of
    the query, which then leaves the table.
    """

    op: Literal["share_of"] = "share_of"
    indicator: str = ""


class Aggregate(Step):
    """One figure of those of all subjects."""

    op: Literal["mean", "sum", "min", "max"]


class Rank(Step):
    """Sort the subjects by the first column; keep ``most``, 0 = all. What is said is
    the first one, else the one at ``place``, else the place of the subject ``of``.
    """

    op: Literal["rank"] = "rank"
    lowest: bool = False
    most: int = Field(default=0, ge=0, le=1000)
    place: int = Field(default=0, ge=0, le=1000)
    of: str = Field(default="", max_length=200)


class Filter(Step):
    """Keep the subjects whose figure compares so with ``value``, or with ``value`` and
    ``upper`` (between). It is that of ``indicator``, "" = of the first column. Without
    a value the first column is compared with ``times`` the figure of ``indicator``.
    """

    op: Literal["filter"] = "filter"
    compare: Literal[">", ">=", "<", "<=", "=", "between"]
    value: Decimal | None = None
    upper: Decimal | None = None
    unit: str = Field(default="", max_length=100)
    """Of ``value``; "" = that of the figures."""
    indicator: str = Field(default="", max_length=200)
    times: Decimal = Decimal(1)
    negated: bool = False
    """Keep the others: those that do not compare so."""


class Count(Step):
    """Count the subjects that are left, out of those that have the figure."""

    op: Literal["count"] = "count"


AnyStep = Annotated[
    Convert | Difference | Ratio | Growth | ShareOf | Aggregate | Rank | Filter | Count,
    Field(discriminator="op"),
]


class FigureQuery(BaseModel):
    """``indicators`` are names of headings ("Population"), of their parts ("Median age:
    male"), glossary terms, derived figures ("population density") or formulas of such
    names ("[Exports] / [Imports]"). ``subjects``:
    names of countries, groups or rows; none = all in scope. Without ``years`` and
    ``editions`` each figure is the newest; subjects that are compared have the newest
    year that all have. More than it may name is a download (`GET /api/figures`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    indicators: tuple[Name, ...] = Field(min_length=1, max_length=8)
    subjects: tuple[Name, ...] = Field(default=(), max_length=300)
    years: tuple[Year, ...] = Field(default=(), max_length=MAX_YEARS)
    editions: tuple[Year, ...] = Field(default=(), max_length=MAX_YEARS)
    same_year: bool = True
    """Compare few subjects by the newest year that all have; else by the newest figure
    of each.
    """
    every_year: bool = False
    """A column for each year that the figures have, of ``years`` where some are
    named, instead of the newest.
    """
    steps: tuple[AnyStep, ...] = Field(default=(), max_length=8)


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """``year`` is that of all figures of the column, None = it differs between rows."""

    indicator: str
    unit: str
    year: int | None = None


@dataclass(frozen=True, slots=True)
class FigureCell:
    """``value`` in the unit of its column. ``text`` as it is read: of a copied figure
    that of its report. ``how`` it was computed ("60.1 - 57.4"), "" of a copy.
    ``sources`` are what it was copied or computed from, ``citations`` the numbers of
    their passages.
    """

    value: Number
    text: str
    year: int | None = None
    estimate: bool = False
    how: str = ""
    sources: Hidden[tuple[ReportedFigure, ...]] = ()
    citations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One cell a column; None where there is no figure."""

    subject: str
    cells: tuple[FigureCell | None, ...]


@dataclass(frozen=True, slots=True)
class MissingFigure:
    """What was asked for and no report in scope has. ``year`` None: of any year."""

    subject: str
    indicator: str
    year: int | None = None


@dataclass(frozen=True, slots=True)
class FigureTable:
    """What a query makes. ``whole``: how many subjects had the figure before any was
    filtered or cut. ``shared_year``: the newest year that all compared subjects have,
    where it was chosen. ``chunk_ids``: the cited passages, in the order of their
    numbers, from 1.
    """

    columns: tuple[FigureColumn, ...]
    rows: tuple[FigureRow, ...]
    whole: int
    missing: tuple[MissingFigure, ...] = ()
    shared_year: int | None = None
    compared: tuple[str, ...] = ()
    """The two subjects of a row that was computed from both."""
    counted: int | None = None
    """How many subjects are left, where they were counted."""
    chunk_ids: Hidden[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class FigureSource(Inlines):
    """A passage that cells of a table cite by its number."""

    INLINED: ClassVar = ("chunk",)
    number: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class FigureAnswer(Inlines):
    """A table, what it says in a sentence (Markdown), and the passages it cites."""

    INLINED: ClassVar = ("table",)
    text: str
    table: FigureTable
    citations: tuple[FigureSource, ...]
