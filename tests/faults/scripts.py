"""Databases that count the calls of one process at the driver's interface, and end the
process, or fail one call, at a chosen number.

    script = Script()
    database = ScriptedFile(path, script)       # or ScriptedMongo(client, name, script)
    script.fault = Fault(17, KILL)

The calls are those of the objects that `Database.raw` returns: collections of PyMongo
and of mongomock, and `SqliteCollection`. So whatever the product calls is counted, also
what does not exist yet.
"""

import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pymongo.errors import NetworkTimeout

from chatbot.database.core import Database
from chatbot.database.embedded import EmbeddedDatabase
from chatbot.database.mongo import MongoDatabase
from tests.library.helpers import KilledError

T = TypeVar("T")
READS = frozenset(
    {
        "aggregate",
        "collection_names",
        "count_documents",
        "distinct",
        "estimated_document_count",
        "find",
        "find_one",
        "group",
        "index_information",
        "list_indexes",
        "list_search_indexes",
        "ping",
    }
)
"""Methods that change nothing; any other counts as a write."""
KILL, LOST_CALL, LOST_ANSWER = "kill", "fail before", "fail after"
"""The process ends before the call; the call times out and was not made; the call was
made and its answer is lost.
"""


@dataclass(frozen=True)
class Call:
    """A call of the driver, as the recording shows it."""

    collection: str
    method: str

    @property
    def writes(self) -> bool:
        return self.method not in READS

    def __str__(self) -> str:
        return f"{self.collection}.{self.method}"


@dataclass(frozen=True)
class Fault:
    """What happens to the call of this number; the first call is 0."""

    number: int
    kind: str


@dataclass
class Script:
    """The calls that one process has made, and the fault that meets one of them.

    ``after_write`` is called after each write until the fault. ``really``: a killed
    process ends by SIGKILL instead of an exception, after which its calls fail.
    """

    fault: Fault | None = None
    after_write: Callable[[], None] | None = None
    really: bool = False
    calls: list[Call] = field(default_factory=list)
    is_dead: bool = False
    in_transaction: Callable[[], bool] = lambda: False
    _thread: threading.Thread | None = None

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the calls of this thread, for the block. Heartbeats have threads of
        their own, whose calls come at any time.
        """
        self._thread = threading.current_thread()
        try:
            yield
        finally:
            self._thread = None

    def run(self, call: Call, make: Callable[[], T], timeout: Exception) -> T:
        """Make a call, unless the script says otherwise."""
        is_counted = threading.current_thread() is self._thread
        if self.is_dead:
            raise KilledError if is_counted else timeout
        if not is_counted:
            return make()
        number = len(self.calls)
        self.calls.append(call)
        kind = self._kind(number)
        if kind == KILL:
            self._kill()
        if kind == LOST_CALL:
            raise timeout
        result = make()
        if kind == LOST_ANSWER:
            raise timeout
        if call.writes and self.after_write is not None and not self.in_transaction():
            # Another process reads in another context than this one.
            Context().run(self.after_write)
        return result

    def _kind(self, number: int) -> str:
        if self.fault is None or self.fault.number != number:
            return ""
        return self.fault.kind

    def _kill(self) -> None:
        if self.really:
            os.kill(os.getpid(), signal.SIGKILL)
        self.is_dead = True
        raise KilledError


class ScriptedCollection:
    """The driver's collection, whose calls go through the script."""

    def __init__(
        self, name: str, raw: Any, script: Script, timeout: Callable[[], Exception]
    ) -> None:
        self._name = name
        self._raw = raw
        self._script = script
        self._timeout = timeout

    def __getattr__(self, method: str) -> Any:
        attribute = getattr(self._raw, method)
        if method == "with_options":
            return lambda *arguments, **options: ScriptedCollection(
                self._name,
                attribute(*arguments, **options),
                self._script,
                self._timeout,
            )
        if not callable(attribute):
            return attribute

        def run(*arguments: Any, **options: Any) -> Any:
            return self._script.run(
                Call(self._name, method),
                lambda: attribute(*arguments, **options),
                self._timeout(),
            )

        return run


def _locked() -> Exception:
    return sqlite3.OperationalError("database is locked")


def _timed_out() -> Exception:
    return NetworkTimeout("127.0.0.1:27017: timed out")


class ScriptedFile(EmbeddedDatabase):
    """The SQLite file, opened by one process of a scenario."""

    def __init__(self, path: Path, script: Script) -> None:
        super().__init__(path)
        self._script = script
        script.in_transaction = self._in_transaction

    def _in_transaction(self) -> bool:
        """Return whether this process writes at the moment, so that others wait."""
        return self._writer is not None and self._writer.connection.in_transaction

    def raw(self, name: str) -> Any:
        return ScriptedCollection(name, super().raw(name), self._script, _locked)

    def collection_names(self) -> list[str]:
        call = Call("database", "collection_names")
        with self.translate_errors():
            return self._script.run(call, super().collection_names, _locked())


class ScriptedMongo(MongoDatabase):
    """A MongoDB, opened by one process of a scenario. Calls are made one at a time, so
    that their numbers are the same each time.
    """

    def __init__(self, client: Any, name: str, script: Script) -> None:
        super().__init__(client, name)
        self._script = script

    def raw(self, name: str) -> Any:
        return ScriptedCollection(name, super().raw(name), self._script, _timed_out)

    def collection_names(self) -> list[str]:
        call = Call("database", "collection_names")
        with self.translate_errors():
            return self._script.run(call, super().collection_names, _timed_out())

    def at_once(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        return Database.at_once(self, calls)
