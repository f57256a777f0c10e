"""The cache's rows: by level, bounded in age and number (R-B10)."""

import pytest

from chatbot.app.services import Services
from chatbot.database.core import Database
from chatbot.database.repositories.caches import CacheRepository
from chatbot.domain import RequestContext


@pytest.fixture
def database(services: Services) -> Database:
    return services.storage.database


def test_a_value_comes_back_at_its_level_only(database: Database) -> None:
    cache, request = CacheRepository(database, seconds=60, entries=10), RequestContext()
    cache.put("query", "k", {"answer": ["ü", 1]})
    assert cache.get("query", "k", request=request) == {"answer": ["ü", 1]}
    assert cache.get("response", "k", request=request) is None
    assert request.meter.lookups == {"query hit": 1, "response miss": 1}
    assert (
        CacheRepository(database, seconds=60, entries=10).get("query", "k") is not None
    ), "another worker sees it"


def test_an_old_value_is_gone(database: Database) -> None:
    CacheRepository(database, seconds=60, entries=10).put("query", "k", "v")
    database["cache"].update_one({"_id": "query:k"}, {"$set": {"at": 1.0}})
    cache = CacheRepository(database, seconds=60, entries=10)
    assert cache.get("query", "k") is None
    assert cache.prune() == 1
    assert list(database["cache"].find()) == []


def test_the_oldest_make_room(database: Database) -> None:
    cache = CacheRepository(database, seconds=60, entries=5)
    for n in range(50):
        cache.put("query", f"k{n:02d}", n)
    left = sorted(row["value"] for row in database["cache"].find())
    assert left == [45, 46, 47, 48, 49]


@pytest.mark.parametrize(
    "off", [{"seconds": 0, "entries": 10}, {"seconds": 60, "entries": 0}]
)
def test_switched_off_it_neither_keeps_nor_counts(
    database: Database, off: dict[str, int]
) -> None:
    cache, request = CacheRepository(database, **off), RequestContext()
    cache.put("query", "k", "v")
    assert cache.get("query", "k", request=request) is None
    assert list(database["cache"].find()) == []
    assert request.meter.lookups == {}


def test_entries_of_one_level_push_out_none_of_another(database: Database) -> None:
    cache = CacheRepository(database, seconds=60, entries=20)
    for n in range(20):
        cache.put("query", f"k{n:02d}", n)
    for n in range(130):
        cache.put("embedding", f"k{n}", n)
    cache.prune()
    answers = [cache.get("query", f"k{n:02d}") for n in range(20)]
    assert answers == list(range(20))
    assert database["cache"].count({}) == 20 + 20
