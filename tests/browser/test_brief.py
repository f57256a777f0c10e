"""Collecting and returning: a brief, answers whose reports were replaced, and keys."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Locator, Page, expect

from chatbot.config import SAMPLE_DATA
from tests.app.web.live import address
from tests.browser.test_card import app, ask, page
from tests.conftest import ingest_file

__all__ = ["address", "app", "page"]
GROWTH = "What is the population growth rate of Kenya?"
RANKS = "Compare the inflation rate of Kenya and Somalia"


@pytest.fixture
def answered(page: Page) -> Iterator[Page]:
    """The page with two answers."""
    ask(page, GROWTH)
    ask(page, RANKS)
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".chart .pin")).to_be_visible()
    yield page
    page.evaluate("localStorage.clear()")


def item(page: Page, title: str) -> Locator:
    return page.locator(".turn").filter(has=page.get_by_role("heading", name=title))


@pytest.mark.nightly
def test_what_is_pinned_becomes_one_document(answered: Page) -> None:
    page = answered
    page.locator(".turn").first.locator(".more-actions > summary").click()
    page.locator(".turn").first.locator(".answer-actions .pin").click()
    expect(page.locator("#toast")).to_contain_text("Added to the brief.")
    page.locator(".chart .pin").click()
    page.locator(".turn").first.locator(".answer-body .citation").first.click()
    page.locator("#evidence-pin").click()
    expect(page.locator("#conversation-list .kind")).to_have_count(1)
    page.locator("#toast a").click()
    titles = page.locator(".turn .question")
    expect(titles).to_have_text(
        [GROWTH, "Inflation rate (consumer prices)", "Kenya: Country Report 2025"]
    )
    expect(page.locator("#ask-form")).to_be_hidden()
    expect(item(page, "Inflation rate").locator(".chart")).to_be_visible()
    page.locator("#brief-add").click()
    page.get_by_role("textbox", name="Title").fill("In short")
    page.get_by_label("Text (Markdown)").fill("It *grows*.")
    page.get_by_role("button", name="Save").click()
    expect(titles).to_have_count(4)
    for place in (2, 1, 0):
        item(page, "In short").get_by_role("button", name="Move up").click()
        expect(titles.nth(place)).to_have_text("In short")
    item(page, "Kenya: Country").get_by_role("button", name="Remove").click()
    expect(titles).to_have_count(3)
    page.locator("#toast button").click()
    expect(titles).to_have_text(
        [
            "In short",
            GROWTH,
            "Inflation rate (consumer prices)",
            "Kenya: Country Report 2025",
        ]
    )
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Markdown").click()
    text = waiting.value.path().read_text(encoding="utf-8")
    assert text.index("## In short\n\nIt *grows*.") < text.index(f"## {GROWTH}")
    assert text.index("[2]") < text.index("## Sources")


def test_an_answer_says_that_its_report_was_replaced(
    answered: Page, app: Flask, tmp_path: Path
) -> None:
    page = answered
    path = SAMPLE_DATA / "country_reports/somalia-2025.md"
    revised = tmp_path / path.name
    text = path.read_text(encoding="utf-8")
    revised.write_text(f"{text}\n\nIt was revised.", encoding="utf-8")
    of_report = {"country_name": "Somalia", "year": 2025}
    ingest_file(app.extensions["services"], revised, path.as_posix(), **of_report)
    page.reload()
    note = page.locator(".outdated-all")
    expect(note).to_contain_text("One answer here rests on a report")
    expect(item(page, RANKS).locator(".outdated")).to_contain_text(
        "Replaced since: Somalia"
    )
    expect(item(page, GROWTH).locator(".outdated")).to_have_count(0)
    page.locator("#conversations-button").click()
    # Conversations of other tests may rest on the same report.
    opened = page.locator("#conversation-list a[aria-current]")
    expect(opened.locator(".outdated-mark")).to_have_count(1)
    expect(opened).to_have_accessible_name(
        re.compile("One answer here rests on a report that was replaced")
    )
    note.get_by_role("button", name="Ask again").click()
    expect(page.locator(".turn .question").nth(2)).to_have_text(RANKS)
    expect(page.locator(".answer-footer").last).to_be_visible()


def test_four_keys_ask_open_the_first_source_close_it_and_go_on(page: Page) -> None:
    page.locator("#question").fill(GROWTH)
    page.keyboard.press("Enter")
    expect(page.locator(".answer-footer")).to_be_visible()
    page.keyboard.press("Alt+Enter")
    expect(page.locator("#evidence")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#evidence")).to_be_hidden()
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator(".answer")).to_be_focused()
    page.keyboard.press("1")
    expect(page.locator("#evidence-number")).to_have_text("Source 1")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Shortcuts")).to_contain_text("Alt+Enter")
    page.keyboard.press("Escape")
    expect(page.locator(".keys-list")).to_have_count(0)
