"""Embedders of every provider, over a server that speaks all their APIs."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from chatbot.config.settings import Settings
from chatbot.models.embed import EMBEDDERS
from chatbot.models.embed.providers import PROVIDERS
from tests.models.embed.providers_server import ProvidersServer

KEY = "sk-secret-4711"
BASE = {
    "azure_openai": "",
    "cohere": "",
    "google_genai": "",
    "google_vertexai": "",
    "bedrock": "",
}
"""What stands behind the server's address in EMBEDDING_BASE_URL; /v1 otherwise."""
BuildProvider = Callable[..., Any]


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def needs_library(provider: str) -> None:
    """Skip, visibly, where the optional library is not installed."""
    if (
        provider in PROVIDERS
        and PROVIDERS[provider].adapter == "any_llm"
        and not installed("any_llm")
    ):
        pytest.skip("any-llm-sdk is not installed (requirements-providers.txt)")


@pytest.fixture
def providers_server() -> Iterator[ProvidersServer]:
    with ProvidersServer() as running:
        yield running


@pytest.fixture
def build_provider(
    providers_server: ProvidersServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BuildProvider]:
    """``build_provider("voyageai", model="mine", **settings)``, over the server."""
    built: list[Any] = []

    def build(provider: str, model: str = "mine", **settings: object) -> Any:
        needs_library(provider)
        if provider == "google_vertexai":
            google_account(tmp_path, providers_server, monkeypatch)
            address = settings.get("embedding_base_url", providers_server.root)
            built.append(vertex(model, str(address), Settings(**settings)))
            return built[-1]
        if provider == "bedrock":
            aws_account(monkeypatch)
        values: dict[str, Any] = {
            # boto sends a bearer token over https only, so here it signs with an
            # account's key.
            "embedding_api_key": None if provider == "bedrock" else KEY,
            "embedding_base_url": providers_server.root + BASE.get(provider, "/v1"),
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


def vertex(model: str, base_url: str, settings: Settings) -> Any:
    """Its address is not a setting, so here the library's client is made by hand."""
    any_llm, adapter = (
        importlib.import_module("any_llm"),
        importlib.import_module("chatbot.models.embed.remote"),
    )
    client = any_llm.AnyLLM.create(
        "vertexai",
        unified_exceptions=True,
        project="project",
        location="europe-west1",
        http_options={"base_url": base_url},
        max_retries=0,
    )
    return adapter.AnyLLMEmbedder(client, "google_vertexai", model, settings)


def aws_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


def google_account(
    folder: Path, server: ProvidersServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service account whose tokens come from the server."""
    private = rsa.generate_private_key(
        public_exponent=65537, key_size=2048
    ).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    account = {
        "type": "service_account",
        "project_id": "project",
        "private_key_id": "1",
        "private_key": private.decode(),
        "client_email": "tests@project.example",
        "token_uri": f"{server.root}/token",
    }
    path = folder / "account.json"
    path.write_text(json.dumps(account), encoding="utf-8")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
