"""The page of a server whose EXTRAS is none: it answers, and nothing in it leads to
what is left out.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import watched
from tests.browser.test_start import REPORTS, running

pytestmark = pytest.mark.extras("none")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("data")
    with running(folder, REPORTS) as found:
        yield found


def addresses(page: Page) -> set[str]:
    """Return where the links of the page lead to on its own server."""
    links: list[str] = page.eval_on_selector_all(
        "a[href]", "links => links.map(({ href }) => href.split('#')[0])"
    )
    return {link for link in links if "//127.0.0.1:" in link}


def test_a_question_is_answered_and_every_link_leads_somewhere(
    launched: Browser, address: str
) -> None:
    with watched(launched) as (page, problems):
        page.goto(address)
        page.locator("#question").fill("How much does Kenya grow?")
        page.keyboard.press("Enter")
        footer = page.locator(".answer-footer").last
        expect(footer).to_be_visible()
        expect(page.locator(".answer-body").last).to_contain_text("Kenya grows by")
        footer.locator(".more-actions > summary").click()
        footer.get_by_role("button", name="Download").click()
        formats = page.locator("[data-export]:visible")
        expect(formats).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator(".operator-link")).to_have_count(0)
        links = addresses(page)
        page.goto(f"{address}/documents")
        expect(page.locator("#rows button").first).to_be_visible()
        links |= addresses(page)
        assert f"{address}/documents" in links
        for link in sorted(links):
            assert page.request.get(link).ok, link
        assert problems == []
