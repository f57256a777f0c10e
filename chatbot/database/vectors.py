"""Vectors as BSON stores them: BinData subtype 9, float32 (two header bytes, then little-endian floats).

A third of the space of an array of doubles. Arrays (older systems) and plain bytes (servers and files that lose
the subtype) are read too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DatabaseError
from ..schema import Vector

FLOAT32_HEADER = b"\x27\x00"
VECTOR_SUBTYPE = 9


def encode_payload(vector: Vector) -> bytes:
    return FLOAT32_HEADER + np.ascontiguousarray(vector, dtype="<f4").tobytes()


def decode_vector(value: Any) -> Vector:
    """The stored embedding as float32, shape (dimensions,).

    Raises:
        DatabaseError: the value is neither an array of numbers nor a float32 vector.
    """
    if isinstance(value, (bytes, bytearray)):
        if len(value) % 4 == 2 and bytes(value[:2]) == FLOAT32_HEADER:
            return np.frombuffer(value, dtype="<f4", offset=2)
        if len(value) % 4 == 0:
            return np.frombuffer(value, dtype="<f4")
    elif isinstance(value, (list, tuple)):
        return np.asarray(value, dtype=np.float32)
    raise DatabaseError(
        f"A stored embedding has the unexpected form {type(value).__name__}.",
        remedy="It should be an array of numbers or a float32 vector: ingest the document again.",
    )
