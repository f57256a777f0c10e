"""Each seed's system as one setting (R-P): `PRESET=hybrid`. Single settings win over it.

The figures are those of the seeds, none is tuned. The fields are those of `Settings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CHUNKING = ("chunk_strategy", "chunk_size", "chunk_overlap")
"""A preset named in a request does not change these: the reports are split already."""
TO_THE_LETTER: Mapping[str, Any] = {"mode": "direct", "auto_scope": False, "refine": False, "threshold_keep": 1}
"""No seed takes a scope from the words of a question, chooses how to answer it, or orders what a search finds."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Seed 003: $vectorSearch alone, five passages, the threshold descends until something passes.
    "adaptive": {
        **TO_THE_LETTER,
        "retrieval_method": "vector",
        "num_candidates": 1000,
        "top_k": 5,
        "threshold_start": 0.7,
        "threshold_step": 0.1,
        "threshold_floor": 0.0,
        "relevance_floor": 0.0,
        "on_empty": "relax",
    },
    # Seed 000, GPT Researcher: pages compressed to what is close enough; cosine .35 is score .675.
    "compression": {
        **TO_THE_LETTER,
        "retrieval_method": "vector",
        "top_k": 5,
        "threshold_start": 0.675,
        "threshold_floor": 0.675,
        "chunk_strategy": "recursive",
        "chunk_size": 1000,
        "chunk_overlap": 200,
    },
    # Seed 001: vector .7 and BM25 .3, ten fetched, three kept from different sources. No threshold. Its text names
    # strategies for chunks but no figures: the first strategy, and a fifth of overlap as in its examples.
    "hybrid": {
        **TO_THE_LETTER,
        "retrieval_method": "hybrid",
        "vector_weight": 0.7,
        "fusion": "bounded",
        "reranker": "diversity",
        "top_k": 3,
        "threshold_start": 0.0,
        "threshold_floor": 0.0,
        "chunk_strategy": "sliding_window",
        "chunk_size": 1000,
        "chunk_overlap": 200,
    },
    # Seed 002, DeepSearcher: its configuration cuts at 1500/100.
    "deep": {
        **TO_THE_LETTER,
        "mode": "deep",
        "retrieval_method": "vector",
        "deep_rounds": 3,
        "chain_rounds": 4,
        "chunk_strategy": "recursive",
        "chunk_size": 1500,
        "chunk_overlap": 100,
    },
    # Seed 004: cosine above .5 (score .75), three passages, chunks of up to 1500 characters at paragraph breaks. Where
    # nothing passes, the model is called without a block of passages.
    "deterministic": {
        **TO_THE_LETTER,
        "retrieval_method": "vector",
        "top_k": 3,
        "threshold_start": 0.75,
        "threshold_floor": 0.75,
        "context_role": "system",
        "on_empty": "general",
        "chunk_strategy": "max_length",
        "chunk_size": 1500,
        "chunk_overlap": 0,
    },
}


def query_time(name: str) -> dict[str, Any]:
    """Return the figures of a preset that a request can change."""
    return {field: value for field, value in PRESETS[name].items() if field not in CHUNKING}
