"""Which member is read and how writes are confirmed, as it arrives at the other end of
the socket, whatever the URI asks for.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.core import Database
from chatbot.extras.operator.doctor import check_database
from tests.fakes.wire_faults import Answer, rows
from tests.fakes.wire_proxy import WireProxy
from tests.rows import outside

LAX = "readPreference=secondaryPreferred&readConcernLevel=local&w=1"


@pytest.fixture
def proxy() -> Iterator[WireProxy]:
    with WireProxy() as running:
        running.always("$vectorSearch", rows())
        running.always("distinct", Answer({"ok": 1, "values": []}))
        running.always("findAndModify", Answer({"ok": 1, "value": {"_id": "a"}}))
        yield running


@pytest.fixture
def database(proxy: WireProxy) -> Iterator[Database]:
    opened = open_database(Settings.from_env({"MONGODB_URI": f"{proxy.uri}&{LAX}"}))
    yield opened
    opened.close()


def used(database: Database, name: str) -> None:
    collection = outside(database, name)
    list(collection.find({"a": 1}))
    collection.find_one({"a": 1})
    collection.count({"a": 1})
    collection.distinct("a")
    collection.insert_one({"_id": "a"})
    collection.replace_many([{"_id": "a"}])
    collection.update_each([("a", {"$set": {"b": 1}})])
    collection.update_one({"_id": "a"}, {"$set": {"b": 1}})
    collection.find_one_and_update({"_id": "a"}, {"$set": {"b": 1}})
    collection.delete_many({"_id": "a"})


READS = {"find", "aggregate", "distinct"}


def names(command: dict[str, Any]) -> str:
    return str(next(iter(command)))


def sent(proxy: WireProxy) -> list[str]:
    return [names(one) for one in proxy.commands if names(one) != "saslStart"]


@pytest.mark.parametrize("name", ["meta", "documents", "report_chatting", "messages"])
def test_rows_are_read_and_written_with_majority_concern_from_the_primary(
    database: Database, proxy: WireProxy, name: str
) -> None:
    used(database, name)
    commands = [one for one in proxy.commands if one.get(names(one)) == name]
    assert len(commands) == 10
    for command in commands:
        assert command.get("$readPreference", {"mode": "primary"}) == {
            "mode": "primary"
        }
        if names(command) in READS:
            assert command["readConcern"] == {"level": "majority"}
        else:
            assert command["writeConcern"] == {"w": "majority"}
            assert command["maxTimeMS"] <= 5_000


@pytest.mark.parametrize("name", ["usage", "cache", "counters"])
def test_counts_and_cached_values_wait_for_one_member(
    database: Database, proxy: WireProxy, name: str
) -> None:
    used(database, name)
    for command in proxy.commands:
        if command.get(names(command)) == name and names(command) not in READS:
            assert command["writeConcern"] == {"w": 1}


def test_search_stages_keep_read_concern_local_and_the_preference_of_the_uri(
    database: Database, proxy: WireProxy
) -> None:
    database["report_chatting"].search([{"$vectorSearch": {}}])
    database["report_chatting"].search_indexes()
    (listed,) = proxy.sent("$listSearchIndexes")
    assert "readConcern" not in listed  # which is `local`
    (search,) = proxy.sent("$vectorSearch")
    assert search["readConcern"] == {"level": "local"}
    assert search["$readPreference"] == {"mode": "secondaryPreferred"}


def test_a_row_is_made_in_one_atomic_call(database: Database, proxy: WireProxy) -> None:
    made = Answer({"ok": 1, "value": {"_id": "signing", "secret": "s"}})
    proxy.next("findAndModify", made)
    assert database["keys"].ensure("signing", {"secret": "s"})["secret"] == "s"
    assert sent(proxy) == ["find", "findAndModify"]


def test_a_row_that_exists_is_not_written(database: Database, proxy: WireProxy) -> None:
    proxy.next("find", rows({"_id": "signing", "secret": "s"}))
    assert database["keys"].ensure("signing", {"secret": "new"})["secret"] == "s"
    assert sent(proxy) == ["find"]


def test_the_doctor_names_options_of_the_uri_that_are_not_followed(
    settings: Settings, database: Database
) -> None:
    with build(settings, database=database) as services:
        found = {finding.name: finding for finding in check_database(services)}
    finding = found["uri_options_overruled"]
    assert finding.severity == "warning"
    assert "ordinary_indexes_missing" in found
    for option in LAX.split("&"):
        assert option in finding.message
