"""Figures as data: what a report says of one country in one year."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated

from pydantic import Field, PlainSerializer, computed_field

from .json import Hidden
from .scope import Value
from .tables import Texts

Indicators = Mapping[str, Mapping[str, int]]
"""The labels of each heading, with the number of subjects that have each; the label ""
is the heading's own figure.
"""
Number = Annotated[
    Decimal,
    PlainSerializer(
        lambda value: (
            int(value) if value == value.to_integral_value() else float(value)
        ),
        int | float,
    ),
]
"""Whole values stay whole in JSON."""


def indicator_name(heading: str, label: str) -> str:
    """Return the heading, "Median age: male" for a part below it."""
    return ": ".join(filter(None, [heading, label]))


def similar_headings(text: str, headings: Iterable[str]) -> list[str]:
    """Return up to five headings that have a text, in any case, else those that are
    spelt much like it.
    """
    key = " ".join(text.split()).casefold()
    by_key = {heading.casefold(): heading for heading in headings}
    similar = [name for name in by_key if key in name]
    if not similar:
        similar = difflib.get_close_matches(key, by_key, cutoff=0.5)
    return [by_key[name] for name in similar[:5]]


@dataclass(frozen=True, slots=True)
class ReportedFigure:
    """``subject``: what the row or column of a table names, else the country, else the
    report's title. ``label``: the part under a heading that it is of ("male").

    ``value`` with its scale ($1.2 billion is 1200000000, its unit "$"); ``text`` as the
    report writes it. ``year`` is the figure's own, ``edition`` the report's.
    ``newest``: no later edition has this figure of this year.
    """

    subject: str
    heading: Hidden[str]
    label: Hidden[str]
    value: Number
    unit: str
    text: str
    year: int | None
    estimate: bool
    document_id: str
    chunk_id: str
    edition: Value | None
    newest: bool = True
    citation: int | None = None
    """The number of the passage in the answer."""
    how: Annotated[str, Field(exclude_if=lambda how: not how)] = ""
    """How an answer computed it ("sum of 3"); left out of a figure that a report
    states."""

    @computed_field
    @property
    def indicator(self) -> str:
        """The indicator: see `indicator_name`."""
        return indicator_name(self.heading, self.label)


def newest_marked(figures: Iterable[ReportedFigure]) -> list[ReportedFigure]:
    """Return the figures, each once for a report; ``newest``: of the last edition of
    their indicator and year.
    """
    once = {(f.document_id, f.subject, f.indicator, f.year, f.text): f for f in figures}
    newest: dict[tuple[object, ...], str] = {}
    for figure in once.values():
        key = (figure.subject, figure.indicator, figure.year)
        newest[key] = max(newest.get(key, ""), str(figure.edition or ""))
    return [
        replace(
            f, newest=str(f.edition or "") == newest[f.subject, f.indicator, f.year]
        )
        for f in once.values()
    ]


DEFAULT_GLOSSARY = "default"
"""The source of the entries that ship with the program."""


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    """``other_words``: ways to say the term or to ask for its figures.

    ``heading`` and ``label`` are those of the figures that it stands for, "" = none.
    ``formula``: how it is computed from other figures, "[Exports] - [Imports]".
    ``translations``: ways to say the term in other languages, by their ISO 639-1 code.
    ``source``: the id of the report that defines it, DEFAULT_GLOSSARY, or "" for an
    imported entry. ``passage``: the ordinal of the defining passage.
    """

    term: str
    meaning: str
    other_words: Texts = ()
    heading: str = ""
    label: str = ""
    formula: str = ""
    source: str = ""
    passage: Hidden[int | None] = None
    translations: Mapping[str, Texts] = field(default_factory=dict, hash=False)
