"""Small catalogs for what reads the registered reports only, and scopes over them."""

from collections.abc import Collection, Sequence
from typing import Any

from chatbot.domain import DocumentRecord, Range, Scope
from chatbot.domain.documents import HeadingCounts, Holdings, Mentions
from chatbot.domain.scope import CountryGroup, Value, Values
from chatbot.language.groups import usual_groups


class Reports:
    """Implements `protocols.Catalog` over (country, year) pairs; "" and 0 = the report
    has none.
    """

    def __init__(self, *about: tuple[str, int]) -> None:
        self._records = [_record(country, year) for country, year in about]

    def all(self, scope: Scope | None = None) -> list[DocumentRecord]:
        return [
            record
            for record in self._records
            if scope is None or scope.matches(record.metadata)
        ]

    def values(self, field: str, scope: Scope | None = None) -> list[Value]:
        return sorted(
            {
                record.metadata[field]
                for record in self.all(scope)
                if field in record.metadata
            },
            key=str,
        )

    def holdings(self, scope: Scope) -> Holdings:
        return Holdings.of((record, record.chunks) for record in self.all(scope))

    def groups(self) -> Sequence[CountryGroup]:
        return usual_groups()

    def mentions(self, codes: Collection[str], scope: Scope) -> Mentions:
        return Mentions(dict.fromkeys(codes, 0))

    def country_most_named(self, document_id: str) -> str:
        return ""

    def heading_counts(self, document_id: str) -> HeadingCounts | None:
        return None

    def unsettled(self) -> dict[str, str]:
        return {}


def _record(country: str, year: int) -> DocumentRecord:
    title = " ".join(
        filter(
            None, [f"{country}:" if country else "", "Country Report", str(year or "")]
        )
    )
    metadata: dict[str, Value] = {"document_name": title}
    if country:
        metadata["country_name"] = country
    if year:
        metadata["year"] = year
    return DocumentRecord(
        title, title, title, "s", "c", "ready", "v", metadata, chunks=5
    )


COUNTRIES = ("Kenya", "Mali", "Democratic Republic of the Congo")
REPORTS = Reports(*((country, year) for country in COUNTRIES for year in (2021, 2023)))
SEVERAL = ("Kenya", "Mali", "Somalia", "Peru", "Chile", "Philippines", "Haiti")
MANY = Reports(*((country, year) for country in SEVERAL for year in (2021, 2023, 2025)))


def scope(**conditions: Value | tuple[Value, ...] | Range) -> Scope:
    """Each field with its value, one of several values, or a range."""
    return Scope.of(
        {
            name: value
            if isinstance(value, Range)
            else Values(value if isinstance(value, tuple) else (value,))
            for name, value in conditions.items()
        }
    )


def scope_of(conditions: dict[str, Any]) -> Scope:
    """The scope that a case of a data file has: a list of values or the ends of a range
    for each field.
    """
    ranges = {
        name: Range(**ends)
        for name, ends in conditions.items()
        if isinstance(ends, dict)
    }
    return scope(
        **{
            name: ranges.get(name) or tuple(values)
            for name, values in conditions.items()
        }
    )
