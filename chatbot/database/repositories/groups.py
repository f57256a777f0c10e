"""Groups of countries of the operator, beside those that come with the program."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from ...domain.scope import CountryGroup
from ...language.groups import usual_groups
from ..changes import GLOSSARY, KeptUntilWritten
from ..core import Database
from ..rows import from_row
from .caches import cached

__all__ = ["GroupRepository"]


class GroupRepository:
    """Collection `country_groups`, kept in memory until any process writes it.
    Thread-safe.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database["country_groups"]
        self._changes = database.changes
        # Groups are announced as the glossary is: both are words of the library.
        self._kept = KeptUntilWritten(
            self._changes, GLOSSARY, self._read, usual_groups()
        )

    def groups(self) -> Sequence[CountryGroup]:
        """Return the operator's groups, then those of the program that have other
        names: the same object until the next write.
        """
        return cached(self._database, f"groups {id(self)}", self._kept.current)

    def _read(self) -> tuple[CountryGroup, ...]:
        stored = [from_row(CountryGroup, row) for row in self._rows.find()]
        stored.sort(key=lambda group: group.name.casefold())
        replaced = {group.name.casefold() for group in stored}
        stored += [
            group for group in usual_groups() if group.name.casefold() not in replaced
        ]
        return tuple(stored)

    def put(self, groups: Iterable[CountryGroup], *, replace_all: bool = False) -> None:
        """Add groups; one with the same name is replaced. ``replace_all``: the others
        that were added are removed.
        """
        rows = [{"_id": _group_id(group), **asdict(group)} for group in groups]
        with self._changes.of((), GLOSSARY) as change:
            stored = change["country_groups"]
            stored.replace_many(rows)
            if replace_all:
                ids = [row["_id"] for row in rows]
                stored.delete_many({"_id": {"$nin": ids}})

    def clear(self) -> int:
        """Remove all groups that were added, and return how many there were."""
        with self._changes.of((), GLOSSARY, frees_space=True) as change:
            return change["country_groups"].delete_many({})


def _group_id(group: CountryGroup) -> str:
    return hashlib.sha256(group.name.casefold().encode()).hexdigest()[:24]
