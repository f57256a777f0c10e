"""What a report offers before the first question (`guide`), and what a library is about
(`topics`).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..domain import DocumentRecord, ReportedFigure, Scope
from ..domain.protocols import Passages
from ..domain.scope import Values
from ..domain.tables import Texts
from ..questions.reading import COUNTRY, HEADING_NUMBER
from ..questions.sides import DOCUMENT
from ..search.further import first_questions, is_asked_about, is_row
from .figure_tables import FigureTables

MAX_PASSAGES = 1_000
"""Passages of a report that are read for its chapters and figures."""
SAMPLED_REPORTS, SAMPLED_PASSAGES = 8, 20
"""Reports that stand for a library, and passages that stand for each of them."""
MAX_TOPICS, MAX_TITLES = 4, 3


@dataclass(frozen=True, slots=True)
class Guide:
    """What a report offers before it is read: its chapters, key figures, and questions
    that it answers.
    """

    chapters: Texts
    figures: tuple[ReportedFigure, ...]
    questions: Texts


def guide(
    record: DocumentRecord, store: Passages, tables: FigureTables, language: str
) -> Guide:
    """Return the guide to a report, with questions in ``language``. Raises
    DependencyError.
    """
    most = min(record.part_of or record.chunks, MAX_PASSAGES)
    chunks = store.get(record.chunk_ids()[:most])
    chapters = {chunk.id: chunk.chapter for chunk in chunks}
    scope, subject = (
        Scope.of({DOCUMENT: Values((record.name,))}),
        str(record.metadata.get(COUNTRY) or record.title),
    )
    measured = tables.key_figures(scope, [subject], lambda ids: chapters)
    figures = [
        figure for one in measured if (figure := one.newest(subject)) is not None
    ]
    headings = [figure.heading for figure in figures]
    headings += [chunk.heading for chunk in chunks if not is_row(chunk)]
    # What the columns of a table measure, whose rows may be times.
    headings += tables.indicators(scope)
    country = record.metadata.get(COUNTRY)
    if any(map(is_row, chunks)) or not figures:
        # "Jordan's litres delivered" are those of this table, and the boreholes of a
        # report without figures of the country are its own.
        country = None
    questions = first_questions(record.title, country, headings, language)
    return Guide(
        tuple(filter(None, dict.fromkeys(chapters.values()))),
        tuple(figures),
        tuple(questions),
    )


def topics(records: Sequence[DocumentRecord], store: Passages) -> list[str]:
    """Return the chapters that most of the reports have, those with most passages
    first; else the titles of a few reports. Read from a sample. Raises DependencyError.
    """
    shared = list(shared_chapters(records, store)[:MAX_TOPICS])
    return shared or [one.title for one in _sample(records)][:MAX_TITLES]


def shared_chapters(
    records: Sequence[DocumentRecord], store: Passages
) -> Sequence[str]:
    """Return the chapters that most of the reports have, those with most passages
    first. Read from a sample. Raises DependencyError.
    """
    sample = _sample(records)
    ids: list[str] = []
    for record in sample:
        step = max(1, record.chunks // SAMPLED_PASSAGES)
        ids += record.chunk_ids()[: record.chunks : step]
    passages = defaultdict[str, list[str]](list)
    for chunk in store.get(ids):
        passages[HEADING_NUMBER.sub("", chunk.chapter)].append(chunk.document_id)
    shared = [
        name
        for name, of in passages.items()
        if 2 * len(set(of)) > len(sample) and is_asked_about(name)
    ]
    return sorted(shared, key=lambda name: -len(passages[name]))


def _sample(records: Sequence[DocumentRecord]) -> list[DocumentRecord]:
    """Return reports that stand for all."""
    step = max(1, len(records) // SAMPLED_REPORTS)
    sample = [one for one in records[::step] if one.chunks and not one.part_of]
    return sample[:SAMPLED_REPORTS]
