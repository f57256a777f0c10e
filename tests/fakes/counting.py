"""Databases that count their calls and the rows that these read.

MongoDB reads the rows of one index for a filter, and then each of them to test the rest
of it (mongodb.com/docs/manual/core/query-plans); without an index it reads all. The
SQLite file counts the steps of its machine instead
(sqlite.org/c3ref/progress_handler.html), some ten for a row that is tested.
"""

import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chatbot.database.embedded import EmbeddedDatabase
from chatbot.database.mongo import MongoDatabase

STEPS_AT_ONCE = 20
"""Steps of SQLite between two counts."""


class Counts:
    """Calls and rows by collection, since the last `clear`. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls = Counter[str]()
        self.rows = Counter[str]()
        self.vectors = Counter[str]()
        """Vectors that searches compare."""

    def add(
        self, name: str, *, calls: int = 0, rows: int = 0, vectors: int = 0
    ) -> None:
        with self._lock:
            self.calls[name] += calls
            self.rows[name] += rows
            self.vectors[name] += vectors

    def clear(self) -> None:
        with self._lock:
            self.calls.clear()
            self.rows.clear()
            self.vectors.clear()


class CountingFile(EmbeddedDatabase):
    """The SQLite file. ``counts.rows`` are steps of SQLite, under the name ""."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.counts = Counts()

    def raw(self, name: str) -> Any:
        self.counts.add(name, calls=1)
        return super().raw(name)

    def _open(self) -> sqlite3.Connection:
        connection = super()._open()
        connection.set_progress_handler(self._count_steps, STEPS_AT_ONCE)
        return connection

    def _count_steps(self) -> int:
        self.counts.add("", rows=STEPS_AT_ONCE)
        return 0


class CountingServer(MongoDatabase):
    """The double of a server, which takes longer to count than a server to answer."""

    def __init__(self, client: Any, name: str = "test") -> None:
        super().__init__(client, name, seconds=120.0)
        self.counts = Counts()

    def raw(self, name: str) -> Any:
        return CountedCollection(super().raw(name), name, self.counts)


class CountedCollection:
    """The driver's collection. What is not defined here reads no rows."""

    def __init__(self, raw: Any, name: str, counts: Counts) -> None:
        self._raw = raw
        self._name = name
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        self._counts.add(self._name, calls=1)
        return getattr(self._raw, name)

    def with_options(self, *arguments: Any, **options: Any) -> "CountedCollection":
        return self

    def find(
        self,
        filter: Mapping[str, Any],
        projection: Any = None,
        *,
        sort: Sequence[tuple[str, int]] = (),
        limit: int = 0,
    ) -> Any:
        self._count(filter, sort=sort, limit=limit)
        options = {"sort": list(sort)} if sort else {}
        return self._raw.find(filter, projection, limit=limit, **options)

    def find_one(self, filter: Mapping[str, Any], projection: Any = None) -> Any:
        self._count(filter, limit=1)
        return self._raw.find_one(filter, projection)

    def count_documents(self, filter: Mapping[str, Any], **options: Any) -> int:
        self._count(filter)
        return int(self._raw.count_documents(filter, **options))

    def distinct(self, field: str, filter: Mapping[str, Any]) -> list[Any]:
        self._count(filter)
        return list(self._raw.distinct(field, filter))

    def update_one(self, filter: Mapping[str, Any], *rest: Any, **options: Any) -> Any:
        self._count(filter, limit=1)
        return self._raw.update_one(filter, *rest, **options)

    def update_many(self, filter: Mapping[str, Any], *rest: Any, **options: Any) -> Any:
        self._count(filter)
        return self._raw.update_many(filter, *rest, **options)

    def find_one_and_update(
        self, filter: Mapping[str, Any], *rest: Any, **options: Any
    ) -> Any:
        self._count(filter, sort=options.get("sort") or (), limit=1)
        return self._raw.find_one_and_update(filter, *rest, **options)

    def delete_many(self, filter: Mapping[str, Any], **options: Any) -> Any:
        self._count(filter)
        return self._raw.delete_many(filter, **options)

    def bulk_write(self, requests: Sequence[Any], **options: Any) -> Any:
        self._counts.add(self._name, calls=1, rows=len(requests))
        return self._raw.bulk_write(requests, **options)

    def aggregate(self, pipeline: Sequence[Mapping[str, Any]], **options: Any) -> Any:
        ((stage, spec),) = pipeline[0].items()
        rows = self._examined(spec) if stage == "$match" else 0
        vectors = self._compared(stage, spec)
        self._counts.add(self._name, calls=1, rows=rows, vectors=vectors)
        return self._raw.aggregate(pipeline, **options)

    def _compared(self, stage: str, spec: Mapping[str, Any]) -> int:
        """Return the number of vectors that a search compares."""
        if stage == "$rankFusion":
            parts = [part[0] for part in spec["input"]["pipelines"].values()]
            return sum(self._compared(*next(iter(one.items()))) for one in parts)
        if stage != "$vectorSearch":
            return 0
        if spec.get("exact"):
            return self._matching(spec.get("filter", {}))
        return int(spec["numCandidates"])

    def _count(
        self,
        filter: Mapping[str, Any],
        *,
        sort: Sequence[tuple[str, int]] = (),
        limit: int = 0,
    ) -> None:
        rows = self._examined(filter, sort=sort, limit=limit)
        self._counts.add(self._name, calls=1, rows=rows)

    def _examined(
        self,
        filter: Mapping[str, Any],
        *,
        sort: Sequence[tuple[str, int]] = (),
        limit: int = 0,
    ) -> int:
        """Return the number of rows that the best plan for a filter reads."""
        plans = [self._in_index(keys, filter, sort, limit) for keys in self._indexes()]
        if "$or" in filter:
            plans.append(sum(self._examined(branch) for branch in filter["$or"]))
        if "$and" in filter:
            plans.append(min(self._examined(branch) for branch in filter["$and"]))
        if filter or sort:
            plans.append(self._matching({}))
        elif limit:
            plans.append(min(limit, self._matching({})))
        else:
            plans.append(self._matching({}))
        return min(plans)

    def _in_index(
        self,
        keys: Sequence[str],
        filter: Mapping[str, Any],
        sort: Sequence[tuple[str, int]],
        limit: int,
    ) -> int:
        """Return the number of rows that are read by way of an index."""
        prefix: list[str] = []
        for key in keys:
            if key not in filter:
                break
            prefix.append(key)
        order = [name for name, _ in sort]
        is_ordered = list(keys[len(prefix) :][: len(order)]) == order
        if not prefix and not (order and is_ordered):
            return self._matching({})
        matching = self._matching({name: filter[name] for name in prefix})
        is_bounded = limit and is_ordered and set(filter) <= set(prefix)
        return min(limit, matching) if is_bounded else matching

    def _indexes(self) -> list[list[str]]:
        indexes = self._raw.index_information().values()
        return [["_id"], *([name for name, _ in one["key"]] for one in indexes)]

    def _matching(self, filter: Mapping[str, Any]) -> int:
        if not filter:
            return int(self._raw.estimated_document_count())
        return int(self._raw.count_documents(filter))
