"""A column of few distinct values: codes into a list, so that a filter is one look-up per value, not per row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..schema import Value

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
COLLECTION = "$collection"
"""The column beside those of the filter fields, none of which can have this name: where the row was read from."""


@dataclass(frozen=True, slots=True)
class Column:
    """``values[codes[row]]`` is the row's value; None = the row has none."""

    values: tuple[Value | None, ...]
    codes: Codes

    @classmethod
    def of(cls, rows: Iterable[Value | None]) -> Column:
        numbers: dict[Value | None, int] = {}
        codes = [numbers.setdefault(value, len(numbers)) for value in rows]
        return cls(tuple(numbers), np.asarray(codes, dtype=np.int32))

    @classmethod
    def concat(cls, parts: Sequence[Column]) -> Column:
        numbers: dict[Value | None, int] = {}
        recoded = []
        for part in parts:
            table = np.asarray([numbers.setdefault(value, len(numbers)) for value in part.values], dtype=np.int32)
            recoded.append(table[part.codes] if len(table) else part.codes)
        return cls(tuple(numbers), np.concatenate(recoded))

    def take(self, rows: NDArray[np.int64]) -> Column:
        return Column(self.values, self.codes[rows])

    def where(self, wanted: Callable[[Value | None], bool]) -> Mask:
        """Rows whose value is wanted, shape (rows,)."""
        verdicts = np.asarray([wanted(value) for value in self.values], dtype=np.bool_)
        if not len(verdicts):
            return np.zeros(len(self.codes), dtype=np.bool_)
        found: Mask = verdicts[self.codes]
        return found
