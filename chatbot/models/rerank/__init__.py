"""Rerankers by name: they put search hits in a better order. RERANKER is none unless a preset or setting changes it."""

from ...config.registry import Registry
from ...domain.protocols import Reranker

RERANKERS: Registry[Reranker] = Registry(
    "reranker",
    {
        "cross_encoder": "chatbot.models.rerank.models:cross_encoder",
        "diversity": "chatbot.models.rerank.orders:diversity",
        "llm": "chatbot.models.rerank.models:llm",
        "mmr": "chatbot.models.rerank.orders:mmr",
        "mongodb": "chatbot.models.rerank.models:mongodb",
        "none": "chatbot.models.rerank.orders:none",
    },
)
"""Each is built by ``build(*, chat_model, language, store)``, with functions that return the model and the store."""
