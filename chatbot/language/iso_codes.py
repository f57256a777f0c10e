"""The countries of ISO 3166 with their names, and their provinces. `iso/README.md` says
where the tables come from.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ..domain.tables import Texts

__all__ = ["FOREIGN_LANGUAGES", "Country", "Province", "countries", "provinces"]
FOREIGN_LANGUAGES = ("es", "fr", "de", "pt", "pt_PT", "ar")
"""Those of the names beside the English ones."""


@dataclass(frozen=True, slots=True)
class Country:
    """A country of ISO 3166-1. ``official_name`` and ``common_name`` are empty where
    they are its name; ``foreign_names`` stand in the order of `FOREIGN_LANGUAGES`.
    """

    alpha_2: str
    alpha_3: str
    numeric: str
    name: str
    official_name: str
    common_name: str
    foreign_names: Texts

    @property
    def usual_name(self) -> str:
        """The name that people say: Bolivia, not "Bolivia, Plurinational State of"."""
        return self.common_name or self.name


@dataclass(frozen=True, slots=True)
class Province:
    """A province of ISO 3166-2, and the two letters of its country."""

    country: str
    name: str


@cache
def countries() -> tuple[Country, ...]:
    """Return all countries, by their three letters."""
    return tuple(
        Country(
            row["alpha_2"],
            row["alpha_3"],
            row["numeric"],
            row["name"],
            row["official_name"],
            row["common_name"],
            tuple(row[language] for language in FOREIGN_LANGUAGES),
        )
        for row in _rows("countries")
    )


@cache
def provinces() -> tuple[Province, ...]:
    """Return all provinces, by country."""
    return tuple(Province(row["country"], row["name"]) for row in _rows("provinces"))


def _rows(table: str) -> Iterator[dict[str, str]]:
    text = files(__package__).joinpath("iso", f"{table}.csv").read_text("utf-8")
    return csv.DictReader(text.splitlines())
