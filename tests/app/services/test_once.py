"""Parts that are built when they are first used."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from chatbot.app.services.once import Once
from chatbot.domain.errors import InvalidRequestError


class Builder:
    def __init__(self, *, failures: int = 0) -> None:
        self.calls = 0
        self._failures = failures

    def __call__(self) -> SimpleNamespace:
        self.calls += 1
        if self.calls <= self._failures:
            raise InvalidRequestError("no gas")
        return SimpleNamespace()


def test_many_threads_build_one_part() -> None:
    builder = Builder()
    part = Once(builder)
    start = threading.Barrier(8)

    def look(number: int) -> int:
        start.wait()
        return id(part.get())

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(look, range(8)))) == 1
    assert builder.calls == 1


def test_a_build_that_fails_is_tried_again() -> None:
    builder = Builder(failures=1)
    part = Once(builder)
    with pytest.raises(InvalidRequestError):
        part.get()
    assert part.peek() is None
    assert part.get() is part.get() is part.peek()
    assert builder.calls == 2


def test_parts_are_closed_in_reverse_order_of_building_and_only_if_built() -> None:
    closed: list[str] = []

    def closable(name: str) -> SimpleNamespace:
        return SimpleNamespace(close=lambda: closed.append(name))

    with ExitStack() as closing:
        store = Once(lambda: closable("store"), closing)
        embedder = Once(lambda: closable("embedder"), closing)
        Once(lambda: closable("unused"), closing)
        plain = Once(lambda: "nothing to close", closing)
        embedder.get()
        plain.get()
        store.get()
        assert closed == []
    assert closed == ["store", "embedder"]
