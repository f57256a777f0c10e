"""Signing in to the page with a key: it goes into a cookie that no script reads."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify

from ..errors import UnauthorizedError
from ..schema.access import NEEDS, Caller
from ..validation import parse
from .access import KEY_COOKIE, UNKNOWN_KEY, caller, caller_with, set_cookie, stranger
from .bodies import SignIn
from .request import json_object
from .services import services

sessions = Blueprint("sessions", __name__)


@sessions.get("/api/session")
def show() -> Response:
    """Who sends the request, and what they may do. A key that was revoked is forgotten."""
    try:
        return jsonify(_session(caller()))
    except UnauthorizedError:
        return _without_key(_session(stranger()))


@sessions.post("/api/session")
def sign_in() -> Response:
    """Sign in with a key, which goes into a cookie. Raises UnauthorizedError: there is no such key."""
    secret = parse(SignIn, json_object()).key
    found = services().storage.keys.find(secret)
    if found is None:
        raise UnauthorizedError(UNKNOWN_KEY)
    response = jsonify(_session(caller_with(found)))
    set_cookie(response, KEY_COOKIE, secret)
    return response


@sessions.delete("/api/session")
def sign_out() -> Response:
    """Forget the key in this browser; it stays good."""
    return _without_key(_session(stranger()))


def _without_key(session: dict[str, Any]) -> Response:
    response = jsonify(session)
    set_cookie(response, KEY_COOKIE, "", seconds=0)
    return response


def _session(who: Caller) -> dict[str, Any]:
    key = {"id": who.key.id, "name": who.key.name, "role": who.key.role} if who.key else None
    may = [need for need in NEEDS[1:] if who.may(need)]
    return {"access": services().settings.rule, "may": may, "owner": who.owner, "key": key}
