"""LanceDB on disk, with its HNSW index and indexes on the filter fields."""

from __future__ import annotations

import tempfile

import lancedb
import numpy as np
import pyarrow as pa


def build(vectors):
    rows = np.arange(len(vectors), dtype=np.int32)
    column = pa.FixedSizeListArray.from_arrays(
        pa.array(vectors.ravel()), vectors.shape[1]
    )
    data = pa.table(
        {"row": rows, "half": rows % 2, "country": rows % 50, "vector": column}
    )
    table = lancedb.connect(tempfile.mkdtemp()).create_table("rows", data)
    table.create_index(
        metric="cosine", vector_column_name="vector", index_type="IVF_HNSW_SQ"
    )
    for field in ("half", "country"):
        table.create_scalar_index(field, index_type="BITMAP")

    def search(vector, condition, k):
        asked = (
            table.search(vector).nprobes(20).refine_factor(5).select(["row"]).limit(k)
        )
        if condition:
            asked = asked.where(f"{condition[0]} = {condition[1]}", prefilter=True)
        return asked.to_arrow()["row"].to_pylist()

    return search
