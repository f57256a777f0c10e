"""Who sends a request, and whether they may: one table of what each route needs, read before every request; signing in.

A caller is told by `Authorization: Bearer KEY`, by the cookie of a sign-in with a key, or by the signed cookie that a
page sets for whoever has neither. What strangers may do says ACCESS.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import secrets
from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Flask, Response, g, jsonify, request

from ..errors import DatabaseError, ForbiddenError, SettingsError, UnauthorizedError
from ..repositories.keys import PREFIX
from ..schema.access import NEEDS, ApiKey, Caller, Need
from ..validation import parse
from .bodies import SignIn
from .request import json_object
from .services import services

log = logging.getLogger(__name__)
sessions = Blueprint("sessions", __name__)
STRANGERS: Mapping[str, Need] = {"open": "admin", "read": "read", "keys": "nothing"}
"""What ACCESS lets those without a key do."""
RULES: Mapping[str, Need] = {
    "static": "nothing", "assets.asset": "nothing",
    "pages.chat": "nothing", "pages.documents": "nothing",
    "monitoring.alive": "nothing", "monitoring.ready": "nothing",
    "sessions.show": "nothing", "sessions.sign_in": "nothing", "sessions.sign_out": "nothing",
    "pages.conversation": "nothing", "pages.shared": "nothing",
    "described.document": "nothing", "described.viewer": "nothing",
    "asking.query": "read", "asking.chat": "read", "asking.search": "read",
    "conversations.index": "read", "conversations.show": "read", "conversations.change": "read",
    "conversations.delete": "read", "conversations.export": "read", "conversations.share": "read",
    "conversations.revoke": "read", "conversations.stream": "read", "conversations.stop": "read",
    "conversations.shared": "nothing",
    "batches.create": "read", "batches.index": "read", "batches.show": "read", "batches.cancel": "read",
    "batches.result": "read",
    "feedback.rate": "read", "feedback.latest": "admin", "feedback.unanswered": "admin", "pages.operator": "nothing",
    "documents.reports": "read", "documents.facets": "read", "documents.coverage": "read",
    "questions.scope": "read", "questions.further": "read",
    "documents.figures": "read",
    "documents.collections": "read", "documents.chunk": "read", "documents.formats": "read",
    "documents.list_documents": "read", "documents.get_document": "read", "documents.preview": "read",
    "originals.file": "read", "originals.text": "read", "jobs.list_ingestions": "read", "jobs.get_ingestion": "read",
    "jobs.add_documents": "write", "documents.edit": "write", "documents.delete": "write",
    "jobs.reingest": "write", "jobs.cancel_ingestion": "write", "jobs.retry_ingestion": "write",
    "openai.models": "read", "openai.model": "read", "openai.completions": "read", "openai.embeddings": "read",
    "mcp.message": "read",
    "monitoring.usage": "admin", "monitoring.metrics": "admin",
}  # fmt: skip
"""What each endpoint needs. Whether a thing is the caller's own is part of the query that looks for it."""
KEY_COOKIE, OWNER_COOKIE = "report_chat_key", "report_chat"
COOKIE_SECONDS = 400 * 86_400
"""Browsers keep none for longer."""
UNKNOWN_KEY = "This key is not known here, or was revoked."


def check_rules(app: Flask) -> None:
    """Raises SettingsError: a route that nobody has said anything of would be open to all."""
    served = {rule.endpoint for rule in app.url_map.iter_rules()}
    if served != RULES.keys():
        raise SettingsError(f"RULES in web/access.py and the routes differ: {', '.join(sorted(served ^ RULES.keys()))}")


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
        raise UnauthorizedError("Sign in with a key that may do this: Authorization: Bearer KEY, or in the page.")
    raise ForbiddenError(f"This key may {who.role}; this needs one that may {need}.")


def needed() -> Need:
    """What the current request needs to be allowed. Addresses that lead nowhere need nothing, to be told so."""
    return RULES.get(request.endpoint, "admin") if request.endpoint else "nothing"


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
