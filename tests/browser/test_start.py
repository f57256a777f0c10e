"""Before the first question: what there is, a scope chosen from it, one document alone,
and nothing at all.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.first_load import REQUESTS, WATCH
from chatbot.app.factory import close_app, create_app
from chatbot.app.web.pages import asset_bytes
from tests.app.web.knowledge import added
from tests.app.web.live import application, served
from tests.browser.conftest import watched
from tests.conftest import small_settings

KNOWLEDGE = {"papers": "Long ones.", "news": "Daily ones."}
REPORTS = (("Kenya", 2021), ("Kenya", 2023), ("Mali", 2023))


@contextmanager
def running(folder: Path, reports: tuple[tuple[str, int], ...]) -> Iterator[str]:
    settings = small_settings(folder, run_by="The Water Trust, desk@example.org")
    with application(settings) as made, served(made) as port:
        for country, year in reports:
            text = (
                f"# {country}: Country Report {year}\n\n## Growth\n\n{country} grows "
                f"by 2.{year - 2020}%.\n"
            )
            name = f"{country.lower()}-{year}.md"
            added(
                made.test_client(),
                (name, text),
                country_name=country,
                year=str(year),
                type="country_report",
            )
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("data"), REPORTS) as found:
        yield found


@pytest.fixture
def page(launched: Browser, address: str) -> Iterator[Page]:
    with watched(launched) as (opened, problems):
        opened.goto(address)
        yield opened
        assert [problem for problem in problems if "400" not in problem] == []


def test_without_run_by_only_ones_own_machine_is_named(
    launched: Browser, tmp_path: Path
) -> None:
    with (
        application(small_settings(tmp_path)) as made,
        served(made) as port,
        watched(launched) as (page, problems),
    ):
        page.goto(f"http://127.0.0.1:{port}")
        line = page.locator("#run-here")
        expect(line).to_have_text(
            "Runs on this machine and answers only requests from it."
        )
        expect(line).to_be_visible()
        assert problems == []


def test_what_there_is_makes_the_examples_and_chooses_the_scope(page: Page) -> None:
    titles = [f"{country}: Country Report {year}" for country, year in REPORTS]
    expect(page.locator("#examples .example")).to_have_text(
        [f"What is “{title}” about?" for title in titles]
    )
    expect(page.locator("#newest")).to_have_text(
        re.compile("^Newest report: (Kenya|Mali): Country Report 2023$")
    )
    expect(page.locator("#run-by")).to_have_text(
        "Run by The Water Trust, desk@example.org"
    )
    mali = page.locator(".map .point", has_text="Mali: 1 report")
    expect(mali).to_have_attribute("data-example", "Give me an overview of Mali")
    expect(page.locator("#contents")).to_have_text(
        "3 reports on 2 countries, 2021 to 2023: \u2068Growth\u2069."
    )
    page.locator("#coverage summary").click()
    table = page.locator("#coverage table")
    expect(table.locator("tr")).to_have_text(["Country20212023", "Kenya11", "Mali–1"])
    table.get_by_role("button", name="Kenya, 2023: 1").click()
    chips = page.locator("#scope-chips .chip")
    expect(chips).to_have_text(["Kenya", "report of 2023"])
    expect(page.locator("#scope-count")).to_have_text(re.compile("1 report"))
    page.keyboard.press("ArrowDown")
    expect(table.get_by_role("button", name="Mali, 2023: 1")).to_be_focused()
    table.get_by_role("button", name="Kenya, 2023: 1").click()
    expect(chips).to_have_count(0)


def test_documents_of_ones_own_make_small_answers_beside_countries(
    launched: Browser, tmp_path: Path
) -> None:
    table = "Month,Donations (EUR),Donors\n2025-01,4200,61\n2025-02,3900,58\n"
    table += "2025-03,5100,77\n"
    with (
        running(tmp_path, REPORTS) as address,
        watched(launched) as (page, problems),
    ):
        sheet = {
            "name": "donations_2025.csv",
            "mimeType": "text/csv",
            "buffer": table.encode(),
        }
        fields = {"publisher": "The Water Trust", "publication_date": "2026-02-01"}
        sent = page.request.post(
            f"{address}/api/documents", multipart={"files": sheet, **fields}
        )
        assert sent.ok, sent.text()
        for _ in range(100):
            facets = page.request.get(f"{address}/api/facets").json()
            if "donations_2025" in facets["own"]:
                break
            page.wait_for_timeout(100)
        page.goto(address)
        expect(page.locator("#newest")).to_have_text(
            "Newest report: donations_2025, The Water Trust, 1 Feb 2026"
        )
        first = page.locator("#examples .example").first
        expect(first).to_contain_text("Highest donations in donations_2025?")
        expect(first.locator("svg text")).to_have_text(
            ["2025-03", "5100 EUR", "2025-01", "4200 EUR", "2025-02", "3900 EUR"]
        )
        assert problems == []


@pytest.mark.nightly
def test_a_link_with_an_unknown_scope_opens_with_the_choices(
    page: Page, address: str
) -> None:
    page.goto(f"{address}/?country_name=Atlantis&country_name=Mali")
    expect(page.locator("#scope-error")).to_have_text(
        "Not in this library: Atlantis. Choose from the values below."
    )
    expect(page.locator("#scope-chips .chip")).to_have_text(["Mali"])
    expect(page.locator("[data-field=country_name] .option")).to_have_count(2)


def test_one_document_alone(page: Page, address: str) -> None:
    page.goto(f"{address}/documents")
    page.get_by_role("link", name="Ask “Kenya: Country Report 2021”").click()
    expect(page.locator("#scope-chips .chip")).to_have_text(
        ["Kenya: Country Report 2021"]
    )
    page.locator("#question").fill("How much does it grow?")
    page.keyboard.press("Enter")
    expect(page.locator(".answer-body")).to_contain_text("Kenya grows by 2.1%")
    expect(page.locator(".scope-line")).to_contain_text(
        "Kenya: Country Report 2021 (chosen) — 1 report"
    )
    page.locator("#question").fill("What is the capital of Peru?")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Ask in all reports").click()
    expect(page.locator("#scope-chips .chip")).to_have_count(0)


def test_without_any_report_there_is_the_way_to_one(
    launched: Browser, tmp_path: Path
) -> None:
    with running(tmp_path, ()) as empty, watched(launched) as (page, problems):
        page.goto(empty)
        expect(
            page.get_by_role("heading", name="There are no reports yet")
        ).to_be_visible()
        expect(page.locator("#examples .example")).to_have_count(0)
        expect(page.locator("#coverage")).to_be_hidden()
        page.get_by_role("link", name="Add your first report").click()
        expect(page.get_by_role("heading", name="Knowledge base")).to_be_visible()
        assert problems == []


def test_little_script_is_needed_to_begin(page: Page, address: str) -> None:
    asked: list[str] = []
    page.on(
        "request",
        lambda request: asked.append(
            request.url.partition("/static/v/")[2].partition("/")[2]
        ),
    )
    page.goto(address)
    expect(page.locator(".map .point").first).to_be_attached()
    page.wait_for_load_state("networkidle")
    # The page before may have been loading its last one.
    own = {
        name
        for name in asked
        if name.endswith(".js") and not name.startswith("vendor/")
    }
    assert "js/chat/map.js" in own
    assert "js/chat/turn.js" not in own
    assert sum(len(asset_bytes(name)) for name in own) <= 46_000


def test_little_is_asked_for_to_begin_and_for_the_first_answer(
    launched: Browser, address: str
) -> None:
    """One sheet before anything is drawn, what the first screen shows asked for once;
    the scripts of answers come when the page is quiet, and the question for the
    stream and two more at most.
    """
    with watched(launched) as (page, problems):
        asked: list[str] = []
        sent: list[int] = []
        page.on("request", lambda request: asked.append(request.url))
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        network.on(
            "Network.loadingFinished",
            lambda done: sent.append(done["encodedDataLength"]),
        )
        page.goto(address)
        expect(page.locator("#examples .example")).to_have_count(3)
        expect(page.locator(".map .point").first).to_be_attached()
        page.wait_for_load_state("networkidle")
        assert 50_000 < sum(sent) <= 100_000
        assert len([url for url in asked if url.endswith(".css")]) == 1
        once = [url for url in asked if not url.endswith("/ready")]
        assert [url for url in once if once.count(url) > 1] == []
        assert [url for url in asked if url.endswith("/world.json")]
        later = page.locator("link[rel=modulepreload][href$='/ways_on.js']")
        expect(later).to_be_attached()
        expect(page.locator("#answer-scripts")).to_have_js_property(
            "content.childElementCount", 0
        )
        page.evaluate(WATCH)
        page.locator("#examples .example").first.click()
        expect(page.locator(".answer-footer").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        until_drawn = page.evaluate(REQUESTS)
        assert [url for url in until_drawn if url.endswith("/api/chat")]
        assert len(until_drawn) <= 3, until_drawn
        assert problems == []


def test_a_phone_loads_the_map_when_it_comes_into_view(
    launched: Browser, address: str
) -> None:
    with watched(launched) as (page, problems):
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.set_viewport_size({"width": 390, "height": 500})
        page.goto(address)
        expect(page.locator("#examples .example")).to_have_count(3)
        page.wait_for_load_state("networkidle")
        assert not [url for url in asked if "world.json" in url]
        page.locator("#inside").scroll_into_view_if_needed()
        expect(page.locator("#inside .map .point")).to_have_count(2)
        assert problems == []


@pytest.mark.nightly
def test_one_of_several_collections(launched: Browser, tmp_path: Path) -> None:
    made = create_app(small_settings(tmp_path, collections=KNOWLEDGE))
    for collection, country in (("papers", "Kenya"), ("news", "Mali")):
        text = (
            f"# {country}: Country Report 2023\n\n## Growth\n\n{country} grows by "
            "2.3%.\n"
        )
        added(
            made.test_client(),
            (f"{country}.md", text),
            country_name=country,
            year="2023",
            collection=collection,
        )
    with served(made) as port, watched(launched) as (page, problems):
        page.goto(f"http://127.0.0.1:{port}")
        page.locator("#scope-button").click()
        expect(page.locator("[data-field=collections] .option")).to_have_text(
            ["papers1", "news1"]
        )
        page.locator("[data-field=country_name] .option", has_text="Mali").click()
        expect(page.locator("[data-field=collections] .option")).to_have_text(["news1"])
        page.locator("[data-field=country_name] .option", has_text="Mali").click()
        africa = page.locator("[data-field=group] .option", has_text="Africa").first
        africa.click()
        expect(africa).to_contain_text("Kenya, Mali")
        expect(page.locator("#scope-chips .chip")).to_have_text(["Africa"])
        africa.click()
        page.locator("[data-field=collections] .option", has_text="news").click()
        page.locator("#scope-done").click()
        expect(page.locator("#scope-count")).to_have_text(re.compile("^1 report"))
        expect(page.locator("#scope-chips .chip")).to_have_text(["news"])
        page.locator("#question").fill("How much does it grow?")
        page.keyboard.press("Enter")
        expect(page.locator(".sources li")).to_have_text([re.compile("Mali")])
        expect(page.locator(".scope-line")).to_contain_text("news")
        assert problems == []
    close_app(made)


def test_colours_are_chosen_and_kept(page: Page) -> None:
    paper = "() => getComputedStyle(document.body).backgroundColor"
    button, light = page.locator("#theme-button"), page.evaluate(paper)
    for name in ("light", "dark"):
        button.click()
        expect(button).to_have_attribute("aria-label", f"Colours: {name}")
    assert page.evaluate(paper) != light
    page.reload()
    expect(button).to_have_attribute("aria-label", "Colours: dark")
    assert page.evaluate(paper) != light
    button.click()
    assert page.evaluate(paper) == light


@pytest.mark.nightly
def test_paper_has_the_answer_and_nothing_to_press(page: Page) -> None:
    page.locator("#question").fill("How much does Mali grow?")
    page.keyboard.press("Enter")
    expect(page.locator(".answer-footer")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.locator(".answer-body")).to_be_visible()
    expect(page.locator(".sources")).to_be_visible()
    for hidden in (".site-header", "#composer", ".answer-actions", ".further"):
        expect(page.locator(hidden).first).to_be_hidden()
