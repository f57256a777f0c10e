"""MongoDB through PyMongo: calls with time limits, so that no request hangs on a server
that is down, frozen or slow; pauses between retries, and exceptions as DatabaseError.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from datetime import UTC
from importlib.util import find_spec
from typing import Any

import pymongo
from bson.binary import VECTOR_SUBTYPE, Binary
from pymongo import MongoClient, ReadPreference, ReplaceOne, UpdateOne, errors
from pymongo.change_stream import ChangeStream
from pymongo.monitoring import CommandFailedEvent, CommandListener
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from ..domain import Vector
from ..domain.errors import DatabaseError, MissingPackageError, SettingsError
from ..domain.packages import install_command
from .core import (
    CommandError,
    Database,
    Group,
    Json,
    T,
    bookkeeping_limit,
    current_request,
    id_key,
    is_write,
)
from .failures import SOON, ServerCode, mongodb_failure
from .rows import encode_payload

log = logging.getLogger(__name__)
CONNECTIONS_PER_THREAD = 4
"""Upper bound of the pool: streamed answers and ingestion run beside the threads of
requests.
"""
RETRY_PAUSES = (0.05, 1.0)
"""Seconds before the third attempt, doubled before each further one, and the longest.
PyMongo makes the second at once.
"""
MAX_THREADS = 32
"""Threads for calls beside those of the threads that answer requests; a call that finds
none free is made by its own thread.
"""
CLOCK_SECONDS = 60.0
"""Time for which one reading of the server's clock serves: clocks drift by milliseconds
in a minute.
"""
MAX_DRIFT_SECONDS = 1.0
"""Difference between the two clocks of this machine, after which that of the server is
read again.
"""
REQUEST_CALLS = 1.5
"""Time limit for all calls of a request together, in time limits of a single call: one
that hangs, and what the page needs to say so.
"""
TASK_CALLS = 6
"""Time limit for what another thread does at once, in time limits of a single call: it
may make several, outside of a request each with a limit of its own.
"""
SILENT_SECONDS = 1.5
"""Time limit of a call while the server is silent; meanwhile the driver looks for the
server twice a second.
"""
MIN_UNANSWERED_SHARE = 0.9
"""A call that fails after this share of its time limit counts as unanswered; an earlier
failure says less.
"""
SILENCE = (errors.ConnectionFailure, errors.ConfigurationError)
"""Exceptions that mean that nobody answers; any other is an answer."""
CONCERNS = {
    "read_concern": ReadConcern("majority"),
    "write_concern": WriteConcern("majority"),
}
COUNTS = frozenset({"cache", "counters", "usage", "usage_of_limited"})
CONCERNS_OF_COUNTS = {
    "read_concern": ReadConcern("local"),
    "write_concern": WriteConcern(1),
}
"""Of what each request writes and what may be lost: an election can undo the latest."""
_thread = threading.local()


@dataclass
class Call:
    """A call to the server. The driver's listener, which runs in the same thread, notes
    its failed attempts.
    """

    seconds: float
    deadline: float
    """In the time of `time.monotonic`."""
    failures: int = 0
    refusal: dict[str, Any] | None = None
    """The server's last refusal."""


