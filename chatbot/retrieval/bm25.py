"""Keyword search alone."""

from __future__ import annotations

from ..settings import Settings
from .vector import SingleMethod


def build(settings: Settings) -> SingleMethod:
    """Needs no setting."""
    return SingleMethod(vectors=False)
