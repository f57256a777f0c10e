"""Compute the vectors that ship with the sample reports, after these reports, their
glossary or the chunking changed.

    python -m benchmarks sample_vectors [--output FILE]

Existing vectors are kept, because the int8 model computes slightly different ones on
another processor.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chatbot.app.services import Services, build
from chatbot.config import WARM_CACHE
from chatbot.config.settings import Settings
from chatbot.domain import Chunk
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.documents import Matrix
from chatbot.library.derived import default_glossary
from chatbot.models.caches import DIGEST_BYTES, WarmCache, text_key

BATCH = 256


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=WARM_CACHE)
    output: Path = parser.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            data_dir=Path(folder), embedding_provider="minilm", sample_data="off"
        )
        with build(settings) as services:
            texts, embedder = sample_texts(services), services.runtime.embedder.uncached
            existing = WarmCache(output)
            vectors = {
                text: vector
                for text in texts
                if (vector := existing.get(embedder.model_id, text)) is not None
            }
            missing = [text for text in texts if text not in vectors]
            for start in range(0, len(missing), BATCH):
                batch = missing[start : start + BATCH]
                vectors.update(zip(batch, embedder.embed_documents(batch), strict=True))
                print(f"{start + len(batch)} of {len(missing)} embedded")
    write_warm_cache(
        output, embedder.model_id, texts, np.vstack([vectors[text] for text in texts])
    )
    print(f"{len(texts)} vectors in {output} ({output.stat().st_size / 1e6:.1f} MB)")


def sample_texts(services: Services) -> list[str]:
    """Return the texts that ingesting and asking the sample reports embeds, each once,
    sorted: passages, and the headings and phrases of the index of indicators.
    """
    samples, summary = (
        services.ingesting.sample_reports(),
        services.ingesting.sample_summary,
    )
    ingestor = services.ingesting.ingestor
    chunks = [
        c
        for d in samples.documents()
        for c in ingestor.cut(d, summary.make(d, Cancellation()))
    ]
    return embedded_texts(chunks)


def embedded_texts(chunks: Sequence[Chunk]) -> list[str]:
    """Return what is embedded of these passages of the sample reports and of the
    index of indicators, as `sample_texts`.
    """
    entries = [entry for entry in default_glossary() if entry.heading]
    phrases = {text for entry in entries for text in (entry.term, *entry.other_words)}
    names = {f"{entry.heading}: {entry.label}" for entry in entries if entry.label} | {
        c.heading for c in chunks
    }
    return sorted({chunk.search_text for chunk in chunks} | phrases | names - {""})


def write_warm_cache(
    path: Path, model_id: str, texts: Sequence[str], vectors: Matrix
) -> None:
    """Write the cache file for these texts; the same input gives the same file."""
    rows = {text_key(text): row for row, text in enumerate(texts)}
    keys = sorted(rows)
    np.savez_compressed(
        path,
        model_id=np.asarray(model_id),
        keys=np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, DIGEST_BYTES),
        vectors=vectors[[rows[key] for key in keys]].astype(np.float16),
    )


if __name__ == "__main__":
    main()
