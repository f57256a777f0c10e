"""What is built on first use: once, also under threads, kept in bounded number, and forgotten when closed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from chatbot.errors import InvalidRequestError
from chatbot.services import Services
from chatbot.services.ingesting import FOR_CHUNKINGS
from chatbot.services.lifetime import LruCache, close_lazy, lazy


class Closable:
    def __init__(self, closed: list[str], name: str) -> None:
        self._closed, self._name = closed, name

    def close(self) -> None:
        self._closed.append(self._name)


class House:
    def __init__(self) -> None:
        self.built = 0
        self.fails = 0
        self.closed: list[str] = []

    @lazy
    def kitchen(self) -> Closable:
        """Where it is warm."""
        self.built += 1
        if self.fails:
            self.fails -= 1
            raise InvalidRequestError("no gas")
        return Closable(self.closed, "kitchen")

    @lazy
    def cellar(self) -> Closable:
        return Closable(self.closed, "cellar")


class TestLazy:
    def test_it_is_built_once_by_many_threads(self) -> None:
        house, start = House(), threading.Barrier(8)

        def look() -> Closable:
            start.wait()
            return house.kitchen

        with ThreadPoolExecutor(8) as pool:
            seen = {id(found) for found in pool.map(lambda _: look(), range(8))}
        assert (len(seen), house.built) == (1, 1)

    def test_each_object_has_its_own(self) -> None:
        assert House().kitchen is not House().kitchen

    def test_a_build_that_fails_is_tried_again(self) -> None:
        house = House()
        house.fails = 1
        with pytest.raises(InvalidRequestError):
            _ = house.kitchen
        assert house.kitchen is house.kitchen
        assert house.built == 2

    def test_what_nobody_asked_for_is_not_built_to_be_closed(self) -> None:
        house = House()
        assert House.kitchen.built(house) is None
        close_lazy(house, "cellar", "kitchen")
        assert (house.built, house.closed) == (0, [])

    def test_closing_goes_in_order_and_forgets(self) -> None:
        house = House()
        before = house.kitchen, house.cellar
        close_lazy(house, "cellar", "kitchen")
        assert house.closed == ["cellar", "kitchen"]
        assert house.kitchen is not before[0]

    def test_it_tells_what_it_is(self) -> None:
        assert House.kitchen.__doc__ == "Where it is warm."


class TestKept:
    def test_the_last_used_stay(self) -> None:
        kept: LruCache[int, object] = LruCache(2)
        first, second = kept.get(1, object), kept.get(2, object)
        assert kept.get(1, object) is first
        kept.get(3, object)
        assert kept.get(1, object) is first
        assert kept.get(2, object) is not second

    def test_what_is_let_go_of_is_built_anew(self) -> None:
        kept: LruCache[int, object] = LruCache(4)
        first, second = kept.get(1, object), kept.get(2, object)
        kept.forget(lambda key: key == 1)
        assert kept.get(1, object) is not first
        assert kept.get(2, object) is second


def test_sizes_that_people_ask_for_do_not_pile_up(services: Services) -> None:
    first = services.ingesting.ingestor_for({"chunk_size": 100})
    assert services.ingesting.ingestor_for({"chunk_size": 100}) is first
    for size in range(200, 200 + 2 * FOR_CHUNKINGS):
        services.ingesting.ingestor_for({"chunk_size": size})
    assert services.ingesting.ingestor_for({"chunk_size": 100}) is not first
