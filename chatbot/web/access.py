"""Who sends a request, whether they may, and how often; signing in.

A caller is identified by `Authorization: Bearer KEY`, by the cookie of a sign-in with a key, or by the signed cookie
that a page sets for a visitor without either. ACCESS sets what callers without a key may do.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from flask import Blueprint, Response, g, jsonify, request
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from ..errors import DatabaseError, ForbiddenError, TooManyRequestsError, UnauthorizedError
from ..repositories.access import PREFIX
from ..schema.access import KEY_ROLES, NEEDS, ApiKey, Caller, KeyRole, Need
from ..services import Services
from .payloads import SignIn
from .routes import current_route, route
from .services import services

log = logging.getLogger(__name__)
sessions = Blueprint("sessions", __name__)
STRANGERS: Mapping[str, Need] = {"open": "admin", "read": "read", "keys": "nothing"}
"""The role of callers without a key, by ACCESS."""
AFTER_BUDGET_SECONDS = 60.0
"""A question that takes so much longer than its budget has no process any more."""
KEY_COOKIE, OWNER_COOKIE = "report_chat_key", "report_chat"
COOKIE_SECONDS = 400 * 86_400
"""Browsers keep none for longer."""
UNKNOWN_KEY = "Unknown or revoked key. Create one: python -m chatbot keys create NAME."


def admit() -> None:
    """Check the current request.

    Raises:
        UnauthorizedError: it needs a key.
        ForbiddenError: its key has too small a role.
    """
    need = needed()
    if need == "nothing" or request.method == "OPTIONS":
        return
    who = caller()
    if who.may(need):
        return
    if who.key is None:
        raise UnauthorizedError(
            f"This action needs a key with the role {need}: send Authorization: Bearer KEY, or sign in on the page."
        )
    raise ForbiddenError(f"This key has the role {who.role}; this action needs the role {need}.")


def needed() -> Need:
    """The role that the current request needs; addresses that lead nowhere need none, to be answered with a 404."""
    route = current_route()
    return route.need if route else "nothing"


def note_change(response: Response) -> None:
    """Note in the audit log that the current request has changed the library, where it has."""
    if needed() != "write" or request.method == "OPTIONS" or "replayed" in g or response.status_code >= 400:
        return
    ids, who, rule = (request.view_args or {}).values(), caller(), request.url_rule
    what = " ".join(ids) or (response.location or "").rpartition("/")[2]
    try:
        services().storage.audit.record(f"{request.method} {rule}", what, who.owner or who.account)
    except DatabaseError as error:  # what it speaks of is done
        log.error("The audit log lacks %s %s: %s", request.method, request.path, error.message)


def caller() -> Caller:
    """Whoever sends the current request. Raises UnauthorizedError: there is no such key."""
    if "caller" not in g:
        key = sent_key()
        g.caller = stranger() if key is None else caller_with(key)
    found: Caller = g.caller
    return found


def whose() -> str | None:
    """The owner whose jobs and feedback the caller sees; None: everybody's."""
    return None if caller().oversees else caller().owner


def known_owner() -> str:
    """The owner of the current request, where somebody has asked for the caller; "" = nobody."""
    found: Caller | None = g.get("caller")
    return found.owner if found else ""


def caller_with(key: ApiKey) -> Caller:
    """A caller with this key, whose role is the key's, or that of strangers where ACCESS gives them a greater one."""
    role = max(STRANGERS[services().settings.rule], key.role, key=NEEDS.index)
    return Caller(role, key.owner, key.owner, key, key.daily_tokens, key.limit)


def stranger() -> Caller:
    """Whoever sends the current request, as one without a key."""
    settings = services().settings
    role, most = STRANGERS[settings.rule], settings.daily_tokens_per_caller
    return Caller(role, owner_of_cookie(), address(), daily_tokens=most)


