"""In a browser: the page that shows the description of the API, under the policy that
lets no script in.
"""

from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from tests.app.web.live import application, served
from tests.browser.conftest import ARGUMENTS
from tests.conftest import small_settings


def test_the_api_can_be_read_and_tried(chromium: str, tmp_path: Path) -> None:
    opened = application(small_settings(tmp_path, chat_model="echo"))
    with opened as app, served(app) as port, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=list(ARGUMENTS)
        )
        page = browser.new_page()
        wrong: list[str] = []
        page.on(
            "console",
            lambda message: (
                wrong.append(message.text) if message.type == "error" else None
            ),
        )
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(f"http://127.0.0.1:{port}/docs")
        formats = page.locator("#operations-catalog-getFormats")
        formats.locator(".opblock-summary-control").click()
        formats.get_by_role("button", name="Execute").click()
        expect(formats.locator(".live-responses-table")).to_contain_text(
            "chunk_strategies"
        )
        page.set_viewport_size({"width": 390, "height": 800})
        for link in page.get_by_role("navigation").get_by_role("link").all():
            box = link.bounding_box()
            assert box is not None
            assert box["height"] >= 40  # a finger finds it
        page.get_by_role("link", name="Chat", exact=True).click()
        expect(page.locator("#question")).to_be_visible()
        assert not wrong
        browser.close()
