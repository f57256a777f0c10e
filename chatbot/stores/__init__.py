"""Stores of passages, and which of them serves a database. One contract suite runs over
all of them.
"""

from dataclasses import dataclass

from ..config.settings import Settings
from ..database.core import Database
from ..domain import Store
from ..domain.errors import SettingsError
from ..domain.registry import Registry

STORES: Registry[Store] = Registry(
    "vector search",
    {
        "atlas": "chatbot.stores.atlas",
        "faiss": "chatbot.stores.faiss",
    },
    group="stores",
)  # a line for each store


@dataclass(frozen=True, slots=True)
class StoreTraits:
    """The traits of a store that others need before it is opened: the constant TRAITS
    of its module.
    """

    has_search_indexes: bool = False
    """True if it searches by the MongoDB server's own engine, whose indexes have to be
    created first.
    """
    embeds: bool = False
    """True if it can embed passages and questions by itself (`EmbedsInStore`), by the
    model that it is built with as ``embedding_model``.
    """
    in_database: bool = True
    """Its passages are in the collections of the database, where `reembed` and `copy`
    reach them.
    """


def store_traits(name: str, stores: Registry[Store] = STORES) -> StoreTraits:
    """Return the traits of the store of that name. Raises UnknownNameError,
    MissingPackageError.
    """
    traits: StoreTraits = stores.module(name).TRAITS
    return traits


@dataclass(frozen=True, slots=True)
class Engine:
    """The store to use, and why, for operators."""

    store: str
    detail: str
    traits: StoreTraits


def choose_engine(
    settings: Settings, database: Database, stores: Registry[Store] = STORES
) -> Engine:
    """Return the engine that VECTOR_SEARCH names; for ``auto`` $vectorSearch if the
    server has it, else this process. Raises UnknownNameError: VECTOR_SEARCH names no
    store; SettingsError: the store searches by a MongoDB server's engine, but there is
    no server; DatabaseError, SearchEngineError: the server or its search engine does
    not answer.
    """
    if settings.vector_search != "auto":
        name = stores.check(settings.vector_search, field="VECTOR_SEARCH")
        traits = store_traits(name, stores)
        if database.embedded and traits.has_search_indexes:
            raise SettingsError(
                f"VECTOR_SEARCH={name} needs a MongoDB server: set MONGODB_URI, or "
                "VECTOR_SEARCH=auto."
            )
        return Engine(name, "as set in VECTOR_SEARCH", traits)
    if database.embedded:
        detail = "embedded database: search runs in this process"
        return Engine("faiss", detail, store_traits("faiss", stores))
    # Imported here, because the adapters import this package.
    from .atlas.pipelines import probe_search

    server = probe_search(database, settings.report_collection)
    if server.vector:
        detail = f"the server has {server.detail}"
        return Engine("atlas", detail, store_traits("atlas", stores))
    detail = f"{server.detail}; search runs in this process over the same collections"
    return Engine("faiss", detail, store_traits("faiss", stores))
