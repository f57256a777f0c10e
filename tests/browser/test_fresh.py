"""The product as a user meets it: `python app.py` with the sample reports alone, and
questions asked in a browser. That it reads them by itself is seen in
tests/test_packaging.py.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import ROOT, SAMPLE_REPORTS, serving
from tests.data import cases

CASES = cases(__file__)
pytestmark = pytest.mark.timeout(600)
"""It may be the first to need all sample reports."""


@pytest.fixture(scope="module")
def address(
    sample_library: Path, tmp_path_factory: pytest.TempPathFactory, chromium: str
) -> Iterator[str]:
    """The address of a server started with no setting but its folder and port, once the
    samples are searchable.
    """
    folder = tmp_path_factory.mktemp("fresh") / "data"
    shutil.copytree(sample_library, folder)
    with serving(folder, SAMPLE_REPORTS) as url:
        yield url


def test_a_scoped_question_and_its_evidence(
    page: tuple[Page, list[str]], address: str
) -> None:
    """Issue 2: "What is the population growth rate?" with Kenya and 2023 chosen."""
    browser, problems = page
    browser.goto(address)

    browser.locator("#scope-button").click()
    expect(browser.locator("#scope-panel")).to_be_visible()
    browser.locator('[data-field=country_name] input[value="Kenya"]').check()
    browser.locator('[data-field=year] input[value="2023"]').check()
    browser.locator("#scope-done").click()
    expect(browser.locator("#scope-panel")).to_be_hidden()
    expect(browser.locator("#scope-chips li")).to_have_count(2)
    expect(browser.locator("#scope-chips")).to_contain_text("Kenya")
    expect(browser.locator("#scope-chips")).to_contain_text("2023")

    browser.get_by_label("Question", exact=True).fill(
        "What is the population growth rate?"
    )
    browser.locator("#send").click()
    answer = browser.locator("article.answer").last
    expect(answer).not_to_have_attribute("aria-busy", "true", timeout=30_000)
    expect(answer.locator(".answer-body")).to_contain_text("2.09%", timeout=30_000)
    chosen = re.compile(r"Kenya \(chosen\).*2023 \(chosen\)\W+1 report, \d+ passages")
    expect(answer.locator(".scope-line")).to_contain_text(chosen)

    answer.locator('button.citation[data-citation="1"]').first.click()
    evidence = browser.locator("dialog#evidence")
    expect(evidence).to_be_visible()
    expect(browser.locator("#evidence-title")).not_to_be_empty()
    expect(evidence).to_contain_text("Kenya: Country Report 2023")
    expect(evidence).to_contain_text("Population growth rate")
    expect(browser.locator("#evidence-facts")).to_contain_text("2023")
    expect(browser.locator("#evidence-passage mark")).to_contain_text("2.09%")
    browser.locator("#evidence-close").click()
    expect(evidence).to_be_hidden()

    assert problems == []


def test_the_scope_of_a_question_is_applied_and_taken_away_and_offered(
    page: tuple[Page, list[str]], address: str
) -> None:
    browser, problems = page

    def answered(number: int) -> Locator:
        expect(browser.locator("article.answer")).to_have_count(number)
        answer = browser.locator("article.answer").last
        expect(answer).not_to_have_attribute("aria-busy", "true", timeout=30_000)
        return answer

    browser.goto(address)
    browser.get_by_label("Question", exact=True).fill(
        "What is the population growth rate of Kenya in 2023?"
    )
    browser.locator("#send").click()
    first = answered(1)
    expect(first.locator(".scope-line")).to_contain_text("Kenya")
    first.get_by_role(
        "button", name="Ask again without the scope from the question: Kenya"
    ).click()
    second = answered(2)
    expect(second.locator(".scope-line")).to_contain_text("All reports")
    expect(second.locator(".suggestion")).to_have_text("Ask again about Kenya only")
    second.locator(".suggestion").click()
    third = answered(3)
    expect(third.locator(".scope-line")).to_contain_text("Kenya")
    expect(third.locator(".scope-line")).to_contain_text("Kenya (chosen)")
    expect(third.locator(".suggestion")).to_be_hidden()
    assert problems == []


def test_what_a_question_names_is_shown_while_it_is_written_and_can_be_taken_away(
    page: tuple[Page, list[str]], address: str
) -> None:
    browser, problems = page
    question, taken = (
        browser.get_by_label("Question", exact=True),
        browser.locator("#taken-chips .chip"),
    )
    lines = browser.locator("article.answer:not([aria-busy]) .scope-line")
    browser.goto(address)
    for again in (False, True):
        question.fill("How many people live in Kenya, in the report of 2023?")
        expect(taken).to_have_text(["Kenya", "report of 2023"])
        if again:
            taken.first.click()
            expect(taken).to_have_count(0)
        question.press("Enter")
        expect(taken).to_have_count(0)
        expect(lines).to_have_count(1 + again, timeout=30_000)
    expect(lines.first).to_contain_text(
        "Kenya (from your question) · report of 2023 (from your question)"
    )
    expect(lines.last).to_contain_text("All reports")
    assert problems == []


@pytest.mark.nightly
def test_what_was_declined_of_a_draft_is_not_declined_of_the_next(
    page: tuple[Page, list[str]], address: str
) -> None:
    browser, problems = page
    question, taken = (
        browser.get_by_label("Question", exact=True),
        browser.locator("#taken-chips .chip"),
    )
    browser.goto(address)
    question.fill("How old is Kenya?")
    browser.locator("#send").click()
    expect(browser.locator("article.answer")).not_to_have_attribute(
        "aria-busy", "true", timeout=30_000
    )
    question.fill("How many people live in Kenya?")
    taken.click()
    expect(taken).to_have_count(0)
    browser.locator("#new-chat").click()
    question.fill("How many people live in Mali?")
    expect(taken).to_have_text("Mali")
    browser.go_back()
    expect(question).to_have_value("How many people live in Kenya?")
    expect(taken).to_have_text("Kenya")
    assert problems == []


@pytest.mark.nightly
def test_without_the_scope_of_the_question_what_was_chosen_for_it_stays(
    page: tuple[Page, list[str]], address: str
) -> None:
    browser, problems = page
    browser.goto(f"{address}/?type=country_report")
    browser.get_by_label("Question", exact=True).fill(
        "What is the population growth rate of Kenya in 2023?"
    )
    browser.locator("#send").click()
    answer = browser.locator("article.answer").first
    expect(answer).not_to_have_attribute("aria-busy", "true", timeout=30_000)
    browser.get_by_role("button", name="Remove the chosen scope").first.click()
    answer.get_by_role(
        "button", name="Ask again without the scope from the question: Kenya"
    ).click()
    line = browser.locator("article.answer:not([aria-busy]) .scope-line").nth(1)
    expect(line).to_contain_text("(chosen)", timeout=30_000)
    expect(line).not_to_contain_text("Kenya")
    assert problems == []


EIGHT = (
    "Compare the inflation rate of Kenya, Ethiopia, Nigeria, Somalia, Sudan, Mali, "
    "Mozambique and Egypt from 2019 to 2024"
)


def columns_are_seen_beside_a_passage(browser: Page) -> bool:
    """Return whether the table of an answer does not scroll sideways at 1024 px while a
    passage is open.
    """
    shown = browser.viewport_size
    browser.set_viewport_size({"width": 1024, "height": 800})
    browser.locator(".source").first.click()
    expect(browser.locator("#evidence-passage mark").first).to_be_visible()
    table = browser.locator(".answer-body div:has(> table)")
    is_whole: bool = table.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    browser.keyboard.press("Escape")
    expect(browser.locator("#evidence")).to_be_hidden()
    assert shown is not None
    browser.set_viewport_size(shown)
    return is_whole


def test_eight_countries_over_six_years_are_lines_numbers_and_cited_cells(
    page: tuple[Page, list[str]], address: str, tmp_path: Path
) -> None:
    """In the page, the picture, Excel and Word."""
    browser, problems = page
    browser.goto(address)
    browser.get_by_label("Question", exact=True).fill(EIGHT)
    browser.locator("#send").click()
    chart = browser.locator(".chart")
    expect(chart.locator(".line:not(.gap)")).to_have_count(8, timeout=30_000)
    expect(chart.locator(".end-label")).to_have_count(8)
    cells = browser.locator(".answer-body td")
    figures = cells.filter(has_text=re.compile(r"\d%"))
    assert cells.count() == 48
    assert figures.locator(".citation").count() == figures.count() >= 43
    assert columns_are_seen_beside_a_passage(browser)
    with browser.expect_download() as drawn:
        chart.get_by_role("button", name="SVG").click()
    svg = drawn.value.path().read_text("utf-8")
    for country in ("Kenya", "Ethiopia", "Mozambique", "Egypt"):
        assert f">{country}</text>" in svg
    browser.locator(".more-actions > summary").click()
    browser.locator(".download").click()
    with browser.expect_download() as table:
        browser.locator("[data-export=xlsx]").click()
    table.value.save_as(tmp_path / "table.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "table.xlsx").worksheets[0]
    numbers = [
        cell
        for row in sheet.iter_rows(min_row=2, min_col=2)
        for cell in row
        if isinstance(cell.value, int | float)
    ]
    assert len(numbers) == figures.count()
    assert len(sheet._charts) == 1
    assert problems == []


ON_DEMAND = CASES["on demand"]
"""What the pages load when it is wanted; other tests press the buttons."""


def test_every_script_of_the_pages_is_loaded(
    page: tuple[Page, list[str]], address: str
) -> None:
    """A module with a wrong syntax, or without an importer, is in none of the other
    tests.
    """
    browser, problems = page
    loaded: set[str] = set()
    browser.on("request", lambda request: loaded.add(request.url.partition("/js/")[2]))
    for path in ("/docs", "/documents", "/operator", "/explore", "/collection", "/"):
        browser.goto(f"{address}{path}")
        browser.wait_for_load_state("networkidle")
    for script in ON_DEMAND:
        browser.evaluate("path => import(path)", f"/static/js/{script}")
    scripts = ROOT / "static/js"
    assert {
        path.relative_to(scripts).as_posix() for path in scripts.rglob("*.js")
    } <= loaded
    assert problems == []


def test_the_page_watches_for_problems(
    page: tuple[Page, list[str]], address: str
) -> None:
    """What the test above relies on: an inline script is refused, and noticed."""
    browser, problems = page
    browser.goto(address)
    browser.evaluate(
        "() => { const s = document.createElement('script'); s.text = "
        "'window.pwned = 1'; document.body.append(s) }"
    )
    browser.evaluate("() => console.error('planted')")
    assert browser.evaluate("() => window.pwned") is None
    assert any("Content Security Policy" in problem for problem in problems)
    assert "planted" in problems
