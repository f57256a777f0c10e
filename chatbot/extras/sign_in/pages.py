"""Sign-in with an identity provider: to it, and back with what it says. `people` reads
the session that begins here.
"""

import hmac
import re
from typing import Any

from flask import redirect, request, url_for
from flask.sansio.app import App
from werkzeug.wrappers import Response as Redirect

from ...app.web.cookies import (
    PERSON_DAYS,
    begin_session,
    drop_cookie,
    sealed,
    set_cookie,
    unsealed,
)
from ...app.web.routes import Route, Views, services
from ...domain.errors import LONGEST_SHOWN, ForbiddenError
from .identity import IdentityProvider
from .people import SignedInPeople, people_here


class ProviderViews(Views):
    """Views that exist where people sign in with an identity provider."""

    def register(self, app: App, options: dict[str, Any]) -> None:
        if app.extensions["services"].settings.oidc_issuer:
            super().register(app, options)


sign_in = ProviderViews("sign_in", __name__)
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
    _, provider = _people_and_provider()
    started = provider.begin(url_for(".finish", _external=True))
    response = redirect(started.pop("url"))
    page = request.args.get("next", "")
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
    people, provider = _people_and_provider()
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
    person = provider.finish(
        url_for(".finish", _external=True), request.args.get("code", ""), started
    )
    groups = people.groups.names(person.groups)
    response = redirect(started["next"], 303)
    begin_session(response, person.id, person.name, groups, PERSON_DAYS)
    drop_cookie(response, STARTED_COOKIE)
    return response


def _people_and_provider() -> tuple[SignedInPeople, IdentityProvider]:
    people = people_here(services())
    assert people is not None  # without a provider these views do not exist
    provider = people.provider
    assert provider is not None
    return people, provider
