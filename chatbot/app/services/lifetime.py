"""Properties that are built on first use and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801  # used like `property`
    """A read-only property that is built once, on first use, also with several threads.

    A build that raises is tried again at the next use. Objects must not build each other in a circle.
    """

    def __init__(self, build: Callable[[Any], T]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        # Once built, Python finds the value in the instance before it asks here: the lock costs first uses only.
        kept = vars(instance)
        with kept.setdefault("_building", threading.RLock()):
            if self._name not in kept:
                kept[self._name] = self._build(instance)
            value: T = kept[self._name]
            return value

    def built(self, instance: object) -> T | None:
        """Return what was built for ``instance``, None if it was not used yet."""
        return vars(instance).get(self._name)


def close_lazy(instance: object, *names: str) -> None:
    """Close these lazy properties in order, if they were built and can be closed; then forget all lazy properties."""
    for name in names:
        close(vars(instance).get(name))
    for name, value in list(vars(type(instance)).items()):
        if isinstance(value, lazy):
            vars(instance).pop(name, None)


def close(one: object) -> None:
    """Close an object if it can be closed: most adapters hold nothing open."""
    if close_it := getattr(one, "close", None):
        close_it()
