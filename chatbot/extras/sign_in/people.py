"""Who signed in: the person whom the cookie of a sign-in or a trusted proxy names."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property

from flask import g, request, url_for

from ...app.findings import Finding
from ...app.services import Services
from ...app.services.people import SignedOut
from ...app.services.storage import Storage
from ...app.web.cookies import (
    OLDER_PERSON_COOKIE,
    PERSON_DAYS,
    current_session,
    seconds_of,
    unsealed,
)
from ...app.web.front import REPEATED_HEADERS
from ...app.web.middleware import FROM_PROXY
from ...database.repositories.access import BrowserSession
from ...domain.callers import PERSON, ApiKey
from ...domain.errors import DependencyError
from ...domain.scope import Value
from ...language.countries import resolve_country
from ...questions.reading import COUNTRY
from .identity import Groups, IdentityProvider

SEPARATORS = re.compile("[,|]")
"""Between the groups in a header."""


class SignedInPeople:
    """The people of an installation; one of `People`."""

    def __init__(self, storage: Storage) -> None:
        """Raises SettingsError: the table of groups cannot be read, or is wrong."""
        self._documents = storage.documents
        self._sessions = storage.sessions
        settings = self._settings = storage.settings
        self.groups = Groups(settings, self.countries)
        self._headers = [
            f"HTTP_{name.upper().replace('-', '_')}"
            for name in settings.sign_in_headers
        ]

    def countries(self) -> Sequence[Value]:
        """Return the countries as the reports spell them now."""
        return self._documents.values(COUNTRY)

    @cached_property
    def provider(self) -> IdentityProvider | None:
        """Where people sign in; None without OIDC_ISSUER. Raises
        MissingPackageError.
        """
        if not self._settings.oidc_issuer:
            return None
        return IdentityProvider(self._settings)

    def person(self) -> ApiKey | None:
        if self._settings.oidc_issuer:
            return self._of_cookie()
        return self._of_headers()

    def _of_cookie(self) -> ApiKey | None:
        session = current_session() or self._of_older_cookie()
        if session is None or not session.holder.startswith(PERSON):
            return None
        return ApiKey(
            session.holder, session.name, "feed", "", groups=tuple(session.groups)
        )

    def _of_older_cookie(self) -> BrowserSession | None:
        """Return the session of a cookie that itself says who signed in, which begins
        when it is first sent, and can then be ended as any other.
        """
        stated = unsealed(OLDER_PERSON_COOKIE, seconds_of(PERSON_DAYS))
        if stated is None:
            return None
        token = request.cookies[OLDER_PERSON_COOKIE]
        groups = stated["groups"]
        self._sessions.begin(
            stated["id"], stated["name"], groups, days=PERSON_DAYS, token=token
        )
        g.session = self._sessions.find(token)
        session: BrowserSession | None = g.session
        return session

    def _of_headers(self) -> ApiKey | None:
        if not self._comes_from_proxy():
            return None
        if not request.environ.get(REPEATED_HEADERS, set()).isdisjoint(self._headers):
            return None  # one of them may be the client's
        texts = [request.environ.get(name, "") for name in self._headers]
        stated = [
            text.encode("latin-1").decode("utf-8", "backslashreplace").strip()
            for text in texts
        ]
        user, groups, name = (*stated, "", "", "")[:3]
        if not user or "," in user:  # the same, joined by a proxy
            return None
        parts = [part.strip() for part in SEPARATORS.split(groups)]
        named = tuple(part for part in parts if part)
        return ApiKey(f"{PERSON}{user}", name or user, "feed", "", groups=named)

    def _comes_from_proxy(self) -> bool:
        return bool(self._headers) and FROM_PROXY in request.environ

    def limited(self, key: ApiKey) -> ApiKey | None:
        return self.groups.limited(key)

    def has_foreign_key(self) -> bool:
        """A proxy that names people may pass on a token of its own."""
        return self._comes_from_proxy()

    def sign_in_address(self) -> str:
        return url_for("sign_in.begin") if self._settings.oidc_issuer else ""

    def sign_out(self) -> SignedOut:
        if self.provider is None:
            return SignedOut(person=self.person())
        address = ""
        if self.person() is not None:
            page = url_for("pages.chat", _external=True)
            with suppress(DependencyError):  # here they are signed out all the same
                address = self.provider.sign_out_address(page)
        return SignedOut(address=address)


def people_of(storage: Storage) -> SignedInPeople | None:
    """Return the people of the settings; None without SIGN_IN_GROUPS: nobody signs in.
    Raises SettingsError.
    """
    if storage.settings.sign_in_groups is None:
        return None
    return SignedInPeople(storage)


def people_here(services: Services) -> SignedInPeople | None:
    """Return the people of the running services."""
    people = services.people
    return people if isinstance(people, SignedInPeople) else None


def verify(services: Services) -> None:
    """Raises MissingPackageError: Authlib is not installed."""
    people = people_here(services)
    if people is not None:
        _ = people.provider


def check_access(services: Services) -> Iterator[Finding]:
    """Check that groups see reports. Raises IdentityProviderError: the provider does
    not answer.
    """
    people = people_here(services)
    if people is None:
        return
    spelled = [str(value) for value in people.countries()]
    for country in people.groups.countries():
        if resolve_country(country, spelled)[0] not in spelled:
            yield Finding("warning", "", "group_without_reports", *_unknown(country))
    provider = people.provider
    if provider is not None:
        provider.check()
        yield Finding("ok", "", "sign_in", f"{provider.issuer} answers")


def _unknown(country: str) -> tuple[str, str]:
    return (
        f"SIGN_IN_GROUPS names {country}, and no report is on it: its groups see "
        "nothing of it.",
        "Write the country as the reports do: python -m chatbot documents list.",
    )
