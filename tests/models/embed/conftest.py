"""Embedders of every provider, over a server that speaks their APIs."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chatbot.config.settings import Settings
from chatbot.models.embed import EMBEDDERS
from tests.models.embed.providers_server import ProvidersServer

KEY = "sk-secret-4711"
BuildProvider = Callable[..., Any]


@pytest.fixture
def providers_server() -> Iterator[ProvidersServer]:
    with ProvidersServer() as running:
        yield running


@pytest.fixture
def build_provider(
    providers_server: ProvidersServer,
) -> Iterator[BuildProvider]:
    """``build_provider("voyageai", model="mine", **settings)``, over the server."""
    built: list[Any] = []

    def build(provider: str, model: str = "mine", **settings: object) -> Any:
        path = "" if provider == "azure_openai" else "/v1"
        values: dict[str, Any] = {
            "embedding_api_key": KEY,
            "embedding_base_url": providers_server.root + path,
            "model_timeout": 30.0,
            "model_retries": 0,
        }
        built.append(
            EMBEDDERS.builder(provider)(Settings(**{**values, **settings}), model=model)
        )
        return built[-1]

    yield build
    for embedder in built:
        if close := getattr(embedder, "close", None):
            close()
