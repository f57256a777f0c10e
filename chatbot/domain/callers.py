"""Who sends a request: API keys as they are kept, and callers with their roles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any, Literal, get_args

from .scope import Range, Scope, Values
from .tables import Texts

KeyRole = Literal["feed", "read", "write", "admin"]
Need = Literal["nothing", "feed", "read", "write", "admin"]
"""The role that a route needs; each role may do what those before it may."""
KEY_ROLES: tuple[KeyRole, ...] = get_args(KeyRole)
NEEDS: tuple[Need, ...] = get_args(Need)
PERSON = "person:"
"""Before the id of a person who signed in; they get a key of their groups, which no
database stores.
"""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret, of which a digest is stored. ``id``: its first
    characters, which reveal no other. It sees only ``filters`` (as in a request) and
    ``collections``; empty = everything.
    """

    id: str
    name: str
    role: KeyRole
    created_at: str
    filters: Mapping[str, Any] = field(default_factory=dict)
    collections: Texts = ()
    daily_tokens: int | None = None
    requests_per_minute: int | None = None
    used_at: str = ""
    revoked_at: str = ""
    parent: str = ""
    """The id of the key that made it, and with which it ends; "" = none."""
    groups: Texts = ()
    """The groups of the person for whom it stands; they decide its role and limits."""

    @property
    def owner(self) -> str:
        """The owner of conversations and reports that are made with this key."""
        if self.id.startswith(PERSON):
            return self.id
        return f"key:{self.id}"

    @property
    def limit(self) -> Scope:
        return limit_of(self.filters, self.collections)


def limit_of(filters: Mapping[str, Any], collections: Sequence[str]) -> Scope:
    """Return the scope to which a key with these ``filters``, as in a request, and
    collections is limited.
    """
    conditions = {
        name: Range(**value) if isinstance(value, Mapping) else Values(tuple(value))
        for name, value in filters.items()
    }
    return Scope.of(conditions).within(collections)


def limit_key(limit: Scope) -> str:
    """Return a text for a limit, which rows carry; "" for none. See `limit_of_key`."""
    if not limit:
        return ""
    parts = {"filters": limit.to_json(), "collections": list(limit.collections)}
    return dumps(parts, sort_keys=True, ensure_ascii=False)


def limit_of_key(key: str) -> Scope:
    """Return the limit that `limit_key` made a text of."""
    if not key:
        return Scope()
    parts = loads(key)
    return limit_of(parts["filters"], parts["collections"])


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request; without arguments, the command line.

    ``owner`` owns what the request creates, "" = nobody: then it belongs to all who
    know its id. Requests and tokens count for ``account``: the key, or the address of
    callers without one, who could discard a cookie.
    """

    role: Need = "admin"
    owner: str = ""
    account: str = ""
    key: ApiKey | None = None
    daily_tokens: int | None = None
    """Tokens of the chat model that its account may use in a day (UTC); None = no limit
    of its own.
    """
    limit: Scope = field(default_factory=Scope)
    """The scope that it may see; empty = everything."""

    def may(self, need: Need) -> bool:
        return NEEDS.index(self.role) >= NEEDS.index(need)

    @property
    def identity(self) -> str:
        """By which it is known where what it does or sends is noted."""
        return self.owner or self.account

    @property
    def runs_the_program(self) -> bool:
        """True if it may see the settings, and what a dependency says itself."""
        return self.may("admin") and not self.limit

    @property
    def oversees(self) -> bool:
        """True if it sees everybody's jobs: with an administrator's key, not if ACCESS
        is merely open.
        """
        return self.key is not None and self.key.role == "admin"


ANYBODY = Caller()
