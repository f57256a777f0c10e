"""Vectors in a byte for each component, and the whole ones read one by one from a file.

Of a million vectors the whole ones are 1.5 GB, and who maps them soon has all of them in memory: one that is looked at
brings its neighbours. The short ones are a quarter, say which few may be among the nearest, and how far they may err is
known; so only those few are read. The result is that of comparing all. Figures: benchmarks/README.md.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...schema import Matrix, Vector
from ..keywords import Floats

Places = NDArray[np.int64]
"""Row numbers."""
AT_ONCE = 512
"""Rows that are widened to floats together: as many as stay in the processor's cache."""
LARGEST = 127


@dataclass(frozen=True, slots=True)
class ShortVectors:
    """``codes[row] * steps[row]`` is nearly the row; ``error`` is the greatest distance between the two."""

    codes: NDArray[np.int8]
    steps: Floats
    error: float

    def nearest(self, vector: Vector, rows: Places, top_k: int) -> Places:
        """Those of the rows that may be among the ``top_k`` nearest to ``vector``, which has length 1."""
        if len(rows) <= top_k:
            return rows
        cosines = np.empty(len(rows), dtype=np.float32)
        for part in _parts(len(rows)):
            cosines[part] = self.codes[rows[part]].astype(np.float32) @ vector
        cosines *= self.steps[rows]
        # By Cauchy and Schwarz: a cosine errs by no more than the vector does. Both sides of a comparison may.
        least = np.partition(cosines, -top_k)[-top_k] - 2 * self.error
        near: Places = rows[cosines >= least]
        return near


def shortened(vectors: Matrix, steps: Floats, error: NDArray[np.float64]) -> Iterator[NDArray[np.int8]]:
    """The codes, some rows at once, so that nobody has to hold them all; rows of zeros stay so.

    ``steps``, shape (rows,), and ``error``, shape (1,), which begins as 0, are filled in meanwhile.
    """
    for part in _parts(len(vectors)):
        whole = vectors[part]
        steps[part] = np.abs(whole).max(axis=1, initial=0.0) / LARGEST
        step = steps[part, None]
        codes = np.rint(whole / np.maximum(step, np.finfo(np.float32).tiny)).astype(np.int8)
        error[0] = max(error[0], np.linalg.norm(whole - codes * step, axis=1).max(initial=0.0))
        yield codes


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, start + AT_ONCE) for start in range(0, count, AT_ONCE))


class WholeVectors:
    """The rows of a matrix of float32 in a file, which stays open for as long as this is in use."""

    def __init__(self, path: Path, offset: int, dimensions: int) -> None:
        """``offset``: where it begins. Raises OSError."""
        self._offset = offset
        self._dimensions = dimensions
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def read(self, rows: Places) -> Matrix:
        """Shape (len(rows), dimensions). Raises OSError."""
        size = np.dtype(np.float32).itemsize * self._dimensions
        found = b"".join([os.pread(self._file, size, self._offset + size * row) for row in rows.tolist()])
        return np.frombuffer(found, dtype=np.float32).reshape(-1, self._dimensions)
