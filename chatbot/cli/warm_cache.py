"""`warm-cache`: the vectors that ship with the sample reports."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from ..caches.warm import write_warm_cache
from ..embedders import EMBEDDERS
from ..factory import sample_reports
from ..schema import Vector
from ..services import WARM_CACHE, Services


@click.command("warm-cache")
@click.option("--output", type=click.Path(path_type=Path), default=WARM_CACHE, show_default=True)
@click.pass_obj
def warm_cache(services: Services, output: Path) -> None:
    """Compute the vectors that ship with the sample reports.

    Example: python -m chatbot warm-cache
    """
    settings = services.settings.override(embedding_provider="minilm", embedding_model=None)
    embedder = EMBEDDERS.builder("minilm")(settings, model="all-minilm-l6-v2")
    texts = sample_texts(services)
    vectors: list[Vector] = []
    with click.progressbar(range(0, len(texts), 256), label="Embedding") as bar:
        for start in bar:
            vectors.extend(embedder.embed_documents(texts[start : start + 256]))
    write_warm_cache(output, embedder.model_id, texts, np.vstack(vectors))
    click.echo(f"{len(texts)} vectors in {output} ({output.stat().st_size / 1e6:.1f} MB)")


def sample_texts(services: Services) -> list[str]:
    """What ingesting the sample reports would embed, each text once, sorted."""
    samples = sample_reports(services)
    ingestor = services.ingestor
    chunks = (c for d in samples.documents() for c in ingestor.cut(d, samples.summary_of(d)))
    return sorted({chunk.search_text for chunk in chunks})
