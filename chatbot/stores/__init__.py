"""Where passages live and are searched, and which of the stores serves a database.

One contract suite runs over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..database.core import Database
from ..errors import SettingsError
from ..protocols import Store
from ..registry import Registry
from ..settings import Settings

STORES: Registry[Store] = Registry(
    "vector search",
    {
        "atlas": "chatbot.stores.atlas.store",
        "faiss": "chatbot.stores.faiss.store",
        "pgvector": "chatbot.stores.pgvector.store",
    },
)


@dataclass(frozen=True, slots=True)
class StoreTraits:
    """What others must know of a store before it is opened: the constant TRAITS of its module."""

    has_search_indexes: bool = False
    """Whether it searches by the MongoDB server's own engine, whose indexes are made beforehand, one for each slot."""
    in_database: bool = True
    """The passages are in the collections of the database, where `reembed` and `copy` reach them."""


def store_traits(name: str) -> StoreTraits:
    """What the store of that name can do. Raises UnknownNameError, MissingPackageError."""
    traits: StoreTraits = STORES.module(name).TRAITS
    return traits


IN_SERVER, IN_PROCESS = "atlas", "faiss"
"""What VECTOR_SEARCH=auto takes: the server's own engine where there is one."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The store to use, and why in words that an operator reads."""

    store: str
    detail: str

    @property
    def traits(self) -> StoreTraits:
        """What its store can do."""
        return store_traits(self.store)


def choose_engine(settings: Settings, database: Database) -> Engine:
    """VECTOR_SEARCH as set; for ``auto`` what the server can do: $vectorSearch, else search in this process.

    Raises:
        UnknownNameError: VECTOR_SEARCH is no name of a store.
        SettingsError: it searches by a MongoDB server's engine, but there is no such server.
        DatabaseError, SearchEngineError: the server or its search engine had to be asked and did not answer.
    """
    if settings.vector_search != "auto":
        name = STORES.check(settings.vector_search, field="VECTOR_SEARCH")
        if database.embedded and store_traits(name).has_search_indexes:
            raise SettingsError(f"VECTOR_SEARCH={name} needs a MongoDB server: set MONGODB_URI, or VECTOR_SEARCH=auto.")
        return Engine(name, "as set in VECTOR_SEARCH")
    if database.embedded:
        return Engine(IN_PROCESS, "embedded database: search runs in this process")
    from .atlas.pipelines import probe_search  # here: the adapters import this package

    found = probe_search(database, settings.report_collection)
    if found.vector:
        return Engine(IN_SERVER, f"the server has {found.detail}")
    return Engine(IN_PROCESS, f"{found.detail}; search runs in this process over the same collections")


def passages_in_database(settings: Settings) -> bool:
    """Whether the database holds the passages, as far as the settings alone say: ``auto`` never takes them elsewhere.

    Raises:
        UnknownNameError, MissingPackageError: the store that is set.
    """
    return settings.vector_search == "auto" or store_traits(settings.vector_search).in_database
