"""Identify the caller of a request.

A caller is identified by `Authorization: Bearer KEY`, by the cookie of a sign-in with a
key, or by the signed cookie that a page sets for a visitor without either. ACCESS sets
what callers without a key may do.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import replace

from flask import g, request

from ...database.repositories.access import PREFIX, BrowserSession
from ...domain.callers import NEEDS, PERSON, ApiKey, Caller, Need
from ...domain.errors import UnauthorizedError
from .cookies import OLDER_KEY_COOKIE, current_session, owner_of_cookie
from .routes import Route, current_route, services

STRANGERS: Mapping[str, Need] = {"open": "admin", "read": "read", "keys": "nothing"}
"""The role of callers without a key, by ACCESS."""


def caller() -> Caller:
    """Return the caller of the current request. Raises UnauthorizedError: the key is
    unknown.
    """
    if "caller" not in g:
        key = sent_key()
        g.caller = caller_with(key) if key else without_key(signed_in())
    who: Caller = g.caller
    return who


def may_read() -> bool:
    """Return whether the caller may read; not with an unknown key: pages then offer to
    sign in.
    """
    try:
        return caller().may("read")
    except UnauthorizedError:
        return False


def whose() -> str | None:
    """Return the owner whose jobs and feedback the caller sees; None: everybody's.
    Whoever sits at the only machine that reaches the server runs it. Behind ACCESS=open
    they may be strangers to each other.
    """
    if caller().oversees or services().settings.is_local:
        return None
    return caller().owner


def caller_with(key: ApiKey) -> Caller:
    """Return a caller with this key, whose role is the key's, or that of callers
    without a key where it is greater.
    """
    role = max(STRANGERS[services().settings.rule], key.role, key=NEEDS.index)
    return Caller(role, key.owner, key.owner, key, key.daily_tokens, key.limit)


def without_key(person: ApiKey | None) -> Caller:
    """Return the caller of the current request without a key: the person who signed in,
    a stranger without one.
    """
    settings = services().settings
    g.person = person
    if person is not None:
        key = limited(person)
        if key is None:
            return Caller("nothing", person.owner, person.owner)
        return caller_with(key)
    most = settings.daily_tokens_per_caller
    return Caller(
        STRANGERS[settings.rule], owner_of_cookie(), address(), daily_tokens=most
    )


def signed_in() -> ApiKey | None:
    """Return who signed in by other means than a key, as `People.person` does."""
    people = services().people
    if people:
        return people.person()
    return None


def limited(key: ApiKey) -> ApiKey | None:
    """Return the key of a person with the role and limits of their groups; None if no
    group has access, or nobody knows the groups.
    """
    people = services().people
    if people:
        return people.limited(key)
    return None


def sent_key() -> ApiKey | None:
    """Return the key of the current request, None without one. Raises
    UnauthorizedError.
    """
    route = current_route()
    if (
        (token := request.args.get("token"))
        and route is not None
        and route.need == "feed"
    ):
        if (key := find_key(token)).role != "feed":
            raise UnauthorizedError(
                "An address takes the token of a feed: POST /api/feeds. A key "
                "belongs in a header."
            )
        return key
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    secret = token.strip()
    if scheme.lower() != "bearer":
        session = current_session()
        if session is not None:
            return _key_of(session)
        secret = request.cookies.get(OLDER_KEY_COOKIE, "")
    if not secret:
        return None
    if not secret.startswith(PREFIX) and _counts_as_none(route):
        return None
    return find_key(secret)


def _counts_as_none(route: Route | None) -> bool:
    """Return whether a key that was not made here counts as none."""
    if route is not None and route.ignores_foreign_keys:
        return True
    people = services().people
    return people is not None and people.has_foreign_key()


def _key_of(session: BrowserSession) -> ApiKey | None:
    """Return the key of a session; None for a person. Raises UnauthorizedError."""
    if session.holder.startswith(PERSON):
        return None
    return _valid(services().storage.keys.of_session(session))


def find_key(secret: str) -> ApiKey:
    """Return the key with this secret. Raises UnauthorizedError."""
    return _valid(services().storage.keys.find(secret))


def _valid(key: ApiKey | None) -> ApiKey:
    if key is not None and key.groups:  # the feed of a person: as their groups are now
        as_now = limited(key)
        key = replace(as_now, role=key.role) if as_now else None
    if key is None:
        raise UnauthorizedError(
            "Unknown or revoked key. Create one: python -m chatbot keys create NAME."
        )
    return key


def address() -> str:
    """Return the account of requests without a key: their address; with IPv6 the
    network, which one customer has.
    """
    try:
        ip = ipaddress.ip_address(request.remote_addr or "")
    except ValueError:
        return "address:unknown"
    if isinstance(ip, ipaddress.IPv6Address):
        ip = (
            ip.ipv4_mapped
            or ipaddress.ip_network((ip, 64), strict=False).network_address
        )
    return f"address:{ip}"
