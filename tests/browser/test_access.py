"""In a browser: signing in with a key, a name that is there already, and a foreign page
that rebinds its name.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect

from tests.app.web.live import application, served
from tests.conftest import BROWSER_ARGUMENTS, small_settings

EVIL = "rebind.example"
ATTACK = """
  const form = new FormData();
  form.append("files", new File(["# Planted\\n\\nBelieve me."], "planted.md"));
  const json = { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"query": "Kenya?"}' };
  const tries = [
    ["/api/documents"], ["/api/reports"], ["/"], ["/ready"], ["/api/session"],
    ["/api/documents", { method: "POST", body: form }], ["/query", json],
    ["/api/chat", json], ["/api/documents/x", { method: "DELETE" }],
  ];
  Promise.all(tries.map(([path, options]) => fetch(path, options).then((response) => response.status)));
"""  # noqa: E501


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with application(
        small_settings(
            tmp_path_factory.mktemp("data"), access="read", chat_model="echo"
        )
    ) as made:
        yield made


@pytest.fixture(scope="module")
def port(app: Flask) -> Iterator[int]:
    with served(app) as found:
        yield found


@pytest.fixture(scope="module")
def browser(chromium: str, playwright: Playwright) -> Iterator[Browser]:
    """To which the foreign name leads to this machine."""
    rule = f"--host-resolver-rules=MAP {EVIL} 127.0.0.1"
    launched = playwright.chromium.launch(
        executable_path=chromium, args=[*BROWSER_ARGUMENTS, rule]
    )
    yield launched
    launched.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context() as opened:
        yield opened


def sign_in(page: Page, secret: str) -> None:
    page.locator("#session-button").click()
    page.get_by_label("Key", exact=True).fill(secret)
    page.locator("#session-submit").click()


def test_a_page_that_rebinds_its_name_gets_nothing(
    context: BrowserContext, app: Flask, port: int
) -> None:
    page, documents = context.new_page(), app.extensions["services"].storage.documents
    there = len(documents.all())
    # A document of the foreign origin, in which its script goes on after the name has
    # come to lead here.
    page.goto(f"http://{EVIL}:{port}/health")
    assert set(page.evaluate(ATTACK)) == {403}
    assert page.evaluate("fetch('/health').then((response) => response.status)") == 200
    assert len(documents.all()) == there
    assert not app.extensions["services"].storage.ingestions.unfinished()


def test_signing_in_and_out(context: BrowserContext, app: Flask, port: int) -> None:
    key, secret = app.extensions["services"].storage.keys.create(
        "Nairobi office", "write"
    )
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{port}/documents")
    button = page.locator("#session-button")
    expect(button).to_have_text("Sign in")
    expect(page.locator(".add")).to_be_hidden()
    sign_in(page, "wrong")
    expect(page.locator("#session-error")).to_contain_text("Unknown or revoked key")
    page.keyboard.press("Escape")
    sign_in(page, secret)
    expect(button).to_have_text("Nairobi office")
    expect(page.locator(".add")).to_be_visible()
    assert secret not in page.evaluate(
        "JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])"
    )
    page.goto(f"http://127.0.0.1:{port}/")
    expect(button).to_have_text("Nairobi office")
    button.click()
    expect(page.locator("#session-text")).to_contain_text(key.id)
    page.locator("#session-submit").click()
    expect(button).to_have_text("Sign in")


def test_an_administrator_creates_and_revokes_a_key(
    context: BrowserContext, app: Flask, port: int
) -> None:
    _, secret = app.extensions["services"].storage.keys.create("Boss", "admin")
    page, reports = context.new_page(), f"http://127.0.0.1:{port}/api/usage"
    page.goto(f"http://127.0.0.1:{port}/documents")
    sign_in(page, secret)
    expect(page.locator("#session-button")).to_have_text("Boss")
    page.goto(f"http://127.0.0.1:{port}/operator")
    expect(page.locator("#settings tbody tr", has_text="SECRET_KEY")).to_be_visible()
    page.get_by_role("button", name="Create a key").click()
    page.get_by_label("Collections").fill("nowhere")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator('[data-field="name"] .field-error')).to_have_text(
        "must not be empty."
    )
    page.get_by_label("Name", exact=True).fill("Mombasa office")
    page.get_by_label("Role", exact=True).select_option("admin")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator('[data-field="collections"] .field-error')).to_contain_text(
        "report_chatting"
    )
    page.get_by_label("Collections").fill("report_chatting")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_label("Keep this key")).to_have_value(re.compile("rck_"))
    made = page.get_by_label("Keep this key").input_value()
    row = page.locator("#keys tbody tr", has_text="Mombasa office")
    expect(row).to_contain_text(made[:12])
    page.keyboard.press("Escape")
    expect(page.locator("#key-secret")).to_have_value("")
    by_key = {"Authorization": f"Bearer {made}"}
    with urlopen(Request(reports, headers=by_key), timeout=30) as answered:
        assert answered.status == 200
    row.get_by_role("button", name="Revoke Mombasa office").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(row).to_contain_text("Revoked")
    with pytest.raises(HTTPError, match="401"):
        urlopen(Request(reports, headers=by_key), timeout=30)
    page.get_by_role("button", name="Run the check").click()
    expect(page.locator("#findings")).to_contain_text("ACCESS is read")


@pytest.mark.nightly
def test_a_name_that_is_there_is_asked_about(
    context: BrowserContext, app: Flask, port: int, tmp_path: Path
) -> None:
    _, secret = app.extensions["services"].storage.keys.create("Writer", "write")
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{port}/documents")
    sign_in(page, secret)
    expect(page.locator("#session-button")).to_have_text("Writer")
    rows = page.locator("#documents tbody tr")
    for number, (choice, count) in enumerate(
        (("", 1), ("Replace", 1), ("Keep both", 2))
    ):
        file = tmp_path / "notes.md"
        file.write_text(f"# Notes\n\nNumber {number}.", encoding="utf-8")
        page.locator("#file-input").set_input_files(file)
        page.locator("#upload-submit").click()
        if choice:
            expect(page.locator("#conflict-list strong")).to_have_text("notes.md")
            page.get_by_role("button", name=choice, exact=True).click()
        expect(page.locator("#activity .ingestion")).to_have_count(number + 1)
        expect(page.locator("#activity [data-icon=check]").first).to_be_visible(
            timeout=30_000
        )
        expect(rows).to_have_count(count)
