"""Registries map names to modules, imported on first use.

To add an adapter, add a file that ends with a ``build`` function, and a line in its
package's registry. Small adapters may share a file: "module:Name" is built by calling
that name. An installed package may add adapters by entry points of the registry's
group; a name of ours stays ours.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import distributions
from types import ModuleType
from typing import Generic, Self, TypeVar

from .errors import MissingPackageError, UnknownNameError
from .packages import LOCAL_MODULES, install_command

T = TypeVar("T")


_INSTALLED = tuple(one for package in distributions() for one in package.entry_points)


class Registry(Generic[T]):
    """``kind``: what error messages call a name. ``group``: that of entry points, after
    "report_chat."; "" = none.
    """

    def __init__(
        self, kind: str, modules: Mapping[str, str], *, group: str = ""
    ) -> None:
        self.kind = kind
        self.group = group
        added = {
            one.name: one.value
            for one in _INSTALLED
            if one.group == f"report_chat.{group}"
        }
        self._modules = {**added, **modules}
        self._left_out: Mapping[str, str] = {}

    def with_rows(
        self, modules: Mapping[str, str], left_out: Mapping[str, str]
    ) -> Self:
        """Return this registry with more adapters; a name of ours stays ours.
        ``left_out``: what to say of names that others have.
        """
        registry = type(self)(self.kind, {**modules, **self._modules}, group=self.group)
        registry._left_out = left_out
        return registry

    def names(self) -> list[str]:
        return sorted(self._modules)

    def check(
        self, name: str, *, field: str | None = None, also: tuple[str, ...] = ()
    ) -> str:
        """Return ``name`` if it is registered, or one of ``also`` (a setting's "auto").
        Raises UnknownNameError: it is not; the message lists the valid names.
        """
        if name not in self._modules and name not in also:
            if name in self._left_out:
                raise UnknownNameError.for_field(
                    field or self.kind, self._left_out[name]
                )
            raise UnknownNameError.among(
                field or self.kind, self.kind, name, {*self._modules, *also}
            )
        return name

    def builder(self, name: str) -> Callable[..., T]:
        """Return what builds the adapter ``name``. Raises as `module` does."""
        build: Callable[..., T] = getattr(
            self.module(name), self._modules[name].partition(":")[2] or "build"
        )
        return build

    def module(self, name: str) -> ModuleType:
        """Import the module of the adapter ``name``. Raises UnknownNameError: no
        adapter has this name; MissingPackageError: the adapter needs a package that is
        not installed.
        """
        module_name = self._modules[self.check(name)].partition(":")[0]
        try:
            return import_module(module_name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("chatbot"):
                raise  # our own bug, not a missing extra
            module = error.name or ""
            command = f"pip install {module}"
            if module in LOCAL_MODULES:
                command = install_command("local")
            raise MissingPackageError(
                f"The {self.kind} {name!r} needs the Python package {error.name!r}.",
                remedy=f"Install it: {command}",
            ) from error