class TimeLimits:
    """Time limits of the calls of one server, and a circuit breaker. Thread-safe. The
    server counts as silent after a call that got no answer while no other call got one.
    From then on, calls of requests that began before fail at once, because they would
    queue, and calls of new requests have SILENT_SECONDS.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = threading.Lock()
        self._answered = float("-inf")
        self._silent_since: float | None = None

    @contextmanager
    def call(self, seconds: float | None = None) -> Iterator[Call]:
        """Limit one call to ``seconds``, or less where the request has little time
        left. Raises DatabaseError: the call is not made, as the server is silent or the
        request has waited too long.
        """
        if seconds is None:
            seconds = self.seconds
        limit = self._limit(seconds)
        # A note takes no time from the answer.
        request = current_request() if bookkeeping_limit() is None else None
        outer_call = getattr(_thread, "call", None)
        began = time.monotonic()
        call = Call(limit, began + limit)
        answered = True
        _thread.call = call
        if request is not None:
            request.begin_call(began)
        try:
            yield call
        except SILENCE:
            answered = False
            raise
        finally:
            _thread.call = outer_call
            now = time.monotonic()
            if request is not None:
                request.end_call(now)
            self._note(answered, began, now, limit)

    def _limit(self, seconds: float) -> float:
        """Return the time limit of a call. Raises DatabaseError: it is not made."""
        request = current_request()
        with self._lock:
            silent_since = self._silent_since
        if silent_since is not None:
            if request is not None and request.began < silent_since:
                raise mongodb_failure("away")
            seconds = min(seconds, SILENT_SECONDS)
        note_seconds = bookkeeping_limit()
        if note_seconds is not None:
            return min(seconds, note_seconds)
        if request is None:
            return seconds
        request_seconds = REQUEST_CALLS * self.seconds
        seconds_left = request.left(request_seconds, time.monotonic())
        if seconds_left <= 0:
            raise mongodb_failure("slow", seconds=request_seconds)
        return min(seconds, seconds_left)

    def _note(self, answered: bool, began: float, now: float, limit: float) -> None:
        """Note whether a call was answered; one in vain may mean a silent server."""
        waited_long = now - began >= MIN_UNANSWERED_SHARE * limit
        with self._lock:
            if answered:
                self._answered = now
                self._silent_since = None
                return
            if is_write() or not waited_long or self._answered >= began:
                return
            if self._silent_since is None:
                self._silent_since = now


class ServerClock:
    """An estimate of the server's clock: a reading of it, and the time since then by
    this machine's steady clock. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offset = 0.0
        """Seconds from this machine's steady clock to the server's clock."""
        self._wall_offset = 0.0
        self._valid_until = float("-inf")

    def now(self, read: Callable[[], float]) -> float:
        """Return the estimate; ``read`` asks the server, and is called when the last
        reading is too old.
        """
        with self._lock:
            if self._is_valid():
                return time.monotonic() + self._offset
        began = time.monotonic()
        seconds = read()
        ended = time.monotonic()
        with self._lock:
            # The server has looked somewhere between the two.
            self._offset = seconds - (began + ended) / 2
            self._wall_offset = time.time() - ended
            self._valid_until = ended + CLOCK_SECONDS
            return ended + self._offset

    def _is_valid(self) -> bool:
        """Return whether the last reading still serves. The steady clock stands still
        while a machine sleeps, so afterwards the two clocks of this machine differ.
        """
        now = time.monotonic()
        drift = time.time() - now - self._wall_offset
        return now < self._valid_until and abs(drift) < MAX_DRIFT_SECONDS


