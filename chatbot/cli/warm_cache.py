"""`warm-cache`: the vectors that ship with the sample reports."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from ..caches.warm import WarmCache, write_warm_cache
from ..embedders import EMBEDDERS
from ..factory import sample_reports
from ..services import Services
from ..shipped import WARM_CACHE

BATCH = 256


@click.command("warm-cache")
@click.option("--output", type=click.Path(path_type=Path), default=WARM_CACHE, show_default=True)
@click.pass_obj
def warm_cache(services: Services, output: Path) -> None:
    """Compute the vectors that ship with the sample reports; those that are there already are taken over.

    Example: python -m chatbot warm-cache
    """
    settings = services.settings.override(embedding_provider="minilm", embedding_model=None)
    embedder = EMBEDDERS.builder("minilm")(settings, model="all-minilm-l6-v2")
    texts = sample_texts(services)
    there = WarmCache(output)
    vectors = {text: vector for text in texts if (vector := there.get(embedder.model_id, text)) is not None}
    missing = [text for text in texts if text not in vectors]
    with click.progressbar(range(0, len(missing), BATCH), label="Embedding") as bar:
        for start in bar:
            batch = missing[start : start + BATCH]
            vectors.update(zip(batch, embedder.embed_documents(batch), strict=True))
    write_warm_cache(output, embedder.model_id, texts, np.vstack([vectors[text] for text in texts]))
    click.echo(f"{len(texts)} vectors in {output} ({output.stat().st_size / 1e6:.1f} MB)")


def sample_texts(services: Services) -> list[str]:
    """What ingesting the sample reports would embed, each text once, sorted."""
    samples = sample_reports(services)
    ingestor = services.ingestor
    chunks = (c for d in samples.documents() for c in ingestor.cut(d, samples.summary_of(d)))
    return sorted({chunk.search_text for chunk in chunks})
