"""The knowledge base as a user meets it: documents added, found, changed and deleted in
a browser.
"""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, Route, expect

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from tests.browser.conftest import serving
from tests.conftest import KENYA_2023, ingest_file, write_report

TITLE = "Vanilla Report"
REPORT: FilePayload = {
    "name": "vanilla.md",
    "mimeType": "text/markdown",
    "buffer": b"# Vanilla Report\n\n## Exports\n\nThe vanilla export of Fiji was 4711 tonnes "  # noqa: E501
    b"in 2031.\n\n"
    b"## Prices <b>and</b> \\<script>window.pwned = 1\\</script>\n\nA kilogram of "
    b"vanilla was 88 dollars.\n",
}
DAMAGED: FilePayload = {
    "name": "damaged.pdf",
    "mimeType": "application/pdf",
    "buffer": b"%PDF-1.7\nnothing of a PDF",
}
PROGRAM: FilePayload = {
    "name": "setup.exe",
    "mimeType": "application/octet-stream",
    "buffer": b"MZ",
}
ATTACHED: FilePayload = {
    "name": "harvest.md",
    "mimeType": "text/markdown",
    "buffer": (
        b"# Harvest\n\n## Saffron\n\nThe saffron harvest of the village was 137 "
        b"grams.\n"
    ),
}
SLOW = 60_000
Opened = tuple[Page, list[str]]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[str]:
    """A server over more small reports than the list shows at a time; the samples would
    take it longer.
    """
    folder = tmp_path_factory.mktemp("data")
    files = {
        f"kenya-{year}": KENYA_2023.replace("2023", str(year))
        for year in range(1970, 2025)
    }
    with build(
        Settings(
            data_dir=folder,
            embedding_provider="hashing",
            sample_data="off",
            summaries="off",
        )
    ) as services:
        for name, markdown in files.items():
            ingest(
                services,
                write_report(folder / "reports", markdown, name),
                int(name[-4:]),
            )
    with serving(folder, 0, SAMPLE_DATA="off", EMBEDDING_PROVIDER="hashing") as url:
        yield url


def ingest(services: Services, path: Path, year: int) -> None:
    ingest_file(
        services,
        path,
        f"test/{path.stem}",
        country_name="Kenya",
        year=year,
        type="country_report",
    )


MOVED = """() => {
  window.moved = 0;
  const add = (list) => { for (const one of list.getEntries()) window.moved += one.value; };
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""  # noqa: E501


@pytest.mark.parametrize(
    ("path", "width", "ready"),
    [("documents", 768, "#rows tr"), ("operator", 320, "#usage-none")],
)
def test_nothing_moves_while_a_page_loads(
    page: Opened, address: str, path: str, width: int, ready: str
) -> None:
    opened, _ = page
    opened.add_init_script(f"({MOVED})()")
    opened.set_viewport_size({"width": width, "height": 1024})
    opened.goto(f"{address}/{path}")
    expect(opened.locator(ready).first).to_be_visible()
    opened.wait_for_load_state("networkidle")
    assert opened.evaluate("moved") < 0.01


@pytest.fixture
def library(page: Opened, address: str) -> Opened:
    """The knowledge base with its list loaded."""
    browser, problems = page
    open_library(browser, address)
    return browser, problems


def open_library(browser: Page, address: str) -> None:
    browser.goto(f"{address}/documents")
    expect(browser.locator("#documents")).to_have_attribute("aria-busy", "false")


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """The list is loaded anew while the test goes on."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def total(browser: Page) -> int:
    """The number of documents the page states, once none is being indexed."""
    expect(browser.locator("#rows .status.pending")).to_have_count(0, timeout=SLOW)
    return int((browser.locator("#total").text_content() or "").split()[0])


def find(browser: Page, text: str) -> None:
    """Narrows the list, and waits for it."""
    with browser.expect_response("**/api/documents?*"):
        browser.get_by_label("Find by title or name").fill(text)


def row(browser: Page, title: str) -> Locator:
    return browser.locator(
        "#rows tr", has=browser.get_by_role("button", name=title, exact=True)
    )


