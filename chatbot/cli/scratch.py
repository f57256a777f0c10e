"""Throw-away databases for `evaluate` and `calibrate`, and the data sets that are asked of them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..cancellation import Cancellation
from ..errors import InvalidRequestError
from ..evaluation.dataset import Dataset, read_dataset
from ..evaluation.questions import QuestionReader
from ..evaluation.reports import register
from ..evaluation.runner import load_chunks
from ..factory import sample_reports
from ..ingestion.pipeline import Registration
from ..ingestion.sources import Source, make_document
from ..schema import Chunk, Document, DocumentRecord, Section, lay_out
from ..services import Services


@contextmanager
def throw_away(services: Services, **overrides: Any) -> Iterator[Services]:
    """Services on an empty database in a temporary folder, everything else as configured."""
    with tempfile.TemporaryDirectory(prefix="report-chat-evaluate-") as folder:
        settings = services.settings.override(
            data_dir=Path(folder), mongodb_uri=None, vector_search="faiss", sample_data="off", **overrides
        )
        with Services(settings) as scratch:
            scratch.remember_embedder()
            yield scratch


@contextmanager
def opened(services: Services, path: Path) -> Iterator[tuple[Services, Dataset]]:
    """A data set, and what its questions are asked of: a folder's own passages, or the reports in the database.

    Where the database has no reports yet, the sample reports stand in for them.
    """
    if path.is_dir():
        data = read_dataset(path, services.settings.filter_fields)
        with throw_away(services) as scratch:
            _load(scratch, data.chunks)
            yield scratch, data
    elif services.documents.all() or not services.database.embedded:
        yield services, _questions(services, path)
    else:
        click.echo("There are no reports yet: the sample reports go into a throw-away database.", err=True)
        with throw_away(services) as scratch:
            samples = sample_reports(scratch)
            with click.progressbar(length=len(samples.documents()), label="Sample reports", file=sys.stderr) as bar:
                samples.load(lambda done, total: bar.update(done - bar.pos))
            yield scratch, _questions(scratch, path)


def cut_anew(reports: Services, target: Services, data: Dataset) -> None:
    """The same texts, cut as the settings of ``target`` say.

    Raises:
        InvalidRequestError: the original of a report is not kept.
    """
    if data.chunks:
        documents = [_as_document(chunk) for chunk in data.chunks]
        _load(target, [part for document in documents for part in target.ingestor.cut(document, "")])
        return
    records = reports.documents.all()
    if missing := [record.title for record in records if not reports.originals.has(record)]:
        raise InvalidRequestError.for_field(
            "--chunkers", f"the originals of {len(missing)} reports are not kept, of {missing[0]!r} for example."
        )
    with click.progressbar(records, label="Cutting and embedding", file=sys.stderr) as bar:
        for record in bar:
            about = Registration(sample=record.sample, summary=target.sample_summary.kind)
            make = target.sample_summary.make
            document = _read(reports, record)
            target.ingestor.ingest(document, about, summarise=lambda it, make=make: make(it, Cancellation()))  # type: ignore[misc]


def _questions(services: Services, path: Path) -> Dataset:
    return QuestionReader(services.documents, services.scopes, services.settings.filter_fields).read(path)


def _load(services: Services, chunks: list[Chunk]) -> None:
    label = f"Embedding {len(chunks):,} passages with {services.embedder.model_id}"
    with click.progressbar(length=len(chunks), label=label, file=sys.stderr) as bar:
        load_chunks(services.store, services.embedder, chunks, bar.update)
    register(services.documents, chunks)


def _as_document(chunk: Chunk) -> Document:
    sections = lay_out([Section((), chunk.text)])
    return Document(chunk.document_id, chunk.document_name, chunk.title, chunk.id, chunk.metadata, sections)


def _read(services: Services, record: DocumentRecord) -> Document:
    """A report from its original, described as it is in the database."""
    with tempfile.TemporaryDirectory(prefix="report-chat-") as folder:
        name, pieces = services.originals.open(record)
        path = Path(folder) / name
        with path.open("wb") as file:
            file.writelines(pieces)
        loaded = services.load(path, Cancellation())
    source = Source(path, record.source, record.title, record.metadata, record.labels, record.description, listed=True)
    return make_document(source, loaded)
