"""Ordinary indexes of a server: made at once where that is quick, else by a command
without a time limit.
"""

from collections.abc import Iterator

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database, ordinary_indexes
from chatbot.database.core import Database
from chatbot.database.ordinary_indexes import (
    OrdinaryIndex,
    build_indexes,
    create_missing,
    missing_indexes,
)
from chatbot.domain.errors import DatabaseError
from tests.fakes import wire_faults
from tests.fakes.wire_faults import Answer, Delay, Drop, rows
from tests.fakes.wire_proxy import WireProxy

INDEX = OrdinaryIndex("documents", (("owner", 1), ("updated_at", -1)))
SECONDS = 0.4
"""MONGODB_TIMEOUT."""
DAY_MS = 86_400_000
CREATED = Answer({"ok": 1})
PROGRESS = {"done": 1_000, "total": 4_000_000}


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[WireProxy]:
    monkeypatch.setattr(ordinary_indexes, "LOOK_SECONDS", 0.1)
    with WireProxy() as running:
        running.always("listIndexes", rows({"key": {"_id": 1}, "name": "_id_"}))
        running.always("createIndexes", CREATED)
        running.always("$currentOp", rows({"progress": PROGRESS}))
        yield running


@pytest.fixture
def database(proxy: WireProxy) -> Iterator[Database]:
    options = {"mongodb_uri": proxy.uri, "mongodb_timeout": SECONDS}
    opened = open_database(Settings.from_env({}, **options))
    yield opened
    opened.close()


def test_an_index_of_a_small_collection_is_made_at_once(
    database: Database, proxy: WireProxy
) -> None:
    proxy.always("count", Answer({"ok": 1, "n": 10_000}))
    assert create_missing(database, [INDEX]) == []
    (command,) = proxy.sent("createIndexes")
    assert command["indexes"][0]["key"] == {"owner": 1, "updated_at": -1}


def test_a_start_over_a_large_collection_builds_nothing(
    database: Database, proxy: WireProxy
) -> None:
    proxy.always("count", Answer({"ok": 1, "n": 10_001}))
    assert create_missing(database, [INDEX]) == [INDEX]
    assert str(INDEX) == "documents (owner, -updated_at)"
    assert proxy.sent("createIndexes") == []


def test_an_index_that_exists_or_is_being_built_is_not_asked_for(
    database: Database, proxy: WireProxy
) -> None:
    proxy.always("listIndexes", rows({"key": dict(INDEX.fields), "name": "x"}))
    assert missing_indexes(database, [INDEX]) == []
    assert create_missing(database, [INDEX]) == []
    assert (proxy.sent("createIndexes"), proxy.sent("count")) == ([], [])


def test_a_user_who_may_only_read_is_told_what_is_missing(
    database: Database, proxy: WireProxy
) -> None:
    proxy.always("createIndexes", wire_faults.NO_RIGHTS)
    assert create_missing(database, [INDEX]) == [INDEX]


def test_a_build_takes_as_long_as_it_takes_and_says_how_far_it_is(
    database: Database, proxy: WireProxy
) -> None:
    proxy.next("createIndexes", Delay(3 * SECONDS))
    said: list[str] = []
    build_indexes(database, [INDEX], said.append)
    (command,) = proxy.sent("createIndexes")
    assert command["maxTimeMS"] > DAY_MS
    assert f"{INDEX}: 1,000 of 4,000,000 rows" in said
    assert said[-1].startswith(f"{INDEX}: built in ")


def test_a_build_whose_connection_is_lost_is_asked_for_again(
    database: Database, proxy: WireProxy
) -> None:
    proxy.next("createIndexes", Drop(), wire_faults.STEPPED_DOWN)
    build_indexes(database, [INDEX], lambda text: None)
    assert len(proxy.sent("createIndexes")) == 3


def test_a_build_without_rights_ends_with_the_remedy(
    database: Database, proxy: WireProxy
) -> None:
    proxy.always("createIndexes", wire_faults.NO_RIGHTS)
    with pytest.raises(DatabaseError, match="readWrite"):
        build_indexes(database, [INDEX], lambda text: None)
