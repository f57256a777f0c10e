"""The embedding providers (`providers.toml`): models, dimensions, limits and addresses.
The endpoint is asked for the dimensions of a model that is not listed, which is assumed
to read `UNKNOWN_TOKENS`.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

from ...config.settings import Settings
from ...domain.errors import SettingsError, read_table

Kind = Literal["query", "document"]
UNKNOWN_TOKENS = 512
"""Tokens of one text that a model reads if neither this table nor EMBEDDING_MAX_TOKENS
says so.
"""


@dataclass(frozen=True)
class Model:
    """A model at a provider. ``dimensions`` None: the endpoint is asked. The prefixes
    belong in front of each text.
    """

    max_tokens: int
    dimensions: int | None = None
    query_prefix: str = ""
    document_prefix: str = ""


@dataclass(frozen=True)
class Provider:
    """``name``: the value of EMBEDDING_PROVIDER.
    ``batch`` and ``request_tokens``: the most texts and tokens in one request.
    ``query`` and ``document``: parameters of a request that say which kind of text it
    has. ``shortens``: the parameter for the length of the vectors, "" = there is none;
    with a dot it is inside of another.
    """

    name: str
    adapter: Literal["openai", "azure_openai", "nomic"] = "openai"
    """The protocol of its endpoint. Of no meaning where another client speaks to it."""
    base_url: str | None = None
    """None: EMBEDDING_BASE_URL is required, or its client knows the address."""
    default_model: str = ""
    """Empty: EMBEDDING_MODEL is required."""
    key: Literal["required", "optional"] = "required"
    models: Mapping[str, Model] = field(default_factory=dict)
    batch: int = 100
    request_tokens: int = 100_000
    query: Mapping[str, Any] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)
    shortens: str = ""
    open_models: bool = True
    """Whether it serves the `OPEN_MODELS` by their names and leaves the prefixes to the
    client.
    """

    def parameters(self, kind: Kind, dimensions: int | None = None) -> dict[str, Any]:
        """Return the parameters of a request. ``dimensions``: the length of the
        vectors; None = the model's own.
        """
        parameters: dict[str, Any] = deepcopy(
            dict(self.query if kind == "query" else self.document)
        )
        if dimensions is not None:
            outer, _, name = self.shortens.rpartition(".")
            (parameters.setdefault(outer, {}) if outer else parameters)[name] = (
                dimensions
            )
        return parameters

    def find_model(self, name: str) -> Model:
        """Return what is known of a model; of an unknown one little is assumed."""
        if name in self.models:
            return self.models[name]
        if self.open_models:
            for part, listed in OPEN_MODELS.items():
                if part in name.lower():
                    return listed
        return Model(UNKNOWN_TOKENS)

    def missing_key(self) -> SettingsError:
        return SettingsError(
            f"EMBEDDING_API_KEY is not set: the embedding provider {self.name} needs "
            "it."
        )


def read_providers(package: str) -> dict[str, Provider]:
    """Return the rows of the table `providers.toml` of a package, by name."""
    providers = {}
    for name, row in read_table(package, "providers")["providers"].items():
        models = {
            model: Model(**of_model)
            for model, of_model in row.get("models", {}).items()
        }
        providers[name] = Provider(**{**row, "name": name, "models": models})
    return providers


OPEN_MODELS = {
    part: Model(**row)
    for part, row in read_table(__package__, "providers")["open_models"].items()
}
PROVIDERS = read_providers(__package__)


@dataclass(frozen=True)
class Endpoint:
    """``key_setting`` and ``url_setting``: the settings that errors name."""

    base_url: str | None
    key: str | None = field(repr=False)
    key_setting: str = "EMBEDDING_API_KEY"
    url_setting: str = "EMBEDDING_BASE_URL"


ATLAS_MODELS = "https://ai.mongodb.com/v1"
"""Serves the keys of Voyage that Atlas has issued (`al-...`); each host refuses the
other's with 403.
"""


def endpoint(settings: Settings, row: Provider) -> Endpoint:
    """Return the address and the key of a provider. Raises SettingsError: a key or an
    address that this provider needs is not set.
    """
    secret = settings.embedding_api_key
    base_url = settings.embedding_base_url
    key_setting = "EMBEDDING_API_KEY"
    url_setting = "EMBEDDING_BASE_URL"
    if _uses_openai(settings, row):
        if secret is None:
            secret = settings.openai_api_key
            key_setting = "OPENAI_API_KEY"
        if base_url is None:
            base_url = settings.openai_base_url
            url_setting = "OPENAI_BASE_URL"
    key = secret.get_secret_value() if secret else None
    if row.name == "openai" and key is None and base_url is None:
        raise SettingsError(
            "OPENAI_API_KEY is not set: the openai provider needs it (or "
            "OPENAI_BASE_URL)."
        )
    if base_url is None:
        base_url = _usual_address(row, key)
    if key is None and row.key == "required":
        raise row.missing_key()
    return Endpoint(base_url, key, key_setting, url_setting)


def _uses_openai(settings: Settings, row: Provider) -> bool:
    """Return whether what is set for OpenAI holds for this provider, too: its key goes
    to the address it was set for, never to another one.
    """
    if row.name == "openai":
        return True
    is_at_openai = settings.embedding_base_url is None and settings.openai_base_url
    return row.name == "custom" and bool(is_at_openai)


def _usual_address(row: Provider, key: str | None) -> str:
    """Return the address of a provider where none is set. Raises SettingsError: it has
    none.
    """
    if row.name == "voyageai" and key is not None and key.startswith("al-"):
        return ATLAS_MODELS
    if row.base_url is None:
        raise SettingsError(
            f"EMBEDDING_BASE_URL is not set: the embedding provider {row.name} "
            "needs it."
        )
    return row.base_url
