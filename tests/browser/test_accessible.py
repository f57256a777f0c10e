"""axe-core over every view and dialog, best practice included, by day and by night,
wide and on a phone.
"""

import json
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from flask import Flask
from playwright.sync_api import Browser, Page, ViewportSize, expect

from chatbot.config import SAMPLE_DATA
from tests.app.web.live import application
from tests.conftest import ingest_file, small_settings
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

SIZES: dict[str, ViewportSize] = {
    "wide": {"width": 1280, "height": 800},
    "phone": {"width": 390, "height": 844},
}
REPLY = Reply(
    [
        (
            "It is 7.67% [1], was 5.1% once [1] and **rises**.\n\n| Country | Rate |\n"
            "|---|---|\n| Kenya | 7.67% [1] |"
        )
    ]
)
QUESTION = "What was the inflation rate of Kenya in 2023?"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with FakeOpenAI() as server:
        server.always(CHAT, REPLY)
        changed = {**server.as_settings, "embedding_provider": "hashing"}
        with application(
            small_settings(tmp_path_factory.mktemp("data"), **changed)
        ) as made:
            for name, year in (("kenya-2024.pdf", 2024), ("somalia-2023.md", 2023)):
                path, country = (
                    SAMPLE_DATA / "country_reports" / name,
                    name.split("-")[0].title(),
                )
                ingest_file(
                    made.extensions["services"],
                    path,
                    path.as_posix(),
                    country_name=country,
                    year=year,
                )
            yield made


