"""A bad answer is said to be one, with the reason; who runs the installation reads
it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import watched
from tests.browser.test_start import REPORTS, running


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("data")
    with running(folder, REPORTS) as found:
        yield found


@pytest.mark.nightly
def test_a_thumb_with_a_reason_and_the_operators_page(
    launched: Browser, address: str
) -> None:
    with watched(launched) as (page, problems):
        page.goto(address)
        asked = ("How much does Kenya grow?", *2 * ["How much does Peru grow?"])
        for question in asked:
            page.locator("#question").fill(question)
            page.keyboard.press("Enter")
            expect(page.locator(".answer-footer").last).to_be_visible()
        first = page.locator(".turn").first
        down, up = first.get_by_label("Bad answer"), first.get_by_label("Good answer")
        up.click()
        expect(up).to_have_attribute("aria-pressed", "true")
        down.click()
        expect(up).to_have_attribute("aria-pressed", "false")
        first.locator(".reason", has_text="Incomplete").click()
        first.get_by_label("Comment").fill("Of 2021 only.")
        first.get_by_role("button", name="Send", exact=True).click()
        thanks = first.locator(".thanks")
        expect(thanks).to_contain_text("Thank you. Whoever runs this can read it.")
        expect(first.locator(".why")).to_have_count(0)
        thanks.get_by_role("button", name="Ask in other words").click()
        expect(page.locator("#question")).to_have_value("How much does Kenya grow?")
        page.locator("#editing-end").click()
        thanks.get_by_role("button", name="Ask in all reports").click()
        expect(page.locator(".turn")).to_have_count(4)
        expect(page.locator(".answer-footer").last).to_be_visible()
        page.reload()
        expect(
            page.locator(".turn").first.get_by_label("Bad answer")
        ).to_have_attribute("aria-pressed", "true")
        page.goto(f"{address}/operator")
        expect(page.locator("#negative tbody tr")).to_have_text(
            [re.compile("How much does Kenya grow.*Of 2021 only.")]
        )
        expect(page.locator("#unanswered tbody tr")).to_have_text(
            [re.compile("How much does Peru grow.*2")]
        )
        expect(page.locator("#outage")).to_be_hidden()
        expect(page.locator("#usage tbody tr")).to_have_count(1)
        expect(
            page.get_by_role("img", name="Questions per day (peak: 4)")
        ).to_be_visible()
        expect(
            page.locator("#own-only")
        ).to_be_hidden()  # only this machine reaches the server
        page.locator("#unanswered a").click()
        expect(page.locator(".question")).to_have_text("How much does Peru grow?")
        expect(page.locator(".answer-footer")).to_be_visible()
        page.goto(f"{address}/?question=How+much+does+Mali+grow%3F")
        expect(page.locator("#question")).to_have_value("How much does Mali grow?")
        expect(page.locator(".turn")).to_have_count(0)
        assert problems == []
