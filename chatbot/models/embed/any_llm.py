"""Providers with APIs of their own, through Mozilla's any-llm, which speaks to each by its official SDK.

Optional: `requirements-providers.txt`. The SDKs of Google Cloud and AWS find their credentials themselves, in an
account that is logged in or in variables of their own.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Sequence
from http import HTTPStatus
from importlib import import_module
from typing import Any

from ...config.settings import Settings
from ...domain.errors import EmbeddingError, MissingPackageError, SettingsError
from ...domain.request import RequestContext
from ..openai_client import status_error
from .base import RemoteEmbedder
from .providers import Kind, endpoint

NAMES = {"cohere": "cohere", "google_genai": "gemini", "google_vertexai": "vertexai", "bedrock": "bedrock"}
"""Our names of the providers to the library's."""
INSTALL = "Install it: pip install -r requirements-providers.txt"
_NETWORK_ERROR = re.compile("Connect|Timeout|Transport|Protocol|Disconnect|Read|Network")
"""Parts of the names of SDK errors that mean a failing network."""


class AnyLLMEmbedder(RemoteEmbedder):
    """The SDKs retry, with exponential back-off. Thread-safe: the requests run in one event loop of their own."""

    def __init__(self, client: Any, provider: str, model: str, *, timeout: float, max_tokens: int | None) -> None:
        super().__init__(provider, model, max_tokens=max_tokens)
        self._client = client
        self._timeout = timeout
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="any-llm", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the event loop. The SDKs' connections end with the process."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _request(self, texts: Sequence[str], kind: Kind, request: RequestContext | None) -> Sequence[Any]:
        errors = import_module("any_llm.exceptions")
        call = self._client.aembedding(self.model, list(texts), **self.provider.parameters(kind))
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            response = future.result(self._timeout)
        except TimeoutError as error:
            future.cancel()
            raise EmbeddingError(
                f"The endpoint of {self.model_id} did not answer in time.", remedy="Try again.", retry_after=5
            ) from error
        except errors.AnyLLMError as error:
            raise _translated(error, self.model_id) from error
        return [row.embedding for row in response.data]


def _translated(error: Any, model: str) -> EmbeddingError:
    """Return the SDK's error as ours, by its status; without one the network failed, or there are no credentials."""
    reason, cause = error.message[:300], error.original_exception
    status, response = error.status_code, getattr(cause, "response", None)
    if status is None and isinstance(response, dict):  # boto's, which the library does not read
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if status is not None:
        refusal = reason if int(status) < HTTPStatus.INTERNAL_SERVER_ERROR else ""
        check_key = "Check EMBEDDING_API_KEY, or the account that the provider's SDK finds."
        check_model = "Check EMBEDDING_MODEL and EMBEDDING_BASE_URL."
        return status_error(EmbeddingError, model, int(status), refusal, check_key=check_key, check_model=check_model)
    if _NETWORK_ERROR.search(type(cause).__name__):
        message = f"The endpoint of {model} cannot be reached ({type(cause).__name__})."
        return EmbeddingError(message, remedy="Check the network and EMBEDDING_BASE_URL.", retry_after=5)
    return EmbeddingError(f"The provider's SDK cannot ask {model}: {reason}")


def _options(settings: Settings, provider: str, base_url: str | None) -> dict[str, Any]:
    """Return the address, the time-out and the retries as the SDKs name them."""
    seconds, retries = settings.model_timeout, settings.model_retries
    if provider == "bedrock":
        config = import_module("botocore.config").Config(
            read_timeout=seconds, connect_timeout=seconds, retries={"total_max_attempts": retries + 1}
        )
        return {"api_base": base_url, "config": config}
    options: dict[str, Any] = {"timeout": seconds, "max_retries": retries}
    if provider == "google_vertexai":
        if base_url:
            raise SettingsError(
                "EMBEDDING_BASE_URL is not for google_vertexai: set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION."
            )
        return options
    return {**options, "base_url" if provider == "cohere" else "api_base": base_url}


def build(settings: Settings, *, model: str, provider: str) -> AnyLLMEmbedder:
    """Build the embedder of a provider, without sending anything to it.

    Raises:
        MissingPackageError: the library, or the provider's SDK, is not installed.
        SettingsError: a key, a project or a region is missing.
    """
    where = endpoint(settings, provider)
    try:
        library, errors = import_module("any_llm"), import_module("any_llm.exceptions")
        options = _options(settings, provider, where.base_url)
        client = library.AnyLLM.create(NAMES[provider], api_key=where.key, unified_exceptions=True, **options)
    except ImportError as error:
        raise MissingPackageError(
            f"The embedding provider {provider!r} needs the Python package any-llm-sdk, with its SDK.", remedy=INSTALL
        ) from error
    except errors.AnyLLMError as error:
        raise SettingsError(f"The embedding provider {provider} cannot be used: {error.message[:300]}") from error
    # It warns of every call to Bedrock that boto is not asynchronous.
    logging.getLogger("any_llm").setLevel(logging.ERROR)
    timeout = settings.model_timeout * (settings.model_retries + 1) + 30
    return AnyLLMEmbedder(client, provider, model, timeout=timeout, max_tokens=settings.embedding_max_tokens)
