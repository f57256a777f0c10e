"""`ingest` and `warm-cache`: files into the database, and the vectors that ship with the samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from ..caches.warm import write_warm_cache
from ..embedders import EMBEDDERS
from ..errors import LoadError
from ..factory import sample_reports
from ..ingestion.manifest import Source, folder_sources, load_document
from ..loaders import loader_for
from ..schema import Document, Vector
from ..services import WARM_CACHE, Services


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--country", help="Country the reports are about.")
@click.option("--year", type=click.IntRange(1000, 3000), help="Year of the reports.")
@click.option("--type", "report_type", help="Type of the reports, e.g. country_report or year_in_review.")
@click.option("--collection", help="Collection to write to. Default: by country or year.")
@click.option("--chunk-size", type=click.IntRange(100), help="Longest passage in characters. Default: CHUNK_SIZE.")
@click.pass_obj
def ingest(
    services: Services,
    paths: tuple[Path, ...],
    country: str | None,
    year: int | None,
    report_type: str | None,
    collection: str | None,
    chunk_size: int | None,
) -> None:
    """Read files or folders, so that questions can be asked of them.

    A folder's manifest.json says what each file is; flags win over it. The same file again does nothing.

    Example: python -m chatbot ingest reports/ --country Kenya --year 2024
    """
    if chunk_size is not None:
        services = Services(services.settings.override(chunk_size=chunk_size))
    flags = {"country_name": country, "year": year, "type": report_type}
    metadata = {name: value for name, value in flags.items() if value is not None}
    sources = [replace(source, metadata={**source.metadata, **metadata}) for path in paths for source in _sources(path)]
    failed = 0
    with click.progressbar(sources, label="Ingesting", item_show_func=lambda s: s.path.name if s else None) as bar:
        for source in bar:
            failed += not _ingest_one(services, source, collection)
    click.echo(f"{len(sources) - failed} of {len(sources)} files are searchable.")
    if failed:
        raise LoadError(f"{failed} of {len(sources)} files could not be read.")


def _sources(path: Path) -> list[Source]:
    return folder_sources(path) if path.is_dir() else [Source(path, str(path.resolve()))]


def _ingest_one(services: Services, source: Source, collection: str | None) -> bool:
    try:
        document = load_document(source, loader_for(source.path))
        if known := services.documents.get(document.id):
            # What was said of the report before holds until a flag or the manifest says otherwise.
            document = replace(document, metadata={**known.metadata, **document.metadata})
        result = services.ingestor.ingest(document, collection=collection)
    except LoadError as error:
        click.secho(f"\n{error.message}", fg="red", err=True)
        return False
    click.echo(f"\n{document.title}: {result.outcome}, {result.chunks} passages", err=True)
    return True


@click.command("warm-cache")
@click.option("--output", type=click.Path(path_type=Path), default=WARM_CACHE, show_default=True)
@click.pass_obj
def warm_cache(services: Services, output: Path) -> None:
    """Compute the vectors that ship with the sample reports.

    Example: python -m chatbot warm-cache
    """
    settings = services.settings.override(embedding_provider="minilm", embedding_model=None)
    embedder = EMBEDDERS.builder("minilm")(settings, model="all-minilm-l6-v2")
    texts = sample_texts(services, sample_reports(services).documents())
    vectors: list[Vector] = []
    with click.progressbar(range(0, len(texts), 256), label="Embedding") as bar:
        for start in bar:
            vectors.extend(embedder.embed_documents(texts[start : start + 256]))
    write_warm_cache(output, embedder.model_id, texts, np.vstack(vectors))
    click.echo(f"{len(texts)} vectors in {output} ({output.stat().st_size / 1e6:.1f} MB)")


def sample_texts(services: Services, documents: list[Document]) -> list[str]:
    """What ingesting the documents would embed, each text once, sorted."""
    chunker = services.chunker
    chunks = (chunk for document in documents for chunk in chunker.chunk(document, version="", collection=""))
    return sorted({chunk.search_text for chunk in chunks})