def add(browser: Page, *files: FilePayload, **fields: str) -> Locator:
    """Adds files with these fields; returns what shows their ingestion."""
    browser.locator("#file-input").set_input_files(list(files))
    expect(browser.locator("#staged")).to_be_visible()
    expect(browser.locator(".staged-note:visible")).to_have_count(
        0, timeout=SLOW
    )  # what they say is in the fields
    browser.locator("#advanced summary").click()
    for name, value in fields.items():
        browser.locator(f"#upload-{name}").fill(value)
    browser.locator("#upload-submit").click()
    card = browser.locator("details.ingestion").first
    expect(card).to_contain_text(files[0]["name"])
    return card


def ask(browser: Page, question: str) -> Locator:
    browser.get_by_label("Question", exact=True).fill(question)
    browser.locator("#send").click()
    answer = browser.locator("article.answer").last
    expect(answer).not_to_have_attribute("aria-busy", "true", timeout=SLOW)
    return answer


def remove(browser: Page, title: str) -> None:
    browser.get_by_role("button", name=f"Delete {title}", exact=True).click()
    dialog = browser.locator("#confirm-dialog")
    expect(dialog).to_contain_text(title)
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog).to_be_hidden(timeout=SLOW)
    expect(row(browser, title)).to_have_count(0)


def test_a_replacement_says_what_is_different_before_and_after(
    library: Opened,
) -> None:
    browser, problems = library
    text = b"# Wells of Dunmar\n\n## Supply\n\nThe town has ten wells.\n"
    wells: FilePayload = {
        "name": "wells.md",
        "mimeType": "text/markdown",
        "buffer": text,
    }
    card = add(browser, wells)
    expect(card).to_have_attribute("data-state", "done", timeout=SLOW)
    # What was added last stands above all others, and the headings sort.
    expect(browser.locator("#rows .document-title").first).to_have_text(
        "Wells of Dunmar"
    )
    browser.get_by_role("button", name="Title", exact=True).click()
    expect(browser.locator("#rows .document-title").first).to_contain_text("Kenya")
    expect(browser.locator("[aria-sort]")).to_have_attribute("aria-sort", "ascending")

    add_again = {**wells, "buffer": text.replace(b"ten", b"twelve")}
    browser.locator("#file-input").set_input_files([add_again])
    staged = browser.locator("#staged .differences")
    expect(staged.locator("summary")).to_have_text(
        "“Wells of Dunmar” is here already. Different: 1 passage"
    )
    browser.locator("#upload-submit").click()
    dialog = browser.locator("#conflict-dialog")
    dialog.locator("summary").click()
    expect(dialog.locator("del")).to_have_text("ten")
    expect(dialog.locator("ins")).to_have_text("twelve")
    dialog.get_by_role("button", name="Replace").click()
    browser.get_by_role("link", name="What changed").last.click(timeout=SLOW)
    expect(browser.locator(".text-changes del")).to_have_text("ten")
    expect(browser.locator(".changes section")).to_have_count(1)
    assert [each for each in problems if "409" not in each] == []


