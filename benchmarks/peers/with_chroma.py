"""Chroma, in the process."""

from __future__ import annotations

import chromadb

BATCH = 5000


def build(vectors):
    collection = chromadb.EphemeralClient().create_collection(
        "rows",
        configuration={"hnsw": {"space": "cosine", "ef_search": 128}},
        embedding_function=None,
    )
    for start in range(0, len(vectors), BATCH):
        rows = range(start, min(start + BATCH, len(vectors)))
        collection.add(
            ids=[str(row) for row in rows],
            embeddings=vectors[start : start + BATCH],
            metadatas=[{"half": row % 2, "country": row % 50} for row in rows],
        )

    def search(vector, condition, k):
        where = {condition[0]: condition[1]} if condition else None
        return collection.query(
            query_embeddings=[vector], n_results=k, where=where, include=[]
        )["ids"][0]

    return search
