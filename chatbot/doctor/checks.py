"""The doctor's checks of settings, access, database, models and stored data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from ..database.core import Collection
from ..database.rows import EMBEDDING_FIELD, decode_vector
from ..protocols import Quoter
from ..repositories.report_index import SEVERAL
from ..request import RequestContext
from ..schema import NO_VALUE, Chunk, Context, DocumentRecord, Message, Passage, Prompt, Scope, SearchHit
from ..settings import is_loopback, misspelt_settings

if TYPE_CHECKING:
    from ..services import Services

Severity = Literal["ok", "warning", "error"]
SAMPLED = 50
"""Vectors of each collection that are checked."""
_PASSAGE = Passage(1, SearchHit(Chunk("", "", "", "Doctor", "The model answers."), rank=1), "The model answers.")
_PROMPT = Prompt((Message("user", "Answer with the word: yes."),), "Does the model answer?", Context((_PASSAGE,)))


@dataclass(frozen=True, slots=True)
class Finding:
    """``name`` is stable and machine-readable; ``remedy`` is a command or an action, empty if nothing is wrong."""

    severity: Severity
    area: str
    name: str
    message: str
    remedy: str = ""


def check_settings(services: Services) -> Iterator[Finding]:
    """Report variables that resemble a setting."""
    for name, setting in misspelt_settings():
        yield Finding(
            "warning",
            "settings",
            "unknown_setting",
            f"{name} is not a setting, and {setting} is not set.",
            f"If you mean {setting}, rename it.",
        )


def check_access(services: Services) -> Iterator[Finding]:
    """Report the access rule and the number of keys; warn if everybody may change things."""
    settings = services.settings
    valid = sum(not key.revoked_at for key in services.storage.keys.all())
    yield Finding("ok", "access", "rule", f"ACCESS is {settings.rule}; {valid} keys")
    if settings.rule == "open" and not is_loopback(settings.host):
        yield Finding(
            "warning",
            "access",
            "open_to_all",
            f"Everybody who can reach {settings.host}:{settings.port} may change and delete everything.",
            "Set ACCESS=read or keys, unless only this machine can reach it; see docs/deploy.md.",
        )


def check_database(services: Services) -> Iterator[Finding]:
    """Raises DatabaseError: the database does not answer."""
    database = services.storage.database
    place = f" in {services.settings.data_dir.resolve()}" if database.embedded else ""
    yield Finding("ok", "database", "answers", f"{database.ping()}{place}")


def check_embedder(services: Services) -> Iterator[Finding]:
    """Embed a text. Raises EmbedderMismatchError: the database was written with another model."""
    embedder = services.runtime.embedder.uncached  # a cached vector would say nothing about the endpoint
    dimensions = len(embedder.embed_query("Does the embedding model answer?"))
    if dimensions == embedder.dimensions:
        yield Finding("ok", "embedder", "answers", f"{embedder.model_id}, {dimensions} dimensions")
        return
    yield Finding(
        "error",
        "embedder",
        "wrong_dimensions",
        f"{embedder.model_id} answers with {dimensions} dimensions, {embedder.dimensions} are expected.",
        "Set EMBEDDING_MODEL to the model that the database was written with.",
    )


def check_chat_model(services: Services) -> Iterator[Finding]:
    """Ask for a short completion and cancel it at its first word."""
    model = services.answering.chat_model
    request = RequestContext()
    for _ in model.stream(_PROMPT, request=request):
        break
    request.cancel.cancel()
    yield Finding("ok", "chat_model", "answers", model.model_id)
    if isinstance(model, Quoter):
        yield Finding(
            "warning",
            "chat_model",
            "no_language_model",
            "Answers are exact quotations: no language model is configured.",
            "Set OPENAI_API_KEY, or OPENAI_BASE_URL and CHAT_MODEL for a server of your own.",
        )


def check_data(services: Services) -> Iterator[Finding]:
    """Count passages and reports; report unfinished ones and what older systems leave behind."""
    in_database = services.storage.engine.traits.in_database
    for name in dict.fromkeys(services.settings.chunk_collections):
        collection = services.storage.database[name]
        count = collection.estimated_count()
        if count or in_database:
            yield Finding("ok", "data", "count", f"collection {name}: {count} passages")
        if count:
            yield from _check_values(services, collection)
            yield from _check_vectors(services, collection)
    yield from _check_reports(services, services.storage.documents.all())


_warning, _error = partial(Finding, "warning", "data"), partial(Finding, "error", "data")


def _check_reports(services: Services, records: Sequence[DocumentRecord]) -> Iterator[Finding]:
    engine = services.storage.engine
    yield Finding("ok", "data", "count", f"{len(records)} reports registered")
    searched = {SEVERAL, *services.settings.chunk_collections}
    registered = sum(r.chunks for r in records if r.status == "ready" and r.collection in searched)
    elsewhere = not engine.traits.in_database
    stored = services.runtime.store.count(Scope()) if registered or elsewhere else 0
    if elsewhere:
        yield Finding("ok", "data", "count", f"{engine.store}: {stored} passages")
        if stored > registered and all(r.status == "ready" and not r.replacing for r in records):
            yield _error(
                "passages_of_another_database",
                f"{engine.store} has {stored} passages, the reports of this database have {registered}. The others are "
                "searched, but nobody can list, change or delete them.",
                "Set the MONGODB_URI or DATA_DIR that they were written with, or restore its backup; else drop the "
                "table 'chunks' and ingest the reports again.",
            )
    if stored < registered:
        yield _error(
            "passages_missing" if stored else "no_passages",
            f"{registered} passages of {len(records)} reports are registered, but {engine.store} has "
            f"{stored or 'none'} of them.",
            "Ingest the reports again. If they were written with another VECTOR_SEARCH, set that one; if they were "
            "copied in part, copy them again.",
        )
    for name in sorted({record.collection for record in records} - searched):
        yield _warning(
            "collection_not_searched",
            f"No setting names the collection {name!r}, so searches may not find its reports.",
            "Add it to COLLECTIONS, or ingest the reports again.",
        )
    if pending := sum(record.status != "ready" for record in records):
        yield _warning(
            "reports_pending",
            f"{pending} reports are registered but cannot be searched yet.",
            "Ingest them again: python -m chatbot ingest PATH",
        )


def _check_values(services: Services, collection: Collection) -> Iterator[Finding]:
    """Check that a scope can find the values of the filter fields."""
    years = [year for year in collection.distinct("year") if isinstance(year, str) and year != NO_VALUE]
    if years:
        yield _error(
            "years_as_strings",
            f"collection {collection.name}: years are stored as text ({', '.join(sorted(years)[:5])}); a scope by year "
            "compares numbers and does not find them.",
            "Make them numbers: python -m chatbot migrate",
        )
    in_process = not services.storage.engine.traits.has_search_indexes  # which finds missing fields too
    lacking = [name for name in services.settings.filter_fields if not in_process and collection.count({name: None})]
    if lacking:
        yield _warning(
            "filter_fields_left_out",
            f"collection {collection.name}: some passages lack {', '.join(lacking)} instead of storing it as empty; "
            "they are not searched if a question names a country.",
            "Store it as empty: python -m chatbot migrate",
        )


def _check_vectors(services: Services, collection: Collection) -> Iterator[Finding]:
    """Check that a sample of the vectors fits the embedder."""
    rows = list(collection.find({}, {EMBEDDING_FIELD: 1}, limit=SAMPLED))
    stored = [row[EMBEDDING_FIELD] for row in rows if row.get(EMBEDDING_FIELD) is not None]
    if any(isinstance(value, list) for value in stored):
        yield _warning(
            "vectors_as_arrays",
            f"collection {collection.name}: embeddings stored as arrays take three times the space.",
            "Make them float32 vectors: python -m chatbot migrate",
        )
    embedder, dimensions = services.runtime.embedder, {len(decode_vector(value)) for value in stored}
    if other := sorted(dimensions - {embedder.dimensions}):
        yield _error(
            "wrong_dimensions",
            f"collection {collection.name}: embeddings have {other[0]} dimensions, those of {embedder.model_id} have "
            f"{embedder.dimensions}.",
            "Set the embedding model that the collection was written with, or: python -m chatbot reembed",
        )
    if services.storage.facts.embedder() is None:
        yield _warning(
            "embedder_unknown",
            f"collection {collection.name} does not say which model wrote it; {embedder.model_id} is assumed.",
            "If that is right, nothing needs to be done.",
        )
