"""Keys of cached values: a hash of everything that changes the result."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import Any


def normalised(text: str) -> str:
    """Spellings of the same text as one: NFC, trimmed, white space collapsed; "US" stays "US" (R-B3)."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def cache_key(*parts: Any) -> str:
    """``parts`` are JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
