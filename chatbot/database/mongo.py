"""MongoDB through PyMongo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pymongo
from bson.binary import Binary
from pymongo import MongoClient, ReplaceOne, UpdateOne
from pymongo.errors import ConfigurationError, ConnectionFailure, PyMongoError

from ..errors import SettingsError
from ..schema import Vector
from ..settings import Settings
from .attempts import Attempts, retried_call
from .core import Json
from .mongo_errors import no_answer, too_slow, translated_error
from .patience import REQUEST_SHARE, NoTimeLeftError, Patience
from .vectors import VECTOR_SUBTYPE, encode_payload

CONNECTIONS_PER_THREAD = 4
"""Upper bound of the pool: streamed answers and ingestion run beside the threads that serve requests."""


class MongoBackend:
    """A client and the database it uses. Takes any PyMongo-compatible client (the tests pass mongomock).

    ``seconds`` is what one call may take; what one request may take follows from it (`patience`).
    """

    embedded = False

    def __init__(self, client: Any, name: str, *, seconds: float = 5.0) -> None:
        self._client = client
        self._database = client[name]
        self._patience = Patience(seconds, silence=(ConnectionFailure, ConfigurationError))

    @classmethod
    def from_settings(cls, settings: Settings) -> MongoBackend:
        """Every wait is bounded. Reads and writes are retried, PyMongo's default, unless the URI says otherwise."""
        assert settings.mongodb_uri is not None
        timeout_ms = int(settings.mongodb_timeout * 1000)
        try:
            client: MongoClient[Json] = MongoClient(
                settings.mongodb_uri.get_secret_value(),
                timeoutMS=timeout_ms,
                serverSelectionTimeoutMS=timeout_ms,
                connectTimeoutMS=max(timeout_ms // 2, 1),
                waitQueueTimeoutMS=timeout_ms,
                maxPoolSize=CONNECTIONS_PER_THREAD * settings.threads,
                appname="report-chat",
                event_listeners=[Attempts()],
            )
        except (ValueError, PyMongoError) as error:
            raise SettingsError(f"MONGODB_URI cannot be used: {type(error).__name__}.") from None
        return cls(client, settings.mongodb_db, seconds=settings.mongodb_timeout)

    def raw(self, name: str) -> Any:
        return self._database[name]

    @contextmanager
    def translated(self) -> Iterator[None]:
        try:
            yield
        except PyMongoError as error:
            raise translated_error(error, self._patience.seconds) from error
        except NoTimeLeftError as error:
            raise (no_answer() if error.silent else too_slow(REQUEST_SHARE * self._patience.seconds)) from error

    @contextmanager
    def deadline(self, milliseconds: int | None) -> Iterator[None]:
        # the client's timeoutMS would otherwise replace the command's maxTimeMS
        wanted = None if milliseconds is None else milliseconds / 1000
        with self._patience.call(wanted) as seconds, retried_call(seconds), pymongo.timeout(seconds):
            yield

    def replace_many(self, raw: Any, documents: Sequence[Json]) -> None:
        requests = [ReplaceOne({"_id": document["_id"]}, document, upsert=True) for document in documents]
        raw.bulk_write(requests, ordered=False)

    def update_each(self, raw: Any, updates: Sequence[tuple[Any, Json]]) -> None:
        raw.bulk_write([UpdateOne({"_id": id}, update) for id, update in updates], ordered=False)

    def collection_names(self) -> list[str]:
        return [str(name) for name in self._database.list_collection_names()]

    def encode_vector(self, vector: Vector) -> Any:
        return Binary(encode_payload(vector), VECTOR_SUBTYPE)

    def ping(self) -> str:
        with self.translated(), self.deadline(None):
            version = self._client.server_info().get("version", "of unknown version")
        return f"MongoDB {version}, database {self._database.name}"

    def close(self) -> None:
        self._client.close()