def test_documents_are_added_found_changed_and_deleted(
    library: Opened, address: str
) -> None:
    """One good file and one damaged: the one is answered from, the other says what is
    wrong with it.
    """
    browser, problems = library
    before = total(browser)

    card = add(
        browser,
        REPORT,
        DAMAGED,
        country_name="Fiji",
        year="2031",
        labels="spices, trade",
    )
    expect(card).to_have_attribute("data-state", "done", timeout=SLOW)
    rows = card.locator(
        ".file-row"
    )  # the title is the file's, as proposed; the country is the person's
    expect(rows.filter(has_text="vanilla.md")).to_contain_text(
        re.compile(r"Added, \d+ passages?")
    )
    expect(rows.filter(has_text="damaged.pdf").locator(".file-error")).to_contain_text(
        "damaged.pdf"
    )
    expect(card.locator(".retry")).to_be_visible()
    find(browser, "vanilla")
    expect(row(browser, TITLE)).to_contain_text("Fiji")
    expect(row(browser, TITLE)).to_contain_text("2031")
    expect(row(browser, TITLE).locator(".status")).to_have_text("Ready")

    # Newest first is for this visit: nobody has chosen it.
    assert browser.evaluate("localStorage.getItem('documents-sort')") is None

    # A job with a failed file is not called ready.
    browser.goto(f"{address}/operator")
    expect(browser.locator("#jobs tbody tr").first).to_contain_text(
        re.compile("1 added, 1 failed.*1 of 2")
    )
    open_library(browser, address)
    expect(browser.locator("details.ingestion").first).to_contain_text(
        "damaged.pdf cannot be read"
    )
    find(browser, "vanilla")

    browser.get_by_role("button", name="Show vanilla.md").click()
    sheet = browser.locator("#document-dialog")
    expect(sheet.locator("#document-facts")).to_contain_text("spices, trade")
    expect(sheet.locator(".passage-item").first).to_contain_text("4711 tonnes")
    expect(sheet.locator(".guide-chapters")).to_contain_text("Exports, Prices")
    expect(sheet.locator("#passages")).to_contain_text(
        "<script>window.pwned = 1</script>"
    )
    with browser.expect_download() as download:
        sheet.locator("#document-file").click()
    assert download.value.path().read_bytes() == REPORT["buffer"]

    sheet.get_by_role("button", name="Edit").click()
    edit = browser.locator("#edit-dialog")
    edit.get_by_label("Year").fill("2032")
    edit.get_by_label("Title").fill("Vanilla Yearbook")
    edit.get_by_role("button", name="Save").click()
    expect(edit).to_be_hidden(timeout=SLOW)
    expect(sheet.locator("#document-facts")).to_contain_text("2032")
    expect(sheet.locator(".guide-about")).to_have_text("Vanilla Yearbook · Fiji · 2032")
    sheet.get_by_role("button", name="Close").click()
    expect(row(browser, "Vanilla Yearbook")).to_contain_text("2032")

    browser.get_by_role("link", name="Chat").click()
    browser.wait_for_url(f"{address}/")
    browser.locator("#scope-button").click()
    browser.locator('[data-field=country_name] input[value="Fiji"]').check()
    browser.locator('[data-field=year] input[value="2032"]').check()
    browser.locator("#scope-done").click()
    answer = ask(browser, "How large was the vanilla export?")
    expect(answer.locator(".answer-body")).to_contain_text("4711 tonnes")
    expect(answer.locator(".sources")).to_contain_text("Vanilla Yearbook")

    browser.get_by_role("link", name="Knowledge base").click()
    browser.wait_for_url(f"{address}/documents")
    find(browser, "vanilla")
    remove(browser, "Vanilla Yearbook")
    browser.locator("#undo-button").click()
    expect(row(browser, "Vanilla Yearbook")).to_have_count(1, timeout=SLOW)

    remove(browser, "Vanilla Yearbook")
    status = browser.get_by_role("search").get_by_label("Status")
    status.select_option("In the bin")
    binned = row(browser, "Vanilla Yearbook")
    expect(binned.locator(".status")).to_have_text("In the bin")
    binned.get_by_role("button", name="Restore Vanilla Yearbook").click()
    expect(binned).to_have_count(0, timeout=SLOW)
    status.select_option("Ready")
    remove(browser, "Vanilla Yearbook")
    status.select_option("In the bin")
    binned.get_by_role("button", name="Delete for good Vanilla Yearbook").click()
    browser.locator("#confirm-good").click()
    expect(binned).to_have_count(0, timeout=SLOW)
    status.select_option("Any status")
    find(browser, "")
    until(lambda: total(browser) == before)
    assert browser.evaluate("() => window.pwned") is None
    assert problems == []


@pytest.mark.nightly
def test_an_ingestion_can_be_cancelled(library: Opened) -> None:
    browser, problems = library
    before = total(browser)
    lines = (
        f"## Part {n}\n\nThe {n}th lighthouse of the coast is {n + 20} metres high.\n\n"
        for n in range(6000)
    )
    long: FilePayload = {
        "name": "lighthouses.md",
        "mimeType": "text/markdown",
        "buffer": "".join(lines).encode(),
    }

    card = add(browser, long)
    expect(card).to_contain_text(
        re.compile(r"Embedding: \d+ of 6,\d+ passages"), timeout=SLOW
    )
    assert float(card.locator("summary progress").get_attribute("value") or 1) < 1
    card.get_by_role("button", name="Cancel").click()
    expect(card).to_have_attribute("data-state", "cancelled", timeout=SLOW)
    expect(card.locator(".cancel")).to_be_hidden()
    expect(card.locator(".retry")).to_be_visible()
    expect(row(browser, "lighthouses")).to_have_count(0, timeout=SLOW)
    until(lambda: total(browser) == before)
    assert problems == []


