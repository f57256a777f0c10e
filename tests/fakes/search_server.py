"""`SearchClient` behind a port: the real driver talks to it over a socket.

    with SearchServer() as server: MongoClient(server.uri)

It carries the commands that the product sends to the double's methods, and the
double's errors back as the server's. Commands and replies are those of MongoDB's
manual (mongodb.com/docs/manual/reference/command); sessions and retryable writes are
accepted and mean nothing, as one process answers one call after the other.
"""

import itertools
import socket
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from pymongo import ReplaceOne, UpdateOne
from pymongo.errors import OperationFailure

from tests.fakes.mongomock_search import SearchClient, SearchCollection
from tests.fakes.wire_messages import Message, receive, reply

Json = dict[str, Any]
HELLO: Json = {
    "ismaster": True,
    "isWritablePrimary": True,
    "helloOk": True,
    "maxBsonObjectSize": 16 * 1024 * 1024,
    "maxMessageSizeBytes": 48_000_000,
    "maxWriteBatchSize": 100_000,
    "minWireVersion": 0,
    "maxWireVersion": 21,  # MongoDB 7.0 (wire_version.h)
    "readOnly": False,
    "logicalSessionTimeoutMinutes": 30,
}


class SearchServer:
    """A server on a free port of 127.0.0.1, for as long as the context lasts.
    ``received`` holds every command but greetings, in order.
    """

    def __init__(self, client: SearchClient | None = None) -> None:
        self.client = client or SearchClient()
        self.received: list[Json] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._cursors: dict[int, list[Json]] = {}
        self._cursor_ids = itertools.count(1)
        self._indexes: dict[str, list[Json]] = {}

    @property
    def uri(self) -> str:
        return f"mongodb://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> "SearchServer":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        for one in (self._socket, *self._connections):
            one.close()

    def sent(self, stage: str) -> list[Json]:
        """Return the aggregations whose first stage is ``stage``, as they came."""
        return [
            command
            for command in self.received
            if command.get("pipeline") and stage in command["pipeline"][0]
        ]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(
                target=self._serve, args=(connection,), daemon=True
            ).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            while (message := receive(connection)) is not None:
                connection.sendall(reply(message, self._answer(message)))
        except OSError:
            return

    def _answer(self, message: Message) -> Json:
        if message.name == "hello":
            return {**HELLO, "localTime": datetime.now(UTC), "ok": 1}
        command = message.document
        name = next(iter(command))
        self.received.append(command)
        handler = self._handlers().get(name)
        if handler is None:
            return {"ok": 0, "errmsg": f"no such command: '{name}'", "code": 59}
        try:
            with self.client.lock:
                return {**handler(command), "ok": 1}
        except OperationFailure as error:
            details: Mapping[str, Any] = error.details or {}
            message_text = str(details.get("errmsg") or error)
            return {"ok": 0, "errmsg": message_text, "code": error.code or 1}

    def _handlers(self) -> dict[str, Callable[[Json], Json]]:
        nothing: Callable[[Json], Json] = lambda command: {}  # noqa: E731
        return {
            "ping": nothing,
            "endSessions": nothing,
            "killCursors": nothing,
            "buildInfo": lambda command: {"version": "7.0.0"},
            "buildinfo": lambda command: {"version": "7.0.0"},
            "find": self._find,
            "getMore": self._more,
            "aggregate": self._aggregate,
            "count": self._count,
            "distinct": self._distinct,
            "insert": self._insert,
            "update": self._update,
            "delete": self._delete,
            "findAndModify": self._find_and_modify,
            "create": self._create,
            "listCollections": self._list_collections,
            "createIndexes": self._create_indexes,
            "listIndexes": self._list_indexes,
            "createSearchIndexes": self._create_search_indexes,
            "updateSearchIndex": self._update_search_index,
            "dropSearchIndex": self._drop_search_index,
        }

    def _collection(self, command: Json) -> SearchCollection:
        name = str(next(iter(command.values())))
        return self.client.get_database(command["$db"]).get_collection(name)

    def _cursor(self, command: Json, rows: list[Json], size: int) -> Json:
        """Return the first ``size`` rows, and a cursor for the others."""
        name = next(iter(command.values()))
        cursor = 0
        if rows[size:]:
            cursor = next(self._cursor_ids)
            self._cursors[cursor] = rows[size:]
        namespace = f"{command['$db']}.{name if isinstance(name, str) else '$cmd'}"
        return {"cursor": {"id": cursor, "ns": namespace, "firstBatch": rows[:size]}}

    def _find(self, command: Json) -> Json:
        found = self._collection(command).find(
            command.get("filter") or {}, command.get("projection") or None
        )
        if command.get("sort"):
            found = found.sort(list(command["sort"].items()))
        if command.get("limit"):
            found = found.limit(abs(int(command["limit"])))
        return self._cursor(command, list(found), command.get("batchSize", 101))

    def _more(self, command: Json) -> Json:
        cursor, size = int(command["getMore"]), command.get("batchSize", 10_000)
        rows = self._cursors.pop(cursor, [])
        if rows[size:]:
            self._cursors[cursor] = rows[size:]
        namespace = f"{command['$db']}.{command['collection']}"
        rest = cursor if rows[size:] else 0
        return {"cursor": {"id": rest, "ns": namespace, "nextBatch": rows[:size]}}

    def _aggregate(self, command: Json) -> Json:
        pipeline, collection = command["pipeline"], self._collection(command)
        if pipeline and "$changeStream" in pipeline[0]:
            collection.database.watch()  # refuses, as a server without replicas does
        if pipeline and "$listSearchIndexes" in pipeline[0]:
            name = pipeline[0]["$listSearchIndexes"].get("name")
            rows = list(collection.list_search_indexes(name))
        else:
            rows = list(collection.aggregate(pipeline))
        size = command.get("cursor", {}).get("batchSize", 101)
        return self._cursor(command, rows, size)

    def _count(self, command: Json) -> Json:
        collection = self._collection(command)
        return {"n": collection.count_documents(command.get("query") or {})}

    def _distinct(self, command: Json) -> Json:
        query = command.get("query") or {}
        return {"values": self._collection(command).distinct(command["key"], query)}

    def _insert(self, command: Json) -> Json:
        collection = self._collection(command)
        for number, document in enumerate(command["documents"]):
            try:
                collection.insert_one(document)
            except OperationFailure as error:
                refused = {"index": number, "code": error.code, "errmsg": str(error)}
                return {"n": number, "writeErrors": [refused]}
        return {"n": len(command["documents"])}

    def _update(self, command: Json) -> Json:
        collection, matched = self._collection(command), 0
        upserted: list[Json] = []
        for number, update in enumerate(command["updates"]):
            is_operator = next(iter(update["u"]), "").startswith("$")
            request = UpdateOne if is_operator else ReplaceOne
            is_upsert = bool(update.get("upsert"))
            before = collection.find_one(update["q"], {"_id": 1})
            if update.get("multi"):
                collection.update_many(update["q"], update["u"], upsert=is_upsert)
                matched += collection.count_documents(update["q"])
                continue
            collection.bulk_write([request(update["q"], update["u"], upsert=is_upsert)])
            if before is not None:
                matched += 1
            elif is_upsert:
                upserted.append({"index": number, "_id": update["q"].get("_id")})
        answer: Json = {"n": matched + len(upserted), "nModified": matched}
        return {**answer, "upserted": upserted} if upserted else answer

    def _delete(self, command: Json) -> Json:
        collection, deleted = self._collection(command), 0
        for one in command["deletes"]:
            remove = collection.delete_many if not one["limit"] else None
            if remove is not None:
                deleted += remove(one["q"]).deleted_count
            else:
                deleted += collection.delete_one(one["q"]).deleted_count
        return {"n": deleted}

    def _find_and_modify(self, command: Json) -> Json:
        value = self._collection(command).find_one_and_update(
            command["query"],
            command["update"],
            upsert=bool(command.get("upsert")),
            return_document=bool(command.get("new")),
        )
        return {"value": value}

    def _create(self, command: Json) -> Json:
        self.client.get_database(command["$db"]).create_collection(command["create"])
        return {}

    def _list_collections(self, command: Json) -> Json:
        names = self.client.get_database(command["$db"]).list_collection_names()
        rows = [{"name": name, "type": "collection"} for name in names]
        return self._cursor(command, rows, len(rows))

    def _create_indexes(self, command: Json) -> Json:
        name = command["createIndexes"]
        made = self._indexes.setdefault(f"{command['$db']}.{name}", [])
        database = self.client.get_database(command["$db"])
        is_new = name not in database.list_collection_names()
        if is_new:
            database.create_collection(name)
        for index in command["indexes"]:
            if index not in made:
                made.append(index)
        return {"createdCollectionAutomatically": is_new}

    def _list_indexes(self, command: Json) -> Json:
        of_id = {"v": 2, "key": {"_id": 1}, "name": "_id_"}
        name = f"{command['$db']}.{command['listIndexes']}"
        rows = [of_id, *self._indexes.get(name, [])]
        return self._cursor(command, rows, len(rows))

    def _create_search_indexes(self, command: Json) -> Json:
        for model in command["indexes"]:
            self._collection(command).create_search_index(model)
        return {"indexesCreated": [{"name": one["name"]} for one in command["indexes"]]}

    def _update_search_index(self, command: Json) -> Json:
        collection = self._collection(command)
        collection.update_search_index(command["name"], command["definition"])
        return {}

    def _drop_search_index(self, command: Json) -> Json:
        self._collection(command).drop_search_index(command["name"])
        return {}
