"""In a browser: signing in with an identity provider (the package oidc-provider-mock,
on loopback), and out again.
"""

import base64
import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect

from chatbot.app.web.cookies import (
    OLDER_KEY_COOKIE,
    OLDER_PERSON_COOKIE,
    SESSION_COOKIE,
    sealed,
)
from tests.app.web.conftest import error_of
from tests.app.web.live import address, application
from tests.conftest import small_settings

__all__ = ("address",)
pytestmark = [
    # The provider's, which runs in this process.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.extras("all"),
]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    provider_mock = pytest.importorskip(
        "oidc_provider_mock", reason="not installed: oidc-provider-mock"
    )
PEOPLE = {
    "ann": {"name": "Ann Ouma", "groups": ["readers"]},
    "eve": {"name": "Eve", "groups": ["strangers"]},
}
GROUPS = '[readers]\nrole = "write"\n'


@pytest.fixture(scope="module")
def provider() -> Iterator[tuple[str, list[dict[str, list[str]]]]]:
    """Its address, and the forms that its token endpoint got."""
    forms: list[dict[str, list[str]]] = []
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    users = [
        provider_mock.User(sub=sub, claims=claims) for sub, claims in PEOPLE.items()
    ]
    with provider_mock.run_server_in_thread(
        user_claims=users, require_nonce=True
    ) as server:
        inner = server.app

        def noting(
            environ: dict[str, Any], start: Callable[..., Any]
        ) -> Iterable[bytes]:
            if environ["PATH_INFO"] == "/oauth2/token":
                body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
                forms.append(parse_qs(body.decode()))
                environ["wsgi.input"] = BytesIO(body)
            result: Iterable[bytes] = inner(environ, start)
            return result

        server.app = noting
        yield f"http://localhost:{server.server_port}", forms
    del os.environ["AUTHLIB_INSECURE_TRANSPORT"]


@pytest.fixture(scope="module")
def app(
    provider: tuple[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Flask]:
    folder: Path = tmp_path_factory.mktemp("data")
    (folder / "groups.toml").write_text(GROUPS, encoding="utf-8")
    identity = {
        "oidc_issuer": provider[0],
        "oidc_client_id": "reports",
        "oidc_client_secret": "s3cret-of-reports",
    }
    settings = small_settings(
        folder, chat_model="echo", sign_in_groups=folder / "groups.toml", **identity
    )
    with application(settings) as made:
        yield made


def sign_in(page: Page, sub: str) -> None:
    page.get_by_role("link", name="Sign in with your organisation").click()
    page.get_by_role("button", name=sub, exact=True).click()


def test_signing_in_and_out(
    launched: Browser, address: str, provider: tuple[str, list[dict[str, list[str]]]]
) -> None:
    with launched.new_context() as context:
        page = context.new_page()
        asked: list[str] = []
        page.on(
            "request",
            lambda one: (
                asked.append(one.url) if "/oauth2/authorize" in one.url else None
            ),
        )
        page.goto(f"{address}/documents?year=2023")
        expect(page.locator("#session-dialog")).to_be_visible()
        sign_in(page, "ann")
        page.wait_for_url(f"{address}/documents?year=2023")
        expect(page.locator("#session-button")).to_have_text("Ann Ouma")
        expect(page.locator(".add")).to_be_visible()
        cookie = next(one for one in context.cookies() if one["name"] == SESSION_COOKIE)
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (
            True,
            "Lax",
            False,
        )
        sent, verifier = (
            parse_qs(urlsplit(asked[0]).query),
            provider[1][-1]["code_verifier"][0],
        )
        digest = (
            base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
            .decode()
            .rstrip("=")
        )
        assert (sent["code_challenge"], sent["code_challenge_method"]) == (
            [digest],
            ["S256"],
        )
        page.locator("#session-button").click()
        expect(page.locator("#session-text")).to_have_text(
            "Your role is write, by your groups: readers"
        )
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{provider[0]}/oauth2/end_session?**")
        page.locator("form button").first.click()
        page.wait_for_url(f"{address}/?**")
        expect(page.locator("#session-dialog")).to_contain_text(
            "Sign in with your organisation"
        )
        assert page.request.get(f"{address}/api/reports").status == 401
        sign_in(page, "eve")
        expect(page.locator("#session-dialog")).to_contain_text(
            "None of your groups has access here"
        )
        assert page.request.get(f"{address}/api/reports").status == 403


def began(app: Flask, page: str = "/documents") -> tuple[Any, str]:
    """A browser that was at the provider, and the address that it is sent back to."""
    client = app.test_client()
    to = client.get("/sign-in", query_string={"next": page}).headers["Location"]
    back = httpx2.post(to, data={"sub": "ann"}).headers["location"]
    return client, back.removeprefix("http://localhost")


def test_only_the_browser_that_began_is_signed_in(app: Flask) -> None:
    client, back = began(app)
    refused = [
        app.test_client().get(back),
        client.get(back.replace("state=", "state=x")),
        client.get("/sign-in/callback"),
    ]
    for one in refused:
        assert "expired" in error_of(one, 403, "forbidden")["message"]
    client.set_cookie(OLDER_KEY_COOKIE, "rck_left-over")
    done = client.get(back, base_url="https://localhost")
    assert (
        "identity provider" in error_of(done, 403, "forbidden")["message"]
    )  # of another address: http, not https
    client, back = began(app)
    done = client.get(back)
    assert (done.status_code, done.headers["Location"]) == (303, "/documents")
    assert client.get("/api/session").get_json()["person"]["name"] == "Ann Ouma"
    error_of(client.get(back), 403, "forbidden")  # once
    kept = client.get_cookie(SESSION_COOKIE)
    assert kept is not None
    for value in (kept.value[:-1], kept.value.swapcase(), "e30.e30.e30"):
        other = app.test_client()
        other.set_cookie(SESSION_COOKIE, value)
        assert other.get("/api/session").get_json()["person"] is None
    client, back = began(app)
    back = back.replace("code=", "error=access_denied&code=")
    assert "access_denied" in error_of(client.get(back), 403, "forbidden")["message"]


def test_a_cookie_of_an_older_release_is_taken_over_once(app: Flask) -> None:
    client, back = began(app)
    client.get(back)
    sessions = app.extensions["services"].storage.sessions
    before = sessions.all()
    session = before[0]
    stated = {"id": session.holder, "name": "Ann Ouma", "groups": session.groups}
    with app.test_request_context():
        value = sealed(OLDER_PERSON_COOKIE, stated)
    older, copied = app.test_client(), app.test_client()
    for each in (older, copied):
        each.set_cookie(OLDER_PERSON_COOKIE, value)
        assert each.get("/api/session").get_json()["person"]["name"] == "Ann Ouma"
    assert len(sessions.all()) == len(before) + 1
    older.delete("/api/session")
    assert copied.get("/api/session").get_json()["person"] is None


@pytest.mark.parametrize(
    "page",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "/\t/evil.example",
        "x",
    ],
)
def test_a_sign_in_leads_to_pages_of_this_server_only(app: Flask, page: str) -> None:
    client, back = began(app, page)
    assert client.get(back).headers["Location"] == "/"


def test_the_secret_is_nowhere(app: Flask) -> None:
    client, back = began(app)
    client.get(back)
    shown = [client.get("/api/session"), client.get("/"), client.get("/operator")]
    assert not any(
        "s3cret" in one.get_data(as_text=True) + str(one.headers) for one in shown
    )
