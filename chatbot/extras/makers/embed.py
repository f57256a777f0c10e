"""Embedding models of Cohere, Google and Amazon Bedrock, by any-llm."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ...config.settings import Settings
from ...domain.errors import EmbeddingError
from ...domain.request import RequestContext
from ...models.embed.providers import Kind, Provider, read_providers
from ...models.embed.remote import RemoteEmbedder
from ...models.openai_client import timed_out
from .client import EventLoop, any_llm_client, sdk_error

MAKERS = read_providers(__package__)


class AnyLLMEmbedder(RemoteEmbedder):
    """The SDKs retry, with exponential back-off. Thread-safe: the requests run in one
    event loop of their own.
    """

    def __init__(
        self, client: Any, provider: Provider, model: str, settings: Settings
    ) -> None:
        super().__init__(provider, model, settings)
        self._client = client
        self._timeout = settings.model_timeout * (settings.model_retries + 1) + 30
        self._loop = EventLoop()

    def close(self) -> None:
        """End the event loop. The SDKs' connections end with the process."""
        self._loop.close()

    def _request(
        self, texts: Sequence[str], kind: Kind, request: RequestContext | None
    ) -> Sequence[Any]:
        errors = import_module("any_llm.exceptions")
        call = self._client.aembedding(
            self.model, list(texts), **self.provider.parameters(kind, self.shortened)
        )
        future = self._loop.start(call)
        try:
            response = future.result(self._timeout)
        except TimeoutError as error:
            future.cancel()
            raise timed_out(EmbeddingError, self.model_id) from error
        except errors.AnyLLMError as error:
            raise sdk_error(
                EmbeddingError, error, self.model_id, setting="EMBEDDING"
            ) from error
        return [row.embedding for row in response.data]


@dataclass(frozen=True)
class Maker:
    """Builds the embedders of one maker; the registry reads its `provider`."""

    provider: Provider

    def __call__(self, settings: Settings, *, model: str) -> AnyLLMEmbedder:
        """Send nothing yet. Raises MissingPackageError: any-llm, or the maker's SDK, is
        not installed; SettingsError: a setting is missing or wrong.
        """
        key = settings.embedding_api_key
        if key is None and self.provider.key == "required":
            raise self.provider.missing_key()
        client = any_llm_client(
            settings,
            self.provider.name,
            key=key.get_secret_value() if key else None,
            base_url=settings.embedding_base_url,
            setting="EMBEDDING",
        )
        return AnyLLMEmbedder(client, self.provider, model, settings)


bedrock = Maker(MAKERS["bedrock"])
cohere = Maker(MAKERS["cohere"])
google_genai = Maker(MAKERS["google_genai"])
google_vertexai = Maker(MAKERS["google_vertexai"])
