"""What a start does to the indexes of a database: said before, and only with leave
where rows of another program are in it (INDEXES).
"""

import logging
from collections.abc import Iterable

from ...database.core import Database
from ...database.ordinary_indexes import missing_indexes
from ...database.rows import unregistered
from ...domain.errors import SettingsError
from ...stores.atlas.indexes import (
    MISSING,
    SearchTarget,
    changed_paths,
    index_status,
)
from . import Services
from .preparing import ordinary_indexes

log = logging.getLogger(__name__)


def require_leave(services: Services) -> bool:
    """Return whether the start may create and change indexes, and log each change
    that it is about to make. Raises SettingsError: a person has to decide, with the
    changes and the command that makes them; DatabaseError, SearchEngineError.
    """
    storage = services.storage
    choice = services.settings.indexes
    if storage.database.embedded:
        return True
    if choice == "never" or services.settings.schema:
        return False
    changes = planned_changes(services)
    if not changes:
        return True
    collections = services.settings.chunk_collections
    if choice == "auto" and has_other_rows(storage.database, collections):
        choice = "ask"
    if choice == "ask":
        lines = "\n".join(f"- {change}" for change in changes)
        raise SettingsError(
            "The start would change the indexes of a database with rows of another "
            f"program:\n{lines}\nNothing was changed. To make these changes, run: "
            "python -m chatbot index create. To start without them, set INDEXES=never."
        )
    for change in changes:
        log.info("The start will %s.", change)
    return True


def planned_changes(services: Services) -> list[str]:
    """Return what the start would do, a line each: "create the search index ...".
    Raises DatabaseError, SearchEngineError.
    """
    storage = services.storage
    changes = [
        f"create the index {index}"
        for index in missing_indexes(storage.database, ordinary_indexes(storage))
        if index.collection in services.settings.chunk_collections
    ]
    if storage.engine.traits.has_search_indexes:
        for target in services.runtime.index_plans:
            changes += _search_index_changes(storage.database, target)
    return changes


def _search_index_changes(database: Database, target: SearchTarget) -> list[str]:
    status = index_status(database, target)
    if status.state == MISSING:
        return [f"create the {target.described}"]
    paths = changed_paths(status.definition, target)
    if not paths:
        return []
    return [f"add to the {target.described}: {', '.join(paths)}"]


def has_other_rows(database: Database, collections: Iterable[str]) -> bool:
    """Return whether a row of passages belongs to no report of this program."""
    others = unregistered(embedded=database.embedded)
    return any(
        database[name].find_one(others, {"_id": 1}) is not None for name in collections
    )
