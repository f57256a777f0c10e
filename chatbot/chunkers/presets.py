"""How the presets cut: strategy and figures, in characters.

Each is what its origin says, none is tuned. What the embedder reads bounds them (`limits.ChunkLimits`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class ChunkPreset:
    """A name of `CHUNKERS`, and the size and overlap it is built with."""

    strategy: str
    size: int
    overlap: int


CHUNK_PRESETS: Mapping[str, ChunkPreset] = MappingProxyType(
    {
        # GPT Researcher's ContextCompressor
        "compression": ChunkPreset("recursive", 1000, 100),
        # GPT Researcher's VectorStoreWrapper: pages loaded into the store
        "pages": ChunkPreset("recursive", 1000, 200),
        # Its description names strategies but no figures: the first strategy, and a fifth of overlap as in its examples
        "hybrid": ChunkPreset("sliding_window", 1000, 200),
        # DeepSearcher's config.yaml (load_settings); the description of its agents has no figures
        "deep": ChunkPreset("recursive", 1500, 100),
        "deterministic": ChunkPreset("max_length", 1500, 0),
    }
)
