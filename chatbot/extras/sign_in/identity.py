"""People who sign in: an identity provider (OIDC_ISSUER, OpenID Connect by Authlib, the
code flow with PKCE, found by discovery), and groups (SIGN_IN_GROUPS), each with a role
and limits, as an API key has them.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ...config.settings import Settings
from ...config.settings_types import read_tables
from ...domain import errors
from ...domain.callers import PERSON, ApiKey, KeyRole
from ...domain.packages import install_command
from ...domain.scope import Value
from ...domain.tables import Texts
from ...domain.validation import parse
from ...language.countries import resolve_country
from ...questions.reading import COUNTRY

DISCOVERY = "/.well-known/openid-configuration"
SCOPES = ("openid", "profile", "email")
OPTIONAL_SCOPES = frozenset({"groups"})
"""Asked for where the provider knows them."""
SIGNATURES = ("RS", "PS", "ES", "Ed")
"""The algorithms of public keys: not "none", and none that shares a secret."""
NAMES = ("name", "preferred_username", "email", "sub")
"""The claims of which the first gives the name to show."""
EVERYBODY = "*"
"""The name of a group that everybody who signs in is in."""
Names = Annotated[
    tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], ...],
    Field(min_length=1),
]


class Group(BaseModel):
    """A table of the file. Without ``countries`` or ``collections`` it sees those of
    everybody.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: KeyRole
    countries: Names | None = None
    collections: Names | None = None
    daily_tokens: int | None = Field(None, ge=1)
    requests_per_minute: int | None = Field(None, ge=1)

    def equals_but_for_countries(self, other: "Group") -> bool:
        """Return whether nothing but the countries differs."""
        return self.model_copy(update={"countries": other.countries}) == other


class Groups:
    """The table of groups. ``countries``: how the reports spell them now."""

    def __init__(
        self, settings: Settings, countries: Callable[[], Sequence[Value]]
    ) -> None:
        """Raises SettingsError: the file cannot be read, or a group in it is wrong."""
        path = settings.sign_in_groups
        self._table = {} if path is None else read_groups(path, settings)
        self._countries = countries

    def names(self, groups: Sequence[str]) -> Texts:
        """Return the names of the table among these groups of a person, in the order of
        the file.
        """
        return tuple(
            name for name in self._table if name in groups or name == EVERYBODY
        )

    def countries(self) -> Texts:
        """Return the countries that the table names, as it spells them."""
        return tuple(
            dict.fromkeys(
                name for group in self._table.values() for name in group.countries or ()
            )
        )

    def limited(self, key: ApiKey) -> ApiKey | None:
        """Return the key with the role and the limits of its groups; None if the table
        has none of them.

        The first of them in the file decides. The countries of those that are otherwise
        the same are added to its own.
        """
        names = self.names(key.groups)
        if not names:
            return None
        groups = [self._table[name] for name in names]
        first = groups[0]
        alike = [group for group in groups if group.equals_but_for_countries(first)]
        return replace(
            key,
            groups=names,
            role=first.role,
            filters=self._filters(alike),
            collections=tuple(sorted(first.collections or ())),
            daily_tokens=first.daily_tokens,
            requests_per_minute=first.requests_per_minute,
        )

    def _filters(self, groups: Sequence[Group]) -> dict[str, Any]:
        """Return the filter of all countries of these groups, as the reports spell
        them; none if one of the groups sees every country.
        """
        if not all(group.countries for group in groups):
            return {}
        spelled = [str(value) for value in self._countries()]
        chosen: dict[str, None] = {}
        for group in groups:
            for name in group.countries or ():
                chosen[resolve_country(name, spelled)[0] or name] = None
        return {COUNTRY: list(chosen)}


def read_groups(path: Path, settings: Settings) -> Mapping[str, Group]:
    """Return the groups of a file by name. Raises SettingsError: naming the group, what
    is wrong and what is valid.
    """

    def read(stated: dict[str, Any]) -> Group:
        group = parse(Group, stated)
        if unknown := set(group.collections or ()) - set(settings.chunk_collections):
            valid = ", ".join(settings.chunk_collections)
            raise errors.InvalidRequestError(
                f"unknown collection {', '.join(sorted(unknown))}. Valid: {valid}."
            )
        if group.countries and COUNTRY not in settings.filter_fields:
            raise errors.InvalidRequestError(
                f"countries need {COUNTRY} in FILTER_FIELDS."
            )
        return group

    groups = read_tables(
        "SIGN_IN_GROUPS", path, read, noun="group", keys=", ".join(Group.model_fields)
    )
    if not groups:
        raise errors.SettingsError(
            f"SIGN_IN_GROUPS: {path} has no group, so nobody can sign in. See "
            "docs/extras/sign-in.md."
        )
    return groups


