"""Ordinary indexes: which are missing, made at once where that takes no time, and built
by a command where it does. A start never waits for a build, because a server aborts one
whose command runs out of time, and would begin anew at the next start.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..domain.errors import DatabaseError, read_table
from .core import Database
from .failures import UNWRITABLE

MAX_ROWS_AT_START = 10_000
"""Rows up to which an index is made at once: well within a second."""
LOOK_SECONDS = 2.0
"""Time between two looks at a build: often enough for a line that shows progress."""
Fields = tuple[tuple[str, int], ...]
"""The fields of an index, each with 1 or -1."""


@dataclass(frozen=True, slots=True)
class OrdinaryIndex:
    collection: str
    fields: Fields

    def __str__(self) -> str:
        names = []
        for name, direction in self.fields:
            sign = "-" if direction < 0 else ""
            names.append(sign + name)
        return f"{self.collection} ({', '.join(names)})"


def indexes_of_repositories() -> list[OrdinaryIndex]:
    """Return the indexes that look-ups in the repositories need (`indexes.toml`)."""
    indexes = []
    for collection, lists_of_names in read_table(__package__, "indexes").items():
        for names in lists_of_names:
            fields = []
            for name in names:
                direction = -1 if name.startswith("-") else 1
                fields.append((name.removeprefix("-"), direction))
            indexes.append(OrdinaryIndex(collection, tuple(fields)))
    return indexes


def missing_indexes(
    database: Database, indexes: Iterable[OrdinaryIndex]
) -> list[OrdinaryIndex]:
    """Return those that do not exist. One that is being built exists. A file is not
    asked: it creates only what is missing.
    """
    indexes = list(indexes)
    if database.embedded:
        return indexes
    names = {index.collection for index in indexes}
    existing = {name: database[name].indexes() for name in names}
    return [
        index for index in indexes if index.fields not in existing[index.collection]
    ]


def create_missing(
    database: Database, indexes: Iterable[OrdinaryIndex]
) -> list[OrdinaryIndex]:
    """Create the missing indexes of a file and of small collections, and with them the
    collections. Return those that are still missing, because their collection is large
    or the server takes no changes. Raises DatabaseError: it does not answer.
    """
    left = []
    for index in missing_indexes(database, indexes):
        collection = database[index.collection]
        if not database.embedded and collection.estimated_count() > MAX_ROWS_AT_START:
            left.append(index)
            continue
        try:
            collection.create_index(index.fields)
        except DatabaseError as error:
            if error.reason not in UNWRITABLE:
                raise
            left.append(index)
    return left


def build_indexes(
    database: Database,
    indexes: Sequence[OrdinaryIndex],
    say: Callable[[str], object],
) -> None:
    """Build the missing indexes one after the other, without a time limit; ``say`` is
    told how far each is. If the connection is lost the server goes on, and asking again
    waits for the same build. Raises DatabaseError: a person has to mend it.
    """
    if database.embedded:
        create_missing(database, indexes)
        return
    for index in missing_indexes(database, indexes):
        began = time.monotonic()
        _build(database, index, say)
        say(f"{index}: built in {time.monotonic() - began:.0f} s")


def _build(
    database: Database, index: OrdinaryIndex, say: Callable[[str], object]
) -> None:
    """Build one index, again where the connection is lost."""
    while True:
        failures: list[DatabaseError] = []

        def create(failures: list[DatabaseError] = failures) -> None:
            try:
                database[index.collection].create_index(index.fields, is_limited=False)
            except DatabaseError as error:
                failures.append(error)

        # A daemon: whoever stops the command does not wait for the server.
        building = threading.Thread(target=create, name="index-build", daemon=True)
        building.start()
        building.join(LOOK_SECONDS)
        while building.is_alive():
            say(f"{index}: {database.build_progress(index.collection)}")
            building.join(LOOK_SECONDS)
        if not failures:
            return
        (failure,) = failures
        if failure.retry_after is None or failure.reason in UNWRITABLE:
            raise failure
        say(f"{index}: {failure.message}")
        time.sleep(LOOK_SECONDS)
