"""From an answer to the page of the report that it is from; the real application over a
real PDF and a real text.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from chatbot.config import SAMPLE_DATA
from tests.app.web.live import application, served
from tests.browser.conftest import watched
from tests.conftest import ingest_file, small_settings


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        application(small_settings(tmp_path_factory.mktemp("data"))) as app,
        served(app) as port,
    ):
        for name, country, year in (
            ("kenya-2024.pdf", "Kenya", 2024),
            ("somalia-2023.md", "Somalia", 2023),
        ):
            path = SAMPLE_DATA / "country_reports" / name
            ingest_file(
                app.extensions["services"],
                path,
                path.as_posix(),
                country_name=country,
                year=year,
            )
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def page(launched: Browser, address: str) -> Iterator[tuple[Page, list[str]]]:
    with watched(launched) as (opened, problems):
        opened.goto(address)
        yield opened, problems


def open_passage(page: Page, question: str) -> None:
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")
    page.locator(".turn:last-child .answer-body [data-citation]").first.click()
    page.locator("#evidence-original").click()


def test_a_pdf_opens_at_its_page_with_the_passage_marked(
    page: tuple[Page, list[str]],
) -> None:
    """What the answer cites stands out in it."""
    browser, problems = page
    browser.locator("#question").fill(
        "How did the inflation rate of Kenya change over the years?"
    )
    browser.keyboard.press("Enter")
    browser.locator(".answer-body td").filter(has_text="7.67%").get_by_role(
        "button"
    ).click()
    expect(
        browser.locator("#evidence-passage .cited").filter(has_not_text="7.66%")
    ).to_contain_text("7.67%")
    browser.locator("#evidence-original").click()
    expect(
        browser.locator(".pdf-text .marked:not(.quoted)").filter(has_text="7.66%")
    ).to_have_count(1)
    expect(
        browser.locator(".pdf-text .quoted").filter(has_text="7.67% (2023 est.)")
    ).to_be_in_viewport()
    expect(browser.locator("#original-position")).to_have_text("Page 7 of 17")
    expect(browser.locator("#original-tab")).to_have_attribute(
        "href", re.compile(r"\?disposition=inline#page=7$")
    )
    browser.get_by_role("button", name="Next page").click()
    expect(browser.locator("#original-position")).to_have_text("Page 8 of 17")
    browser.keyboard.press("Escape")  # the original, and only that
    expect(browser.locator("#original")).to_be_hidden()
    expect(browser.locator("#evidence")).to_be_visible()
    expect(browser.locator("#evidence-original")).to_be_focused()
    assert problems == []


@pytest.mark.nightly
def test_any_other_opens_as_the_text_that_was_read(
    page: tuple[Page, list[str]],
) -> None:
    browser, problems = page
    open_passage(browser, "What is the population growth rate of Somalia?")
    body = browser.locator("#original-body")
    expect(body.locator("mark")).to_be_in_viewport()
    parts = body.locator(".read-part")
    before = parts.count()
    browser.get_by_role("button", name="Show earlier text").click()
    expect(parts).not_to_have_count(before)
    expect(body.locator("mark")).to_have_count(1)
    expect(browser.locator("#original-keep")).to_have_attribute("download", "")
    assert problems == []
