"""What ships with the program."""

from __future__ import annotations

from pathlib import Path

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
WARM_CACHE = SAMPLE_DATA / "embeddings.npz"