def ask(page: Page) -> None:
    page.locator("#question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".answer-footer").last).to_be_visible()
    expect(page.locator(".turn").last.locator(".further")).to_be_visible()


def open_list(page: Page) -> None:
    if not page.locator("#conversations").is_visible():
        page.locator("#conversations-button").click()


def row_action(page: Page, name: str) -> None:
    open_list(page)
    page.locator("#conversation-list .more").first.click()
    page.locator("#conversation-menu").get_by_text(name).click()


def chat_views(page: Page, address: str) -> Iterator[str]:
    page.goto(address)
    yield "start"
    page.locator("#scope-button").click()
    yield "scope"
    page.locator("#scope-done").click()
    page.locator("#attach-button").click()
    expect(page.locator("#attach-formats")).not_to_be_empty()
    yield "attach"
    page.keyboard.press("Escape")
    ask(page)
    yield "answer"
    page.locator(".answer-actions .cite").last.click()
    yield "cite"
    page.keyboard.press("Escape")
    page.locator(".more-actions > summary").last.click()
    page.locator(".answer-actions .pin").last.click()
    brief = page.locator("#toast a")
    expect(brief).to_be_visible()
    yield "pinned"
    address_of_brief = address + (brief.get_attribute("href") or "")
    page.locator("[data-rating=down]").last.click()
    expect(page.locator(".why")).to_be_visible()
    yield "feedback"
    page.locator(".ledger summary").last.click()
    page.locator(".answer-body .citation").first.click()
    expect(page.locator("#evidence-original")).to_be_visible()
    yield "passage"
    page.locator("#evidence-original").click()
    expect(page.locator(".pdf-text .marked").first).to_be_visible()
    yield "original"
    page.keyboard.press("Escape")
    page.locator("#evidence-close").click()
    open_list(page)
    yield "conversations"
    row_action(page, "Rename")
    yield "rename"
    page.keyboard.press("Escape")
    row_action(page, "Share")
    page.locator("#share-create").click()
    expect(page.locator("#share-link")).not_to_have_value("")
    yield "share"
    page.goto(page.locator("#share-link").input_value())
    expect(page.locator(".answer-footer")).to_be_visible()
    yield "shared"
    page.goto(address_of_brief)
    page.locator("#brief-add").click()
    page.locator("[data-act=edit]").click()
    yield "brief"
    page.locator(".brief-form").last.get_by_role("button", name="Cancel").click()
    page.keyboard.press("?")
    expect(page.locator(".keys-list")).to_be_visible()
    yield "shortcuts"
    page.goto(f"{address}/c/none")
    expect(page.locator("#missing")).to_be_visible()
    yield "missing"


def library_views(page: Page, address: str) -> Iterator[str]:
    page.goto(f"{address}/documents")
    expect(page.locator("#documents")).to_have_attribute("aria-busy", "false")
    yield "documents"
    page.locator("#review-open").click()
    expect(page.locator("#review-rows tr").first).to_be_visible()
    yield "review"
    page.locator("#rows button").first.click()
    expect(page.locator("#passages li").first).to_be_visible()
    yield "document"
    page.locator("#document-dialog [data-action=edit]").click()
    yield "edit"
    page.goto(f"{address}/operator")
    expect(page.locator("#operation")).to_be_visible()
    page.locator("#check").click()
    expect(page.locator("#findings tbody tr").first).to_be_visible()
    yield "operator"
    page.locator("#key-new").click()
    page.locator("#key-submit").click()
    expect(page.locator("#key-error")).to_be_visible()
    yield "create a key"
    page.locator("#key-name").fill("Nairobi")
    page.locator("#key-submit").click()
    expect(page.locator("#key-made")).to_be_visible()
    yield "the new key"
    page.keyboard.press("Escape")
    page.locator("#keys .danger").first.click()
    yield "revoke a key"
    page.goto(f"{address}/collection")
    page.locator("#each-question").fill("What is the growth?")
    page.locator("#each-send").click()
    expect(page.locator("#each-file")).to_be_visible()
    yield "the same question to each document"
    replace_a_file(page, address)
    yield "a replacement"
    page.locator("[data-choice=replace]").click()
    page.locator(".file-changes:visible").first.click()
    expect(page.locator(".text-changes ins").first).to_be_visible()
    yield "what changed"
    page.goto(f"{address}/none")
    yield "no such page"


def replace_a_file(page: Page, address: str) -> None:
    page.goto(f"{address}/documents")
    name = uuid4().hex  # another file in each theme and size
    for number in ("ten", "twelve"):
        text = f"# Wells of {name}\n\n## Supply\n\nThe town has {number} wells.\n"
        page.locator("#file-input").set_input_files(
            [
                {
                    "name": f"{name}.md",
                    "mimeType": "text/markdown",
                    "buffer": text.encode(),
                }
            ]
        )
        expect(page.locator(".staged-fields")).to_be_visible()
        page.locator("#upload-submit").click()
        if number == "ten":
            done = page.locator("details.ingestion[data-state=done]")
            expect(done.filter(has_text=name)).to_have_count(1)
    page.locator("#conflict-list summary").click()


def problems_of(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {json.dumps([node['html'][:160] for node in one['nodes'][:3]])}"
        for one in found
    ]


NIGHT = (
    pytest.mark.nightly
)  # each theme and each size is seen every day, each pair of them at night
SEEN = [
    ("light", "wide"),
    ("dark", "phone"),
    *(
        pytest.param(*pair, marks=NIGHT)
        for pair in (("light", "phone"), ("dark", "wide"))
    ),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("theme", "size"), SEEN)
@pytest.mark.parametrize("views", [chat_views, library_views])
def test_nothing_is_wrong_with_any_view(
    launched: Browser,
    address: str,
    views: Callable[[Page, str], Iterator[str]],
    theme: str,
    size: str,
) -> None:
    assert faults_of(launched, views, address, theme, size) == {}


def faults_of(
    launched: Browser,
    views: Callable[[Page, str], Iterator[str]],
    address: str,
    theme: str,
    size: str,
) -> dict[str, list[str]]:
    """Return what axe finds wrong in these views, by their names."""
    wrong: dict[str, list[str]] = {}
    options = {
        "viewport": SIZES[size],
        "color_scheme": theme,
        "reduced_motion": "reduce",
        "bypass_csp": True,
    }
    with launched.new_context(**options) as context:  # type: ignore[arg-type]
        page = context.new_page()
        for name in views(page, address):
            if found := problems_of(page):
                wrong[name] = found
    return wrong


def test_axe_finds_what_is_wrong(launched: Browser) -> None:
    with launched.new_context(bypass_csp=True) as context:
        page = context.new_page()
        page.set_content(
            "<html lang=en><title>x</title><main><h1>x</h1><img "
            "src=x><button></button></main></html>"
        )
        assert [problem.split(":")[0] for problem in problems_of(page)] == [
            "button-name",
            "image-alt",
        ]
