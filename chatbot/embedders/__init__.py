"""Text to vectors, by provider."""

from ..protocols import Embedder
from ..registry import Registry

EMBEDDERS: Registry[Embedder] = Registry(
    "embedding provider",
    {
        "hashing": "chatbot.embedders.hashing",
        "minilm": "chatbot.embedders.minilm",
        "openai": "chatbot.embedders.openai",
    },
)

DEFAULT_MODELS = {"hashing": "256", "minilm": "all-minilm-l6-v2", "openai": "text-embedding-ada-002"}
"""The model each provider uses where EMBEDDING_MODEL is not set."""

LOCAL = frozenset({"hashing", "minilm"})
"""Providers in this process: embedding a text again costs less than keeping its vector twice."""
