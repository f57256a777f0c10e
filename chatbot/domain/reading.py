"""What a question names: countries, years and reports, each with its place in the text."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .scope import Condition, Range, Values


@dataclass(frozen=True, slots=True)
class NamedCountry:
    """``keys``: ISO-3 codes, one but for short names of two countries; a normalised name where it has no code."""

    keys: tuple[str, ...]
    text: str
    start: int
    end: int
    by_people: bool = False
    """Named by what belongs to it ("Kenyan")."""
    taken_as: str = ""
    """The usual name, where a misspelt one was taken for it."""


@dataclass(frozen=True, slots=True)
class NamedYears:
    """A year, or a range of which one end may be open.

    ``of_report``: of an edition ("in the 2023 report"), not of a figure ("in 2023").
    """

    gte: int
    lte: int | None
    start: int
    end: int
    of_report: bool = False

    @property
    def text(self) -> str:
        """In words, for a person."""
        if self.lte is None:
            return f"{self.gte} and later"
        return str(self.gte) if self.gte == self.lte else f"{self.gte} to {self.lte}"

    @property
    def ends(self) -> tuple[int, ...]:
        """The year, or both ends of a range; none where one is open."""
        return () if self.lte is None else tuple(dict.fromkeys((self.gte, self.lte)))

    @property
    def condition(self) -> Condition:
        """For the field of a scope."""
        return Values((self.gte,)) if self.gte == self.lte else Range(self.gte, self.lte)


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A title in the text, and the names of the reports that have it; several editions may."""

    names: tuple[str, ...]
    text: str
    start: int
    end: int


Named = NamedCountry | NamedYears


@dataclass(frozen=True, slots=True)
class Reading:
    """The names in ``text``; those of a kind are in text order.

    ``about``: the ``countries`` that the question is about. ``figure_years``: years of figures ("in 2023");
    ``editions``: years of reports ("the 2023 report"). ``refers``: it speaks of a country without its name ("its
    imports").
    """

    text: str = ""
    countries: tuple[NamedCountry, ...] = ()
    about: tuple[NamedCountry, ...] = ()
    figure_years: tuple[NamedYears, ...] = ()
    editions: tuple[NamedYears, ...] = ()
    refers: bool = False
    document: NamedDocument | None = None

    @property
    def every_year(self) -> list[NamedYears]:
        """The years of reports and of figures, in text order."""
        return sorted([*self.editions, *self.figure_years], key=lambda years: years.start)

    @property
    def names(self) -> list[Named | NamedDocument]:
        """All that is named, in text order."""
        documents = [self.document] if self.document else []
        named: list[Named | NamedDocument] = [*self.countries, *self.every_year, *documents]
        return sorted(named, key=lambda name: name.start)

    def with_years_of_reports(self) -> Reading:
        """Return the reading with every year taken for one of reports."""
        return replace(self, editions=tuple(self.every_year), figure_years=())