@pytest.mark.nightly
def test_what_cannot_be_read_is_refused_in_the_page(library: Opened) -> None:
    """At once, with the reason; the others go on, and a wrong field is shown where it
    stands.
    """
    browser, problems = library
    browser.locator("#file-input").set_input_files([PROGRAM, REPORT])
    expect(browser.locator("#refused")).to_contain_text("setup.exe")
    expect(browser.locator("#staged li")).to_have_count(1)

    year = browser.locator("#staged [data-name=year]")
    expect(browser.locator("#staged [data-name=title]")).to_have_value(TITLE)
    year.fill("long ago")
    browser.locator("#upload-submit").click()
    expect(year).to_have_attribute("aria-invalid", "true")
    expect(browser.locator("#staged .field-error:visible")).to_contain_text("year")
    expect(browser.locator("#upload-error")).not_to_contain_text("Request id")
    assert all("400" in problem for problem in problems), problems
    year.fill("")
    browser.locator("#upload-submit").click()
    guide = browser.locator(".guide-row .guide")
    expect(guide.locator(".guide-about")).to_have_text(f"{TITLE} · Fiji", timeout=SLOW)
    guide.get_by_role("link", name=f"What is “{TITLE}” about?").click()
    expect(browser.locator(".question")).to_have_text(f"What is “{TITLE}” about?")
    expect(browser.locator(".answer-body")).to_contain_text("vanilla", timeout=SLOW)
    open_library(browser, browser.url.partition("/c/")[0])
    find(browser, "vanilla")
    remove(browser, TITLE)


@pytest.mark.nightly
def test_a_filter_narrows_the_list_and_stays(library: Opened) -> None:
    browser, problems = library
    browser.get_by_role("search").get_by_label("Country").select_option("Kenya")
    browser.get_by_label("Find by title or name").fill("2023")
    expect(browser.locator("#total")).to_have_text("1 document found")
    expect(browser.locator(".document-title")).to_have_text(
        "Kenya: Country Report 2023"
    )
    browser.reload()
    expect(browser.locator("#total")).to_have_text("1 document found")
    browser.get_by_role("button", name="Clear filters").click()
    expect(browser.locator("#page-range")).to_contain_text("1–50 of")
    browser.get_by_role("button", name="Next").click()
    expect(browser.locator("#page-range")).to_contain_text("51–")
    assert problems == []


def test_a_file_attached_to_questions_answers_them_and_is_not_stored(
    library: Opened, address: str
) -> None:
    """It stays until it is removed, and has to be attached again after a reload."""
    browser, problems = library
    before = total(browser)
    chips, gone = (
        browser.locator("#attachment-chips li"),
        browser.locator("#attachment-chips .gone"),
    )
    used = browser.locator(".turn:last-child .attached")
    browser.goto(address)
    browser.locator("#attach-button").click()
    browser.locator("#attach-input").set_input_files(ATTACHED)
    expect(browser.locator("#attachment-chips")).to_contain_text("harvest.md")
    ask(browser, "What is this about?")
    answer = ask(browser, "How large was the saffron harvest of the village?")
    expect(answer.locator(".answer-body")).to_contain_text("137 grams")
    expect(used).to_have_text("Answered from harvest.md (not stored)")
    answer.locator("button.citation").first.click()
    expect(browser.locator("#evidence-passage mark")).to_contain_text("137 grams")
    expect(browser.locator("#evidence-error")).to_be_empty()
    browser.locator("#evidence-close").click()

    browser.reload()
    expect(gone).to_have_text("harvest.md")
    browser.get_by_label("Question", exact=True).fill("And of the valley?")
    browser.locator("#send").click()
    expect(browser.locator("#busy")).to_contain_text(
        "Attach harvest.md again, or remove it"
    )
    expect(browser.locator(".turn")).to_have_count(2)
    browser.locator("#attach-input").set_input_files(ATTACHED)
    expect(gone).to_have_count(0)
    browser.locator("#send").click()
    expect(browser.locator(".turn")).to_have_count(3)
    expect(used).to_contain_text("harvest.md (not stored)")
    browser.get_by_role("button", name="Remove harvest.md").click()
    expect(chips).to_have_count(0)

    open_library(browser, address)
    until(lambda: total(browser) == before)
    browser.get_by_label("Find by title or name").fill("harvest")
    expect(browser.locator("#total")).to_have_text("0 documents found")
    assert problems == []


