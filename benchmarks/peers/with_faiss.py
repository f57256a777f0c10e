"""FAISS, HNSW without a filter and exact with one (as its selectors allow)."""

from __future__ import annotations

import faiss
import numpy as np

MODULO = {"half": 2, "country": 50}


def build(vectors):
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    graph = faiss.IndexHNSWFlat(vectors.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction, graph.hnsw.efSearch = 100, 128
    graph.add(vectors)
    numbers = np.arange(len(vectors))

    def search(vector, condition, k):
        if condition is None:
            return graph.search(vector[None], k)[1][0]
        field, value = condition
        selector = faiss.IDSelectorBitmap(
            np.packbits(numbers % MODULO[field] == value, bitorder="little")
        )
        return flat.search(
            vector[None], k, params=faiss.SearchParameters(sel=selector)
        )[1][0]

    return search
