"""NX-27017 with three defects repaired. It cannot replace or update documents that hold
BinData, only insert them. Updates ignore what stands beside `$or`. It takes the paths
in an `_id` of several fields for texts, so that all rows are in one group. Run as
`python -m tests.fakes.nx_handler PORT FOLDER` it is a server.
"""

import sys
from collections.abc import Sequence
from typing import Any

import neosqlite
from nx_27017.handler import NeoSQLiteHandler
from nx_27017.server import run_server_threaded

from tests.fakes.grouping import grouped, is_grouping


class NxHandler(NeoSQLiteHandler):  # type: ignore[misc]
    """Its databases are files in one folder. What it returns as BinData still has lost
    its subtype.
    """

    def handle_command(self, msg: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Insert first what a findAndModify should insert: without that it leaves out
        `$setOnInsert`.
        """
        for _, command in msg["sections"]:
            if "findAndModify" not in command or not command.get("upsert"):
                continue
            fields = command.get("update", {}).get("$setOnInsert")
            if fields is None:
                continue
            insert = {
                "q": command["query"],
                "u": {"$setOnInsert": fields},
                "upsert": True,
            }
            update = {
                "update": command["findAndModify"],
                "updates": [insert],
                "$db": command["$db"],
            }
            super().handle_command({**msg, "sections": [("body", update)]})
        answer: tuple[int, dict[str, Any]] = super().handle_command(msg)
        return answer

    def _convert_objectids(self, doc: Any) -> Any:
        document = _with_binary(super()._convert_objectids(doc))
        if isinstance(document, dict) and "$or" in document:  # a filter
            return {"$and": [{name: condition} for name, condition in document.items()]}
        return document


class Rows(list[Any]):
    """What an aggregation returns."""

    def to_list(self) -> list[Any]:
        return self


_aggregate: Any = neosqlite.Collection.aggregate


def _grouped(self: Any, pipeline: Sequence[Any], *rest: Any, **options: Any) -> Any:
    if not is_grouping(pipeline):
        return _aggregate(self, pipeline, *rest, **options)
    match, group = pipeline
    return Rows(grouped(self.find(match["$match"]), group["$group"]))


neosqlite.Collection.aggregate = _grouped


def _with_binary(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_binary(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_binary(part) for part in value]
    if isinstance(value, bytes) and not isinstance(value, neosqlite.Binary):
        return neosqlite.Binary(value, getattr(value, "subtype", 0))
    return value


if __name__ == "__main__":
    run_server_threaded(
        "127.0.0.1",
        int(sys.argv[1]),
        NxHandler(data_dir=sys.argv[2]),
        use_threading=False,
    )
