"""Lazy properties are built once, also under threads, and forgotten when closed."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from chatbot.app.services.lazy import lazy
from chatbot.domain.errors import InvalidRequestError


class House:
    def __init__(self, *, failures: int = 0) -> None:
        self.built = 0
        self.failures = failures
        self.closed: list[str] = []

    @lazy
    def kitchen(self) -> SimpleNamespace:
        """A warm room."""
        self.built += 1
        if self.built <= self.failures:
            raise InvalidRequestError("no gas")
        return SimpleNamespace(close=lambda: self.closed.append("kitchen"))

    cellar = lazy(
        lambda house: SimpleNamespace(close=lambda: house.closed.append("cellar"))
    )


def test_a_lazy_part_is_built_once_by_many_threads() -> None:
    house, start = House(), threading.Barrier(8)

    def look(number: int) -> int:
        start.wait()
        return id(house.kitchen)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(look, range(8)))) == 1
    assert house.built == 1
    assert house.kitchen is not House().kitchen
    assert House.kitchen.__doc__ == "A warm room."


def test_a_build_that_fails_is_tried_again() -> None:
    house = House(failures=1)
    with pytest.raises(InvalidRequestError):
        _ = house.kitchen
    assert house.kitchen is house.kitchen
    assert house.built == 2
