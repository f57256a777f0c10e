"""Access control: callers, roles, rate limits, the part of the library they see and
change, and signing in.

A caller is identified by `Authorization: Bearer KEY`, by the cookie of a sign-in with a
key, or by the signed cookie that a page sets for a visitor without either. ACCESS sets
what callers without a key may do.
"""

import hashlib
import hmac
import ipaddress
import logging
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Annotated, Any, Literal

from flask import Response, g, jsonify, request, url_for
from itsdangerous import BadSignature, URLSafeTimedSerializer
from pydantic import StringConstraints
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12
from werkzeug.wrappers import Response as BaseResponse

from ...database.repositories.access import PREFIX
from ...domain import NOT_BLANK, Scope
from ...domain.errors import (
    DatabaseError,
    DependencyError,
    ForbiddenError,
    TooManyRequestsError,
    UnauthorizedError,
)
from ...domain.request import KEY_ROLES, NEEDS, PERSON, ApiKey, Caller, KeyRole, Need
from ..services import AFTER_BUDGET_SECONDS, Services
from ..services.library import Library
from .routes import (
    COLLECTIONS,
    Body,
    ScopeQuery,
    Views,
    current_route,
    query_filters,
    services,
)

log = logging.getLogger(__name__)
sessions = Views("sessions", __name__)
STRANGERS: Mapping[str, Need] = {"open": "admin", "read": "read", "keys": "nothing"}
"""The role of callers without a key, by ACCESS."""
KEY_COOKIE, OWNER_COOKIE = "report_chat_key", "report_chat"
PERSON_COOKIE, PERSON_SECONDS = "report_chat_person", 12 * 3600
PROXY_PERSON = "report_chat.person"
"""The key of the WSGI environment with the headers of a trusted proxy: person, groups,
name.
"""
COOKIE_SECONDS = 400 * 86_400
"""The maximum that browsers allow."""


def count_request() -> None:
    """Count the current request. Raises TooManyRequestsError."""
    route = current_route()
    if route is None or not route.is_counted:
        return
    who = Caller(
        account=address()
    )  # also of requests to sign in, and of those with an unknown key
    if route.need != "nothing":
        with suppress(UnauthorizedError):
            who = caller()
    most = (
        who.key.requests_per_minute if who.key else None
    ) or services().settings.request_limit
    if most is None:
        return
    count, reset = services().storage.counters.request(who.account)
    left = max(0, most - count)
    g.rate_limit = {
        "RateLimit-Limit": most,
        "RateLimit-Remaining": left,
        "RateLimit-Reset": reset,
        # draft-ietf-httpapi-ratelimit-headers-10, which is to replace the three above
        "RateLimit-Policy": f'"minute";q={most};w=60',
        "RateLimit": f'"minute";r={left};t={reset}',
    }
    if count > most:
        message = f"Rate limit of {most} requests a minute reached. Retry in {reset} s."
        raise TooManyRequestsError(message, retry_after=reset)


def require_role() -> None:
    """Raise UnauthorizedError or ForbiddenError if the caller lacks the role that the
    current request needs.
    """
    route = current_route()
    if route is None or route.need == "nothing" or (who := caller()).may(route.need):
        return
    if (person := g.get("person")) is not None and who.key is None:
        raise ForbiddenError(
            f"You are signed in as {person.name}, but none of your groups has "
            "access here."
        )
    if who.key is None:
        remedy = "send Authorization: Bearer KEY, or sign in on the page."
        raise UnauthorizedError(
            f"This action needs a key with the role {route.need}: {remedy}"
        )
    if person is not None:
        raise ForbiddenError(
            f"You have the role {who.role}; this action needs the role {route.need}."
        )
    raise ForbiddenError(
        f"This key has the role {who.role}; this action needs the role {route.need}."
    )


