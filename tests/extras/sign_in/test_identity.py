"""What an identity provider says is believed only if it is for this server, of this
sign-in, and signed by it.
"""

import base64
import json
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, jsonify
from werkzeug.serving import make_server

from chatbot.config.settings import Settings
from chatbot.domain.errors import ForbiddenError, IdentityProviderError
from chatbot.extras.sign_in.identity import IdentityProvider
from tests.data import cases

CASES = cases(__file__)
pytest.importorskip("authlib", reason="needs the extra oidc (requirements-oidc.txt)")
STARTED = {"state": "s", "nonce": "n", "code_verifier": "v" * 48}


@cache
def key_pair() -> tuple[Any, Any]:
    """Return two keys of one name. Making one takes as long as all of a test."""
    from joserfc.jwk import RSAKey

    first = RSAKey.generate_key(2048, parameters={"kid": "a"})
    second = RSAKey.generate_key(2048, parameters={"kid": "a"})
    return first, second


class Said:
    """What the provider answers; a test changes it."""

    def __init__(self) -> None:
        self.key, self.other = key_pair()
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {"alg": "RS256", "kid": "a"}
        self.signed_by = self.key
        self.metadata: dict[str, Any] = {}
        self.info: dict[str, Any] = {}

    def id_token(self) -> str:
        from joserfc import jwt

        if self.header["alg"] == "none":
            parts = (
                base64.urlsafe_b64encode(json.dumps(part).encode())
                for part in (self.header, self.claims)
            )
            return b".".join((*(part.rstrip(b"=") for part in parts), b"")).decode()
        return jwt.encode(
            self.header, self.claims, self.signed_by, algorithms=[self.header["alg"]]
        )


@pytest.fixture
def said() -> Iterator[Said]:
    provider, answers = Flask("provider"), Said()
    provider.add_url_rule(
        "/.well-known/openid-configuration",
        "metadata",
        lambda: jsonify(answers.metadata),
    )
    provider.add_url_rule(
        "/jwks", "jwks", lambda: jsonify(keys=[answers.key.as_dict(private=False)])
    )
    provider.add_url_rule("/info", "info", lambda: jsonify(answers.info))
    provider.add_url_rule(
        "/token",
        "token",
        methods=["POST"],
        view_func=lambda: jsonify(
            access_token="t", token_type="Bearer", id_token=answers.id_token()
        ),
    )
    server = make_server("127.0.0.1", 0, provider, threaded=True)
    issuer = f"http://127.0.0.1:{server.server_port}"
    answers.metadata = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "jwks_uri": f"{issuer}/jwks",
        "id_token_signing_alg_values_supported": ["RS256", "none"],
    }
    now = int(time.time())
    answers.claims = {
        "iss": issuer,
        "aud": "reports",
        "sub": "7",
        "iat": now,
        "exp": now + 60,
        "nonce": "n",
    }
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield answers
    server.shutdown()


@pytest.fixture
def provider(said: Said, tmp_path: Path) -> IdentityProvider:
    own = {
        "oidc_issuer": said.metadata["issuer"],
        "oidc_client_id": "reports",
        "sign_in_groups": tmp_path,
    }
    return IdentityProvider(Settings(**own, oidc_groups_claim="realm_access.roles"))


@pytest.mark.parametrize("change", CASES["wrong"].values(), ids=CASES["wrong"])
def test_a_wrong_token_is_refused(
    provider: IdentityProvider, said: Said, change: dict[str, Any]
) -> None:
    said.claims = {
        name: value
        for name, value in (said.claims | change).items()
        if value is not None
    }
    with pytest.raises(ForbiddenError):
        provider.finish("http://localhost/", "code", STARTED)


def test_a_token_without_the_providers_signature_is_refused(
    provider: IdentityProvider, said: Said
) -> None:
    said.signed_by = said.other
    with pytest.raises(ForbiddenError):
        provider.finish("http://localhost/", "code", STARTED)
    said.header = {"alg": "none"}
    with pytest.raises(ForbiddenError):
        provider.finish("http://localhost/", "code", STARTED)


def test_the_groups_of_the_token_or_of_the_userinfo(
    provider: IdentityProvider, said: Said
) -> None:
    said.info = {"sub": "8", "realm_access": {"roles": ["admins"]}}  # somebody else's
    said.metadata["userinfo_endpoint"] = said.metadata["issuer"] + "/info"
    assert provider.finish("http://localhost/", "code", STARTED).groups == ()
    said.info = {"sub": "7", "name": "Ann", "realm_access": {"roles": ["readers"]}}
    person = provider.finish("http://localhost/", "code", STARTED)
    assert (person.name, person.groups) == ("Ann", ("readers",))
    said.claims |= {
        "aud": ["reports", "other"],
        "azp": "reports",
        "realm_access": {"roles": "one"},
    }
    again = provider.finish("http://localhost/", "code", STARTED)
    assert (again.id, again.groups) == (person.id, ("one",))


@pytest.mark.parametrize(
    "change", [{"issuer": "https://evil.example"}, {"token_endpoint": ""}]
)
def test_metadata_of_another_issuer_or_without_endpoints(
    provider: IdentityProvider, said: Said, change: dict[str, Any]
) -> None:
    said.metadata |= change
    with pytest.raises(IdentityProviderError, match="OIDC_ISSUER"):
        provider.begin("http://localhost/")
