"""search -> threshold -> fuse -> rerank -> cut, under a scope."""

from ..registry import Registry
from .method import RetrievalMethod

RETRIEVAL_METHODS: Registry[RetrievalMethod] = Registry(
    "retrieval method",
    {
        "bm25": "chatbot.retrieval.bm25",
        "hybrid": "chatbot.retrieval.hybrid",
        "vector": "chatbot.retrieval.vector",
    },
)
