"""Signing in to the page with a key, and out."""

from contextlib import suppress
from typing import Annotated, Literal

from flask import Response, g, jsonify, request
from pydantic import StringConstraints
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from ...domain.callers import KEY_ROLES, Caller, KeyRole, Need
from ...domain.errors import DatabaseError, UnauthorizedError
from ...domain.validation import NOT_BLANK
from ..services.people import SignedOut
from .callers import caller, caller_with, find_key, signed_in, without_key
from .cookies import KEY_DAYS, OLDER_KEY_COOKIE, begin_session, end_session
from .routes import Body, Views, services

sessions = Views("sessions", __name__)


class SignIn(Body):
    """A key of this server."""

    key: Annotated[
        str, StringConstraints(strip_whitespace=True, pattern=NOT_BLANK, max_length=200)
    ]


class KeyInfo(TypedDict):
    """The key of the caller."""

    id: str
    name: str
    role: KeyRole


class PersonInfo(TypedDict):
    """Who signed in, with the role and the groups that count here; the role is
    "nothing" if no group does.
    """

    name: str
    role: Need
    groups: list[str]


class Session(TypedDict):
    """The caller, and the roles it has."""

    access: Literal["open", "read", "keys"]
    may: list[KeyRole]
    owner: str
    key: KeyInfo | None
    person: PersonInfo | None
    sign_in: str
    """The address where people sign in; "" without an identity provider."""
    sign_out: str
    """After a person signed out: the address that ends their session at the provider;
    "" if there is none.
    """


@sessions.get("/api/session", need="nothing", returns=Session)
def get_session() -> Response:
    """Get the caller, and what it may do. A revoked key is signed out."""
    try:
        response = jsonify(_session(caller()))
    except UnauthorizedError:
        return _without_session(SignedOut(signed_in()))
    key = caller().key
    if key is not None and OLDER_KEY_COOKIE in request.cookies:
        with suppress(DatabaseError):  # a full disk signs nobody out
            begin_session(response, key.id, key.name, (), KEY_DAYS)
    return response


@sessions.post("/api/session", need="nothing", returns=Session, errors=(401,))
def create_session(body: SignIn) -> Response:
    """Sign in to the page with a key, for 90 days. The cookie is the id of a session,
    which ends with the key.
    """
    key = find_key(body.key)
    response = jsonify(_session(caller_with(key)))
    begin_session(response, key.id, key.name, (), KEY_DAYS)
    return response


@sessions.delete("/api/session", need="nothing", returns=Session)
def delete_session() -> Response:
    """Sign out in this browser; the key stays valid."""
    people = services().people
    return _without_session(people.sign_out() if people else SignedOut())


def _without_session(left: SignedOut) -> Response:
    """End the session of a key, or of the person who ``left``."""
    response = jsonify(_session(without_key(left.person), left.address))
    end_session(response)
    return response


def _session(who: Caller, sign_out: str = "") -> Session:
    may = [role for role in KEY_ROLES if who.may(role)]
    owner = who.owner
    key = who.key
    person = g.get("person")
    named: KeyInfo | None = (
        None
        if key is None or person
        else {"id": key.id, "name": key.name, "role": key.role}
    )
    groups = list(key.groups if key else ())
    shown: PersonInfo | None = (
        {"name": person.name, "role": who.role, "groups": groups} if person else None
    )
    people = services().people
    sign_in = people.sign_in_address() if people else ""
    return {
        "access": services().settings.rule,
        "may": may,
        "owner": owner,
        "key": named,
        "person": shown,
        "sign_in": sign_in,
        "sign_out": sign_out,
    }
