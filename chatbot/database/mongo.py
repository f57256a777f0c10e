"""MongoDB through PyMongo: calls, pauses between retries, and exceptions as DatabaseError."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pymongo
from bson.binary import Binary
from pymongo import MongoClient, ReplaceOne, UpdateOne
from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    ExecutionTimeout,
    NetworkTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WTimeoutError,
)
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent
from pymongo.read_concern import ReadConcern

from ..config.settings import Settings
from ..domain import Vector
from ..domain.errors import DatabaseError, SettingsError
from .core import ChangeStream, CommandError, Database, Json
from .rows import VECTOR_SUBTYPE, encode_payload
from .time_limits import REQUEST_SHARE, NoTimeLeftError, TimeLimits, current_call

CONNECTIONS_PER_THREAD = 4
"""Upper bound of the pool: streamed answers and ingestion run beside the threads of requests."""
PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds before the third attempt, doubled before each further one; PyMongo makes the second at once."""
AWAIT_MS = 100
"""Time that a change stream waits for the next change."""
SOON, LATER = 5, 30
"""Seconds until a retry may help: after an election or a restart; after a password was changed."""
NO_USER = {11, 18}
NO_RIGHTS = 13
ATLAS = 8000
"""Atlas's code for many errors, which differ in the message."""
_ATLAS_NO_USER = re.compile(r"auth", re.IGNORECASE)
_ATLAS_NO_RIGHTS = re.compile(r"user is not allowed|not authorized", re.IGNORECASE)
_TLS = re.compile(r"\b(?:SSL|TLS)|certificate", re.IGNORECASE)
TOO_SLOW = {50, 202, 262}
OVERLOAD = {433, 449, 450, 462, 473}
OVERLOAD_LABEL, SEARCH_OVERLOADED = "SystemOverloadedError", 489
"""The server refuses a request or a connection before any work: error_codes.yml, category and label of this name. The
store explains an overloaded search engine."""
ELECTION = {91, 189, 10058, 10107, 11600, 11602, 13435, 13436}
"""The server is shutting down, stepping down, or not the primary."""
BROKEN_OFF = {6, 7, 43, 64, 89, 134, 237, 9001}
"""The server lost a connection, a cursor or a replica."""


class MongoDatabase(Database):
    """A client and the database it uses. Takes any client compatible with PyMongo (tests pass mongomock).

    ``seconds``: the time limit of one call, from which that of a request follows (`time_limits`).
    """

    embedded = False

    def __init__(self, client: Any, name: str, *, seconds: float = 5.0) -> None:
        self._client = client
        self._database = client[name]
        self._limits = TimeLimits(seconds, silence=(ConnectionFailure, ConfigurationError))

    @classmethod
    def from_settings(cls, settings: Settings) -> MongoDatabase:
        """Connect with a limit for every wait. Reads and writes are retried, unless the URI says otherwise."""
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
                event_listeners=[RetryPauses()],
            )
        except (ValueError, PyMongoError) as error:
            # PyMongo's message may contain parts of the URI.
            raise SettingsError(
                f"MONGODB_URI cannot be used: {type(error).__name__}. It should be mongodb://user:password@host:27017 "
                "or mongodb+srv://user:password@host, with : / ? # [ ] @ % in a password percent-encoded (@ is %40)."
            ) from None
        return cls(client, settings.mongodb_db, seconds=settings.mongodb_timeout)

    def raw(self, name: str) -> Any:
        """Return PyMongo's collection."""
        return self._database[name]

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise PyMongo's errors as `translate` converts them."""
        try:
            yield
        except PyMongoError as error:
            raise translate(error, self._limits.seconds) from error
        except NoTimeLeftError as error:
            raise (_no_answer() if error.silent else _too_slow(REQUEST_SHARE * self._limits.seconds)) from error

    @contextmanager
    def deadline(self, milliseconds: int | None) -> Iterator[None]:
        """Limit the time of one call; the client's timeoutMS would otherwise replace the command's maxTimeMS."""
        with self._limits.call(None if milliseconds is None else milliseconds / 1000) as call:
            try:
                with pymongo.timeout(call.seconds):
                    yield
            except (ExecutionTimeout, ConnectionFailure) as error:
                # Where the time ends during retries of a refused command, the refusal is the reason.
                refusal = call.refusal
                if refusal is None or not (isinstance(error, ExecutionTimeout) or error.timeout):
                    raise
                raise OperationFailure(str(refusal.get("errmsg", "")), refusal["code"], refusal) from error

    def for_search(self, raw: Any) -> Any:
        """Return the collection with read concern `local`, the only one that search stages accept."""
        return raw.with_options(read_concern=ReadConcern("local"))

    def replace_many(self, raw: Any, documents: Sequence[Json]) -> None:
        """Upsert whole documents by ``_id``, in one round trip."""
        requests = [ReplaceOne({"_id": document["_id"]}, document, upsert=True) for document in documents]
        raw.bulk_write(requests, ordered=False)

    def update_each(self, raw: Any, updates: Sequence[tuple[Any, Json]]) -> None:
        """Apply one update to each document by ``_id``, in one round trip."""
        raw.bulk_write([UpdateOne({"_id": id}, update) for id, update in updates], ordered=False)

    @contextmanager
    def watch(self, names: Sequence[str], after: Any = None) -> Iterator[ChangeStream]:
        """Follow the changes with one change stream, which leaves out the rows themselves."""
        condition = {"ns.coll": {"$in": list(names)}, "operationType": {"$in": ["update", "replace"]}}
        pipeline = [{"$match": condition}, {"$project": {"ns": 1, "documentKey": 1}}]
        with (
            self.translate_errors(),
            self._database.watch(pipeline, resume_after=after, max_await_time_ms=AWAIT_MS) as stream,
        ):
            yield stream

    def collection_names(self) -> list[str]:
        """Return the names of the existing collections, sorted."""
        with self.translate_errors(), self.deadline(None):
            return sorted(map(str, self._database.list_collection_names()))

    def encode_vector(self, vector: Vector) -> Any:
        """Return a vector as BSON's BinData of subtype 9, float32."""
        return Binary(encode_payload(vector), VECTOR_SUBTYPE)

    def ping(self) -> str:
        """Return the server's version and the database's name."""
        with self.translate_errors(), self.deadline(None):
            version = self._client.server_info().get("version", "of unknown version")
        return f"MongoDB {version}, database {self._database.name}"

    def empty_log(self) -> None:
        """Do nothing: the server maintains its log."""

    def close(self) -> None:
        """Close the client."""
        self._client.close()


