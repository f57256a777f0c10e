"""axe-core over what the other views lead to: figures, refusals, errors, what is thrown
away, and the door. With `test_accessible.py` 52 states of the pages; all of them, by
day and by night, wide and on a phone:

    python -m pytest tests/browser/test_accessible*.py -m "nightly or not nightly"
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.web.live import address, application, served
from tests.browser.test_accessible import NIGHT, faults_of
from tests.browser.test_card import app, ask
from tests.conftest import small_settings

__all__ = ["address", "app"]
INFLATION = "indicator=Inflation+rate+%28consumer+prices%29"
SERIES = "Compare the inflation rate of Kenya and Somalia from 2019 to 2024"
KINDS = [
    ("dark", "phone"),
    *(
        pytest.param(*pair, marks=NIGHT)
        for pair in (("light", "wide"), ("light", "phone"), ("dark", "wide"))
    ),
]
"""By day the kind in which most goes wrong; `test_accessible.py` sees the others."""


def figure_views(page: Page, address: str) -> Iterator[str]:
    page.goto(address)
    page.locator("#coverage summary").click()
    expect(page.locator("#coverage table")).to_be_visible()
    yield "reports by country and year"
    ask(page, "What is the population growth rate of Kenya?")
    expect(page.locator(".card")).to_be_visible()
    yield "card"
    ask(page, SERIES)
    expect(page.locator(".plot").last).to_be_visible()
    yield "chart"
    page.locator(".figures-fold summary").last.click()
    expect(page.locator(".figures-table").last).to_be_visible()
    yield "table of a chart"
    subjects = "subject=Kenya&subject=Somalia"
    for view in ("lines", "bars", "map", "table"):
        page.goto(f"{address}/explore?{INFLATION}&{subjects}&view={view}")
        shown = ".explore-table" if view == "table" else "#explore-charts svg[role]"
        expect(page.locator(shown).first).to_be_visible()
        yield f"explorer: {view}"
    page.locator(".explore-table tbody .cell").last.click()
    expect(page.locator("#explore-passage")).to_be_visible()
    yield "passage in the explorer"
    page.locator("#explore-meanings a").click()
    expect(page.locator(".indicator")).to_be_visible()
    yield "indicator"
    page.locator(".indicator td a").first.click()
    expect(page.locator("blockquote mark")).to_be_visible()
    yield "page of a passage"


def other_views(page: Page, address: str) -> Iterator[str]:
    page.goto(address)
    menu = page.locator("#menu-button")
    if menu.is_visible():
        menu.click()
        expect(page.locator("#theme-button")).to_be_visible()
        yield "menu"
        page.keyboard.press("Escape")
        expect(page.locator("#theme-button")).to_be_hidden()
        expect(menu).to_be_focused()
    ask(page, "What was the inflation rate of Kenya in 1990?")
    expect(page.locator(".ways-on .way-on").first).to_be_visible()
    page.locator(".nearest summary").click()
    yield "refusal"
    ask(page, "What is the population growth rate of Kenya?")
    turn = page.locator(".turn").last
    turn.locator("[data-rating=down]").click()
    turn.locator(".why [type=submit]").click()
    expect(turn.locator(".thanks")).to_be_visible()
    yield "thanks"
    turn.locator(".more-actions > summary").click()
    turn.locator(".download").click()
    expect(page.locator(":popover-open")).to_be_visible()
    yield "downloads"
    page.keyboard.press("Escape")
    turn.locator(".edit-question").click()
    expect(page.locator("#editing")).to_be_visible()
    yield "editing"
    page.locator("#editing-end").click()
    page.context.set_offline(True)
    page.locator("#question").fill("And the birth rate?")
    page.keyboard.press("Enter")
    expect(page.locator(".notice").last).to_be_visible()
    yield "offline"
    page.context.set_offline(False)
    expect(page.locator(".answer-footer").last).to_be_visible()
    two_of_one_title(page, address)
    page.goto(f"{address}/changes")
    expect(page.locator(".text-changes").nth(1)).to_be_visible()
    yield "changes of two documents of one title"
    page.goto(f"{address}/documents")
    north = page.locator("#rows tr", has_text="north.md").first
    north.locator("[data-action=delete]").click()
    yield "deleting"
    dialog = page.locator("#confirm-dialog")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#undo")).to_be_visible()
    yield "undo"
    page.locator("#filters [name=status]").select_option("deleted")
    restore = page.locator("#rows [data-action=restore]:not([hidden])")
    expect(restore.first).to_be_visible()
    yield "bin"
    page.locator("#filter-q").fill("nothing has this title")
    expect(page.locator("#empty")).to_be_visible()
    yield "no document matches"


def two_of_one_title(page: Page, address: str) -> None:
    """Replace each of two documents with one title, others in each theme and size."""
    title = f"Wells {uuid4().hex}"
    for name in ("north", "south"):
        for number in ("ten", "twelve"):
            text = f"# Wells\n\n## Supply\n\nThe {name} has {number} wells.\n"
            files = {"name": f"{title} {name}.md", "mimeType": "text/markdown"}
            sent = page.request.post(
                f"{address}/api/documents",
                multipart={
                    "files": {**files, "buffer": text.encode()},
                    "title": title,
                    "on_conflict": "replace",
                },
            )
            assert sent.ok, sent.text()
            job = sent.json()["ingestion_id"]
            page.wait_for_function(
                """async (url) =>
                  (await (await fetch(url)).json()).state === "done" """,
                arg=f"{address}/api/ingestions/{job}",
            )
    # The page of changes is made once, when it is opened.
    page.wait_for_function(
        """async ([url, title]) => {
          const { changes } = await (await fetch(url)).json();
          return changes.filter((one) => one.report.title === title).length === 2;
        }""",
        arg=[f"{address}/api/changes?limit=100", title],
    )


@pytest.mark.parametrize(("theme", "size"), KINDS)
def test_nothing_is_wrong_where_figures_are_shown(
    launched: Browser, address: str, theme: str, size: str
) -> None:
    assert faults_of(launched, figure_views, address, theme, size) == {}


@pytest.mark.nightly
@pytest.mark.parametrize(("theme", "size"), KINDS)
def test_nothing_is_wrong_where_something_went_wrong(
    launched: Browser, address: str, theme: str, size: str
) -> None:
    assert faults_of(launched, other_views, address, theme, size) == {}


def test_nothing_is_wrong_at_the_door(launched: Browser, tmp_path: Path) -> None:
    def door(page: Page, address: str) -> Iterator[str]:
        page.goto(address)
        expect(page.locator("dialog:modal")).to_be_visible()
        yield "signing in"
        page.locator("dialog:modal input").first.fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("dialog:modal [role=alert]")).to_be_visible()
        yield "a wrong key"

    settings = small_settings(tmp_path, access="keys")
    with application(settings) as made, served(made) as port:
        found = faults_of(launched, door, f"http://127.0.0.1:{port}", "light", "phone")
    assert found == {}
