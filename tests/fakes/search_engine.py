"""The state of the search engine that stands beside mongomock: its indexes, its switches, what it was asked."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pymongo.errors import OperationFailure

from tests.fakes.engine_errors import refused

Row = tuple[float, dict[str, Any]]
"""(score, document)"""
Documents = Sequence[dict[str, Any]]
Find = Callable[[str, str], "Mapping[str, Any] | None"]
"""(index name, type) -> the definition that serves; None when no such index exists."""


@dataclass
class SearchIndex:
    """One search index. ``serving`` is the definition that answers: the old one until a new one is built."""

    name: str
    type: str
    latest: dict[str, Any]
    status: str = "READY"
    serving: dict[str, Any] | None = None
    message: str = ""

    @property
    def queryable(self) -> bool:
        return self.serving is not None and self.status in ("READY", "STALE", "BUILDING", "PENDING")

    def become(self, status: str, message: str = "") -> None:
        self.status, self.message = status, message
        if status == "READY":
            self.serving = self.latest

    def described(self) -> dict[str, Any]:
        row: dict[str, Any] = {"id": f"id-{self.name}", "name": self.name, "type": self.type, "status": self.status}
        row |= {"queryable": self.queryable, "latestDefinition": copy.deepcopy(self.latest)}
        return row | ({"message": self.message} if self.message else {})


@dataclass
class Engine:
    """The switches of a search engine, and what it was asked.

    ``room``: how many search indexes the tier allows. ``silent``: an unfinished index gives no rows and no error,
    as some deployments do, instead of the refusal of others.
    """

    enabled: bool = True
    rank_fusion: bool = True
    new_status: str = "READY"
    room: int | None = None
    failure: OperationFailure | None = None
    silent: bool = False
    indexes: dict[str, dict[str, SearchIndex]] = field(default_factory=dict)
    asked: list[tuple[str, list[dict[str, Any]], dict[str, Any]]] = field(default_factory=list)

    def index(self, collection: str, name: str) -> SearchIndex:
        return self.indexes[collection][name]

    def serving(self, collection: str, name: str, type: str) -> Mapping[str, Any] | None:
        found = self.indexes.get(collection, {}).get(name)
        if found is None or found.type != type:
            return None
        if found.serving is None or not found.queryable:
            if self.silent:
                return None
            kind = "vector" if type == "vectorSearch" else "search"
            raise refused(f"cannot query {kind} index 6ac2 ({kind} index {name}) while in state {found.status}")
        return found.serving


def check_definition(type: str, definition: Mapping[str, Any]) -> None:
    vectors = [one for one in definition.get("fields", []) if one["type"] == "vector"] if type == "vectorSearch" else []
    if type == "vectorSearch" and not vectors:
        raise refused('"fields" at least one vector field must be present')
    for one in vectors:
        if not 1 <= one["numDimensions"] <= 8192:
            raise refused('"fields.numDimensions" must be within bounds [1..8192]')
    if type == "search" and "mappings" not in definition:
        raise refused('"mappings" is required')