def sent_key() -> ApiKey | None:
    """The key of the current request; None where it has none. Raises UnauthorizedError."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    secret = token.strip() if scheme.lower() == "bearer" else request.cookies.get(KEY_COOKIE, "")
    if not secret:
        return None
    if request.blueprint == "openai" and not secret.startswith(PREFIX):
        return None  # its clients must send something, be it "none"
    found = services().storage.keys.find(secret)
    if found is None:
        raise UnauthorizedError(UNKNOWN_KEY)
    return found


def address() -> str:
    """The account of requests without a key: their address; of IPv6 its network, as one customer has all of that."""
    try:
        found = ipaddress.ip_address(request.remote_addr or "")
    except ValueError:
        return "address:unknown"
    if isinstance(found, ipaddress.IPv6Address):
        found = found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False).network_address
    return f"address:{found}"


def owner_of_cookie() -> str:
    """Whoever the signed cookie is of; "" where there is none, or this server has not signed it."""
    id, _, signature = request.cookies.get(OWNER_COOKIE, "").partition(".")
    if not signature or not hmac.compare_digest(_signed(id).encode(), signature.encode()):
        return ""
    return f"visitor:{id}"


def _signed(id: str) -> str:
    return hmac.new(services().storage.cookie_secret, f"owner {id}".encode(), hashlib.sha256).hexdigest()


def with_owner(response: Response) -> Response:
    """A page, with the cookie by which its visitor is known again; one that is there lasts longer from now on."""
    try:
        value = request.cookies[OWNER_COOKIE] if owner_of_cookie() else _new_owner()
    except DatabaseError:
        return response  # it has the secret, and the page says itself that it does not answer
    set_cookie(response, OWNER_COOKIE, value)
    return response


def _new_owner() -> str:
    id = secrets.token_hex(16)
    return f"{id}.{_signed(id)}"


def set_cookie(response: Response, name: str, value: str, seconds: int = COOKIE_SECONDS) -> None:
    """Set a cookie that no script reads and no other site sends along."""
    path = f"{request.root_path.rstrip('/')}/"  # below which a proxy may serve this application, beside others
    response.set_cookie(
        name, value, max_age=seconds, path=path, httponly=True, samesite="Lax", secure=request.is_secure
    )


def count_request() -> None:
    """Count the current request. Raises TooManyRequestsError."""
    route = current_route()
    if route is None or not route.is_counted or request.method == "OPTIONS":
        return
    who = _counted()
    most = who.key.requests_per_minute if who.key else None
    most = most or services().settings.request_limit
    if most is None:
        return
    count, reset = services().storage.counters.request(who.account)
    g.share = {"RateLimit-Limit": most, "RateLimit-Remaining": max(0, most - count), "RateLimit-Reset": reset}
    if count > most:
        raise TooManyRequestsError(
            f"Rate limit of {most} requests a minute reached. Retry in {reset} s.", retry_after=reset
        )


def _counted() -> Caller:
    """Signing in, and a key that is none, are counted by the address."""
    by_address = Caller(account=address())
    try:
        return by_address if needed() == "nothing" else caller()
    except UnauthorizedError:
        return by_address


def tell_share(response: Response) -> None:
    """Say in the response's headers how much of the caller's limit is left, where there is one."""
    response.headers.update({name: str(value) for name, value in g.get("share", {}).items()})


@contextmanager
def question_slot(product: Services, who: Caller) -> Iterator[None]:
    """Hold one of the caller's QUESTIONS_PER_CALLER. Raises TooManyRequestsError: they are all in use."""
    most = product.settings.questions_per_caller
    if most is None:
        yield
        return
    seconds = product.settings.budget_seconds + AFTER_BUDGET_SECONDS
    with product.storage.counters.question(who.account, most=most, seconds=seconds):
        yield


class KeyInfo(TypedDict):
    """The key of the caller."""

    id: str
    name: str
    role: KeyRole


class Session(TypedDict):
    """The caller, and the roles it has."""

    access: Literal["open", "read", "keys"]
    may: list[KeyRole]
    owner: str
    key: KeyInfo | None


@sessions.get("/api/session")
@route(need="nothing", returns=Session)
def get_session() -> Response:
    """The caller, and what it may do. A revoked key is signed out."""
    try:
        return jsonify(_session(caller()))
    except UnauthorizedError:
        return _without_key()


@sessions.post("/api/session")
@route(need="nothing", body=SignIn, returns=Session, errors=(401,))
def create_session(body: SignIn) -> Response:
    """Sign in to the page with a key, which is kept in a cookie."""
    key = services().storage.keys.find(body.key)
    if key is None:
        raise UnauthorizedError(UNKNOWN_KEY)
    response = jsonify(_session(caller_with(key)))
    set_cookie(response, KEY_COOKIE, body.key)
    return response


@sessions.delete("/api/session")
@route(need="nothing", returns=Session)
def delete_session() -> Response:
    """Sign out in this browser; the key stays valid."""
    return _without_key()


def _without_key() -> Response:
    response = jsonify(_session(stranger()))
    set_cookie(response, KEY_COOKIE, "", seconds=0)
    return response


def _session(who: Caller) -> Session:
    key: KeyInfo | None = {"id": who.key.id, "name": who.key.name, "role": who.key.role} if who.key else None
    may = [role for role in KEY_ROLES if who.may(role)]
    return {"access": services().settings.rule, "may": may, "owner": who.owner, "key": key}
