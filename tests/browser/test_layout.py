"""The layout at every width with a passage open, in the language with the longest words
and in Arabic. `python -m benchmarks pictures` has all languages and states.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from benchmarks.pictures import SIZES, PictureStage, View, broken_rules, staged
from tests.app.web.live import address
from tests.browser.test_accessible import QUESTION, app

__all__ = ["address", "app"]


BY_NIGHT = pytest.mark.nightly
"""Each language and each kind of pointer is seen by day, each pair of them at night."""


@pytest.fixture(
    scope="module",
    params=[
        ("fr", "touched"),
        ("ar", "mouse"),
        pytest.param(("fr", "mouse"), marks=BY_NIGHT),
        pytest.param(("ar", "touched"), marks=BY_NIGHT),
    ],
    ids="-".join,
)
def seen(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A language, and the kind of pointer."""
    pair: tuple[str, str] = request.param
    return pair


@pytest.fixture(scope="module")
def language(seen: tuple[str, str]) -> str:
    return seen[0]


@pytest.fixture(scope="module")
def stage(
    seen: tuple[str, str], launched: Browser, address: str
) -> Iterator[PictureStage]:
    """A page with one answer; half of the widths are those of things one touches."""
    language, pointer = seen
    width = min(SIZES) if pointer == "touched" else max(SIZES)
    found = staged(launched, address, View(language, width, "passage"), QUESTION)
    found.ask()
    yield found
    found.page.context.close()


@pytest.mark.parametrize("state", ["passage", "both"])
def test_no_rule_of_the_layout_is_broken(
    stage: PictureStage, language: str, state: str
) -> None:
    is_touched = stage.page.evaluate("matchMedia('(pointer: coarse)').matches")
    broken = {}
    for width in SIZES:
        view = View(language, width, state)
        if view.is_touched != is_touched:
            continue
        stage.show(view)
        if rules := broken_rules(stage.page):
            broken[width] = rules
    assert broken == {}


def test_the_header_of_a_conversation_fits(stage: PictureStage, language: str) -> None:
    stage.show(View(language, 600, "none"))
    header = "document.querySelector('.site-header')"
    too_wide = f"{header}.scrollWidth - {header}.clientWidth"
    assert stage.page.evaluate(too_wide) <= 0


def test_the_way_to_the_end_lies_over_nothing(
    stage: PictureStage, language: str
) -> None:
    """It stands in the box of the question, which has room for it."""
    page = stage.page
    is_touched = page.evaluate("matchMedia('(pointer: coarse)').matches")
    stage.show(View(language, 390 if is_touched else 1280, "none"))
    page.evaluate("scrollTo(0, 0)")
    expect(page.locator("#to-end")).to_be_visible()
    inside = page.evaluate(
        """() => {
          const arrow = document.querySelector("#to-end").getBoundingClientRect();
          const box = document.querySelector("#ask-form").getBoundingClientRect();
          return arrow.top >= box.top && arrow.bottom <= box.bottom;
        }"""
    )
    assert inside
    assert broken_rules(page) == []


def test_rules_find_what_the_old_layout_broke(stage: PictureStage) -> None:
    """Letters of a control below each other, and what is wider than the page."""
    if stage.page.evaluate("matchMedia('(pointer: coarse)').matches"):
        pytest.skip("the narrowest box hides the word")
    stage.page.evaluate(
        """() => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(`
            #scope-button { width: 3rem; white-space: normal; }
            #scope-button span { width: 1ch; overflow-wrap: anywhere; }
            .ask-form { width: 200vw; min-height: 60vh; }`);
          document.adoptedStyleSheets = [sheet];
        }"""
    )
    kinds = {rule.split(":")[0] for rule in broken_rules(stage.page)}
    stage.page.evaluate("document.adoptedStyleSheets = []")
    assert {
        "word on two lines",
        "wider than the page",
        "question box too tall",
    } <= kinds


def test_three_panes_need_1280_px(stage: PictureStage, language: str) -> None:
    if stage.page.evaluate("matchMedia('(pointer: coarse)').matches"):
        pytest.skip("phones show one pane")
    shown = {}
    for width in (1024, 1280):
        stage.show(View(language, width, "both"))
        shown[width] = stage.page.locator("dialog[open]:not(:modal)").count()
    assert shown == {1024: 1, 1280: 2}
    stage.show(View(language, 1024, "both"))
    stage.page.locator("#evidence-close").click()
    expect(stage.page.locator("#conversations")).to_be_visible()