class IdentityProvider:
    """The provider of the settings; it is asked when somebody signs in, and not
    before.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises MissingPackageError: Authlib is not installed."""
        try:
            from authlib.integrations.base_client import (
                BaseApp,
                OAuth2Mixin,
                OpenIDMixin,
            )
            from authlib.integrations.httpx_client import OAuth2Client
        except ImportError as error:
            raise errors.MissingPackageError(
                "OIDC_ISSUER needs the Python package Authlib.",
                remedy=f"Install it: {install_command('oidc')}",
            ) from error
        secret = settings.oidc_client_secret
        self.issuer = (settings.oidc_issuer or "").rstrip("/")
        self._client_id = settings.oidc_client_id
        self._claim = settings.oidc_groups_claim
        kind: Any = type(
            "Client", (OAuth2Mixin, OpenIDMixin, BaseApp), {"client_cls": OAuth2Client}
        )
        self._client = kind(
            None,
            client_id=self._client_id,
            client_secret=secret.get_secret_value() if secret else None,
            server_metadata_url=f"{self.issuer}{DISCOVERY}",
            client_kwargs={"code_challenge_method": "S256", "timeout": 10.0},
        )

    def check(self) -> None:
        """Raises IdentityProviderError: it does not answer, or its metadata is not that
        of this issuer.
        """
        with _translated():
            metadata = self._client.load_server_metadata()
            endpoints = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            if str(metadata.get("issuer")).rstrip("/") != self.issuer or not all(
                map(metadata.get, endpoints)
            ):
                del metadata["_loaded_at"]  # Authlib's: it is loaded again next time
                raise ValueError(
                    f"the metadata at {self.issuer}{DISCOVERY} is not that of this "
                    "issuer"
                )
            stated = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
            metadata["id_token_signing_alg_values_supported"] = [
                one for one in stated if one.startswith(SIGNATURES)
            ]

    def begin(self, callback: str) -> dict[str, str]:
        """Return the ``url`` where somebody signs in, and the ``state``, ``nonce`` and
        ``code_verifier`` of it. Raises IdentityProviderError.
        """
        self.check()
        with _translated():
            more = OPTIONAL_SCOPES.intersection(
                self._client.server_metadata.get("scopes_supported", ())
            )
            started: dict[str, str] = self._client.create_authorization_url(
                callback, scope=" ".join((*SCOPES, *more))
            )
            return started

    def finish(self, callback: str, code: str, started: Mapping[str, str]) -> ApiKey:
        """Return who signed in, as a key with their groups. Raises ForbiddenError: the
        provider says no, or what it says is not valid; IdentityProviderError.
        """
        self.check()
        with _translated():
            client = self._client
            issuer = self._client.server_metadata["issuer"]
            token = client.fetch_access_token(
                callback, code=code, code_verifier=started["code_verifier"]
            )
            expected = {
                "iss": {"essential": True, "value": issuer},
                "aud": {"essential": True, "value": self._client_id},
            }
            claims = dict(
                client.parse_id_token(token, started["nonce"], claims_options=expected)
                or {}
            )
            if not claims.get("sub"):
                raise ValueError("the ID token names nobody: its sub is empty")
            if self._groups(claims) is None and client.server_metadata.get(
                "userinfo_endpoint"
            ):
                more = client.userinfo(token=token)
                claims = (
                    {**more, **claims} if more.get("sub") == claims["sub"] else claims
                )
            digest = hashlib.sha256(
                f"{self.issuer} {claims['sub']}".encode()
            ).hexdigest()
            name = next(str(claims[one]) for one in NAMES if claims.get(one))
            return ApiKey(
                f"{PERSON}{digest[:32]}",
                name,
                "feed",
                "",
                groups=tuple(self._groups(claims) or ()),
            )

    def _groups(self, claims: Mapping[str, Any]) -> list[str] | None:
        """Return the groups of the claim, whose name may be a path
        (realm_access.roles); None where it is missing.
        """
        path = [self._claim]
        if self._claim not in claims:
            path = self._claim.split(".")
        value: Any = claims
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        if value is None:
            return None
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list):
            return []  # a number or an object names no group
        return [str(group) for group in value]

    def sign_out_address(self, back: str) -> str:
        """Return the address that ends the session at the provider and leads ``back``;
        "" where it has none.
        """
        self.check()
        if not self._client.server_metadata.get("end_session_endpoint"):
            return ""
        address: str = self._client.create_logout_url(back, client_id=self._client_id)[
            "url"
        ]
        return address


@contextmanager
def _translated() -> Iterator[None]:
    import httpx2
    from authlib.common.errors import AuthlibBaseError
    from joserfc.errors import JoseError

    try:
        yield
    except (AuthlibBaseError, JoseError) as error:
        raise errors.ForbiddenError(
            f"The identity provider did not sign you in: {error.error}."
        ) from error
    except (
        httpx2.HTTPError,
        httpx2.InvalidURL,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        raise errors.IdentityProviderError(
            "The identity provider does not answer as it should.",
            remedy="Check its address (OIDC_ISSUER), and whether this server reaches "
            "it.",
            said=str(error),
        ) from error