def finish_request(response: Response) -> None:
    """State the caller's rate limit in the headers, and record a change of the library
    in the audit log.
    """
    response.headers.update(
        {name: str(value) for name, value in g.get("rate_limit", {}).items()}
    )
    route = current_route()
    if route is None or route.need != "write" or response.status_code >= 400:
        return
    ids, who, rule = (request.view_args or {}).values(), caller(), request.url_rule
    target = " ".join(ids) or (response.location or "").rpartition("/")[2]
    try:
        services().storage.audit.record(
            f"{request.method} {rule}", target, who.owner or who.account
        )
    except DatabaseError as error:  # the change is made
        log.error(
            "The audit log lacks %s %s: %s", request.method, request.path, error.message
        )


def caller() -> Caller:
    """Return the caller of the current request. Raises UnauthorizedError: the key is
    unknown.
    """
    if "caller" not in g:
        key = sent_key()
        g.caller = (
            caller_with(key)
            if key
            else without_key(
                signed_in() if services().settings.sign_in_groups else None
            )
        )
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
    return None if caller().oversees or services().settings.is_local else caller().owner


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
    settings, g.person = services().settings, person
    if person is not None:
        key = services().groups.limited(person)
        return (
            Caller("nothing", person.owner, person.owner)
            if key is None
            else caller_with(key)
        )
    most = settings.daily_tokens_per_caller
    return Caller(
        STRANGERS[settings.rule], owner_of_cookie(), address(), daily_tokens=most
    )


def signed_in() -> ApiKey | None:
    """Return the person whom a cookie of `sign_in` or a trusted proxy names, as a key
    with their groups but no role.
    """
    if services().settings.oidc_issuer:
        kept = unsealed(PERSON_COOKIE, PERSON_SECONDS)
        return (
            ApiKey(kept["id"], kept["name"], "feed", "", groups=tuple(kept["groups"]))
            if kept
            else None
        )
    stated = (
        text.encode("latin-1").decode("utf-8", "backslashreplace").strip()
        for text in request.environ.get(PROXY_PERSON, ())
    )
    user, groups, name = (*stated, "", "", "")[:3]
    if not user or "," in user:  # two headers: one of them may be the client's
        return None
    parts = tuple(part.strip() for part in re.split("[,|]", groups) if part.strip())
    return ApiKey(f"{PERSON}{user}", name or user, "feed", "", groups=parts)


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
    secret = (
        token.strip()
        if scheme.lower() == "bearer"
        else request.cookies.get(KEY_COOKIE, "")
    )
    if not secret:
        return None
    others = request.blueprint == "openai" or request.environ.get(PROXY_PERSON)
    if others and not secret.startswith(PREFIX):
        # OpenAI's clients must send something, even "none"; proxies may pass on a token
        # of their own
        return None
    return find_key(secret)


def find_key(secret: str) -> ApiKey:
    key = services().storage.keys.find(secret)
    if key is not None and key.groups:  # the feed of a person: as their groups are now
        limited = services().groups.limited(key)
        key = limited and replace(limited, role=key.role)
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


def owner_of_cookie() -> str:
    """Return the owner of the signed cookie, "" without a valid one."""
    id, _, signature = request.cookies.get(OWNER_COOKIE, "").partition(".")
    if not signature or not hmac.compare_digest(
        _signature(id).encode(), signature.encode()
    ):
        return ""
    return f"visitor:{id}"


def _signature(id: str) -> str:
    return hmac.new(
        services().storage.cookie_secret, f"owner {id}".encode(), hashlib.sha256
    ).hexdigest()


def with_owner(response: Response) -> Response:
    """Set the cookie that identifies the visitor of a page, or extend its lifetime."""
    try:
        value, id = request.cookies.get(OWNER_COOKIE, ""), secrets.token_hex(16)
        set_cookie(
            response,
            OWNER_COOKIE,
            value if owner_of_cookie() else f"{id}.{_signature(id)}",
        )
    except DatabaseError:
        pass  # it holds the secret; the page itself says that it does not answer
    return response


