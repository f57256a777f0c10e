"""Rerankers by name: they put search hits in a better order. RERANKER is none unless a preset or setting changes it."""

from ..protocols import Reranker
from ..registry import Registry

RERANKERS: Registry[Reranker] = Registry(
    "reranker",
    {
        "cross_encoder": "chatbot.rerankers.models:cross_encoder",
        "diversity": "chatbot.rerankers.orders:diversity",
        "llm": "chatbot.rerankers.models:llm",
        "mmr": "chatbot.rerankers.orders:mmr",
        "mongodb": "chatbot.rerankers.models:mongodb",
        "none": "chatbot.rerankers.orders:none",
    },
)
"""Each is built by ``build(*, chat_model, language, store)``, with functions that return the model and the store."""
