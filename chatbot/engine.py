"""Which vector search serves this database, and the search indexes it needs."""

from __future__ import annotations

from dataclasses import dataclass

from .database import Database
from .errors import SettingsError
from .settings import Settings
from .stores import STORES
from .stores.chunks import embedding_field
from .stores.search_indexes import IndexPlan, SearchCapabilities, plan_indexes, probe_search


@dataclass(frozen=True, slots=True)
class Engine:
    """The store to use, and why in words that an operator reads."""

    store: str
    detail: str
    capabilities: SearchCapabilities | None = None


def choose_engine(settings: Settings, database: Database) -> Engine:
    """VECTOR_SEARCH as set; for ``auto`` what the server can do: $vectorSearch, else search in this process.

    Raises:
        UnknownNameError: VECTOR_SEARCH is no name of a store.
        SettingsError: it is atlas, but there is no MongoDB.
        DatabaseError: the server had to be asked and did not answer.
    """
    if settings.vector_search == "atlas" and database.embedded:
        raise SettingsError("VECTOR_SEARCH=atlas needs a MongoDB server: set MONGODB_URI, or VECTOR_SEARCH=auto.")
    if settings.vector_search != "auto":
        return Engine(STORES.check(settings.vector_search, field="VECTOR_SEARCH"), "as set in VECTOR_SEARCH")
    if database.embedded:
        return Engine("faiss", "embedded database: search runs in this process")
    found = probe_search(database, settings.report_collection)
    if found.vector and found.text:
        return Engine("atlas", f"the server has {found.detail}", found)
    return Engine("faiss", f"{found.detail}; search runs in this process over the same collections", found)


def index_plans(settings: Settings, *, dimensions: int, slot: str = "") -> list[IndexPlan]:
    """The search indexes that $vectorSearch and $search need, for the vectors in ``slot``."""
    return plan_indexes(
        collections=settings.chunk_collections,
        filter_fields=settings.filter_fields,
        dimensions=dimensions,
        language=settings.language,
        quantization=settings.quantization,
        embedding_field=embedding_field(slot),
    )
