"""LlamaIndex: FAISS (its own vectors are a Python list: five times slower) and BM25,
fused by rank.
"""

from __future__ import annotations

import faiss
from llama_index.core import Settings, StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.faiss import FaissVectorStore


class Embedder(BaseEmbedding):
    embed: object = None

    def _get_text_embedding(self, text):
        return self.embed([text])[0]

    def _get_query_embedding(self, query):
        return self.embed([query])[0]

    async def _aget_query_embedding(self, query):
        return self.embed([query])[0]


def build(texts, vectors, embed):
    Settings.llm = MockLLM()
    embedder = Embedder(embed=embed)
    nodes = [TextNode(text=text, id_=str(row)) for row, text in enumerate(texts)]
    for node, vector in zip(nodes, vectors or [], strict=False):
        node.embedding = vector
    store = FaissVectorStore(
        faiss_index=faiss.IndexFlatIP(len(embed(["dimensions"])[0]))
    )
    kept = StorageContext.from_defaults(vector_store=store)
    near = VectorStoreIndex(
        nodes, storage_context=kept, embed_model=embedder
    ).as_retriever(similarity_top_k=5)
    words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=5)
    both = QueryFusionRetriever(
        [near, words],
        similarity_top_k=5,
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
    )
    return lambda question: [found.node.text for found in both.retrieve(question)]
