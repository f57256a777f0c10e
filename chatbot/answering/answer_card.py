"""The figures that an answer states: of a computed table its cells, of any other text
what it says before a citation of their passage.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..checking.wording import NUMBERS
from ..domain.chat import AnswerCard, CardKind, Citation
from ..domain.figure_query import FigureCell, FigureColumn, FigureTable
from ..domain.figures import ReportedFigure
from ..language.local_figures import spellings
from ..language.reported_figures import year_of
from ..language.table_words import is_total, part_units
from .asked_figures import AskedNames

MOST_CITED_FIGURES = 200
"""Figures of one answer, at most."""
_LINES = re.compile(r"[\n|]")
"""Between lines and the cells of tables."""
_YEARS = re.compile(r"\b(?:19|20)\d\d\b")


def card_of_table(
    table: FigureTable, parts: FigureTable | None = None
) -> AnswerCard | None:
    """Return the cells of a table. One computed value has its result, and what it was
    computed from: ``parts``, else the figures that reports state.
    """
    cells = list(_cells_of(table))
    results = [cell for _, _, cell in cells if cell.how]
    figures: list[ReportedFigure] = []
    if len(cells) == 1 and results:
        figures += results[0].sources
    else:
        figures += [_shown_in(*cell) for cell in cells]
    if parts is not None:
        # Rows of a sheet: only together do their labels say which one is meant.
        figures = [_named_by(*cell) for cell in _cells_of(parts)]
    if not figures:
        return None
    card = card_of(figures[:MOST_CITED_FIGURES])
    if results:
        card = replace(card, kind="computed")
    if len(cells) == 1 and results:
        card = replace(card, result=results[0].text, how=results[0].how)
    return replace(card, shared_year=table.shared_year)


def _cells_of(table: FigureTable) -> Iterator[tuple[str, FigureColumn, FigureCell]]:
    """Yield the cells of a table, each with its subject and its column."""
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell is not None and cell.sources:
                yield row.subject, column, cell


def _shown_in(subject: str, column: FigureColumn, cell: FigureCell) -> ReportedFigure:
    """Return the figure of a cell: a computed one by the names of the table, a copied
    one by those of its report, in the unit of the table.
    """
    if cell.how or len(cell.sources) != 1:
        return _named_by(subject, column, cell)
    figure = cell.sources[0]
    if figure.unit == column.unit:
        return figure
    return replace(figure, value=cell.value, unit=column.unit, text=cell.text)


def _named_by(subject: str, column: FigureColumn, cell: FigureCell) -> ReportedFigure:
    """Return a cell as the figure that its table shows, with its first source."""
    first = cell.sources[0]
    name, _ = part_units(column.indicator)
    years = {source.year for source in cell.sources}
    editions = {source.edition for source in cell.sources}
    return replace(
        first,
        subject=subject,
        heading=name.replace(" ,", ",") or column.indicator,
        label="",
        value=cell.value,
        unit=column.unit,
        text=cell.text,
        year=first.year if len(years) == 1 else None,
        edition=first.edition if len(editions) == 1 else None,
        estimate=cell.estimate,
        how=cell.how,
    )


def stated_card(
    response: str,
    figures: Sequence[ReportedFigure],
    citations: Sequence[Citation],
) -> AnswerCard | None:
    """Return the figures of cited passages that a text states, in its order; None
    without any. ``figures`` have the numbers of their citations.
    """
    plain = response.replace("\\", "")
    supported = {one.number for one in citations if one.supported}
    by_number: dict[int, list[ReportedFigure]] = {}
    for figure in figures:
        if figure.citation in supported:
            by_number.setdefault(figure.citation, []).append(figure)
    stated: list[ReportedFigure] = []
    for clause, number in _clauses(plain):
        stated += _stated_in(clause, plain, by_number.get(number, ()))
    if not stated:
        return None
    return card_of(list(dict.fromkeys(stated))[:MOST_CITED_FIGURES])


def _clauses(text: str) -> Iterator[tuple[str, int]]:
    """Yield each statement with the number of each citation behind it."""
    for line in _LINES.split(text):
        start = 0
        clause = ""
        for cited in NUMBERS.finditer(line):
            # Citations that follow each other stand behind one statement.
            clause = line[start : cited.start()].strip() or clause
            start = cited.end()
            for number in cited[1].split(","):
                yield clause, int(number)


def _stated_in(
    clause: str, response: str, figures: Sequence[ReportedFigure]
) -> Iterator[ReportedFigure]:
    """Yield the figures whose text, in any language, and year if it names years, a
    clause has. Where two indicators of a passage have the same text, the answer names
    the one it means.
    """
    years = set(_YEARS.findall(clause))
    same_text: dict[str, list[ReportedFigure]] = {}
    for figure in figures:
        if not any(_has(clause, text) for text in spellings(figure.text)):
            continue
        if not years or str(year_of(figure)) in years:
            same_text.setdefault(figure.text, []).append(figure)
    for found in same_text.values():
        named = [one for one in found if _has(response, one.heading)]
        if len({one.indicator for one in found}) == 1:
            named = found
        # Of one figure in several years the newest is meant where none is named.
        newest = max(map(year_of, named), default=0)
        for figure in named:
            if years or year_of(figure) == newest:
                yield figure


def _has(text: str, words: str) -> bool:
    """Return whether a text has these words, or this number whole."""
    # Most have not, and a pattern for each figure takes long to make.
    if words.casefold() not in text.casefold():
        return False
    pattern = rf"(?<![\w.,]){re.escape(words)}(?![\w%])"
    return re.search(pattern, text, re.IGNORECASE) is not None


def numbered_card(card: AnswerCard, citations: Sequence[Citation]) -> AnswerCard | None:
    """Return a card with the numbers of the passages that its figures come from,
    without figures of passages that are not cited.
    """
    numbers = {one.hit.chunk.id: one.number for one in citations}
    figures = tuple(
        replace(figure, citation=numbers[figure.chunk_id])
        for figure in card.figures
        if figure.chunk_id in numbers
    )
    if figures:
        return replace(card, figures=figures)
    return None


def asked_card(card: AnswerCard, names: AskedNames) -> AnswerCard | None:
    """Return a card of the figures in the first quotation that the question asks for;
    None where it asks for none of them. Quotations that follow only come close. Who
    names a part ("literacy of women") does not ask for the whole.
    """
    figures = [figure for figure in card.figures if figure.citation == 1]
    asked = [figure for figure in figures if names.is_asked(figure)]
    parts = [one for one in asked if one.label and not is_total(one.label)]
    asked = parts or asked
    if asked:
        return card_of(asked)
    return None


def _by_year(figures: Sequence[ReportedFigure]) -> list[ReportedFigure]:
    """Return the figures of each subject and indicator in the order of their years."""
    groups: dict[tuple[str, str], list[ReportedFigure]] = {}
    for figure in figures:
        groups.setdefault((figure.subject, figure.indicator), []).append(figure)
    ordered: list[ReportedFigure] = []
    for group in groups.values():
        ordered += sorted(group, key=year_of)
    return ordered


def card_of(figures: Sequence[ReportedFigure]) -> AnswerCard:
    """Return a card of these figures; a series is in the order of its years."""
    kind: CardKind = "values"
    years = {year_of(one) for one in figures}
    of_one = {(one.subject, one.indicator, one.unit) for one in figures}
    if len(figures) == 1:
        kind = "value"
    elif len(years) > 1 and len(of_one) < len(figures):
        kind = "series"
        figures = _by_year(figures)
    indicators = tuple(dict.fromkeys(one.indicator for one in figures))
    return AnswerCard(kind, indicators, tuple(figures))
