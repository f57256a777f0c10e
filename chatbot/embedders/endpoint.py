"""Where a provider is asked, and with which key: the settings for embeddings, else those for OpenAI where they fit."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from ..errors import SettingsError
from ..settings import Settings
from .providers import PROVIDERS


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
    """Of this provider, by the settings.

    Raises:
        SettingsError: a key or an address that this provider needs is not set, or the address is none.
    """
    found = _openai(settings) if provider == "openai" else _other(settings, provider)
    if found.key is None and PROVIDERS[provider].key == "required":
        raise SettingsError(f"EMBEDDING_API_KEY is not set: the embedding provider {provider} needs it.")
    if found.base_url is not None:
        parts = urlsplit(found.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(f"{found.url_setting}={found.base_url!r} is no address: it begins with https://.")
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
