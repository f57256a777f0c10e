"""usearch; its Python search takes no filter."""

from __future__ import annotations

import numpy as np
from usearch.index import Index


def build(vectors):
    index = Index(ndim=vectors.shape[1], metric="ip", dtype="f32", expansion_search=128)
    index.add(np.arange(len(vectors)), vectors)

    def search(vector, condition, k):
        if condition is not None:
            raise NotImplementedError
        return index.search(vector, k).keys

    return search
