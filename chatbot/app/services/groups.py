"""Groups of people who sign in (SIGN_IN_GROUPS): each has a role and limits, as an API key has them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ...config.settings import Settings
from ...config.settings_types import read_tables
from ...domain import Value
from ...domain.errors import InvalidRequestError, SettingsError
from ...domain.json import parse
from ...domain.request import ApiKey, KeyRole
from ...language.countries import resolve_country
from ...questions.reading import COUNTRY

EVERYBODY = "*"
"""The name of a group that everybody who signs in is in."""
Names = Annotated[
    tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], ...], Field(min_length=1)
]


class Group(BaseModel):
    """A table of the file. Without ``countries`` or ``collections`` it sees those of everybody."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: KeyRole
    countries: Names | None = None
    collections: Names | None = None
    daily_tokens: int | None = Field(None, ge=1)
    requests_per_minute: int | None = Field(None, ge=1)


class Groups:
    """The table of groups. ``countries``: how the reports spell them now."""

    def __init__(self, settings: Settings, countries: Callable[[], Sequence[Value]]) -> None:
        """Raises SettingsError: the file cannot be read, or a group in it is wrong."""
        path = settings.sign_in_groups
        self._table = {} if path is None else read_groups(path, settings)
        self._countries = countries

    def names(self, groups: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the table among these groups of a person, in the order of the file."""
        return tuple(name for name in self._table if name in groups or name == EVERYBODY)

    def countries(self) -> tuple[str, ...]:
        """Return the countries that the table names, as it spells them."""
        return tuple(dict.fromkeys(name for group in self._table.values() for name in group.countries or ()))

    def limited(self, key: ApiKey) -> ApiKey | None:
        """Return the key with the role and the limits of its groups; None if the table has none of them.

        The first of them in the file decides. The countries of those that are otherwise the same are added to its own.
        """
        names = self.names(key.groups)
        if not names:
            return None
        groups = [self._table[name] for name in names]
        first = groups[0]
        alike = [one for one in groups if one.model_copy(update={"countries": first.countries}) == first]
        filters: dict[str, Any] = {}
        if all(one.countries for one in alike):
            spelled = [str(value) for value in self._countries()]
            chosen = (resolve_country(name, spelled)[0] or name for one in alike for name in one.countries or ())
            filters[COUNTRY] = list(dict.fromkeys(chosen))
        return replace(
            key, groups=names, role=first.role, filters=filters, collections=tuple(sorted(first.collections or ())),
            daily_tokens=first.daily_tokens, requests_per_minute=first.requests_per_minute,
        )  # fmt: skip


def read_groups(path: Path, settings: Settings) -> Mapping[str, Group]:
    """Return the groups of a file by name. Raises SettingsError: naming the group, what is wrong and what is valid."""

    def read(stated: dict[str, Any]) -> Group:
        group = parse(Group, stated)
        if unknown := set(group.collections or ()) - set(settings.chunk_collections):
            valid = ", ".join(settings.chunk_collections)
            raise InvalidRequestError(f"unknown collection {', '.join(sorted(unknown))}. Valid: {valid}.")
        if group.countries and COUNTRY not in settings.filter_fields:
            raise InvalidRequestError(f"countries need {COUNTRY} in FILTER_FIELDS.")
        return group

    groups = read_tables("SIGN_IN_GROUPS", path, read, noun="group", keys=", ".join(Group.model_fields))
    if not groups:
        raise SettingsError(f"SIGN_IN_GROUPS: {path} has no group, so nobody could sign in. See docs/sign-in.md.")
    return groups
