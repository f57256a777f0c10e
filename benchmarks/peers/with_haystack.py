"""Haystack: a pipeline of embedding and BM25 retrieval over its in-memory store, joined
by rank.
"""

from __future__ import annotations

from haystack import Document, Pipeline, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.document_stores.in_memory import InMemoryDocumentStore


def build(texts, vectors, embed):
    @component
    class Embedder:
        @component.output_types(embedding=list[float])
        def run(self, text: str):
            return {"embedding": embed([text])[0]}

    store = InMemoryDocumentStore(embedding_similarity_function="dot_product")
    pairs = zip(texts, vectors or embed(texts), strict=True)
    store.write_documents(
        [Document(content=text, embedding=vector) for text, vector in pairs]
    )
    pipeline = Pipeline()
    pipeline.add_component("embedder", Embedder())
    pipeline.add_component("near", InMemoryEmbeddingRetriever(store, top_k=5))
    pipeline.add_component("words", InMemoryBM25Retriever(store, top_k=5))
    pipeline.add_component(
        "both", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=5)
    )
    pipeline.connect("embedder.embedding", "near.query_embedding")
    pipeline.connect("near", "both")
    pipeline.connect("words", "both")

    def retrieve(question):
        found = pipeline.run(
            {"embedder": {"text": question}, "words": {"query": question}}
        )
        return [document.content for document in found["both"]["documents"]]

    return retrieve
