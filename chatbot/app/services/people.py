"""What the core asks about people who sign in by other means than a key. An extra
answers; without it there are none.
"""

from dataclasses import dataclass
from typing import Protocol

from ...domain.callers import ApiKey


@dataclass(frozen=True, slots=True)
class SignedOut:
    """A person has signed out. ``person``: who is signed in nevertheless, because a
    proxy says so. ``address`` ends their session where they signed in; "" = there is
    none.
    """

    person: ApiKey | None = None
    address: str = ""


class People(Protocol):
    """People and their groups."""

    def person(self) -> ApiKey | None:
        """Return who signed in and sent the current request, as a key with their groups
        but no role; None = nobody.
        """

    def limited(self, key: ApiKey) -> ApiKey | None:
        """Return the key with the role and the limits of its groups; None = none of
        them has access.
        """

    def has_foreign_key(self) -> bool:
        """Return whether a key of the current request that was not made here counts as
        none.
        """

    def sign_in_address(self) -> str:
        """Return the address where people sign in; "" = somewhere else."""

    def sign_out(self) -> SignedOut:
        """Sign out who sent the current request."""
