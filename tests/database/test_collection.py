"""The operations of a collection mean the same in the embedded file as in MongoDB (here
mongomock).
"""

import random
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from chatbot.database.core import Collection, Database, Json
from chatbot.database.embedded import EmbeddedDatabase
from chatbot.database.mongo import MongoDatabase
from chatbot.domain.errors import DatabaseError
from tests.campaigns import times
from tests.fakes.mongoeco_server import NEEDS_MONGOECO, mongoeco
from tests.fakes.mongomock_search import SearchClient

NIGHTLY = pytest.mark.nightly  # mongomock is compared every day


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Database]:
    opened = EmbeddedDatabase(tmp_path / "a.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def mongodb() -> Database:
    return MongoDatabase(SearchClient(), "test")


@pytest.fixture
def second_server() -> Iterator[Database]:
    with mongoeco() as uri:
        client: MongoClient[Json] = MongoClient(uri)
        opened = MongoDatabase(client, "test")
        yield opened
        opened.close()


SECOND_SERVER = pytest.param("second_server", marks=[NIGHTLY, NEEDS_MONGOECO])


@pytest.fixture(params=["embedded", "mongodb", SECOND_SERVER])
def rows(request: pytest.FixtureRequest) -> Collection:
    database: Database = request.getfixturevalue(request.param)
    return database["rows"]


VALUES = [
    None,
    True,
    False,
    2,
    3,
    2.0,
    0.1 + 0.2,
    -3,
    "",
    "2",
    "true",
    "[2]",
    "Kenya",
    'it\'s "so"',
    "é",
]
"""Without 0 and 1, which mongomock takes for False and True."""


def documents() -> list[Json]:
    """Every value in every field, and fields that are not there."""
    dice = random.Random(1)
    made = []
    for number in range(200):
        values = {
            name: dice.choice(VALUES)
            for name in ("a", "b c", "data_embedding")
            if dice.random() < 0.9
        }
        made.append({"_id": f"r{number:03}" if number % 2 else number, **values})
    return made


def conditions(dice: random.Random) -> Json:
    name = dice.choice(["a", "b c", "_id", "nowhere", "data_embedding"])
    value = dice.choice(
        [number for number in VALUES if name != "_id" or not isinstance(number, bool)]
    )
    several = dice.sample([one for one in VALUES if not isinstance(one, bool)], 3)
    words = [one for one in VALUES if isinstance(one, str)]
    numbers = [
        one
        for one in VALUES
        if isinstance(one, (int, float)) and not isinstance(one, bool)
    ]
    limit = dice.choice(words + numbers)
    operators: list[Any] = [
        value,
        {"$eq": value},
        {"$ne": value},
        {"$in": several},
        {"$nin": several},
        {"$exists": dice.random() < 0.5},
        {dice.choice(["$lt", "$lte", "$gt", "$gte"]): limit},
    ]
    return {name: dice.choice(operators)}


def differs_on_mongoeco(condition: Json) -> bool:
    """Return whether mongoeco differs from MongoDB's documentation in a condition: it
    excludes null, or compares fields of several types (tests/fakes/mongoeco_server.py).
    """
    for operator in condition.values():
        if not isinstance(operator, dict):
            continue
        if operator.get("$ne", "") is None or None in operator.get("$nin", ()):
            return True
        if not operator.keys().isdisjoint({"$lt", "$lte", "$gt", "$gte"}):
            return True
    return False


@pytest.mark.parametrize("server", ["mongodb", SECOND_SERVER])
@pytest.mark.parametrize("indexed", [False, True], ids=["plain", "indexed"])
def test_filters_find_what_mongodb_finds(
    embedded: Database, server: str, request: pytest.FixtureRequest, *, indexed: bool
) -> None:
    mongodb: Database = request.getfixturevalue(server)
    stored, dice = documents(), random.Random(2)
    for database in (embedded, mongodb):
        database["rows"].replace_many(stored)
    if indexed:
        embedded["rows"].create_index([("a", 1), ("b c", 1)])
        embedded["rows"].create_index("b c")
    for _ in range(times("FILTERS", 25)):
        first, second = conditions(dice), conditions(dice)
        if server == "second_server" and any(map(differs_on_mongoeco, (first, second))):
            continue
        for asked in (
            first,
            {**second, **first},
            {"$or": [first, second]},
            {"$and": [first, second]},
        ):
            found = [
                {row["_id"] for row in database["rows"].find(asked)}
                for database in (embedded, mongodb)
            ]
            assert found[0] == found[1], asked
            assert embedded["rows"].count(asked) == len(found[0])


def test_true_is_not_1_and_a_list_not_its_text(embedded: Database) -> None:
    values = [True, 1, False, 0, [1], "[1]"]
    embedded["rows"].replace_many(
        [{"_id": n, "x": value} for n, value in enumerate(values)]
    )
    find = lambda asked: [row["_id"] for row in embedded["rows"].find({"x": asked})]  # noqa: E731
    assert [find(value) for value in (True, 1, False, 0, "[1]")] == [
        [0],
        [1],
        [2],
        [3],
        [5],
    ]
    assert find({"$in": [1, "[1]"]}) == [1, 5]


def test_a_look_up_by_an_indexed_field_reads_no_other_rows(embedded: Database) -> None:
    rows = embedded["rows"]
    rows.create_index([("document_id", 1), ("ordinal", 1)])
    reader = embedded.raw("rows")._reader  # type: ignore[attr-defined]
    seen: list[str] = []
    reader.set_trace_callback(seen.append)
    for wanted in ("d1", {"$in": ["d1", "d2"]}, {"$exists": False}):
        list(rows.find({"document_id": wanted}, sort=[("ordinal", 1)]))
    plans = [
        str(reader.execute(f"EXPLAIN QUERY PLAN {text}").fetchall())
        for text in list(seen)
    ]
    assert len(plans) == 3
    assert all("USING INDEX" in plan and "SCAN rows" not in plan for plan in plans)


UPDATES: dict[str, tuple[Json, Json]] = {
    "set": ({"$set": {"x": [1], "y": None}}, {"_id": "a", "n": 1, "x": [1], "y": None}),
    "unset": ({"$unset": {"n": "", "gone": ""}}, {"_id": "a"}),
    "count": ({"$inc": {"n": 0.5, "m": 2}}, {"_id": "a", "n": 1.5, "m": 2}),
    "push": ({"$push": {"l": {"b": 1}}}, {"_id": "a", "n": 1, "l": [{"b": 1}]}),
    "push the last": (
        {"$push": {"l": {"$each": [1, 2, 3], "$slice": -2}}},
        {"_id": "a", "n": 1, "l": [2, 3]},
    ),
    "only when new": (
        {"$setOnInsert": {"n": 7}, "$inc": {"m": 1}},
        {"_id": "a", "n": 1, "m": 1},
    ),
    "bytes": (
        {"$set": {"data_embedding": b"\x01"}},
        {"_id": "a", "n": 1, "data_embedding": b"\x01"},
    ),
}


@pytest.mark.parametrize(("update", "after"), UPDATES.values(), ids=UPDATES)
def test_updates_do_what_mongodbs_do(
    rows: Collection, update: Json, after: Json
) -> None:
    rows.insert_one({"_id": "a", "n": 1})
    assert rows.find_one_and_update({"_id": "a", "n": {"$gt": 0}}, update) == after
    assert rows.find_one({"_id": "a"}) == after
    assert rows.update_one({"_id": "a", "n": -1}, update) == 0
    assert rows.find_one_and_update({"_id": "b"}, update) is None


def test_an_upsert_is_an_insert_the_first_time(rows: Collection) -> None:
    update = {"$setOnInsert": {"made": True, "data": b"x"}, "$inc": {"n": 1}}
    found = [
        rows.find_one_and_update({"_id": 5}, update, upsert=True) for _ in range(2)
    ]
    assert found == [
        {"_id": 5, "made": True, "data": b"x", "n": count} for count in (1, 2)
    ]
    assert [rows.update_one({"_id": id}, update, upsert=True) for id in (5, 6)] == [
        1,
        1,
    ]
    assert rows.count({}) == 2


def test_bytes_give_way_to_text_and_back(rows: Collection) -> None:
    for value in (b"\x00\xff", [0.5, 1.0], "text", b""):
        rows.update_one({"_id": "a"}, {"$set": {"data": value}}, upsert=True)
        assert rows.find_one({"_id": "a"}) == {"_id": "a", "data": value}
        assert rows.count({"data": {"$exists": True}}) == 1
    rows.update_each([("a", {"$unset": {"data": ""}}), ("gone", {"$set": {"x": 1}})])
    assert list(rows.find()) == [{"_id": "a"}]


KEPT = {
    "_id": "a",
    "text": "a \ud800 b\x00",
    "é\"\\'": {"deep": [{"raw": b"\x00"}, None, 2**62, 1e-300]},
    "when": datetime(2026, 1, 2, 3, 4, 5),
    "$odd": {"$date": "no date"},
}


def test_whatever_a_document_holds_is_kept(embedded: Database) -> None:
    embedded["rows"].insert_one(KEPT)
    assert embedded["rows"].find_one({"_id": "a"}) == KEPT


def test_projections_sort_and_limit(rows: Collection) -> None:
    rows.replace_many(
        [
            {"_id": n, "n": value, "data": b"1", "t": "x"}
            for n, value in enumerate([2, None, 1.5, "a"])
        ]
    )
    assert [row["_id"] for row in rows.find({}, sort=[("n", 1)])] == [1, 2, 0, 3]
    assert list(rows.find({}, {"n": 1}, sort=[("n", -1)], limit=2)) == [
        {"_id": 3, "n": "a"},
        {"_id": 0, "n": 2},
    ]
    assert list(rows.find({"n": 2}, {"_id": 1})) == [{"_id": 0}]
    assert list(rows.find({"n": 2}, {"data": 0, "t": 0})) == [{"_id": 0, "n": 2}]
    assert list(rows.find({"n": 2}, {"data": 1, "_id": 0})) == [{"data": b"1"}]
    assert sorted(map(str, rows.distinct("t"))) == ["x"]


def test_what_is_read_may_be_changed_meanwhile(embedded: Database) -> None:
    rows = embedded["rows"]
    rows.replace_many([{"_id": n} for n in range(500)])
    for row in rows.find():
        rows.update_one({"_id": row["_id"]}, {"$set": {"n": 1}})
        rows.insert_one({"_id": f"after {row['_id']}"})
    assert (rows.count({"n": 1}), rows.count({})) == (500, 1000)


REFUSED: dict[str, tuple[Any, str]] = {
    "an operator": (
        lambda rows: list(rows.find({"a": {"$regex": "x"}})),
        r"'\$regex'. Known: \$and, \$or, \$eq",
    ),
    "a nested document": (
        lambda rows: rows.count({"a": {"b": 1}}),
        "does not know the operator 'b'",
    ),
    "a path": (lambda rows: rows.count({"a.b": 1}), "top-level fields only"),
    "an update": (
        lambda rows: rows.update_one({"_id": 1}, {"$rename": {"a": "b"}}),
        r"'\$rename'. Known: \$set",
    ),
    "an upsert": (
        lambda rows: rows.update_one(
            {"_id": 1, "x": 2}, {"$set": {"a": 1}}, upsert=True
        ),
        "_id alone",
    ),
    "no number": (
        lambda rows: rows.insert_one({"_id": 1, "x": float("nan")}),
        "cannot be stored",
    ),
    "no id": (lambda rows: rows.insert_one({"x": 1}), "lacks its _id"),
    "an id twice": (
        lambda rows: [rows.insert_one({"_id": 1}) for _ in "ab"],
        "The id is taken",
    ),
    "a search": (lambda rows: rows.search([]), "Set MONGODB_URI"),
}


@pytest.mark.parametrize(("call", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_said(embedded: Database, call: Any, words: str) -> None:
    with pytest.raises(DatabaseError, match=words):
        call(embedded["rows"])


def test_a_batch_is_written_whole_or_not_at_all(embedded: Database) -> None:
    rows = embedded["rows"]
    rows.replace_many([{"_id": "a", "n": "text"}, {"_id": "b", "n": 1}])
    with pytest.raises(
        DatabaseError, match=r"\$inc cannot change the field 'n', which is a str"
    ):
        rows.update_each([("b", {"$inc": {"n": 1}}), ("a", {"$inc": {"n": 1}})])
    assert rows.find_one({"_id": "b"}) == {"_id": "b", "n": 1}


def test_rows_are_grouped_with_their_numbers_in_the_order_of_the_first(
    rows: Collection,
) -> None:
    rows.replace_many(
        [
            {"_id": "1", "name": "a", "year": 2023, "type": "x", "data_embedding": "v"},
            {"_id": "2", "name": "b", "year": "2023"},
            {"_id": "3", "name": "a", "year": 2023, "type": "y"},
            {"_id": "4", "name": "a"},
            {"_id": "5", "name": "a", "year": 2023, "left_out": True},
        ]
    )
    groups = rows.group({"left_out": {"$exists": False}}, ["name", "year"], ["type"])
    assert groups == [
        ({"name": "a", "year": 2023, "type": "x"}, 2),
        ({"name": "b", "year": "2023"}, 1),
        ({"name": "a"}, 1),
    ]
    assert rows.group({"name": "c"}, ["name"]) == []
