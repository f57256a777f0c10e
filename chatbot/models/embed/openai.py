"""OpenAI's embedding models, and those of every provider that its client can reach: a row of `providers` each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openai import OpenAI

from ...config.settings import Settings
from ...domain.errors import CancelledError, EmbeddingError, SettingsError
from ...domain.request import RequestContext
from ..openai_client import Abandoned, breakable, openai_client, translated
from .base import RemoteEmbedder
from .providers import PROVIDERS, Endpoint, Kind, endpoint


class OpenAIEmbedder(RemoteEmbedder):
    """The SDK retries, with exponential back-off and jitter; its clients are thread-safe.

    Ingestion keeps its connections. Those of a question are not kept, so that cancelling it can break them.
    """

    def __init__(
        self, client: OpenAI, provider: str, model: str, *, where: Endpoint, max_tokens: int | None = None
    ) -> None:
        super().__init__(provider, model, max_tokens=max_tokens)
        self._client = client
        self._where = where

    def close(self) -> None:
        self._client.close()

    def _request(self, texts: Sequence[str], kind: Kind, request: RequestContext | None) -> Sequence[Any]:
        """See `RemoteEmbedder`. Raises CancelledError too, once ``request`` is cancelled."""
        if request is None:
            return self._translated(self._client, texts, kind)
        try:
            with breakable(self._client, request.cancel) as client:
                return self._translated(client, texts, kind)
        except (EmbeddingError, Abandoned) as error:
            if request.cancelled:
                raise CancelledError("Cancelled.") from error
            raise

    def _translated(self, client: OpenAI, texts: Sequence[str], kind: Kind) -> Sequence[Any]:
        with translated(
            EmbeddingError,
            self.model_id,
            key_setting=self._where.key_setting,
            url_setting=self._where.url_setting,
            unknown_model=f"Check EMBEDDING_MODEL and {self._where.url_setting}.",
        ):
            parameters = self.provider.parameters(kind)
            if self.provider.adapter == "nomic":  # an API of its own over the same client
                body = {"model": self.model, "texts": list(texts), **parameters}
                answer: Any = client.post("/embedding/text", body=body, cast_to=object)
                vectors: Sequence[Any] = answer["embeddings"]
                return vectors
            response = client.embeddings.create(model=self.model, input=list(texts), **parameters)
            return [row.embedding for row in sorted(response.data, key=lambda item: item.index or 0)]


def build(settings: Settings, *, model: str, provider: str = "openai") -> OpenAIEmbedder:
    """Raises SettingsError: a setting that this provider needs is missing or wrong. Nothing is sent."""
    where = endpoint(settings, provider)
    if not model:
        raise SettingsError(f"EMBEDDING_MODEL is not set: the embedding provider {provider} has no default.")
    azure = PROVIDERS[provider].adapter == "azure_openai"
    client = openai_client(settings, key=where.key, base_url=where.base_url or "", azure=azure)
    return OpenAIEmbedder(client, provider, model, where=where, max_tokens=settings.embedding_max_tokens)