def sealed(cookie: str, value: Mapping[str, Any]) -> str:
    """Return the value of a cookie that only this server can have made, and when."""
    return str(
        URLSafeTimedSerializer(services().storage.cookie_secret, salt=cookie).dumps(
            value
        )
    )


def unsealed(cookie: str, seconds: int) -> dict[str, Any] | None:
    """Return the value of such a cookie of the current request; None if it has none, or
    an older one.
    """
    serializer = URLSafeTimedSerializer(services().storage.cookie_secret, salt=cookie)
    try:
        value: dict[str, Any] = serializer.loads(
            request.cookies.get(cookie, ""), max_age=seconds
        )
    except BadSignature:
        return None
    return value


def set_cookie(
    response: BaseResponse, name: str, value: str, seconds: int = COOKIE_SECONDS
) -> None:
    """Set a cookie that no script reads and no other site sends along."""
    # a proxy may serve other applications under the same name
    path = f"{request.root_path.rstrip('/')}/"
    secure = request.is_secure
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=path,
        httponly=True,
        samesite="Lax",
        secure=secure,
    )


@contextmanager
def question_slot(product: Services, who: Caller) -> Iterator[None]:
    """Hold one of the caller's QUESTIONS_PER_CALLER. Raises TooManyRequestsError: they
    are all in use.
    """
    most = product.settings.question_limit
    if most is None:
        yield
        return
    seconds = product.settings.budget_seconds + AFTER_BUDGET_SECONDS
    with product.storage.counters.question(who.account, most=most, seconds=seconds):
        yield


def library() -> Library:
    return Library(services(), caller())


def query_scope(query: ScopeQuery) -> Scope:
    """Return the scope that the query string names. Raises InvalidRequestError."""
    collections = request.args.getlist(COLLECTIONS) or None
    return library().scopes.resolve(
        query_filters(query), collections=collections, prefix=""
    )


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
        return jsonify(_session(caller()))
    except UnauthorizedError:
        return _signed_out(KEY_COOKIE)


@sessions.post("/api/session", need="nothing", returns=Session, errors=(401,))
def create_session(body: SignIn) -> Response:
    """Sign in to the page with a key, which is kept in a cookie."""
    response = jsonify(_session(caller_with(find_key(body.key))))
    set_cookie(response, KEY_COOKIE, body.key)
    return response


@sessions.delete("/api/session", need="nothing", returns=Session)
def delete_session() -> Response:
    """Sign out in this browser; the key stays valid."""
    address, provider = "", services().identity
    if provider is not None and unsealed(PERSON_COOKIE, PERSON_SECONDS):
        with suppress(DependencyError):  # here they are signed out all the same
            address = provider.sign_out_address(url_for("pages.chat", _external=True))
    return _signed_out(KEY_COOKIE, PERSON_COOKIE, sign_out=address)


def _signed_out(*cookies: str, sign_out: str = "") -> Response:
    settings = services().settings
    stays = settings.sign_in_headers or (
        settings.oidc_issuer and PERSON_COOKIE not in cookies
    )
    response = jsonify(_session(without_key(signed_in() if stays else None), sign_out))
    for cookie in cookies:
        set_cookie(response, cookie, "", seconds=0)
    return response


def _session(who: Caller, sign_out: str = "") -> Session:
    may, owner = [role for role in KEY_ROLES if who.may(role)], who.owner
    key, person = who.key, g.get("person")
    named: KeyInfo | None = (
        None
        if key is None or person
        else {"id": key.id, "name": key.name, "role": key.role}
    )
    groups = list(key.groups if key else ())
    shown: PersonInfo | None = (
        {"name": person.name, "role": who.role, "groups": groups} if person else None
    )
    settings = services().settings
    sign_in = url_for("sign_in.begin") if settings.oidc_issuer else ""
    return {
        "access": settings.rule,
        "may": may,
        "owner": owner,
        "key": named,
        "person": shown,
        "sign_in": sign_in,
        "sign_out": sign_out,
    }
