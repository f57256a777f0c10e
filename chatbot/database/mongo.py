"""MongoDB through PyMongo: the calls, the pauses between attempts, and its exceptions in our words."""

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

from ..errors import DatabaseError, SettingsError
from ..schema import Vector
from ..settings import Settings
from .core import CommandError, Json
from .rows import VECTOR_SUBTYPE, encode_payload
from .time_limits import REQUEST_SHARE, Call, NoTimeLeftError, TimeLimits, current_call

CONNECTIONS_PER_THREAD = 4
"""Upper bound of the pool: streamed answers and ingestion run beside the threads that serve requests."""
PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds before the third attempt, doubled with each further one; the second is made at once, as PyMongo does."""
AWAIT_MS = 100
"""How long a change stream waits for the next change."""
SOON = 5
LATER = 30
"""Seconds after which trying again may help: an election or a restart is over, a changed password is rolled out."""
NO_USER = {11, 18}
NO_RIGHTS = 13
ATLAS = 8000
"""Atlas's own code for many things; its message tells them apart."""
_ATLAS_NO_USER = re.compile(r"auth", re.IGNORECASE)
_ATLAS_NO_RIGHTS = re.compile(r"user is not allowed|not authorized", re.IGNORECASE)
_TLS = re.compile(r"\b(?:SSL|TLS)|certificate", re.IGNORECASE)
TOO_SLOW = {50, 202, 262}
OVERLOAD = {433, 449, 450, 462, 473}
OVERLOAD_LABEL, SEARCH_OVERLOADED = "SystemOverloadedError", 489
"""The server refuses a request or a connection before it does any work: error_codes.yml, category and label of this
name. The search engine's own overload is its store's to explain."""
ELECTION = {91, 189, 10058, 10107, 11600, 11602, 13435, 13436}
"""The server is shutting down, stepping down, or no primary (any more)."""
BROKEN_OFF = {6, 7, 43, 64, 89, 134, 237, 9001}
"""The server lost a connection, a cursor or a replica on the way."""


class MongoBackend:
    """A client and the database it uses. Takes any PyMongo-compatible client (the tests pass mongomock).

    ``seconds`` is what one call may take; what one request may take follows from it (`time_limits`).
    """

    embedded = False

    def __init__(self, client: Any, name: str, *, seconds: float = 5.0) -> None:
        self._client = client
        self._database = client[name]
        self._limits = TimeLimits(seconds, silence=(ConnectionFailure, ConfigurationError))

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
                event_listeners=[RetryPauses()],
            )
        except (ValueError, PyMongoError) as error:
            # Not PyMongo's own words, which repeat parts of the URI.
            raise SettingsError(
                f"MONGODB_URI cannot be used: {type(error).__name__}. It should be mongodb://user:password@host:27017 "
                "or mongodb+srv://user:password@host, with : / ? # [ ] @ % in a password percent-encoded (@ is %40)."
            ) from None
        return cls(client, settings.mongodb_db, seconds=settings.mongodb_timeout)

    def raw(self, name: str) -> Any:
        """PyMongo's collection."""
        return self._database[name]

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raises PyMongo's errors as `translate` makes them."""
        try:
            yield
        except PyMongoError as error:
            raise translate(error, self._limits.seconds) from error
        except NoTimeLeftError as error:
            raise (_no_answer() if error.silent else _too_slow(REQUEST_SHARE * self._limits.seconds)) from error

    @contextmanager
    def deadline(self, milliseconds: int | None) -> Iterator[None]:
        """Limit one call's time; the client's timeoutMS would otherwise replace the command's maxTimeMS."""
        wanted = None if milliseconds is None else milliseconds / 1000
        with self._limits.call(wanted) as call, _raise_refusal(call), pymongo.timeout(call.seconds):
            yield

    def empty_log(self) -> None:
        """Nothing: the server looks after its own log."""

    def for_search(self, raw: Any) -> Any:
        """The collection with read concern `local`, whatever the URI says: search stages refuse every other."""
        return raw.with_options(read_concern=ReadConcern("local"))

    def replace_many(self, raw: Any, documents: Sequence[Json]) -> None:
        """Upsert whole documents by ``_id``, in one round trip."""
        requests = [ReplaceOne({"_id": document["_id"]}, document, upsert=True) for document in documents]
        raw.bulk_write(requests, ordered=False)

    def update_each(self, raw: Any, updates: Sequence[tuple[Any, Json]]) -> None:
        """Apply one update to each document by ``_id``, in one round trip."""
        raw.bulk_write([UpdateOne({"_id": id}, update) for id, update in updates], ordered=False)

    def watch(self, names: Sequence[str], after: Any) -> Any:
        """One change stream for all these collections, without the rows themselves."""
        wanted = {"ns.coll": {"$in": list(names)}, "operationType": {"$in": ["update", "replace"]}}
        pipeline = [{"$match": wanted}, {"$project": {"ns": 1, "documentKey": 1}}]
        return self._database.watch(pipeline, resume_after=after, max_await_time_ms=AWAIT_MS)

    def collection_names(self) -> list[str]:
        """The collections that exist, in no order."""
        return [str(name) for name in self._database.list_collection_names()]

    def encode_vector(self, vector: Vector) -> Any:
        """A vector as BSON's BinData of subtype 9, float32."""
        return Binary(encode_payload(vector), VECTOR_SUBTYPE)

    def ping(self) -> str:
        """The server's version and the database's name, once it has answered."""
        with self.translate_errors(), self.deadline(None):
            version = self._client.server_info().get("version", "of unknown version")
        return f"MongoDB {version}, database {self._database.name}"

    def free_bytes(self, *, tidy: bool = False) -> None:
        """None: the room on the server's disks cannot be asked for."""

    def close(self) -> None:
        """Close the client."""
        self._client.close()


