"""Many documents put in order: the review after an upload and from the list."""

from collections.abc import Iterator
from typing import Literal

import pytest
from flask import Flask
from playwright.sync_api import (
    Browser,
    FilePayload,
    Locator,
    Page,
    Request,
    expect,
)

from chatbot.app.services import Services
from tests.app.web.knowledge import added
from tests.app.web.live import application, served
from tests.browser.conftest import watched
from tests.browser.test_accessible import problems_of
from tests.conftest import small_settings

SLOW = 120_000
COUNT_CLICKS = """() => {
  window.clicks = 0;
  addEventListener("click", ({ detail }) => { window.clicks += Number(detail > 0); });
}"""
"""A press of a key on a button is a click with the detail 0."""
UNSURE = "The wells of {name} were counted in 2019 and in 2020. In 2019 they were dry."


def file(name: str, text: str) -> FilePayload:
    return {"name": name, "mimeType": "text/markdown", "buffer": text.encode()}


def reports(count: int) -> list[FilePayload]:
    """Reports of one village each, which take their year from the title."""
    files = []
    for number in range(count):
        text = f"# Wells of village {number}, 2001\n\n## Depth\n\n{number} metres.\n"
        files.append(file(f"village-{number:02}.md", text))
    return files


@pytest.fixture
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with application(small_settings(tmp_path_factory.mktemp("data"))) as made:
        yield made


@pytest.fixture
def page(launched: Browser, app: Flask) -> Iterator[Page]:
    """The knowledge base; what goes wrong in it fails the test."""
    with served(app) as port, watched(launched) as (opened, problems):
        opened.emulate_media(reduced_motion="reduce")
        opened.goto(f"http://127.0.0.1:{port}/documents")
        yield opened
        refused = ("400 ", "404 ", "Failed to load resource")
        assert [one for one in problems if not one.startswith(refused)] == []


def years(app: Flask) -> dict[str, object]:
    services: Services = app.extensions["services"]
    found = {}
    for record in services.storage.documents.all():
        found[record.source.rpartition("/")[2]] = record.metadata.get("year")
    return found


def upload(page: Page, files: list[FilePayload]) -> None:
    page.locator("#file-input").set_input_files(files)
    expect(page.locator(".staged-note:visible")).to_have_count(0, timeout=SLOW)
    page.locator("#upload-submit").click()
    rows = page.locator("#review-rows tr")
    expect(rows).to_have_count(len(files), timeout=SLOW)


def row(page: Page, name: str) -> Locator:
    return page.locator("#review-rows tr", has=page.get_by_text(name, exact=True))


def cell(page: Page, name: str, field: str) -> Locator:
    return row(page, name).locator(f"[data-field={field}] input")


def test_four_wrong_years_of_thirty_files_take_four_clicks_and_one_undo(
    page: Page, app: Flask
) -> None:
    files = reports(30)
    upload(page, files)
    names = [one["name"] for one in files]
    before = years(app)
    assert before == dict.fromkeys(names, 2001)
    page.evaluate(COUNT_CLICKS)
    wrong = {names[3]: 2003, names[11]: 2011, names[12]: 2012, names[29]: 2029}
    for name, year in wrong.items():
        cell(page, name, "year").click()
        page.keyboard.press("ControlOrMeta+A")
        page.keyboard.type(str(year))
    page.keyboard.press("Enter")
    expect(page.locator("#undo-text")).to_have_text("4 documents changed.")
    assert page.evaluate("clicks") == 4
    assert years(app) == before | wrong

    page.reload()  # the undo survives it
    expect(page.locator("#undo-text")).to_have_text("4 documents changed.")
    page.locator("#undo-button").click()
    expect(page.locator("#undo")).to_be_hidden()
    assert years(app) == before


