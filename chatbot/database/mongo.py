"""MongoDB through PyMongo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pymongo
from bson.binary import Binary
from pymongo import MongoClient, ReplaceOne
from pymongo.errors import (
    ConfigurationError,
    ConnectionFailure,
    ExecutionTimeout,
    OperationFailure,
    PyMongoError,
    WTimeoutError,
)

from ..errors import DatabaseError, SettingsError
from ..schema import Vector
from ..settings import Settings
from .core import CommandError, Json
from .vectors import VECTOR_SUBTYPE, encode_payload

AUTHENTICATION_CODES = {13, 18, 8000}
"""Unauthorized, AuthenticationFailed, and Atlas's own code for both."""


class MongoBackend:
    """A client and the database it uses. Takes any PyMongo-compatible client (the tests pass mongomock)."""

    embedded = False

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self._database = client[name]

    @classmethod
    def from_settings(cls, settings: Settings) -> MongoBackend:
        """Time-outs bound every operation; retryable reads and writes are PyMongo's default and stay on."""
        assert settings.mongodb_uri is not None
        timeout_ms = int(settings.mongodb_timeout * 1000)
        try:
            client: MongoClient[Json] = MongoClient(
                settings.mongodb_uri.get_secret_value(),
                serverSelectionTimeoutMS=timeout_ms,
                connectTimeoutMS=timeout_ms,
                timeoutMS=2 * timeout_ms,
                maxPoolSize=4 * settings.threads,
                appname="report-chat",
            )
        except (ConfigurationError, ValueError, PyMongoError) as error:
            raise SettingsError(f"MONGODB_URI cannot be used: {type(error).__name__}.") from None
        return cls(client, settings.mongodb_db)

    def raw(self, name: str) -> Any:
        return self._database[name]

    @contextmanager
    def translated(self) -> Iterator[None]:
        try:
            yield
        except (ConnectionFailure, ExecutionTimeout, WTimeoutError) as error:
            raise DatabaseError(
                "MongoDB does not answer.", remedy="Check that the server runs and MONGODB_URI is right.", retry_after=5
            ) from error
        except OperationFailure as error:
            if error.code in AUTHENTICATION_CODES:
                raise DatabaseError(
                    "MongoDB refused the user or password, or the user lacks rights.",
                    remedy="Check the credentials in MONGODB_URI and the user's roles.",
                ) from error
            raise CommandError(str((error.details or {}).get("errmsg", error)), error.code) from error
        except PyMongoError as error:
            raise DatabaseError(f"MongoDB failed: {type(error).__name__}.", retry_after=5) from error

    @contextmanager
    def deadline(self, milliseconds: int | None) -> Iterator[None]:
        if milliseconds is None:
            yield
        else:
            # the client's timeoutMS would otherwise replace the command's maxTimeMS
            with pymongo.timeout(milliseconds / 1000):
                yield

    def replace_many(self, raw: Any, documents: Sequence[Json]) -> None:
        requests = [ReplaceOne({"_id": document["_id"]}, document, upsert=True) for document in documents]
        raw.bulk_write(requests, ordered=False)

    def encode_vector(self, vector: Vector) -> Any:
        return Binary(encode_payload(vector), VECTOR_SUBTYPE)

    def ping(self) -> str:
        with self.translated():
            version = self._client.server_info()["version"]
        return f"MongoDB {version}, database {self._database.name}"

    def close(self) -> None:
        self._client.close()
