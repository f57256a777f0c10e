"""One API over MongoDB (PyMongo) and one embedded SQLite file (NeoSQLite).

The only package that imports either driver. `Collection` holds the handful of operations the product uses, with
the same meaning on both, and raises `DatabaseError` where the drivers raise their own.
"""

from .core import Collection, CommandError, Database, Json
from .ids import id_forms
from .patience import begin_request, end_request
from .vectors import decode_vector

__all__ = [
    "Collection",
    "CommandError",
    "Database",
    "Json",
    "begin_request",
    "decode_vector",
    "end_request",
    "id_forms",
    "open_database",
]

from ..settings import Settings


def open_database(settings: Settings) -> Database:
    """MongoDB where MONGODB_URI is set, else the embedded file in DATA_DIR. Opens no connection to a server yet."""
    if settings.mongodb_uri is not None:
        from .mongo import MongoBackend

        return Database(MongoBackend.from_settings(settings))
    from .embedded import EmbeddedBackend

    return Database(EmbeddedBackend(settings.data_dir / "report-chat.sqlite"))
