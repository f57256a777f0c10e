"""The table of embedding providers: models, dimensions, limits and addresses, one row each.

Dimensions and lengths are those of the providers' documentation (November 2026), batches at or below what it allows.
The endpoint is asked for the dimensions of a model that is not listed, which is assumed to read `UNKNOWN_TOKENS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...config.settings import Settings
from ...domain.errors import SettingsError

Kind = Literal["query", "document"]
UNKNOWN_TOKENS = 512
"""Tokens of one text that a model reads if neither this table nor EMBEDDING_MAX_TOKENS says so."""


@dataclass(frozen=True)
class Model:
    """A model at a provider. ``dimensions`` None: the endpoint is asked. The prefixes belong in front of each text."""

    dimensions: int | None
    max_tokens: int
    query_prefix: str = ""
    document_prefix: str = ""


@dataclass(frozen=True)
class Provider:
    """``batch`` and ``request_tokens``: the most texts and tokens in one request.

    ``query`` and ``document``: parameters of a request that say which kind of text it has.
    """

    adapter: Literal["openai", "azure_openai", "nomic", "any_llm"]
    base_url: str | None = None
    """None: EMBEDDING_BASE_URL is required, or the adapter's library knows the address."""
    default_model: str = ""
    """Empty: EMBEDDING_MODEL is required."""
    key: Literal["required", "optional"] = "required"
    models: Mapping[str, Model] = field(default_factory=dict)
    batch: int = 100
    request_tokens: int = 100_000
    query: Mapping[str, Any] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)
    open_models: bool = True
    """Whether it serves the `OPEN_MODELS` by their names and leaves the prefixes to the client."""

    def parameters(self, kind: Kind) -> dict[str, Any]:
        return dict(self.query if kind == "query" else self.document)


INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
OPEN_MODELS: tuple[tuple[str, Model], ...] = (
    ("nomic-embed-text", Model(768, 2048, "search_query: ", "search_document: ")),
    ("e5-large-instruct", Model(1024, 512, INSTRUCTION)),
    ("multilingual-e5-large", Model(1024, 512, "query: ", "passage: ")),
    ("multilingual-e5-base", Model(768, 512, "query: ", "passage: ")),
    ("multilingual-e5-small", Model(384, 512, "query: ", "passage: ")),
    ("qwen3-embedding", Model(None, 8192, INSTRUCTION)),
    ("all-minilm", Model(384, 256)),
)
"""By a part of the model's name; the first that fits counts. The prefixes are those of the models' cards. By default
Ollama reads 2048 tokens with nomic-embed-text and ignores the rest without an error."""

_OPENAI = {
    "text-embedding-ada-002": Model(1536, 8191),
    "text-embedding-3-small": Model(1536, 8191),
    "text-embedding-3-large": Model(3072, 8191),
}
_GEMINI = {"gemini-embedding-001": Model(3072, 2048), "text-embedding-005": Model(768, 2048)}
_VOYAGE = ("voyage-4-large", "voyage-4", "voyage-4-lite", "voyage-3-large", "voyage-3.5", "voyage-3.5-lite")

PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        "openai",
        "https://api.openai.com/v1",
        "text-embedding-ada-002",
        key="optional",  # with OPENAI_BASE_URL
        models=_OPENAI,
        # Older databases were written without prefixes under this provider's name.
        open_models=False,
    ),
    "azure_openai": Provider("azure_openai", models=_OPENAI, open_models=False),
    "custom": Provider("openai", key="optional", batch=32),
    "dashscope": Provider(
        "openai",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "text-embedding-v4",
        models={"text-embedding-v4": Model(1024, 8192), "text-embedding-v3": Model(1024, 8192)},
        batch=10,
        request_tokens=8_000,  # the documentation says 8,192 per text in one place, per batch in another
        query={"encoding_format": "float"},
        document={"encoding_format": "float"},
    ),
    "fireworks": Provider("openai", "https://api.fireworks.ai/inference/v1", "fireworks/qwen3-embedding-8b", batch=32),
    "huggingface": Provider("openai", key="optional", batch=32),
    "mistralai": Provider(
        "openai",
        "https://api.mistral.ai/v1",
        "mistral-embed",
        models={"mistral-embed": Model(1024, 8192)},
        batch=64,
        request_tokens=16_000,
    ),
    "ollama": Provider("openai", "http://127.0.0.1:11434/v1", "nomic-embed-text", key="optional", batch=32),
    "openrouter": Provider(
        "openai",
        "https://openrouter.ai/api/v1",
        "openai/text-embedding-3-small",
        models={f"openai/{name}": model for name, model in _OPENAI.items()},
    ),
    "together": Provider("openai", "https://api.together.xyz/v1", batch=32),
    "voyageai": Provider(
        "openai",
        "https://api.voyageai.com/v1",
        "voyage-4",
        models={name: Model(1024, 32_000) for name in _VOYAGE},
        query={"extra_body": {"input_type": "query", "truncation": False}},
        document={"extra_body": {"input_type": "document", "truncation": False}},
    ),
    "nomic": Provider(
        "nomic",
        "https://api-atlas.nomic.ai/v1",
        "nomic-embed-text-v1.5",
        models={"nomic-embed-text-v1.5": Model(768, 8192), "nomic-embed-text-v1": Model(768, 8192)},
        batch=50,
        query={"task_type": "search_query"},
        document={"task_type": "search_document"},
        open_models=False,
    ),
    "cohere": Provider(
        "any_llm",
        default_model="embed-v4.0",
        models={"embed-v4.0": Model(1536, 128_000), "embed-multilingual-v3.0": Model(1024, 512)},
        batch=96,
        query={"input_type": "search_query", "truncate": "NONE"},
        document={"input_type": "search_document", "truncate": "NONE"},
    ),
    "google_genai": Provider(
        "any_llm",
        default_model="gemini-embedding-001",
        models=_GEMINI,
        query={"config": {"task_type": "RETRIEVAL_QUERY"}},
        document={"config": {"task_type": "RETRIEVAL_DOCUMENT"}},
    ),
    "google_vertexai": Provider(
        "any_llm",
        default_model="gemini-embedding-001",
        key="optional",
        models=_GEMINI,
        batch=1,  # gemini-embedding-001 takes one text per request there
        query={"config": {"task_type": "RETRIEVAL_QUERY", "auto_truncate": False}},
        document={"config": {"task_type": "RETRIEVAL_DOCUMENT", "auto_truncate": False}},
    ),
    "bedrock": Provider(
        "any_llm",
        default_model="amazon.titan-embed-text-v2:0",
        key="optional",
        models={"amazon.titan-embed-text-v2:0": Model(1024, 8192)},
        batch=1,  # one text per call in any case
    ),
}


def find_model(provider: str, model: str) -> Model:
    row = PROVIDERS[provider]
    if model in row.models:
        return row.models[model]
    open_models = OPEN_MODELS if row.open_models else ()
    fitting = (listed for part, listed in open_models if part in model.lower())
    return next(fitting, Model(None, UNKNOWN_TOKENS))


@dataclass(frozen=True)
class Endpoint:
    """``key_setting`` and ``url_setting``: the settings that errors name."""

    base_url: str | None
    key: str | None = field(repr=False)
    key_setting: str = "EMBEDDING_API_KEY"
    url_setting: str = "EMBEDDING_BASE_URL"


def endpoint(settings: Settings, provider: str) -> Endpoint:
    """Return the address and the key of a provider.

    Raises:
        SettingsError: a key or an address that this provider needs is not set.
    """
    row, key, base_url = PROVIDERS[provider], settings.embedding_api_key, settings.embedding_base_url
    key_setting, url_setting = "EMBEDDING_API_KEY", "EMBEDDING_BASE_URL"
    # OpenAI's key goes to the address it was set for, never to another one.
    if provider == "openai" or (provider == "custom" and base_url is None and settings.openai_base_url is not None):
        if key is None:
            key, key_setting = settings.openai_api_key, "OPENAI_API_KEY"
        if base_url is None:
            base_url, url_setting = settings.openai_base_url, "OPENAI_BASE_URL"
    if provider == "openai" and key is None and base_url is None:
        raise SettingsError("OPENAI_API_KEY is not set: the openai provider needs it (or OPENAI_BASE_URL).")
    base_url = base_url or row.base_url
    if base_url is None and row.adapter != "any_llm":
        raise SettingsError(f"EMBEDDING_BASE_URL is not set: the embedding provider {provider} needs it.")
    if key is None and row.key == "required":
        raise SettingsError(f"EMBEDDING_API_KEY is not set: the embedding provider {provider} needs it.")
    return Endpoint(base_url, key.get_secret_value() if key else None, key_setting, url_setting)
