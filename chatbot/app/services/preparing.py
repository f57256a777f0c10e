"""Making the database ready to be written: whose it is, its schema, its ordinary
indexes.
"""

import logging
from collections.abc import Sequence

from ...database.core import Collection, Json
from ...database.ordinary_indexes import (
    OrdinaryIndex,
    create_missing,
    indexes_of_repositories,
)
from ...database.rows import EMBEDDING_FIELD, TEXT_FIELD, WITHOUT_EMBEDDING
from ...domain.errors import SettingsError
from ...stores.atlas.indexes import VECTOR_INDEX, is_own_index
from ...stores.chunks import is_retired
from ...stores.chunks import ordinary_indexes as indexes_of_passages
from ..schema import migrate
from .storage import Storage

log = logging.getLogger(__name__)
WITHOUT_EXTRA = "To read it in place, add rows_of_others to EXTRAS and set SCHEMA."


def prepare_database(storage: Storage) -> None:
    """Bring the schema up to date, and create the ordinary indexes that look-ups need,
    but those of large collections, which a command builds; none with INDEXES=never.
    Raises DatabaseError: it does not answer; SettingsError: a newer program wrote it,
    or another its passages.
    """
    require_own(storage)
    migrate(storage.database)
    if storage.settings.indexes == "never":
        return
    missing = create_missing(storage.database, ordinary_indexes(storage))
    if missing:
        log.warning(
            "Indexes are missing, so look-ups are slow: %s. Build them: "
            "python -m chatbot index create",
            ", ".join(map(str, missing)),
        )


def ordinary_indexes(storage: Storage) -> list[OrdinaryIndex]:
    """Return the ordinary indexes that look-ups need."""
    settings = storage.settings
    database = storage.database
    # The embedded database filters in the in-process index, so there these would only
    # slow down writing.
    fields = () if database.embedded else settings.filter_fields
    writable = [
        name for name in settings.chunk_collections if not database[name].read_only
    ]
    return [*indexes_of_passages(writable, fields), *indexes_of_repositories()]


def require_own(storage: Storage) -> None:
    """Raises SettingsError: a collection of passages, or its search index, was made by
    another program.
    """
    settings = storage.settings
    database = storage.database
    if database.embedded or settings.schema:
        return
    for name in settings.chunk_collections:
        collection = database[name]
        rows = list(collection.find({}, WITHOUT_EMBEDDING, limit=20))
        problem = _other_programs(storage, collection, rows)
        if not problem:
            continue
        remedy = WITHOUT_EXTRA
        if storage.foreign_rows is not None:
            remedy = storage.foreign_rows.remedy(rows)
        raise SettingsError(
            f"The collection {name!r} belongs to another program: {problem}. Nothing "
            f"was changed. {remedy} To leave it alone, set MONGODB_COLLECTION and "
            "REPORT_COLLECTION to other names. See docs/mongodb.md."
        )


def _other_programs(
    storage: Storage, collection: Collection, rows: Sequence[Json]
) -> str:
    """Return what shows that a collection belongs to another program, "" = nothing."""
    is_own = any(TEXT_FIELD in row or is_retired(row) for row in rows)
    if rows and not is_own:
        return "none of its rows has the fields of this program"
    if not storage.engine.traits.has_search_indexes:
        return ""
    for index in collection.search_indexes(VECTOR_INDEX):
        if not is_own_index(index):
            return f"its search index {VECTOR_INDEX!r} has no {EMBEDDING_FIELD}"
    return ""