def test_doubts_are_named_with_their_words_and_answered(page: Page, app: Flask) -> None:
    texts = {
        "a.md": f"# Wells\n\n{UNSURE.format(name='the north')}\n",
        "b.md": f"# Pumps\n\n{UNSURE.format(name='the south')}\n",
        "c.md": "# Rain\n\nIt rains.\n",
        "d.md": "# Rain\n\nIt does not rain.\n",
    }
    added(app.test_client(), *texts.items())  # nobody is asked before, as on the page
    page.reload()
    expect(page.locator("#rows tr")).to_have_count(4)
    page.locator("#review-open").click()  # without a selection the whole page
    expect(page.locator("#review-total")).to_have_text("4 documents, 4 in doubt")
    expect(cell(page, "a.md", "year")).to_have_attribute("placeholder", "2019?")
    doubt = row(page, "a.md").locator(".doubt-text")
    expect(doubt).to_contain_text(UNSURE.format(name="the north"))
    described = cell(page, "a.md", "year").get_attribute("aria-describedby")
    assert described == doubt.get_attribute("id")
    expect(row(page, "c.md").locator(".review-alike")).to_contain_text("d.md")
    row(page, "a.md").get_by_text("Use 2019").click()
    row(page, "b.md").get_by_text("Leave empty").click()
    expect(page.locator("#review-total")).to_have_text("4 documents, 2 in doubt")
    cell(page, "d.md", "title").fill("Drought")
    page.locator("#review-save").click()
    expect(page.locator("#undo-text")).to_have_text("3 documents changed.")
    expect(page.locator("#review-total")).to_have_text("4 documents")
    assert years(app) == {"a.md": 2019, "b.md": None, "c.md": None, "d.md": None}
    page.locator("#undo-button").click()
    expect(page.locator("#review-total")).to_have_text("4 documents, 4 in doubt")


@pytest.mark.nightly
def test_a_value_is_set_for_all_selected_by_keyboard_alone(
    page: Page, app: Flask
) -> None:
    upload(page, reports(3))
    first, second, third = (f"village-0{number}.md" for number in range(3))
    cell(page, first, "country_name").focus()
    page.keyboard.press("ArrowDown")
    expect(cell(page, second, "country_name")).to_be_focused()
    page.keyboard.type("Kenya")
    page.locator("#review-all").focus()
    page.keyboard.press("Space")
    expect(page.locator("#review-selected")).to_have_text("For 3 selected documents:")
    page.locator("#review-field").select_option("year")
    page.locator("#review-value").focus()
    page.keyboard.type("2024")
    page.keyboard.press("Enter")
    expect(page.locator("#announcer")).to_contain_text("Set in 3 documents")
    assert years(app)[third] == 2001  # not saved yet
    page.keyboard.press("Tab")
    expect(page.locator("#review-apply")).to_be_focused()
    cell(page, first, "title").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#undo-text")).to_have_text("3 documents changed.")
    assert set(years(app).values()) == {2024}


@pytest.mark.nightly
def test_a_wrong_value_is_marked_and_nothing_is_saved(page: Page, app: Flask) -> None:
    upload(page, reports(2))
    cell(page, "village-00.md", "year").fill("2010")
    cell(page, "village-01.md", "country_name").fill("Nowhere")
    with page.expect_response("**/api/documents"):
        page.locator("#review-save").click()
    wrong = cell(page, "village-01.md", "country_name")
    expect(wrong).to_be_focused()
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(row(page, "village-01.md").locator(".field-error:visible")).to_contain_text(
        "not a country name"
    )
    expect(page.locator("#review-error")).to_contain_text("Nothing saved")
    assert set(years(app).values()) == {2001}


@pytest.mark.nightly
def test_a_report_deleted_meanwhile_does_not_keep_the_others_from_their_undo(
    page: Page, app: Flask
) -> None:
    upload(page, reports(2))
    for number in range(2):
        cell(page, f"village-0{number}.md", "year").fill("2010")
    page.locator("#review-save").click()
    expect(page.locator("#undo-text")).to_have_text("2 documents changed.")
    services: Services = app.extensions["services"]
    first, _ = services.storage.documents.all()
    services.ingesting.delete_document(first)
    page.locator("#undo-button").click()
    expect(page.locator("#undo-error")).to_contain_text("There is no report")
    page.locator("#undo-button").click()
    expect(page.locator("#undo")).to_be_hidden()
    assert set(years(app).values()) == {2001}


LOOKS: list[tuple[int, Literal["light", "dark"], str]] = [
    (1440, "light", "en"),
    (1920, "dark", "en"),
    (1024, "light", "ar"),
    (390, "dark", "fr"),
]
"""Widths, themes and languages."""


