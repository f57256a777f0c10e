"""Embedders of every maker, over a server that speaks their APIs."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from chatbot.config.settings import Settings
from chatbot.extras import with_extras
from chatbot.extras.makers.embed import MAKERS, AnyLLMEmbedder
from chatbot.models import chat, embed
from tests.models.embed.conftest import KEY, BuildProvider, providers_server
from tests.models.embed.providers_server import ProvidersServer

__all__ = ["providers_server"]

SETTINGS = Settings(extras=("makers",))
CHAT_MODELS = with_extras(chat.CHAT_MODELS, SETTINGS)
EMBEDDERS = with_extras(embed.EMBEDDERS, SETTINGS)
INSTALLED = importlib.util.find_spec("any_llm") is not None
needs_library = pytest.mark.skipif(
    not INSTALLED, reason="any-llm-sdk is not installed (requirements-providers.txt)"
)


@pytest.fixture
def build_provider(
    providers_server: ProvidersServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BuildProvider]:
    """``build_provider("cohere", model="mine", **settings)``, over the server."""
    built: list[Any] = []

    def build(provider: str, model: str = "mine", **settings: object) -> Any:
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
            "embedding_base_url": providers_server.root,
            "model_timeout": 30.0,
            "model_retries": 0,
        }
        built.append(
            EMBEDDERS.builder(provider)(Settings(**{**values, **settings}), model=model)
        )
        return built[-1]

    yield build
    for embedder in built:
        embedder.close()


def vertex(model: str, base_url: str, settings: Settings) -> Any:
    """Its address is not a setting, so here the library's client is made by hand."""
    any_llm = importlib.import_module("any_llm")
    client = any_llm.AnyLLM.create(
        "vertexai",
        unified_exceptions=True,
        project="project",
        location="europe-west1",
        http_options={"base_url": base_url},
        max_retries=0,
    )
    return AnyLLMEmbedder(client, MAKERS["google_vertexai"], model, settings)


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
