"""Sign-in with an identity provider: to it, and back with what it says. `access` reads
the cookie that is set here.
"""

import hmac
import re

from flask import redirect, request, url_for
from werkzeug.wrappers import Response as Redirect

from ...domain.errors import LONGEST_SHOWN, ForbiddenError
from ..services.identity import IdentityProvider
from .cookies import (
    KEY_COOKIE,
    PERSON_COOKIE,
    PERSON_SECONDS,
    sealed,
    set_cookie,
    unsealed,
)
from .routes import Route, Views, services

sign_in = Views("sign_in", __name__)
STEP = Route(need="nothing", is_documented=False)
"""Counted, other than pages: each asks the provider."""
STARTED_COOKIE, STARTED_SECONDS = "report_chat_sign_in", 600
OWN_PATH = re.compile(r"/(?![/\\])[^\\\s\x00-\x1f\x7f]*")
"""Browsers read // and /\\ as another host, and leave out tabs and line breaks."""


@sign_in.get("/sign-in", about=STEP)
def begin() -> Redirect:
    """Lead to the provider; the state, nonce and verifier of this attempt are kept in a
    cookie.
    """
    started = _provider().begin(url_for(".finish", _external=True))
    response, page = redirect(started.pop("url")), request.args.get("next", "")
    started["next"] = page if OWN_PATH.fullmatch(page) else url_for("pages.chat")
    set_cookie(
        response, STARTED_COOKIE, sealed(STARTED_COOKIE, started), STARTED_SECONDS
    )
    return response


@sign_in.get("/sign-in/callback", about=STEP)
def finish() -> Redirect:
    """Keep who signed in. Raises ForbiddenError: it did not begin in this browser, or
    the provider says no.
    """
    started = unsealed(STARTED_COOKIE, STARTED_SECONDS)
    if not started or not hmac.compare_digest(
        started["state"].encode(), request.args.get("state", "").encode()
    ):
        raise ForbiddenError(
            "This sign-in has expired, or another one began since. Sign in again."
        )
    if error := request.args.get("error"):
        raise ForbiddenError(
            f"The identity provider did not sign you in: {error[:LONGEST_SHOWN]}."
        )
    person = _provider().finish(
        url_for(".finish", _external=True), request.args.get("code", ""), started
    )
    stated = {
        "id": person.id,
        "name": person.name,
        "groups": services().groups.names(person.groups),
    }
    response = redirect(started["next"], 303)
    set_cookie(response, PERSON_COOKIE, sealed(PERSON_COOKIE, stated), PERSON_SECONDS)
    for name in (STARTED_COOKIE, KEY_COOKIE):
        set_cookie(response, name, "", 0)
    return response


def _provider() -> IdentityProvider:
    provider = services().identity
    assert provider is not None  # without one these views are not registered
    return provider
