"""The explorer: its state is its address, whatever changes it; what it draws, its
files, and a page of an indicator.
"""

from io import BytesIO
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from flask import Flask
from openpyxl import load_workbook
from playwright.sync_api import Page, expect

from chatbot.app.web.pages import asset_bytes, imported
from tests.app.web.live import address
from tests.browser.conftest import Watched
from tests.browser.test_card import app, ask, page
from tests.conftest import ingest_file

__all__ = ["address", "app", "page"]
INFLATION = "Inflation rate (consumer prices)"


def opened_from_an_answer(page: Page) -> None:
    ask(page, "Compare the inflation rate of Kenya and Somalia from 2019 to 2024")
    page.locator(".explore-link").click()
    expect(page.locator("#explore-charts .plot")).to_be_visible()


def test_an_answer_opens_it_and_each_change_is_in_the_address(
    page: Page, tmp_path: Path
) -> None:
    opened_from_an_answer(page)
    expect(page.locator(".plot .end")).to_have_count(2)
    assert "subject=Kenya&subject=Somalia&from=2019&to=2024" in page.url
    page.locator("#year-from").select_option("2021")
    page.locator("#subject-chips .chip", has_text="Somalia").click()
    expect(page.locator("#subject-chips .chip")).to_have_text(["Kenya"])
    page.locator("#add-indicators").fill("Unemployment rate")
    page.locator("#add-indicators").press("Enter")
    expect(page.locator("#explore-charts h2")).to_have_text(
        [f"Kenya: {INFLATION}", "Kenya: Unemployment rate"]
    )
    expect(page.locator("#explore-meanings a")).to_have_count(2)
    page.get_by_role("button", name="Table", exact=True).click()
    first = page.locator(".explore-table").first
    expect(first.locator("thead th").nth(1)).to_have_text("2021")
    first.locator("tbody .cell").last.click()
    expect(page.locator("#explore-passage")).to_contain_text("Kenya: Country Report")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Excel").click()
    waiting.value.save_as(path := tmp_path / "shown.xlsx")
    book = load_workbook(BytesIO(path.read_bytes()))
    assert isinstance(book.worksheets[0]["B2"].value, int | float)
    assert f"{INFLATION} (%), 2020" not in [c.value for c in book.worksheets[0][1]]
    shown = page.url
    page.reload()
    expect(first.locator("thead th").nth(1)).to_have_text("2021")
    assert page.url == shown
    page.go_back()
    expect(page.locator(".plot").first).to_be_visible()


def test_a_map_has_all_countries_and_a_picture(page: Page, address: str) -> None:
    page.goto(f"{address}/explore?indicator=Population&subject=Kenya&view=map")
    expect(page.locator(".map .chosen")).to_have_count(1)
    expect(page.locator(".map .point")).to_have_count(2)
    expect(page.locator(".map .land.none").first).to_be_attached()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="SVG: download").click()
    drawn = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert "Sources: " in drawn
    assert "oklab" not in drawn
    assert not Axe().run(page).response["violations"]
    # Of none that is chosen, what people ask for most is shown.
    page.goto(f"{address}/explore")
    expect(page.locator("#indicator-chips .chip")).to_have_text(["Population"])


def test_an_indicator_has_a_page(page: Page, address: str) -> None:
    page.goto(f"{address}/indicators/inflation-rate-consumer-prices")
    rows = page.locator(".operator-table").first.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Kenya4.5%2024, estimate")
    assert not Axe().run(page).response["violations"]
    page.get_by_role("link", name="Explore").click()
    expect(page.locator(".plot")).to_be_visible()


def test_the_page_of_questions_loads_none_of_it() -> None:
    assert not [name for name in imported("js/chat/chat.js") if "explore" in name]
    assert asset_bytes("js/explore/explore.js")


def test_a_cell_of_an_own_sheet_opens_in_it(
    page: Page, app: Flask, tmp_path: Path
) -> None:
    path = tmp_path / "loans-2024.csv"
    path.write_text("Month,Loans,Defaults\nMarch,270,11\nApril,281,15\n", "utf-8")
    ingest_file(app.extensions["services"], path, path.name)
    ask(page, "How many loans were there in March?")
    page.locator(".explore-link").click()
    table = page.locator(".explore-table")
    expect(table.locator(".cell")).to_have_text("270")
    expect(page.locator("#explore-error")).to_be_hidden()


def test_a_name_that_no_report_has_is_said_with_a_way_on(
    reused: Watched, address: str
) -> None:
    page, problems = reused
    page.goto(f"{address}/explore?indicator={INFLATION}&subject=Kenya&subject=Atlantis")
    error = page.locator("#explore-error")
    expect(error.locator("p")).to_have_text("No figure here is of “Atlantis”.")
    error.get_by_role("button", name="Go on without “Atlantis”").click()
    expect(page.locator("#explore-charts .plot")).to_be_visible()
    expect(error).to_be_hidden()
    assert "Atlantis" not in page.url
    assert all("400" in problem for problem in problems)
