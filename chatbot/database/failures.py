"""The table of failures (`failures.toml`): what each backend's codes mean, what a
person reads, and whether and when trying again may help.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Any, Generic, TypeVar

from ..domain.errors import DatabaseError, DependencyError, DiskFullError, read_table

E = TypeVar("E", bound=DependencyError)
Code = int | str
FULL = "full"
THROTTLED = "throttled"
UNWRITABLE = frozenset({FULL, "read_only", "no_rights"})
"""Kinds of failures after which reading goes on."""
PASSING = frozenset({"away", "conflict", "slow", THROTTLED, "wrong_role"})
"""Kinds of failures that say nothing about the command itself."""
DUPLICATE = "duplicate"


class ServerCode(IntEnum):
    """Codes of MongoDB that code asks for; the table has the others."""

    INDEX_EXISTS = 68
    SEARCH_OVERLOADED = 489
    ATLAS = 8000
    """Atlas's code for many errors, which differ in the message."""


SOON = 5
"""Seconds until a retry of an unknown failure may help."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table. ``retry_after`` None: only a person can mend it.
    ``is_refusal``: the server's own words are kept, as a store may know more.
    """

    name: str
    message: str
    remedy: str
    retry_after: int | None
    reason: str
    codes: frozenset[Code] = frozenset()
    words: re.Pattern[str] | None = None
    is_refusal: bool = False

    @property
    def kind(self) -> str:
        return self.name.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Failures(Generic[E]):
    """Makes errors of the class ``error`` from the rows of one backend."""

    backend: str
    error: type[E]
    rows: Mapping[str, Row] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", read_rows(self.backend))

    def __call__(self, name: str, /, **values: object) -> E:
        """Return the error of a row; values fill its texts."""
        row = self.rows[name]
        return self.error(
            row.message.format(**values),
            remedy=row.remedy.format(**values),
            reason=row.reason,
            retry_after=row.retry_after,
        )

    def find(self, *codes: Code | None) -> Row | None:
        """Return the row of the first of these codes that one names."""
        for code in codes:
            for row in self.rows.values():
                if code in row.codes:
                    return row
        return None

    def read(self, message: str) -> Row | None:
        """Return the first row whose words are in a message that has no telling
        code.
        """
        for row in self.rows.values():
            if row.words is not None and row.words.search(message):
                return row
        return None


class DatabaseFailures(Failures[DatabaseError]):
    """Those of a database, where lack of space is a DiskFullError."""

    def __call__(self, name: str, /, **values: object) -> DatabaseError:
        row = self.rows[name]
        if row.kind != FULL:
            return super().__call__(name, **values)
        return DiskFullError(
            row.message.format(**values), remedy=row.remedy.format(**values)
        )


@cache
def read_rows(backend: str) -> Mapping[str, Row]:
    """Return the rows of a backend by name, in the order of the table."""
    table = read_table(__package__, "failures")
    kinds: Mapping[str, Mapping[str, Any]] = table["kind"]
    return {
        name: _row(name, entry, kinds.get(name.partition(":")[0], {}))
        for name, entry in table[backend].items()
    }


def _row(name: str, entry: Mapping[str, Any], kind: Mapping[str, Any]) -> Row:
    """Return a row of the table; what it lacks is that of its ``kind``."""
    codes: Sequence[Code] = entry.get("codes", ())
    words = None
    if "words" in entry:
        words = re.compile(entry["words"], re.IGNORECASE)
    return Row(
        name=name,
        message=entry["message"],
        remedy=entry["remedy"],
        # 0 stands for None, which TOML lacks.
        retry_after=entry.get("retry_after", kind.get("retry_after")) or None,
        reason=entry.get("reason", name.partition(":")[0]),
        codes=frozenset(codes),
        words=words,
        is_refusal=entry.get("refusal", False),
    )


sqlite_failure = DatabaseFailures("sqlite", DatabaseError)
mongodb_failure = DatabaseFailures("mongodb", DatabaseError)
