"""What is built on first use: once, also under threads, and forgotten when closed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from chatbot.errors import InvalidRequestError
from chatbot.services.lifetime import close_lazy, lazy


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