class RetryPauses(CommandListener):
    """What PyMongo's retries leave out: a pause between them. Its methods run in the thread that makes the call.

    Under a time limit PyMongo tries a refused command again and again without a pause (4,000 times a second,
    measured), and in the end tells only that the time is up.
    """

    def started(self, event: CommandStartedEvent) -> None:
        """Nothing to do."""

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Nothing to do."""

    def failed(self, event: CommandFailedEvent) -> None:
        """Notes the failure, and pauses before the driver tries again."""
        call = current_call()
        if call is None:
            return
        if "code" in event.failure:
            call.refusal = dict(event.failure)
        if call.failures:
            pause = min(PAUSE * 2 ** (call.failures - 1), LONGEST_PAUSE)
            time.sleep(max(0.0, min(pause, call.deadline - time.monotonic())))
        call.failures += 1


@contextmanager
def _raise_refusal(call: Call) -> Iterator[None]:
    """Raise the server's own refusal where a call's time runs out over retries of it."""
    try:
        yield
    except (ExecutionTimeout, ConnectionFailure) as error:
        refusal = call.refusal
        if refusal is None or not (isinstance(error, ExecutionTimeout) or error.timeout):
            raise
        raise OperationFailure(str(refusal.get("errmsg", "")), refusal["code"], refusal) from error


def translate(error: PyMongoError, seconds: float) -> DatabaseError:
    """What happened, what helps, and when to try again, without a secret; ``seconds``: the time limit of one call."""
    if isinstance(error, OperationFailure) and not isinstance(error, (ExecutionTimeout, WTimeoutError)):
        return _refused(error, seconds)
    if isinstance(error, (NetworkTimeout, ExecutionTimeout, WTimeoutError)):
        return _too_slow(seconds)
    if isinstance(error, ConnectionFailure):
        return _unreachable(error)
    if isinstance(error, ConfigurationError):
        return DatabaseError(
            "The address in MONGODB_URI cannot be resolved or used.",
            remedy="Check the host name in it, and this machine's name server.",
            retry_after=LATER,
            reason="bad_address",
        )
    return DatabaseError(f"MongoDB failed: {type(error).__name__}.", retry_after=SOON)


def _unreachable(error: ConnectionFailure) -> DatabaseError:
    if isinstance(error, NotPrimaryError):
        return _election()
    if isinstance(error, WaitQueueTimeoutError):
        remedy = "Try again; if it stays so, look at the server's load."
        busy = "All connections to MongoDB are in use."
        return DatabaseError(busy, remedy=remedy, retry_after=SOON, reason="overloaded")
    # only a failed selection tells what the attempts to connect died of
    return _no_answer(tls=isinstance(error, ServerSelectionTimeoutError) and bool(_TLS.search(str(error))))


def _no_answer(*, tls: bool = False) -> DatabaseError:
    remedy = "Check that the server runs and MONGODB_URI is right."
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
            "The MongoDB user lacks a right that is needed.",
            remedy="Give the user of MONGODB_URI the role readWrite on the database MONGODB_DB.",
            retry_after=LATER,
            reason="no_rights",
        )
    if code in TOO_SLOW:
        return _too_slow(seconds)
    if code in ELECTION:
        return _election()
    if code in OVERLOAD or (code != SEARCH_OVERLOADED and error.has_error_label(OVERLOAD_LABEL)):
        remedy = "Try again; if it stays so, use a larger tier."
        return DatabaseError("MongoDB is overloaded.", remedy=remedy, retry_after=SOON, reason="overloaded")
    again = code in BROKEN_OFF or error.has_error_label("RetryableWriteError")
    return CommandError(message, code, retry_after=SOON if again else None)


def _cause(error: OperationFailure) -> tuple[int | None, str]:
    """Code and message; of a batch those of its first failure (never the written document, which is there too)."""
    details: Any = error.details or {}
    if isinstance(error, BulkWriteError):
        failures = [*(details.get("writeErrors") or ()), *(details.get("writeConcernErrors") or ())]
        if failures:
            return failures[0].get("code"), str(failures[0].get("errmsg", "a write failed"))
        return error.code, "a batch of writes failed"
    return error.code, str(details.get("errmsg") or type(error).__name__)
