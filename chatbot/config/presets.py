"""Each seed's system as one setting (R-P): the presets of `presets.toml`."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

CHUNKING = ("chunk_strategy", "chunk_size", "chunk_overlap")
"""A preset named in a request does not change these: the reports are split already."""
_TABLE = tomllib.loads(files(__package__).joinpath("presets.toml").read_text("utf-8"))
PRESETS: dict[str, dict[str, Any]] = {name: {**_TABLE["every"], **preset} for name, preset in _TABLE["presets"].items()}
"""The fields of `Settings` that each preset sets."""


def query_time(name: str) -> dict[str, Any]:
    """Return the figures of a preset that a request can change."""
    return {field: value for field, value in PRESETS[name].items() if field not in CHUNKING}
