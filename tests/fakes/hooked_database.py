"""A database that calls a function before an operation: what another process does at
this very moment, or the end of this one. It also counts the rows that are read.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from chatbot.database.core import Database

Hooks = Mapping[tuple[str, str], Callable[[], None]]
"""What is called before each operation, by the names of the collection and method."""


class HookedDatabase:
    """Stands in for the ``inner`` database, which it uses. ``rows_read``: the number of
    rows that were read with `find`, by collection.
    """

    def __init__(self, inner: Database, hooks: Hooks | None = None) -> None:
        self.rows_read: Counter[str] = Counter()
        self._inner = inner
        self._hooks = hooks or {}

    def __getitem__(self, name: str) -> Any:
        return HookedCollection(self._inner[name], self._hooks, self.rows_read)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def changes(self) -> "HookedChanges":
        return HookedChanges(self._inner.changes, self._hooks, self.rows_read)


class HookedChanges:
    """The changes of a database, with the hooks of the collections that they write."""

    def __init__(self, inner: Any, hooks: Hooks, rows_read: Counter[str]) -> None:
        self._inner = inner
        self._hooks = hooks
        self._rows_read = rows_read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def of(self, *arguments: Any, **options: Any) -> Iterator["HookedChange"]:
        with self._inner.of(*arguments, **options) as change:
            yield HookedChange(change, self._hooks, self._rows_read)


class HookedChange:
    def __init__(self, inner: Any, hooks: Hooks, rows_read: Counter[str]) -> None:
        self._inner = inner
        self._hooks = hooks
        self._rows_read = rows_read

    def __getitem__(self, name: str) -> Any:
        return HookedCollection(self._inner[name], self._hooks, self._rows_read)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class HookedCollection:
    def __init__(self, inner: Any, hooks: Hooks, rows_read: Counter[str]) -> None:
        self._inner = inner
        self._hooks = hooks
        self._rows_read = rows_read

    def find(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        self._run_hook("find")
        for row in self._inner.find(*arguments, **options):
            self._rows_read[self._inner.name] += 1
            yield row

    def __getattr__(self, name: str) -> Any:
        self._run_hook(name)
        return getattr(self._inner, name)

    def _run_hook(self, name: str) -> None:
        hook = self._hooks.get((self._inner.name, name))
        if hook is not None:
            hook()
