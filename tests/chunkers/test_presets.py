"""How the presets cut (R-P): the figures of their origins."""

from __future__ import annotations

import pytest

from chatbot.chunkers import CHUNKERS
from chatbot.chunkers.presets import CHUNK_PRESETS, ChunkPreset
from chatbot.embedders.hashing import HashingEmbedder
from tests.chunkers.conftest import document

FIGURES = {
    "compression": ("recursive", 1000, 100),  # R-A1
    "pages": ("recursive", 1000, 200),  # R-A4
    "hybrid": ("sliding_window", 1000, 200),
    "deep": ("recursive", 1500, 100),
    "deterministic": ("max_length", 1500, 0),  # R-E5
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_preset_has_the_figures_of_its_origin(name: str) -> None:
    assert CHUNK_PRESETS[name] == ChunkPreset(*FIGURES[name])


def test_every_preset_is_listed_here() -> None:
    assert set(CHUNK_PRESETS) == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_a_preset_cuts_with_its_figures(name: str) -> None:
    preset = CHUNK_PRESETS[name]
    chunker = CHUNKERS.builder(preset.strategy)(
        HashingEmbedder(8), chunk_size=preset.size, chunk_overlap=preset.overlap
    )
    words = " ".join(f"{n:05d}" for n in range(2000))
    first, second, *_ = chunker.chunk(document(words), version="v", collection="c")
    assert preset.size - 6 < len(first.text) <= preset.size
    shared = first.end - second.start
    assert preset.overlap - 6 < shared <= preset.overlap if preset.overlap else shared < 0
