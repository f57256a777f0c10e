"""Properties that are built on first use."""

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from .once import close

T = TypeVar("T")


class lazy(cached_property[T]):  # noqa: N801  # used like `property`
    """A property that is built once, on first use, also with several threads, and kept.
    A build that raises is tried again at the next use. Objects must not build each
    other in a circle.
    """

    if not TYPE_CHECKING:

        def __get__(self, instance: object | None, owner: type) -> Any:
            if instance is None:
                return self
            # Once built, Python finds the value in the instance before it asks here:
            # the lock costs first uses only.
            kept = vars(instance)
            with kept.setdefault("_building", threading.RLock()):
                if self.attrname not in kept:
                    kept[self.attrname] = self.func(instance)
                return kept[self.attrname]


def close_lazy(instance: object, *names: str) -> None:
    """Close these lazy properties in order, if they were built and can be closed; then
    forget all lazy properties.
    """
    for name in names:
        close(vars(instance).get(name))
    for name, value in list(vars(type(instance)).items()):
        if isinstance(value, lazy):
            vars(instance).pop(name, None)