@pytest.mark.nightly
def test_the_review_of_selected_documents_at_every_width(page: Page) -> None:
    upload(page, [*reports(2), file("a.md", f"# A\n\n{UNSURE.format(name='A')}\n")])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for width, theme, language in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.context.add_cookies(
            [{"name": "language", "value": language, "url": page.url}]
        )
        asked.clear()
        page.reload()
        page.locator("#rows .pick input").nth(0).check()
        page.locator("#rows .pick input").nth(1).check()
        assert not any("/review.js" in url for url in asked)  # loaded when needed
        page.locator("#review-open").click()
        expect(page.locator("#review-rows tr")).to_have_count(2)
        expect(page.locator("#review-title")).to_be_focused()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = page.evaluate(
            """() => [...document.querySelectorAll("#review *")].filter((one) => {
              const { left, right } = one.getBoundingClientRect();
              return one.checkVisibility() && (left < -1 || right > innerWidth + 1);
            }).map((one) => one.outerHTML.slice(0, 80))"""
        )
        assert outside == [], (width, theme, language)


@pytest.mark.nightly
def test_nothing_is_wrong_with_the_review_for_a_screen_reader(
    page: Page, launched: Browser
) -> None:
    upload(page, [*reports(1), file("a.md", f"# A\n\n{UNSURE.format(name='A')}\n")])
    for theme in ("light", "dark"):
        options = {"bypass_csp": True, "reduced_motion": "reduce"}
        with launched.new_context(color_scheme=theme, **options) as context:  # type: ignore[arg-type]
            other = context.new_page()
            other.goto(page.url)
            other.locator("#rows .pick input").first.check()
            other.locator("#pick-all").check()
            other.locator("#review-open").click()
            expect(other.locator("#review-rows tr")).to_have_count(2)
            assert problems_of(other) == []


def test_files_that_are_there_already_are_left_out_before_anything_is_sent(
    page: Page, app: Flask
) -> None:
    known, other = reports(2)
    added(app.test_client(), (known["name"], known["buffer"].decode()))
    sent: list[str] = []

    def note(request: Request) -> None:
        if request.method == "POST":
            sent.append(request.url)

    page.on("request", note)
    copy = {**known, "name": "copy.md"}
    twin = {**other, "name": "twin.md"}
    page.locator("#file-input").set_input_files([copy, other, twin])  # type: ignore[list-item]
    copies = page.locator(".staged-copy")
    expect(copies).to_have_count(2)
    expect(copies.nth(0)).to_contain_text("in the library as Wells of village 0, 2001")
    expect(copies.nth(1)).to_contain_text(f"the same file as {other['name']}")
    expect(page.locator("#staged-title")).to_have_text("1 document to add, 2 left out")
    expect(page.locator(".staged-fields:visible")).to_have_count(1)
    assert len(sent) == 1  # the look into the one that is new
    assert problems_of(page) == []
    copies.nth(0).get_by_role("button").click()
    expect(page.locator("#document-title")).to_have_text("Wells of village 0, 2001")
    page.keyboard.press("Escape")
    copies.nth(1).get_by_label("Add it anyway").check()
    expect(page.locator("#upload-submit")).to_have_text("Add 2 documents")
    expect(page.locator(".staged-fields:visible")).to_have_count(2)
    page.locator("#upload-submit").click()
    expect(page.locator("#rows tr")).to_have_count(3, timeout=SLOW)


@pytest.mark.nightly
def test_without_a_secure_context_files_are_added_as_ever(page: Page) -> None:
    page.add_init_script("delete Crypto.prototype.subtle")
    page.reload()
    known, _ = reports(2)
    page.locator("#file-input").set_input_files([known, {**known, "name": "copy.md"}])  # type: ignore[list-item]
    expect(page.locator(".staged-fields:visible")).to_have_count(2)
    expect(page.locator(".staged-copy")).to_have_count(0)
    expect(page.locator("#staged-title")).to_have_text("2 documents to add")


@pytest.mark.nightly
def test_the_review_reads_on_behind_the_first_page(page: Page, app: Flask) -> None:
    files = [(one["name"], one["buffer"].decode()) for one in reports(53)]
    added(app.test_client(), *files)
    page.reload()
    expect(page.locator("#rows tr")).to_have_count(50)
    page.locator("#review-open").click()
    expect(page.locator("#review-total")).to_have_text("50 of 53 documents")
    page.locator("#review-more").click()
    expect(page.locator("#review-rows tr")).to_have_count(53)
    expect(page.locator("#review-total")).to_have_text("53 documents")
    expect(page.locator("#review-more")).to_be_hidden()
