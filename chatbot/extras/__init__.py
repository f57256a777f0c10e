"""Extras: what an installation can do without. The setting EXTRAS leaves some out.

An extra is a package of this folder whose `__init__` ends with `build`, which returns
an `Extra`, and a line in `EXTRAS`. It may import anything of the core, and no other
extra; the core imports this module only. An installed package adds extras of its own by
entry points of the group `report_chat.extras`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

from ..config.settings import Settings
from ..config.settings_types import ALL_EXTRAS, NO_EXTRAS
from ..domain.errors import SettingsError
from ..domain.registry import Registry
from ..domain.tables import Texts

AnyRegistry = TypeVar("AnyRegistry", bound=Registry[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """What an extra adds to the core. Its parts are named as "package.module:name" and
    imported when they are used, so that an extra that is left out costs nothing.
    """

    name: str
    settings: Texts = ()
    """Fields of `Settings` that mean nothing without it."""
    blueprints: Texts = ()
    """Blueprints of `Views` (app/web/routes.py); with them come their access rules and
    their part of the API's description.
    """
    request_headers: Texts = ()
    """Functions of a route and a method which describe a header that the extra reads
    there, None for the others.
    """
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Commands of `python -m chatbot` by name: where each is, and its line in the list
    of commands.
    """
    adapters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Rows of registries (`with_extras`) by the registry's group: where an adapter is,
    by its name.
    """
    verify: Texts = ()
    """Functions of the services which raise SettingsError where the start has to
    stop.
    """
    people: str = ""
    """A function of the storage that returns `People` (app/services/people.py), or
    None where nobody signs in but with a key; the first that is not None counts.
    """
    observer: str = ""
    """A function of the settings that returns an `Observer` (app/web/monitoring.py).
    One extra has it.
    """
    rows: str = ""
    """A function of the settings that returns `ForeignRows` (database/core.py). One
    extra has it.
    """
    doctor: Texts = ()
    """Checks of the installation: functions of the services that yield findings
    (app/findings.py); `doctor` of the extra operator runs them.
    """
    background: Mapping[str, str] = field(default_factory=dict)
    """Work beside the requests by its name: functions of the services and of an event
    that ends them (`Startup.background`).
    """


OURS = {
    "changes": "chatbot.extras.changes",
    "evaluation": "chatbot.extras.evaluation",
    "exports": "chatbot.extras.exports",
    "hooks": "chatbot.extras.hooks",
    "idempotency": "chatbot.extras.idempotency",
    "makers": "chatbot.extras.makers",
    "migration": "chatbot.extras.migration",
    "openapi": "chatbot.extras.openapi",
    "operator": "chatbot.extras.operator",
    "pgvector": "chatbot.extras.pgvector",
    "protocols": "chatbot.extras.protocols",
    "rerankers": "chatbot.extras.rerankers",
    "rows_of_others": "chatbot.extras.rows_of_others",
    "sign_in": "chatbot.extras.sign_in",
    "sources": "chatbot.extras.sources",
}
EXTRAS: Registry[Extra] = Registry("extra", OURS, group="extras")


def extras() -> tuple[Extra, ...]:
    """Return every extra there is, in the order of their names."""
    return tuple(EXTRAS.builder(name)() for name in EXTRAS.names())


def enabled(settings: Settings) -> tuple[Extra, ...]:
    """Return the extras that EXTRAS names. Raises UnknownNameError: there is no such
    extra; SettingsError: a setting has a value whose extra is left out; and as the
    import of an extra does.
    """
    names = _names(settings)
    for name in OURS:
        if name not in names:
            check_left_out(EXTRAS.builder(name)(), settings)
    return tuple(EXTRAS.builder(name)() for name in names)


def with_extras(registry: AnyRegistry, settings: Settings) -> AnyRegistry:
    """Return a registry with the adapters of the extras that EXTRAS names. Names of the
    others are refused with the extra that has them. Raises as `enabled` does.
    """
    rows: dict[str, str] = {}
    left_out: dict[str, str] = {}
    chosen = enabled(settings)
    for extra in extras():
        of_extra = extra.adapters.get(registry.group, {})
        if extra in chosen:
            rows.update(of_extra)
            continue
        for name in of_extra:
            left_out[name] = (
                f"EXTRAS leaves out the extra {extra.name!r}, which has the "
                f"{registry.kind} {name!r}. Add {extra.name} to EXTRAS."
            )
    return registry.with_rows(rows, left_out)


def _names(settings: Settings) -> list[str]:
    if settings.extras == (NO_EXTRAS,):
        return []
    if settings.extras == (ALL_EXTRAS,):
        return EXTRAS.names()
    for name in settings.extras:
        EXTRAS.check(name, field="EXTRAS", also=(ALL_EXTRAS, NO_EXTRAS))
    return list(settings.extras)


def check_left_out(extra: Extra, settings: Settings) -> None:
    """Raise SettingsError if a setting of ``extra`` differs from its default. An
    ignored one could open a door.
    """
    fields = type(settings).model_fields
    given = [
        name
        for name in extra.settings
        if getattr(settings, name) != fields[name].default
    ]
    if not given:
        return
    variables = ", ".join(name.upper() for name in given)
    raise SettingsError(
        f"{variables}: EXTRAS leaves out the extra {extra.name!r}, which reads it. Add "
        f"{extra.name} to EXTRAS, or remove the setting."
    )


def load(reference: str) -> Any:
    """Import a part of an extra, named as "package.module:name"."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def answer(extras: Iterable[Extra], hook: str, *arguments: Any) -> Any:
    """Return what the first extra with a ``hook`` (`people`, `observer`, `rows`) that
    makes something of these arguments makes of them; None where none does.
    """
    for extra in extras:
        reference: str = getattr(extra, hook)
        made = load(reference)(*arguments) if reference else None
        if made is not None:
            return made
    return None
