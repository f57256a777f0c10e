"""A database that calls a function before an operation: what another process does at
this very moment, or the end of this one.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from chatbot.database.core import Database

Hooks = Mapping[tuple[str, str], Callable[[], None]]
"""What is called before each operation, by the names of the collection and method."""


class HookedDatabase:
    """Stands in for the ``inner`` database, which it uses."""

    def __init__(self, inner: Database, hooks: Hooks) -> None:
        self._inner = inner
        self._hooks = hooks

    def __getitem__(self, name: str) -> Any:
        return HookedCollection(self._inner[name], self._hooks)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def changes(self) -> "HookedChanges":
        return HookedChanges(self._inner.changes, self._hooks)


class HookedChanges:
    """The changes of a database, with the hooks of the collections that they write."""

    def __init__(self, inner: Any, hooks: Hooks) -> None:
        self._inner = inner
        self._hooks = hooks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def of(self, *arguments: Any, **options: Any) -> Iterator["HookedChange"]:
        with self._inner.of(*arguments, **options) as change:
            yield HookedChange(change, self._hooks)


class HookedChange:
    def __init__(self, inner: Any, hooks: Hooks) -> None:
        self._inner = inner
        self._hooks = hooks

    def __getitem__(self, name: str) -> Any:
        return HookedCollection(self._inner[name], self._hooks)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class HookedCollection:
    def __init__(self, inner: Any, hooks: Hooks) -> None:
        self._inner = inner
        self._hooks = hooks

    def __getattr__(self, name: str) -> Any:
        hook = self._hooks.get((self._inner.name, name))
        if hook is not None:
            hook()
        return getattr(self._inner, name)
