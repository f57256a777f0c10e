"""The figures of passages as a list: of which country, under which heading, in which edition, which is the newest."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from ..domain import Chunk, Citation
from ..domain.errors import InvalidRequestError
from ..domain.figures import ReportedFigure
from ..language.reported_figures import stated

MOST_CITED = 200
"""Figures of one answer, at most."""
NEAR = 5
_TOTAL = re.compile(r"(?:: |^)(?:total(?: population)?|overall)$", re.IGNORECASE)
_ANY_COLUMN = re.compile(r"(?:: |^)(?:values?|figures?|amounts?)(?=: |$)", re.IGNORECASE)
"""Of a table: says of no figure what it is of."""
_ROW = re.compile(r"Row \d+\b")


def cited_figures(citations: Sequence[Citation]) -> tuple[ReportedFigure, ...]:
    """The figures of the passages that an answer cites, in the order of the citations."""
    found = (replace(f, citation=cited.number) for cited in citations for f in figures_of(cited.hit.chunk))
    return tuple(_marked(found)[:MOST_CITED])


def listed_figures(chunks: Collection[Chunk], *, indicator: str = "", year: int | None = None) -> list[ReportedFigure]:
    """The figures of passages by indicator, subject, year and edition.

    ``indicator``: a heading, or what is said below it ("Median age: male"); "" = all.

    Raises:
        InvalidRequestError: no passage has such a heading; names those that are alike.
    """
    wanted = " ".join(indicator.split()).casefold()
    near = (
        chunk
        for chunk in chunks
        if (year is None or year in chunk.figure_years) and wanted.partition(": ")[0] in chunk.search_text.casefold()
    )
    found = [
        figure
        for chunk in near
        for figure in figures_of(chunk)
        if year in {None, figure.year}
        and f"{figure.indicator}: ".casefold().startswith(f"{wanted}: " if wanted else "")
    ]
    if wanted and not found:
        _require_heading(wanted, {heading_of(chunk) for chunk in chunks})
    return sorted(_marked(found), key=lambda f: (f.indicator, f.subject, f.year or 0, str(f.edition), f.chunk_id))


def figures_of(chunk: Chunk) -> Iterator[ReportedFigure]:
    """The figures that a passage states, in order."""
    subject = str(chunk.metadata.get("country_name") or chunk.title)
    for figure in stated(chunk.text):
        heading = figure.heading or heading_of(chunk)
        label = _TOTAL.sub("", _ANY_COLUMN.sub("", figure.label).removeprefix(": ") if heading else figure.label)
        yield ReportedFigure(
            subject=subject,
            heading=heading or ("" if label else chunk.title),
            label=label,
            value=figure.value,
            unit=figure.unit,
            text=figure.text,
            year=figure.year,
            estimate=figure.estimate,
            document_id=chunk.document_id,
            chunk_id=chunk.id,
            edition=chunk.metadata.get("year"),
        )


def _require_heading(wanted: str, headings: Iterable[str]) -> None:
    known = {heading.casefold(): heading for heading in headings if heading}
    if wanted.partition(": ")[0] in known:
        return
    held = [name for name in known if wanted in name]
    names = [known[name] for name in (held or difflib.get_close_matches(wanted, known, cutoff=0.5))[:NEAR]]
    hint = f" Did you mean {', '.join(names)}?" if names else ""
    raise InvalidRequestError.for_field("indicator", f"no report here has a section {wanted!r}.{hint}", names)


def heading_of(chunk: Chunk) -> str:
    """The last of its section; "" where that names a row of a table, whose columns say what is counted."""
    country = chunk.metadata.get("country_name")
    return "" if _ROW.match(chunk.heading) or (country and chunk.heading.startswith(str(country))) else chunk.heading


def _marked(figures: Iterable[ReportedFigure]) -> list[ReportedFigure]:
    """The figures, each once for a report, with the newest edition's marked among those of one thing and year."""
    once = {(f.document_id, f.subject, f.indicator, f.year, f.text): f for f in figures}
    newest: dict[tuple[object, ...], str] = {}
    for figure in once.values():
        key = (figure.subject, figure.indicator, figure.year)
        newest[key] = max(newest.get(key, ""), str(figure.edition or ""))
    return [replace(f, newest=str(f.edition or "") == newest[f.subject, f.indicator, f.year]) for f in once.values()]
