"""LangChain: FAISS and BM25 in an ensemble."""

from __future__ import annotations

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.embeddings import Embeddings


class Embedder(Embeddings):
    def __init__(self, embed):
        self.embed = embed

    def embed_documents(self, texts):
        return self.embed(texts)

    def embed_query(self, text):
        return self.embed([text])[0]


def build(texts, vectors, embed):
    embedder = Embedder(embed)
    pairs = zip(texts, vectors or embedder.embed_documents(texts), strict=True)
    near = FAISS.from_embeddings(list(pairs), embedder).as_retriever(
        search_kwargs={"k": 5}
    )
    words = BM25Retriever.from_texts(texts, k=5)
    both = EnsembleRetriever(retrievers=[near, words], weights=[0.6, 0.4])
    return lambda question: [
        document.page_content for document in both.invoke(question)
    ][:5]
