"""Cookies: signed, read by no script, sent by no other site."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from flask import Response, request
from itsdangerous import BadSignature, URLSafeTimedSerializer
from werkzeug.wrappers import Response as BaseResponse

from ...database.failures import UNWRITABLE
from ...domain.errors import DatabaseError
from .routes import services

KEY_COOKIE, OWNER_COOKIE = "report_chat_key", "report_chat"
COOKIE_SECONDS = 400 * 86_400
"""The maximum that browsers allow."""


def owner_of_cookie() -> str:
    """Return the owner of the signed cookie, "" without a valid one."""
    id, _, signature = request.cookies.get(OWNER_COOKIE, "").partition(".")
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


def _signature(id: str) -> str:
    return hmac.new(
        services().storage.cookie_secret, f"owner {id}".encode(), hashlib.sha256
    ).hexdigest()


def with_owner(response: Response) -> Response:
    """Set the cookie that identifies the visitor of a page, or extend its lifetime."""
    try:
        value = request.cookies.get(OWNER_COOKIE, "")
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
