"""Cookies: read by no script, sent by no other site; those of sessions and visitors."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from flask import Response, g, request
from itsdangerous import BadSignature, URLSafeTimedSerializer
from werkzeug.wrappers import Response as BaseResponse

from ...database.failures import UNWRITABLE
from ...database.repositories.access import BrowserSession
from ...domain.errors import DatabaseError, NotFoundError, read_table
from .routes import services

SESSION_COOKIE, OWNER_COOKIE = "report_chat_session", "report_chat"
OLDER_KEY_COOKIE, OLDER_PERSON_COOKIE = "report_chat_key", "report_chat_person"
"""Of releases before 0.7, which kept the key, and who signed in, in the cookie."""
_LIMITS = read_table(__package__, "limits")
KEY_DAYS: float = _LIMITS["key_session_days"]["value"]
PERSON_DAYS: float = _LIMITS["person_session_days"]["value"]
COOKIE_SECONDS = 400 * 86_400
"""The maximum that browsers allow."""


def owner_of_cookie() -> str:
    """Return the owner of the signed cookie, "" without a valid one."""
    id, _, signature = _owner_value().partition(".")
    if not signature:
        return ""
    try:
        expected = _signature(id)
    except DatabaseError as error:
        if error.reason not in UNWRITABLE:
            raise
        return ""  # the secret was never stored, so no cookie is signed with it
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        return ""
    return f"visitor:{id}"


def _owner_value() -> str:
    # Releases before 0.7 set it without a prefix.
    return read_cookie(OWNER_COOKIE) or request.cookies.get(OWNER_COOKIE, "")


def _signature(id: str) -> str:
    return hmac.new(
        services().storage.cookie_secret, f"owner {id}".encode(), hashlib.sha256
    ).hexdigest()


def with_owner(response: Response) -> Response:
    """Set the cookie that identifies the visitor of a page, or extend its lifetime."""
    try:
        value = _owner_value()
        id = secrets.token_hex(16)
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
            read_cookie(cookie) or request.cookies.get(cookie, ""), max_age=seconds
        )
    except BadSignature:
        return None
    return value


def current_session() -> BrowserSession | None:
    """Return the session of the browser that sent the current request."""
    if "session" not in g:
        token = read_cookie(SESSION_COOKIE)
        g.session = services().storage.sessions.find(token) if token else None
    session: BrowserSession | None = g.session
    return session


def begin_session(
    response: BaseResponse, holder: str, name: str, groups: Sequence[str], days: float
) -> None:
    """Sign the browser in, in place of who was. The response gets its cookie."""
    end_session(response)
    token = services().storage.sessions.begin(holder, name, groups, days=days)
    set_cookie(response, SESSION_COOKIE, token, seconds_of(days))


def seconds_of(days: float) -> int:
    return int(timedelta(days=days).total_seconds())


def end_session(response: BaseResponse) -> None:
    """Sign the browser out; its session ends here, not only its cookie."""
    session = current_session()
    if session is not None:
        with suppress(NotFoundError):  # another tab was quicker
            services().storage.sessions.end(session.id)
    for cookie in (SESSION_COOKIE, OLDER_KEY_COOKIE, OLDER_PERSON_COOKIE):
        if read_cookie(cookie) or cookie in request.cookies:
            drop_cookie(response, cookie)


def read_cookie(name: str) -> str:
    return request.cookies.get(_sent_name(name), "")


def _sent_name(name: str) -> str:
    """Return the name by which browsers keep a cookie: with `__Host-`, no other host
    of the domain and no other path can have set it.
    """
    if request.is_secure and not request.root_path.strip("/"):
        return f"__Host-{name}"
    return name


def drop_cookie(response: BaseResponse, name: str) -> None:
    """Delete a cookie, also one that an older release set."""
    set_cookie(response, name, "", 0)
    if _sent_name(name) != name:
        response.delete_cookie(name)


def set_cookie(
    response: BaseResponse, name: str, value: str, seconds: int = COOKIE_SECONDS
) -> None:
    """Set a cookie that no script reads and no other site sends along."""
    # a proxy may serve other applications under the same name
    path = f"{request.root_path.rstrip('/')}/"
    secure = request.is_secure
    response.set_cookie(
        _sent_name(name),
        value,
        max_age=seconds,
        path=path,
        httponly=True,
        samesite="Lax",
        secure=secure,
    )
