"""The table of embedding providers: models, dimensions, limits and addresses, one row each.

Dimensions and lengths are those of the providers' documentation (November 2026), batches at or below what it allows.
What is not known is left out: of a model that is not listed the dimensions are asked for at the start, and it is
taken to read `UNKNOWN_TOKENS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import SettingsError
from ..settings import Settings

Kind = Literal["query", "document"]
UNKNOWN_TOKENS = 512
"""What a model is taken to read of one text where neither this table nor EMBEDDING_MAX_TOKENS says more."""


@dataclass(frozen=True)
class Model:
    """What a provider says of one of its models; dimensions None: to be asked for."""

    dimensions: int | None
    max_tokens: int


@dataclass(frozen=True)
class Provider:
    """``adapter``: the module that speaks to it. ``batch`` and ``request_tokens``: the most one request may hold.

    ``query`` and ``document``: what a request says of the kind of its texts, where the provider distinguishes them.
    """

    adapter: Literal["openai", "azure_openai", "nomic", "any_llm"]
    base_url: str | None = None
    """None: EMBEDDING_BASE_URL has to be set, or the adapter's library knows it."""
    default_model: str = ""
    """Empty: EMBEDDING_MODEL has to be set."""
    key: Literal["required", "optional"] = "required"
    models: Mapping[str, Model] = field(default_factory=dict)
    batch: int = 100
    request_tokens: int = 100_000
    query: Mapping[str, Any] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)
    open_models: bool = True
    """Whether it serves models of `OPEN_MODELS` under their names, and leaves their prefixes to its callers."""

    def parameters(self, kind: Kind) -> dict[str, Any]:
        """What a request says besides the model and the texts."""
        return dict(self.query if kind == "query" else self.document)


@dataclass(frozen=True)
class Facts:
    """What is known of one model at one provider; the prefixes belong in front of each text."""

    dimensions: int | None
    max_tokens: int
    query_prefix: str = ""
    document_prefix: str = ""


INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
OPEN_MODELS: tuple[tuple[str, Facts], ...] = (
    ("nomic-embed-text", Facts(768, 2048, "search_query: ", "search_document: ")),
    ("e5-large-instruct", Facts(1024, 512, INSTRUCTION)),
    ("multilingual-e5-large", Facts(1024, 512, "query: ", "passage: ")),
    ("multilingual-e5-base", Facts(768, 512, "query: ", "passage: ")),
    ("multilingual-e5-small", Facts(384, 512, "query: ", "passage: ")),
    ("qwen3-embedding", Facts(None, 8192, INSTRUCTION)),
    ("all-minilm", Facts(384, 256)),
)
"""By a part of the model's name; the first that fits counts. Their cards ask for the prefixes. Ollama reads 2048
tokens with nomic-embed-text unless told otherwise, and cuts the rest in silence.
"""

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
        # Databases of the time before this table were written without prefixes, under this provider's name.
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


def facts(provider: str, model: str) -> Facts:
    """What the table knows of the model there; dimensions None: to be asked for."""
    row = PROVIDERS[provider]
    if model in row.models:
        return Facts(row.models[model].dimensions, row.models[model].max_tokens)
    if row.open_models:
        for part, known in OPEN_MODELS:
            if part in model.lower():
                return known
    return Facts(None, UNKNOWN_TOKENS)


@dataclass(frozen=True)
class Endpoint:
    """``key_setting`` and ``url_setting``: what errors tell a person to look at."""

    base_url: str | None
    key: str | None
    key_setting: str = "EMBEDDING_API_KEY"
    url_setting: str = "EMBEDDING_BASE_URL"

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r})"


def endpoint(settings: Settings, provider: str) -> Endpoint:
    """Where a provider is reached, and with which key, as the settings have it.

    Raises:
        SettingsError: a key or an address that this provider needs is not set.
    """
    found = _openai(settings) if provider == "openai" else _other(settings, provider)
    if found.key is None and PROVIDERS[provider].key == "required":
        raise SettingsError(f"EMBEDDING_API_KEY is not set: the embedding provider {provider} needs it.")
    return found


def _openai(settings: Settings) -> Endpoint:
    own_key, own_url = settings.embedding_api_key, settings.embedding_base_url
    key = own_key or settings.openai_api_key
    base_url = own_url or settings.openai_base_url
    if key is None and base_url is None:
        raise SettingsError("OPENAI_API_KEY is not set: the openai provider needs it (or OPENAI_BASE_URL).")
    return Endpoint(
        base_url or PROVIDERS["openai"].base_url,
        key.get_secret_value() if key else None,
        "EMBEDDING_API_KEY" if own_key else "OPENAI_API_KEY",
        "EMBEDDING_BASE_URL" if own_url else "OPENAI_BASE_URL",
    )


def _other(settings: Settings, provider: str) -> Endpoint:
    row = PROVIDERS[provider]
    key, base_url = settings.embedding_api_key, settings.embedding_base_url or row.base_url
    if provider == "custom" and base_url is None and settings.openai_base_url is not None:
        # OpenAI's key goes to the address it was set for, never to another one.
        shared = key or settings.openai_api_key
        name = "EMBEDDING_API_KEY" if key else "OPENAI_API_KEY"
        value = shared.get_secret_value() if shared else None
        return Endpoint(settings.openai_base_url, value, name, "OPENAI_BASE_URL")
    if base_url is None and row.adapter != "any_llm":
        raise SettingsError(f"EMBEDDING_BASE_URL is not set: the embedding provider {provider} needs it.")
    return Endpoint(base_url, key.get_secret_value() if key else None)
