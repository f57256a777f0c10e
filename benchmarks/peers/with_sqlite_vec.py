"""sqlite-vec: exact, with metadata columns."""

from __future__ import annotations

import sqlite3

import sqlite_vec


def build(vectors):
    database = sqlite3.connect(":memory:")
    database.enable_load_extension(True)
    sqlite_vec.load(database)
    database.execute(
        f"create virtual table rows using vec0(embedding float[{vectors.shape[1]}] "
        "distance_metric=cosine,"
        " half integer, country integer)"
    )
    rows = (
        (row, vector.tobytes(), row % 2, row % 50) for row, vector in enumerate(vectors)
    )
    database.executemany(
        "insert into rows(rowid, embedding, half, country) values (?, ?, ?, ?)", rows
    )

    def search(vector, condition, k):
        where, values = (
            (f" and {condition[0]} = ?", [condition[1]]) if condition else ("", [])
        )
        found = database.execute(
            f"select rowid from rows where embedding match ? and k = ?{where}",
            [vector.tobytes(), k, *values],
        )
        return [row for (row,) in found]

    return search