class RetryPauses(CommandListener):
    """Pauses between PyMongo's retries. Its methods run in the thread that makes the call.

    Under a time limit PyMongo retries a refused command without a pause (4,000 times a second, measured), and in the
    end reports only that the time is up.
    """

    def started(self, event: CommandStartedEvent) -> None:
        """Do nothing."""

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Do nothing."""

    def failed(self, event: CommandFailedEvent) -> None:
        """Note the failure, and pause before the driver tries again."""
        call = current_call()
        if call is None:
            return
        if "code" in event.failure:
            call.refusal = dict(event.failure)
        if call.failures:
            pause = min(PAUSE * 2 ** (call.failures - 1), LONGEST_PAUSE)
            time.sleep(max(0.0, min(pause, call.deadline - time.monotonic())))
        call.failures += 1


def translate(error: PyMongoError, seconds: float) -> DatabaseError:
    """Return what happened, what helps and when to retry, without secrets; ``seconds``: the time limit of one call."""
    if isinstance(error, OperationFailure) and not isinstance(error, (ExecutionTimeout, WTimeoutError)):
        return _refused(error, seconds)
    if isinstance(error, (NetworkTimeout, ExecutionTimeout, WTimeoutError)):
        return _too_slow(seconds)
    if isinstance(error, NotPrimaryError):
        return _election()
    if isinstance(error, WaitQueueTimeoutError):
        return _overloaded("All connections to MongoDB are in use.", "look at the server's load")
    if isinstance(error, ConnectionFailure):
        # Only a failed selection names the cause of failed attempts to connect.
        return _no_answer(tls=isinstance(error, ServerSelectionTimeoutError) and bool(_TLS.search(str(error))))
    if isinstance(error, ConfigurationError):
        return DatabaseError(
            "The address in MONGODB_URI cannot be resolved or used.",
            remedy="Check the host name in it, and this machine's name server.",
            retry_after=LATER,
            reason="bad_address",
        )
    return DatabaseError(f"MongoDB failed: {type(error).__name__}.", retry_after=SOON)


def _no_answer(*, tls: bool = False) -> DatabaseError:
    remedy = "Check that the server runs and that MONGODB_URI is right."
    if tls:
        remedy = (
            "TLS failed: on Atlas, allow this machine's address (Network Access); elsewhere check the certificates."
        )
    return DatabaseError("MongoDB does not answer.", remedy=remedy, retry_after=SOON, reason="unreachable")


def _too_slow(seconds: float) -> DatabaseError:
    return DatabaseError(
        f"MongoDB was too slow: it took longer than the {seconds:g} seconds allowed.",
        remedy="Try again; if it stays so, look at the server's load and indexes, or raise MONGODB_TIMEOUT.",
        retry_after=SOON,
        reason="slow",
    )


def _election() -> DatabaseError:
    remedy = "It is electing one: try again."
    return DatabaseError("MongoDB has no primary just now.", remedy=remedy, retry_after=SOON, reason="no_primary")


def _overloaded(message: str, advice: str) -> DatabaseError:
    remedy = f"Try again; if it stays so, {advice}."
    return DatabaseError(message, remedy=remedy, retry_after=SOON, reason="overloaded")


def _refused(error: OperationFailure, seconds: float) -> DatabaseError:
    code, message = _cause(error)
    if code in NO_USER or (code == ATLAS and _ATLAS_NO_USER.search(message) and not _ATLAS_NO_RIGHTS.search(message)):
        return DatabaseError(
            "MongoDB refused the user or password.",
            remedy="Check the credentials in MONGODB_URI.",
            retry_after=LATER,
            reason="auth_refused",
        )
    if code == NO_RIGHTS or (code == ATLAS and _ATLAS_NO_RIGHTS.search(message)):
        return DatabaseError(
            "The MongoDB user lacks a permission.",
            remedy="Give the user of MONGODB_URI the role readWrite on the database MONGODB_DB.",
            retry_after=LATER,
            reason="no_rights",
        )
    if code in TOO_SLOW:
        return _too_slow(seconds)
    if code in ELECTION:
        return _election()
    if code in OVERLOAD or (code != SEARCH_OVERLOADED and error.has_error_label(OVERLOAD_LABEL)):
        return _overloaded("MongoDB is overloaded.", "use a larger tier")
    again = code in BROKEN_OFF or error.has_error_label("RetryableWriteError")
    return CommandError(message, code, retry_after=SOON if again else None)


def _cause(error: OperationFailure) -> tuple[int | None, str]:
    """Return code and message; of a batch those of its first failure, without the written document."""
    details: Any = error.details or {}
    if isinstance(error, BulkWriteError):
        failures = [*(details.get("writeErrors") or ()), *(details.get("writeConcernErrors") or ())]
        if failures:
            return failures[0].get("code"), str(failures[0].get("errmsg", "a write failed"))
        return error.code, "a batch of writes failed"
    return error.code, str(details.get("errmsg") or type(error).__name__)
