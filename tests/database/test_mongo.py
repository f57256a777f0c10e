"""The real driver: its options, and every operation of `Collection` over a socket."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.core import CommandError, Database
from chatbot.database.mongo import MongoDatabase
from chatbot.database.rows import decode_vector
from chatbot.domain.errors import DatabaseError
from tests.fakes import wire_faults
from tests.fakes.nx_server import NxProcess, free_port
from tests.fakes.wire_faults import Drop
from tests.fakes.wire_proxy import WireProxy
from tests.faults.conftest import proxy, server

__all__ = ["proxy", "server"]


@pytest.fixture
def database(proxy: WireProxy) -> Iterator[Database]:
    opened = opened_at(proxy.uri)
    yield opened
    opened.close()


def opened_at(uri: str, **values: str) -> Database:
    return open_database(Settings.from_env({"MONGODB_URI": uri, **values}))


def options_of(uri: str, **values: Any) -> Any:
    backend = opened_at(uri, **values)
    assert isinstance(backend, MongoDatabase)
    options = backend._client.options
    backend.close()
    return options


def test_every_wait_is_bounded_and_retries_are_on() -> None:
    options = options_of("mongodb://127.0.0.1:1", MONGODB_TIMEOUT="4", THREADS="3")
    assert (options.timeout, options.server_selection_timeout) == (4.0, 4.0)
    assert (
        options.pool_options.connect_timeout,
        options.pool_options.wait_queue_timeout,
    ) == (2.0, 4.0)
    assert options.pool_options.max_pool_size == 12
    assert options.retry_reads
    assert options.retry_writes
    # Some servers that speak the protocol do not know retried writes.
    assert not options_of("mongodb://127.0.0.1:1/?retryWrites=false").retry_writes


def test_ping_names_the_version_and_the_database(database: Database) -> None:
    """NX-27017 tells no version; a server does."""
    assert database.ping() == "MongoDB of unknown version, database report_chat"
    with WireProxy() as proxy:
        proxy.always("buildinfo", wire_faults.Answer({"ok": 1, "version": "8.2.1"}))
        other = opened_at(proxy.uri, MONGODB_DB="reports")
        assert other.ping() == "MongoDB 8.2.1, database reports"
        other.close()


def test_documents_over_the_wire(database: Database) -> None:
    rows = database["rows"]
    rows.create_index([("kind", 1), ("number", -1)])
    rows.replace_many(
        [
            {"_id": f"r{number:03}", "kind": "a", "number": number}
            for number in range(250)
        ]
    )
    rows.replace_many([{"_id": "r000", "kind": "b", "number": 1000}])
    rows.insert_one({"_id": "own", "kind": "c"})
    assert (rows.count({"kind": "a"}), rows.estimated_count()) == (249, 251)
    assert sorted(rows.distinct("kind")) == ["a", "b", "c"]
    found = rows.find({"kind": "a"}, {"number": 1}, sort=[("number", -1)], limit=2)
    assert list(found) == [
        {"_id": "r249", "number": 249},
        {"_id": "r248", "number": 248},
    ]
    assert len(list(rows.find())) == 251  # several batches
    assert rows.update_one({"_id": "own"}, {"$set": {"kind": "d"}}) == 1
    assert rows.update_one({"_id": "new"}, {"$set": {"kind": "e"}}, upsert=True) == 1
    assert rows.find_one_and_update(
        {"_id": "own"}, {"$inc": {"count": 2}}, upsert=True
    ) == {
        "_id": "own",
        "kind": "d",
        "count": 2,
    }
    assert rows.delete_many({"kind": {"$in": ["d", "e"]}}) == 2
    assert rows.find_one({"_id": "own"}) is None


def test_a_vector_goes_out_as_bindata_of_floats_and_comes_back(
    database: Database, proxy: WireProxy
) -> None:
    vector = np.asarray([0.25, -1.5, 3.0], dtype=np.float32)
    for stored in (vector, vector[::-1]):
        database["rows"].replace_many(
            [{"_id": "v", "vector": database.encode_vector(stored)}]
        )
        sent = proxy.sent("update")[-1]["updates"][0]["u"]["vector"]
        assert (sent.subtype, bytes(sent[:2]), len(sent)) == (9, b"\x27\x00", 14)
        row = database["rows"].find_one({"_id": "v"})
        assert row is not None
        assert decode_vector(row["vector"]).tolist() == stored.tolist()


def test_a_write_whose_answer_is_lost_is_made_again(
    database: Database, proxy: WireProxy
) -> None:
    proxy.next("update", Drop(after=True))
    database["rows"].replace_many([{"_id": "one", "value": 1}])
    first, second = proxy.sent("update")
    for name in ("txnNumber", "lsid"):  # a server tells them apart by it
        assert first[name] == second[name]
    assert [row["value"] for row in database["rows"].find()] == [1]


def test_a_refused_command_keeps_code_and_words(
    database: Database, proxy: WireProxy
) -> None:
    proxy.next(
        "$match",
        wire_faults.failure(
            40324, "Location40324", "Unrecognized pipeline stage name: '$x'"
        ),
    )
    with pytest.raises(CommandError, match="Unrecognized") as raised:
        database["rows"].search([{"$match": {}}])
    assert raised.value.server_code == 40324


def test_a_read_that_keeps_failing_is_not_repeated_thousands_of_times(
    database: Database, proxy: WireProxy
) -> None:
    """PyMongo alone repeats it without a pause until the time is up, and then tells
    only that.
    """
    proxy.always("$match", wire_faults.ENGINE_DOWN)
    with pytest.raises(CommandError, match="Error connecting") as raised:
        database["rows"].search([{"$match": {}}], max_time_ms=1000)
    assert raised.value.retry_after is not None
    assert 2 <= len(proxy.sent("$match")) <= 20


def test_nobody_there_is_found_out_in_time() -> None:
    nobody, unknown = (
        opened_at(uri, MONGODB_TIMEOUT="1")
        for uri in (f"mongodb://127.0.0.1:{free_port()}", "mongodb://nowhere.invalid")
    )
    began = time.monotonic()
    with pytest.raises(DatabaseError) as raised:
        unknown.ping()
    assert raised.value.retry_after is not None
    for call in (
        nobody.ping,
        lambda: nobody["rows"].create_index("kind"),
    ):  # which may take a minute otherwise
        with pytest.raises(DatabaseError, match="does not answer"):
            call()
    assert time.monotonic() - began < 40
    for database in (nobody, unknown):
        database.close()


@pytest.mark.nightly
def test_a_killed_server_comes_back_with_what_it_acknowledged(tmp_path: Path) -> None:
    with NxProcess(tmp_path / "nx") as server:
        database = opened_at(server.uri, MONGODB_TIMEOUT="2")
        database["rows"].replace_many([{"_id": str(number)} for number in range(50)])
        server.kill()
        with pytest.raises(DatabaseError):
            database["rows"].count({})
        server.start()
        assert database["rows"].count({}) == 50
        database.close()
