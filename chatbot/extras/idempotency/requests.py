"""The header `Idempotency-Key` of requests, as the IETF's draft has it.

What failed is not kept: after an error the same key may be sent with another body.
"""

import hashlib
import json
import logging
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Response, current_app, g, make_response, request

from ...app.web.callers import caller
from ...app.web.files import digest_of, is_form
from ...app.web.routes import REPEATED, Route, Views, current_route, services
from ...app.web.streaming import EventStream, sent_stream
from ...database.core import Json
from ...database.failures import UNWRITABLE
from ...domain.errors import ChatbotError, DatabaseError, InvalidRequestError
from .keys import BOUNDS, IdempotencyKeys, Repeatable

log = logging.getLogger(__name__)
idempotency = Views("idempotency", __name__)
HEADER = "Idempotency-Key"
KEY_PATTERN = "[!-~]{1,255}"
KEPT_HEADERS = ("Content-Type", "Location")
WARNING = '199 report-chat "Idempotency-Key was ignored: the database takes no writes."'


class SecretShownError(ChatbotError, code="secret_already_shown", status=409):
    """The request was done before, and its answer had a secret, which is stored
    nowhere. ``details`` has the rest of the answer.
    """


class NotKeptError(ChatbotError, code="answer_not_kept", status=409):
    """The request was done before, and its answer was too large to be kept."""


def header_of(route: Route, method: str) -> Json | None:
    """Return the description of the header, None for operations without it."""
    if method != "POST":
        return None
    return {
        "name": HEADER,
        "in": "header",
        "description": "A request that is sent again within a day with the same key is "
        "answered as before.",
        "schema": {"type": "string", "pattern": f"^{KEY_PATTERN}$"},
    }


@idempotency.before_app_request
def repeat() -> Response | None:
    """Return the stored answer to the current request, None where it is to be done.
    Raises InvalidRequestError: the key is malformed; and as `IdempotencyKeys.begin`.
    """
    key = request.headers.get(HEADER)
    route = current_route()
    if key is None or request.method != "POST" or route is None:
        return None
    if not route.is_documented:
        return None
    if not re.fullmatch(KEY_PATTERN, key):
        raise InvalidRequestError.for_field(
            HEADER, "send 1 to 255 visible ASCII characters."
        )
    who = caller()
    try:
        begun = _keys().begin(who.identity, key, _fingerprint(route))
    except DatabaseError as error:
        if error.reason not in UNWRITABLE:
            raise
        g.ignored_key = True
        return None
    if isinstance(begun, Repeatable):
        g.repeatable = begun
        return None
    return _stored(begun)


def _keys() -> IdempotencyKeys:
    made: dict[str, Any] = current_app.extensions
    if "idempotency" not in made:
        made["idempotency"] = IdempotencyKeys(services().storage.database)
    keys: IdempotencyKeys = made["idempotency"]
    return keys


def _fingerprint(route: Route) -> str:
    """Return a digest of the request, the same when it is sent again although the
    boundary of a form is made anew.
    """
    if route.files and is_form(most=route.files):
        files = []
        for field, file in request.files.items(multi=True):
            files.append([field, file.filename, digest_of(file)])
        fields = sorted(request.form.items(multi=True))
        body = json.dumps([fields, files]).encode()
    else:
        body = request.get_data()
    head = f"{request.method} {request.full_path}\n".encode()
    return hashlib.sha256(head + body).hexdigest()


def _stored(answer: Json) -> Response:
    """Return a stored answer. Raises SecretShownError, NotKeptError."""
    if answer["is_secret"]:
        raise SecretShownError(
            "This was done before. Its secret was in the first answer and is stored "
            "nowhere. If it is lost, revoke what it belongs to and send a new "
            "Idempotency-Key.",
            details=[json.loads(answer["body"])],
        )
    if answer["body"] is None:
        raise NotKeptError(
            "This was done before. Its answer was too large to be kept: look for the "
            "result, or send a new Idempotency-Key."
        )
    headers = {**answer["headers"], REPEATED: "true"}
    return make_response(answer["body"], answer["status"], headers)


@idempotency.after_app_request
def keep(response: Response) -> Response:
    """Store the answer to the current request; that of a stream when it has ended."""
    if g.pop("ignored_key", False):
        response.headers["Warning"] = WARNING
    begun: Repeatable | None = g.pop("repeatable", None)
    if begun is None:
        return response
    finish = partial(_finish, _keys(), begun)
    stream = sent_stream(response)
    if response.status_code >= 400 or "Set-Cookie" in response.headers:
        finish(None)  # signing in twice is signing in
    elif stream is not None:
        _record(stream, partial(_answer, response), finish)
    elif response.is_streamed:
        finish(None)
    else:
        route = current_route()
        secret = route.shown_once if route is not None else ""
        finish(_answer(response, response.get_data(as_text=True), secret))
    return response


def _answer(response: Response, body: str, secret: str = "") -> Json:
    """Return an answer in its stored form, without its field ``secret``."""
    if secret:
        shown = json.loads(body)
        del shown[secret]
        body = json.dumps(shown)
    is_kept = len(body) <= BOUNDS["answer_characters"]
    headers = {
        name: response.headers[name]
        for name in KEPT_HEADERS
        if name in response.headers
    }
    return {
        "status": response.status_code,
        "headers": headers,
        "body": body if is_kept else None,
        "is_secret": bool(secret),
    }


def _record(
    stream: EventStream,
    answer: Callable[[str], Json],
    finish: Callable[[Json | None], None],
) -> None:
    """Keep the events of a stream that ends by itself; nothing of one that failed or
    that its client broke off.
    """
    events: list[str] = []

    def record(event: str | None) -> None:
        if event is not None:
            events.append(event)
            return
        if stream.cancel.cancelled or stream.has_failed:
            finish(None)
        else:
            finish(answer("".join(events)))

    stream.follow(record)


def _finish(keys: IdempotencyKeys, begun: Repeatable, answer: Json | None) -> None:
    try:
        keys.finish(begun, answer)
    except DatabaseError as error:  # the request itself is done
        log.error("The answer to a repeatable request is not kept: %s", error.message)