@pytest.mark.parametrize("chosen", [ATTACHED, PROGRAM], ids=["taken", "refused"])
def test_a_question_waits_for_what_was_chosen_a_moment_before(
    page: Opened, address: str, chosen: FilePayload
) -> None:
    """It goes to the file, never to the library instead; where the file is refused it
    stays.
    """
    browser, problems = page
    held: list[Route] = []
    browser.route("**/api/formats", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    browser.goto(address)
    question, turns = (
        browser.get_by_label("Question", exact=True),
        browser.locator(".turn"),
    )
    with browser.expect_request("**/api/formats"):
        browser.locator("#attach-input").set_input_files(chosen)
    question.fill("How large was the saffron harvest of the village?")
    browser.locator("#send").click()
    expect(turns).to_have_count(0)

    held.pop().continue_()
    if chosen is ATTACHED:
        expect(turns.locator(".answer-body")).to_contain_text("137 grams", timeout=SLOW)
    else:
        expect(browser.locator("#attach-errors")).to_contain_text("setup.exe")
        expect(question).to_have_value(
            "How large was the saffron harvest of the village?"
        )
        expect(turns).to_have_count(0)
    assert problems == []


def test_an_attachment_that_cannot_be_read_keeps_the_question(
    page: Opened, address: str
) -> None:
    browser, problems = page
    browser.goto(address)
    browser.locator("#attach-button").click()
    browser.locator("#attach-input").set_input_files([ATTACHED, DAMAGED])
    answer = ask(browser, "How large was the saffron harvest of the village?")
    expect(answer.locator(".notice")).to_contain_text("damaged.pdf")
    expect(browser.get_by_label("Question", exact=True)).to_have_value(
        "How large was the saffron harvest of the village?"
    )
    expect(browser.locator("#attachment-chips li")).to_have_count(2)

    browser.get_by_role("button", name="Remove damaged.pdf").click()
    browser.locator("#send").click()
    expect(
        browser.locator("article.answer").last.locator(".answer-body")
    ).to_contain_text("137 grams", timeout=SLOW)
    assert all("422" in problem for problem in problems), problems


def test_an_upload_in_two_requests_is_one_line_in_another_tab(
    browser: Page, address: str
) -> None:
    open_library(browser, address)
    first, second = browser.evaluate(
        """async () => {
          const ids = [];
          for (const name of ["tea.md", "rice.md"]) {
            const form = new FormData();
            form.append("files", new File([`# ${name}`], name), name);
            const sent = await fetch("/api/documents", { method: "POST", body: form });
            ids.push((await sent.json()).ingestion_id);
          }
          localStorage.setItem("uploads", JSON.stringify([[ids[1], ids[0]]]));
          return ids;
        }"""
    )
    assert first != second
    open_library(browser, address)
    cards = browser.locator("details.ingestion")
    expect(cards.filter(has_text="rice.md").first).to_contain_text("tea.md")


def test_a_key_for_a_country_without_a_report_is_refused_in_plain_words(
    page: Opened, address: str
) -> None:
    browser, _ = page
    browser.goto(f"{address}/operator")
    browser.locator("#key-new").click()
    browser.locator("#key-name").fill("Nairobi office")
    browser.locator("#key-form [name=country_name]").fill("Kenia")
    browser.locator("#key-submit").click()
    problem = browser.locator("[data-field=country_name] .field-error").first
    expect(problem).to_have_text("No report is about “Kenia”. Possible values: Kenya.")
