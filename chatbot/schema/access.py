"""Who asks: the roles, an API key as it is kept, and the caller of one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .scope import Range, Scope, Values

KeyRole = Literal["read", "write", "admin"]
Need = Literal["nothing", "read", "write", "admin"]
"""What a route asks of its caller; each role may do what those before it may."""
KEY_ROLES: tuple[KeyRole, ...] = get_args(KeyRole)
NEEDS: tuple[Need, ...] = get_args(Need)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret, of which a digest is stored. ``id``: its first characters, which tell nothing of
    the rest.

    ``filters`` (as a request writes them) and ``collections`` are all that it may see; empty = everything.
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
        """The owner of conversations, batches and reports that are made with this key."""
        return f"key:{self.id}"

    @property
    def limit(self) -> Scope:
        """The scope that this key may see."""
        conditions = {
            name: Range(**value) if isinstance(value, Mapping) else Values(tuple(value))
            for name, value in self.filters.items()
        }
        return Scope.of(conditions).within(self.collections)


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever sends a request; without arguments, the command line.

    ``owner`` has what is made in it, "" = nobody: then whoever knows a thing's id has it. ``account`` is whom requests
    and tokens are counted to: the key, or the address of those without one, since a cookie costs nothing.
    """

    role: Need = "admin"
    owner: str = ""
    account: str = ""
    key: ApiKey | None = None
    daily_tokens: int | None = None
    """How many tokens of the chat model its account may take in a day (UTC); None = no limit of its own."""
    limit: Scope = field(default_factory=Scope)
    """What it may see; empty = everything."""

    def may(self, need: Need) -> bool:
        """Whether the caller's role is enough for something that needs ``need``."""
        return NEEDS.index(self.role) >= NEEDS.index(need)

    @property
    def oversees(self) -> bool:
        """Whether it sees everybody's jobs: an administrator's key, not just anybody where ACCESS is open."""
        return self.key is not None and self.key.role == "admin"


ANYBODY = Caller()
