"""What `evaluate` and `calibrate` share: reading data sets, loading them into throw-away databases, writing files."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..cancellation import Cancellation
from ..errors import DependencyError, InvalidRequestError
from ..evaluation.dataset import Dataset, QuestionReader, read_dataset, register_reports
from ..evaluation.runner import load_chunks
from ..ingestion.pipeline import Registration
from ..ingestion.sources import Source, make_document
from ..schema import Chunk, Document, DocumentRecord, Section, lay_out
from ..services import Services
from . import progress_bar


@contextmanager
def throw_away_database(services: Services, **overrides: Any) -> Iterator[Services]:
    """Services on an empty database in a temporary folder, everything else as configured."""
    with tempfile.TemporaryDirectory(prefix="report-chat-evaluate-") as folder:
        settings = services.settings.override(
            data_dir=Path(folder), mongodb_uri=None, vector_search="faiss", sample_data="off", **overrides
        )
        with Services(settings) as scratch:
            scratch.runtime.remember_embedder()
            yield scratch


@contextmanager
def open_dataset(services: Services, path: Path) -> Iterator[tuple[Services, Dataset]]:
    """A data set, and what its questions are asked of: a folder's own passages, or the reports in the database.

    Where the database has no reports yet, the sample reports stand in for them.
    """
    if path.is_dir():
        data = read_dataset(path, services.settings.filter_fields)
        with throw_away_database(services) as scratch:
            _load(scratch, data.chunks)
            yield scratch, data
    elif services.storage.documents.all() or not services.storage.database.embedded:
        yield services, _questions(services, path)
    else:
        click.echo("There are no reports yet: the sample reports go into a throw-away database.", err=True)
        with throw_away_database(services) as scratch:
            samples = scratch.ingesting.sample_reports()
            with progress_bar("Sample reports", len(samples.documents())) as bar:
                samples.load(lambda done, total: bar.update(done - bar.pos))
            yield scratch, _questions(scratch, path)


def ingest_anew(reports: Services, target: Services, data: Dataset) -> None:
    """Ingest the same texts into ``target``, cut as its settings say.

    Raises:
        InvalidRequestError: the original of a report is not kept.
    """
    if data.chunks:
        parts: list[Chunk] = []
        for chunk in data.chunks:
            text = lay_out([Section((), chunk.text)])
            document = Document(chunk.document_id, chunk.document_name, chunk.title, chunk.id, chunk.metadata, text)
            parts += target.ingesting.ingestor.cut(document, "")
        _load(target, parts)
        return
    records = reports.storage.documents.all()
    if missing := [record.title for record in records if not reports.ingesting.originals.has(record)]:
        raise InvalidRequestError.for_field(
            "--chunkers", f"the originals of {len(missing)} reports are not kept, of {missing[0]!r} for example."
        )
    with click.progressbar(records, label="Cutting and embedding", file=sys.stderr) as bar:
        for record in bar:
            about = Registration(sample=record.sample, summary=target.ingesting.sample_summary)
            target.ingesting.ingestor.ingest(_read(reports, record), about)


def _questions(services: Services, path: Path) -> Dataset:
    storage = services.storage
    return QuestionReader(storage.documents, storage.scopes, services.settings.filter_fields).read(path)


def _load(services: Services, chunks: list[Chunk]) -> None:
    label = f"Embedding {len(chunks):,} passages with {services.runtime.embedder.model_id}"
    with progress_bar(label, len(chunks)) as bar:
        load_chunks(services.runtime.store, services.runtime.embedder, chunks, bar.update)
    register_reports(services.storage.documents, chunks)


def _read(services: Services, record: DocumentRecord) -> Document:
    """A report from its original, described as it is in the database."""
    with tempfile.TemporaryDirectory(prefix="report-chat-") as folder:
        name, pieces = services.ingesting.originals.open(record)
        path = Path(folder) / name
        with path.open("wb") as file:
            file.writelines(pieces)
        loaded = services.ingesting.load(path, Cancellation())
    source = Source(path, record.source, record.title, record.metadata, record.labels, record.description, listed=True)
    return make_document(source, loaded)


def write_text(path: Path, text: str) -> None:
    """A file the user asked for. Raises DependencyError: it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DependencyError(f"{path.name} cannot be written: {error.strerror}.") from error
