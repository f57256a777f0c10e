"""What changed: the figures of a report that arrived, compared with the edition before
it, and its figures and text with its own former version.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ...database.repositories.figures import FigureReader
from ...domain import DocumentRecord, Scope
from ...domain.differences import ChangedFigure, StatedFigure, TextDifferences
from ...domain.documents import Report, series_of

Key = tuple[str, str]
"""Subject, "" = that of the whole report, and indicator."""
Amount = tuple[Decimal, str]
"""A value and its unit: "1033 km" and "1,033 km" are the same."""
Stated = Mapping[Key, Mapping[int | None, Mapping[Amount, str]]]
"""The texts of the figures of each year, each amount once, in reading order."""


@dataclass(frozen=True, slots=True)
class ReportChanges:
    """A report that arrived, or was replaced, ``at`` this time (ISO, UTC). ``figures``:
    against ``former``, the edition before it; ``corrected`` and ``text``: against its
    own former version.
    """

    report: Report
    at: str
    former: Report | None
    figures: Sequence[ChangedFigure]
    corrected: Sequence[ChangedFigure]
    text: TextDifferences

    @property
    def is_empty(self) -> bool:
        """True if nothing is different."""
        return not (self.figures or self.corrected or self.text.total)


class ChangeLog:
    """The changes of the reports that somebody may see: ``records`` within
    ``limit``.
    """

    def __init__(
        self, records: Iterable[DocumentRecord], figures: FigureReader, limit: Scope
    ) -> None:
        self._figures = figures
        self._limit = limit
        self._series: dict[tuple[object, ...], list[DocumentRecord]] = {}
        for record in records:
            if record.status == "ready" and isinstance(
                record.metadata.get("year"), int
            ):
                series = series_of(record.title, record.metadata)
                self._series.setdefault(series, []).append(record)

    def compared(self, records: Sequence[DocumentRecord]) -> Sequence[DocumentRecord]:
        """Return those of these reports of which `of` may find changes: that have
        replaced a version, or have figures and an edition before them. Raises
        DatabaseError.
        """
        replaced = self._figures.replaced()
        with_figures = self._figures.reports(self._limit)
        compared = []
        for record in records:
            former = self._former(record)
            has_figures = former is not None and (
                record.id in with_figures or former.id in with_figures
            )
            if has_figures or record.id in replaced:
                compared.append(record)
        return compared

    def _former(self, record: DocumentRecord) -> DocumentRecord | None:
        """Return the edition before a report."""
        edition = str(record.metadata.get("year"))
        former = None
        for other in self._series.get(series_of(record.title, record.metadata), ()):
            year = str(other.metadata["year"])
            if year >= edition:
                continue
            if former is None or year > str(former.metadata["year"]):
                former = other
        return former

    def of(self, record: DocumentRecord) -> ReportChanges:
        """Compare one report with the edition before it and its former version. Raises
        DatabaseError.
        """
        former = self._former(record)
        figures: Sequence[ChangedFigure] = ()
        if former is not None:
            differences = _compared(self._stated(former), self._stated(record))
            figures = sorted(
                differences, key=lambda one: (one.old is None) + 2 * (one.new is None)
            )
        before_it = None if former is None else Report.of(former)
        return ReportChanges(
            Report.of(record),
            record.updated_at,
            before_it,
            figures,
            self._corrected(record),
            self._figures.text_changes(record.id),
        )

    def _stated(self, record: DocumentRecord) -> Stated:
        stated: defaultdict[Key, defaultdict[int | None, dict[Amount, str]]]
        stated = defaultdict(lambda: defaultdict(dict))
        for figure in self._figures.find(self._limit, document_id=record.id):
            subject = (
                "" if figure.subject == record.title else figure.subject
            )  # the titles of two editions differ
            texts = stated[subject, figure.indicator][figure.year]
            texts.setdefault((figure.value, figure.unit), figure.text)
        return stated

    def _corrected(self, record: DocumentRecord) -> Sequence[ChangedFigure]:
        rows = self._figures.changes(record.id)
        return [
            ChangedFigure(
                row.subject,
                row.indicator,
                _statement(row.old, row.year),
                _statement(row.new, row.year),
            )
            for row in rows
            if row.at == rows[0].at
        ]


def _compared(old: Stated, new: Stated) -> Iterator[ChangedFigure]:
    """Yield the last figure of each indicator where it differs, and what was stated
    otherwise of earlier years.
    """
    for key in dict.fromkeys((*new, *old)):
        was = old.get(key, {})
        now = new.get(key, {})
        last = [
            max(years, key=lambda year: year or 0, default=None) for years in (was, now)
        ]
        for before, after in dict.fromkeys(
            [(last[0], last[1]), *((year, year) for year in now if year in was)]
        ):
            texts = was.get(before, {}), now.get(after, {})
            # Where one report states the figures of several parts under one name, the
            # other perhaps only their sum.
            shared = texts[0].keys() & texts[1].keys()
            if len(shared) < min(map(len, texts)) or not all(texts):
                yield ChangedFigure(
                    *key,
                    _statement("; ".join(texts[0].values()), before),
                    _statement("; ".join(texts[1].values()), after),
                )


def _statement(text: str, year: int | None) -> StatedFigure | None:
    return StatedFigure(text, year) if text else None
