"""Qdrant's client in local mode (without its server)."""

from __future__ import annotations

from qdrant_client import QdrantClient, models


def build(vectors):
    client = QdrantClient(":memory:")
    parameters = models.VectorParams(
        size=vectors.shape[1], distance=models.Distance.COSINE
    )
    client.create_collection("rows", vectors_config=parameters)
    payload = [{"half": row % 2, "country": row % 50} for row in range(len(vectors))]
    client.upload_collection(
        "rows", vectors=vectors, payload=payload, ids=range(len(vectors))
    )

    def search(vector, condition, k):
        wanted = None
        if condition:
            match = models.FieldCondition(
                key=condition[0], match=models.MatchValue(value=condition[1])
            )
            wanted = models.Filter(must=[match])
        return [
            point.id
            for point in client.query_points(
                "rows", query=vector, query_filter=wanted, limit=k
            ).points
        ]

    return search
