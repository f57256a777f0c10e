"""`Idempotency-Key`: a change that is sent again, as its answer was lost, is not done again but answered as before.

As the IETF's draft has it. Only what succeeded is kept: after an error the same key may be sent with another body.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re

from flask import Response, g, make_response, request

from ..errors import DatabaseError, InvalidRequestError
from .access import caller
from .request import MOST_FILES, digest_of, is_form, services
from .routes import current_route

log = logging.getLogger(__name__)
HEADER, REPLAYED = "Idempotency-Key", "Idempotency-Replayed"
HEADER_PATTERN = r"^[!-~]{1,255}$"
ONCE = frozenset(
    {
        "conversations.update_conversation", "conversations.delete_conversation", "conversations.share_conversation",
        "conversations.unshare_conversation", "batches.create", "batches.cancel",
    }
)  # fmt: skip
"""The endpoints that heed it, beside those that need the role write."""
KEPT_HEADERS = ("Content-Type", "Location")


def replay() -> Response | None:
    """What was answered to the current request before; None where it is to be done.

    Raises:
        InvalidRequestError: the key is none.
        KeyReusedError, ConflictError: see `IdempotencyRepository.begin`.
    """
    key = request.headers.get(HEADER)
    route = current_route()
    is_write = route is not None and route.need == "write"
    if key is None or (not is_write and request.endpoint not in ONCE) or request.method == "OPTIONS":
        return None
    if not re.fullmatch(HEADER_PATTERN, key):
        raise InvalidRequestError.for_field(HEADER, "send 1 to 255 visible ASCII characters.")
    owner = caller().owner or caller().account
    kept = services().storage.idempotency.begin(owner, key, _fingerprint())
    if kept is None:
        g.once = (owner, key)
        return None
    g.replayed = True
    return make_response(kept["body"], kept["status"], {**kept["headers"], REPLAYED: "true"})


def keep(response: Response) -> None:
    """What the current request is answered with, for when it is sent again."""
    if "once" not in g:
        return
    owner, key = g.once
    done = response.status_code < 400
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    answer = {"status": response.status_code, "body": response.get_data(as_text=True), "headers": headers}
    try:
        services().storage.idempotency.end(owner, key, answer if done else None)
    except DatabaseError as error:  # what it speaks of is done
        log.error("The answer to %s %s is not kept: %s", request.method, request.path, error.message)


def _fingerprint() -> str:
    """A digest of the request, the same when it is sent again although a form's boundary is made anew."""
    if is_form(most=MOST_FILES):
        files = [[file.filename, digest_of(file)] for _, file in request.files.items(multi=True)]
        sent = json.dumps([sorted(request.form.items(multi=True)), files]).encode()
    else:
        sent = request.get_data()
    about = f"{request.method} {request.full_path} ".encode()
    return hashlib.sha256(about + sent).hexdigest()