class MongoDatabase(Database):
    """A client and the database it uses. Takes any client compatible with PyMongo
    (tests pass mongomock). ``seconds``: the time limit of one call, from which that of
    a request follows; ``overruled``: options of the URI that are not followed.
    """

    embedded = False

    def __init__(
        self,
        client: Any,
        name: str,
        *,
        seconds: float = 5.0,
        overruled: Sequence[str] = (),
    ) -> None:
        self.call_seconds = seconds
        super().__init__()
        self._client = client
        self._overruled = overruled
        self._pool = self._new_pool()
        self._database = client[name]
        self._limits = TimeLimits(seconds)
        self._clock = ServerClock()

    @classmethod
    def connect(
        cls, uri: str, name: str, *, seconds: float, threads: int
    ) -> "MongoDatabase":
        """Connect with a limit for every wait. Reads and writes are retried, unless the
        URI says otherwise. ``seconds``: as the constructor takes it; ``threads``: those
        that use the client at the same time. Raises SettingsError: the URI has a
        mistake; MissingPackageError: its way to sign in needs a package.
        """
        if _AWS.search(uri) and find_spec("pymongo_auth_aws") is None:
            # The driver looks for it when a server has answered.
            raise MissingPackageError(
                "MONGODB-AWS in MONGODB_URI needs the Python package pymongo-auth-aws.",
                remedy=f"Install it: {install_command('aws')}",
            )
        timeout_ms = int(seconds * 1000)
        try:
            client: MongoClient[Json] = MongoClient(
                uri,
                timeoutMS=timeout_ms,
                serverSelectionTimeoutMS=timeout_ms,
                waitQueueTimeoutMS=timeout_ms,
                connectTimeoutMS=max(timeout_ms // 2, 1),
                maxPoolSize=CONNECTIONS_PER_THREAD * threads,
                appname="report-chat",
                event_listeners=[RetryPauses()],
            )
        except (ValueError, OSError, errors.PyMongoError) as error:
            # PyMongo's message may contain parts of the URI.
            raise SettingsError(_mistake_in(uri, error)) from None
        if _PLACEHOLDER.search(uri):
            raise SettingsError(_mistake_in(uri, errors.InvalidURI()))
        return cls(client, name, seconds=seconds, overruled=overruled_options(client))

    def raw(self, name: str) -> Any:
        """Return the collection as it is read and written, whatever the URI asks for:
        from the primary, with majority read and write concern, as a row that another
        process announces has to be there. Time limits are those of the call
        (`deadline`), which the driver uses in place of `wtimeout`.
        """
        concerns = CONCERNS_OF_COUNTS if name in COUNTS else CONCERNS
        full_name = name if name in self.mapped else self.prefix + name
        return self._database.get_collection(
            full_name, read_preference=ReadPreference.PRIMARY, **concerns
        )

    def check_pages(self) -> None:
        """The server checks its own files."""

    def build_progress(self, name: str) -> str:
        """Ask the server for the user's own operations; not every tier and user may."""
        builds = {"$match": {"command.createIndexes": self.raw(name).name}}
        operations: list[Json] = []
        try:
            with self.translate_errors(), self.deadline(None):
                admin = self._client.get_database("admin")
                operations = list(admin.aggregate([{"$currentOp": {}}, builds]))
        except DatabaseError as error:
            log.debug("The progress of a build is unknown: %s", error.message)
        for operation in operations:
            progress = operation.get("progress") or {}
            if progress.get("total"):
                return f"{progress['done']:,} of {progress['total']:,} rows"
        return super().build_progress(name)

    def options_overruled(self) -> list[str]:
        return list(self._overruled)

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        try:
            yield
        except errors.PyMongoError as error:
            raise translate(error, self._limits.seconds) from error

    @contextmanager
    def deadline(self, milliseconds: int | None) -> Iterator[None]:
        """Limit the time of one call; the client's timeoutMS would otherwise replace
        the command's maxTimeMS.
        """
        seconds = None if milliseconds is None else milliseconds / 1000
        with self._limits.call(seconds) as call:
            try:
                with pymongo.timeout(call.seconds):
                    yield
            except (errors.ExecutionTimeout, errors.ConnectionFailure) as error:
                timed_out = isinstance(error, errors.ExecutionTimeout) or error.timeout
                if call.refusal is None or not timed_out:
                    raise
                # Where the time ends during retries of a refused command, the refusal
                # is the reason.
                message = str(call.refusal.get("errmsg", ""))
                raise errors.OperationFailure(
                    message, call.refusal["code"], call.refusal
                ) from error

    def for_search(self, raw: Any) -> Any:
        """Return the collection with read concern `local`, the only one that search
        stages accept, and with the URI's read preference: the members' search engines
        follow the primary later in any case.
        """
        return raw.with_options(
            read_concern=ReadConcern("local"),
            read_preference=self._client.read_preference,
        )

    def replace_many(self, raw: Any, documents: Sequence[Json]) -> int:
        requests = [
            ReplaceOne({"_id": document["_id"]}, document, upsert=True)
            for document in documents
        ]
        return int(raw.bulk_write(requests, ordered=False).matched_count)

    def update_each(self, raw: Any, updates: Sequence[tuple[Any, Json]]) -> None:
        requests = [UpdateOne({"_id": id}, update) for id, update in updates]
        raw.bulk_write(requests, ordered=False)

    def group(
        self, raw: Any, filter: Json, by: Sequence[str], first: Sequence[str]
    ) -> list[Group]:
        """Group on the server, in the order of the least ids: rows have none of their
        own.
        """
        # Names of results must not have dots, which paths of other programs have.
        keys = {f"by{number}": path for number, path in enumerate(by)}
        values = {f"first{number}": path for number, path in enumerate(first)}
        stage: Json = {
            "_id": {name: f"${path}" for name, path in keys.items()},
            "rows": {"$sum": 1},
            "first_id": {"$min": "$_id"},
        }
        for name, path in values.items():
            stage[name] = {"$first": f"${path}"}
        rows = list(raw.aggregate([{"$match": filter}, {"$group": stage}]))
        rows.sort(key=lambda row: id_key(row["first_id"]))
        groups = []
        for row in rows:
            document: Json = {}
            for name, path in keys.items():
                _put(document, path, row["_id"].get(name))
            for name, path in values.items():
                _put(document, path, row.get(name))
            groups.append((document, int(row["rows"])))
        return groups

    @contextmanager
    def watch(
        self, names: Sequence[str], after: Any = None
    ) -> Iterator[ChangeStream[Json]]:
        """Follow the changes with one change stream, which leaves out the rows
        themselves.
        """
        condition = {
            "ns.coll": {"$in": list(names)},
            "operationType": {"$in": ["update", "replace"]},
        }
        pipeline = [{"$match": condition}, {"$project": {"ns": 1, "documentKey": 1}}]
        with (
            self.translate_errors(),
            self._database.watch(
                pipeline,
                resume_after=after,
                max_await_time_ms=100,  # so that a loop over it notices its end
            ) as stream,
        ):
            yield stream

    def collection_names(self) -> list[str]:
        with self.translate_errors(), self.deadline(None):
            names: list[str] = self._database.list_collection_names()
        return sorted(
            name.removeprefix(self.prefix)
            for name in names
            if name in self.mapped or name.startswith(self.prefix)
        )

    def encode_vector(self, vector: Vector) -> Any:
        """Return a vector as BSON's BinData of subtype 9, float32."""
        return Binary(encode_payload(vector), VECTOR_SUBTYPE)

    def now(self) -> float:
        """Return the clock of the server, as estimated from its last reading: no
        further round trip is needed for CLOCK_SECONDS.
        """
        return self._clock.now(self._read_clock)

    def _read_clock(self) -> float:
        # https://www.mongodb.com/docs/manual/reference/command/hello/: localTime is the
        # server's time; a date without a time zone is in UTC.
        with self.translate_errors(), self.deadline(None):
            local_time = self._client["admin"].command("hello")["localTime"]
        return float(local_time.replace(tzinfo=UTC).timestamp())

    def ping(self) -> str:
        with self.translate_errors(), self.deadline(None):
            version = self._client.server_info().get("version", "of unknown version")
        return f"MongoDB {version}, database {self._database.name}"

    def at_once(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Run the first call here and the others in the pool. A call that no thread of
        the pool has begun by then is run here, too, so nobody waits for a free thread:
        not even calls that use this method themselves.
        """
        if not calls:
            return []
        first, *further = calls
        tasks = [self._pool.submit(copy_context().run, call) for call in further]
        try:
            results = [first()]
            for call, task in zip(further, tasks, strict=True):
                if task.cancel():
                    results.append(call())
                else:
                    results.append(self._result(task))
        finally:
            for task in tasks:
                task.cancel()
        return results

    def _result(self, running: Future[T]) -> T:
        """Wait for a call that another thread is making, which has limits of its
        own.
        """
        max_seconds = TASK_CALLS * self._limits.seconds
        try:
            return running.result(max_seconds)
        except TimeoutError as error:
            raise mongodb_failure("slow", seconds=max_seconds) from error

    def close(self) -> None:
        self._pool.shutdown(wait=False)
        self._pool = self._new_pool()
        self._client.close()

    def _new_pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="mongodb")


def overruled_options(client: MongoClient[Json]) -> list[str]:
    """Return the options of the URI that `MongoDatabase.raw` does not follow."""
    overruled = []
    if client.read_preference != ReadPreference.PRIMARY:
        overruled.append(f"readPreference={client.read_preference.mongos_mode}")
    level = client.read_concern.level
    if level not in {None, "majority"}:
        overruled.append(f"readConcernLevel={level}")
    write = client.write_concern.document.get("w", "majority")
    if write != "majority":
        overruled.append(f"w={write}")
    return overruled


def _put(document: Json, path: str, value: Any) -> None:
    """Set the value at a dotted path, unless it is None, or the path leads through
    another value.
    """
    if value is None:
        return
    *parents, name = path.split(".")
    nested: Any = document
    for parent in parents:
        nested = nested.setdefault(parent, {})
        if not isinstance(nested, dict):
            return
    nested.setdefault(name, value)


class RetryPauses(CommandListener):
    """Pauses between PyMongo's retries. Its methods run in the thread that makes the
    call. Under a time limit PyMongo retries a refused command without a pause (4,000
    times a second, measured), and in the end reports only that the time is up.
    """

    def started(self, event: object) -> None:
        """Do nothing."""

    succeeded = started

    def failed(self, event: CommandFailedEvent) -> None:
        """Note the failure, and pause before the driver tries again."""
        call: Call | None = getattr(_thread, "call", None)
        if call is None:
            return
        if "code" in event.failure:
            call.refusal = dict(event.failure)
        if call.failures:
            first_pause, longest_pause = RETRY_PAUSES
            pause = min(first_pause * 2 ** (call.failures - 1), longest_pause)
            time.sleep(max(0.0, min(pause, call.deadline - time.monotonic())))
        call.failures += 1


OVERLOAD_LABEL = "SystemOverloadedError"
RETRYABLE_LABEL = "RetryableWriteError"
_AWS = re.compile(r"\bauthMechanism=MONGODB-AWS\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"<[\w -]+>|%3C[\w -]+%3E", re.IGNORECASE)
"""Atlas shows addresses with `<db_password>`."""
_UNRESOLVED = re.compile(r"name or service|getaddrinfo|nodename|name resolution", re.I)
_TLS = re.compile(r"\b(?:SSL|TLS)|certificate", re.IGNORECASE)
_DRIVER: tuple[tuple[tuple[type[errors.PyMongoError], ...], str], ...] = (
    ((errors.NetworkTimeout, errors.ExecutionTimeout, errors.WTimeoutError), "slow"),
    ((errors.NotPrimaryError,), "wrong_role"),
    ((errors.WaitQueueTimeoutError,), "throttled:here"),
    ((errors.ConnectionFailure,), "away"),
    ((errors.ConfigurationError,), "bad_address"),
)
"""What the driver's own exceptions mean, which have no code."""


def _mistake_in(uri: str, error: Exception) -> str:
    """Return what is wrong with an address, and what helps, without its parts."""
    if _PLACEHOLDER.search(uri):
        return (
            "MONGODB_URI still has a placeholder between < and >. Put the user and the "
            "password of the database in its place, without the brackets."
        )
    if isinstance(error, OSError):
        return (
            "A certificate file that MONGODB_URI names cannot be read. Give its whole "
            "path, and let the user who runs the program read it."
        )
    if isinstance(error, errors.InvalidURI):
        return (
            "MONGODB_URI cannot be read. It should be "
            "mongodb://user:password@host:27017 or mongodb+srv://user:password@host, "
            "with : / ? # [ ] @ % in a password percent-encoded (@ is %40)."
        )
    if uri.startswith("mongodb+srv://") and "DNS" in str(error):
        return (
            "The host in MONGODB_URI has no DNS record of a cluster. Copy the address "
            "again from Atlas (Connect, Drivers), and check this machine's name server."
        )
    return (
        f"MONGODB_URI cannot be used: {type(error).__name__}. Check the options after "
        "the ? in it, and the port."
    )


def translate(error: errors.PyMongoError, seconds: float) -> DatabaseError:
    """Return what happened, what helps and when to retry, without secrets; ``seconds``:
    the time limit of one call.
    """
    if isinstance(error, errors.OperationFailure) and not isinstance(
        error, (errors.ExecutionTimeout, errors.WTimeoutError)
    ):
        return _refused(error, seconds)
    for kinds, name in _DRIVER:
        if isinstance(error, kinds):
            # Only a failed selection names the cause of failed attempts to connect.
            is_selection = isinstance(error, errors.ServerSelectionTimeoutError)
            if is_selection and _TLS.search(str(error)):
                return mongodb_failure("away:tls")
            if is_selection and _UNRESOLVED.search(str(error)):
                return mongodb_failure("bad_address")
            return mongodb_failure(name, seconds=seconds)
    return DatabaseError(f"MongoDB failed: {type(error).__name__}.", retry_after=SOON)


def _refused(error: errors.OperationFailure, seconds: float) -> DatabaseError:
    """Return the error for a refused command; for a batch that of its first failure,
    without the written document.
    """
    details: Any = error.details or {}
    code = error.code
    message = str(details.get("errmsg") or type(error).__name__)
    if isinstance(error, errors.BulkWriteError):
        message = "a batch of writes failed"
        failures = [
            *(details.get("writeErrors") or ()),
            *(details.get("writeConcernErrors") or ()),
        ]
        if failures:
            code = failures[0].get("code")
            message = str(failures[0].get("errmsg", "a write failed"))
    row = mongodb_failure.find(code)
    if row is None and code == ServerCode.ATLAS:
        row = mongodb_failure.read(message)
    if row is None and error.has_error_label(OVERLOAD_LABEL):
        row = mongodb_failure.rows["throttled"]
    if row is None:
        return CommandError(
            message,
            code,
            remedy="Try again; if it stays so, look at the server's log.",
            retry_after=SOON,
        )
    if not row.is_refusal:
        return mongodb_failure(row.name, seconds=seconds)
    retry_after = row.retry_after
    if error.has_error_label(RETRYABLE_LABEL):
        # The server itself asks for a retry of some that are final elsewhere.
        retry_after = SOON
    return CommandError(
        message,
        code,
        remedy=row.remedy,
        retry_after=retry_after,
        reason=row.reason,
    )
