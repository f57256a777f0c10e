"""Roles, API keys as they are stored, and the caller of one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .scope import Range, Scope, Values

KeyRole = Literal["read", "write", "admin"]
Need = Literal["nothing", "read", "write", "admin"]
"""The role that a route needs; each role may do what those before it may."""
KEY_ROLES: tuple[KeyRole, ...] = get_args(KeyRole)
NEEDS: tuple[Need, ...] = get_args(Need)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret, of which a digest is stored. ``id``: its first characters, which reveal no other.

    It sees only ``filters`` (as in a request) and ``collections``; empty = everything.
    """

    id: str
    name: str
    role: KeyRole
    created_at: str
    filters: Mapping[str, Any] = field(default_factory=dict)
    collections: tuple[str, ...] = ()
    daily_tokens: int | None = None
    requests_per_minute: int | None = None
    used_at: str = ""
    revoked_at: str = ""

    @property
    def owner(self) -> str:
        """The owner of conversations and reports that are made with this key."""
        return f"key:{self.id}"

    @property
    def limit(self) -> Scope:
        conditions = {
            name: Range(**value) if isinstance(value, Mapping) else Values(tuple(value))
            for name, value in self.filters.items()
        }
        return Scope.of(conditions).within(self.collections)


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request; without arguments, the command line.

    ``owner`` owns what the request creates, "" = nobody: then it belongs to all who know its id. Requests and tokens
    count for ``account``: the key, or the address of callers without one, who could discard a cookie.
    """

    role: Need = "admin"
    owner: str = ""
    account: str = ""
    key: ApiKey | None = None
    daily_tokens: int | None = None
    """Tokens of the chat model that its account may use in a day (UTC); None = no limit of its own."""
    limit: Scope = field(default_factory=Scope)
    """The scope that it may see; empty = everything."""

    def may(self, need: Need) -> bool:
        return NEEDS.index(self.role) >= NEEDS.index(need)

    @property
    def oversees(self) -> bool:
        """Whether it sees everybody's jobs: with an administrator's key, not if ACCESS is merely open."""
        return self.key is not None and self.key.role == "admin"


ANYBODY = Caller()
