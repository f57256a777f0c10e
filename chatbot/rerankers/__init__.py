"""Search hits to a better order, by name. `RERANKER` is none unless a preset or a setting says otherwise."""

from ..protocols import Reranker
from ..registry import Registry

RERANKERS: Registry[Reranker] = Registry(
    "reranker",
    {
        "cross_encoder": "chatbot.rerankers.cross_encoder",
        "diversity": "chatbot.rerankers.orders:diversity",
        "llm": "chatbot.rerankers.llm",
        "mmr": "chatbot.rerankers.orders:mmr",
        "mongodb": "chatbot.rerankers.mongodb",
        "none": "chatbot.rerankers.orders:none",
    },
)
"""Each ``build(*, chat_model, language, store)``: a function that gives the chat model, LANGUAGE, one for the store."""
