"""Pictures of the page in every language, width, state and colour scheme, with the
rules of its layout checked in each (`layout_rules.js`).

    python -m benchmarks pictures --into /tmp/pictures

Starts a server over the sample reports, or uses one that runs (``--address``). Exits
with status 1 if a rule is broken.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from benchmarks.recorded_client import server

ROOT = Path(__file__).parents[1]
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
RULES = (Path(__file__).parent / "layout_rules.js").read_text(encoding="utf-8")
LANGUAGES = ("en", "es", "fr", "pt", "ar")
SIZES = {
    320: 640,
    390: 844,
    600: 960,
    768: 1024,
    1024: 768,
    1280: 800,
    1440: 900,
    1920: 1080,
}
"""The height of the window for each width, in pixels."""
MAX_TOUCH_WIDTH = 899
"""Narrower windows are those of phones and tablets, which are touched."""
STATES = ("none", "list", "passage", "both")
"""Which panes are open beside a conversation."""
PAGES = {
    "start": "/",
    "documents": "/documents",
    "explore": "/explore?indicator=Population&subject=Kenya&subject=Mali&view=lines",
    "table": "/explore?indicator=Population&indicator=Median+age&view=table",
    "indicator": "/indicators/inflation-rate-consumer-prices",
}
"""The pages without a conversation."""
VIEWS = (*PAGES, *STATES, "brief")
SCHEMES = ("light", "dark")
QUESTION = (
    "Compare the inflation rate of Kenya, Ethiopia, Nigeria, Somalia, Sudan, Mali, "
    "Mozambique and Egypt from 2019 to 2024"
)


@dataclass(frozen=True, slots=True)
class View:
    """One cell of the matrix. ``state``: of `VIEWS`."""

    language: str
    width: int
    state: str
    scheme: str = "light"

    @property
    def name(self) -> str:
        return f"{self.language}-{self.width:04d}-{self.state}-{self.scheme}"

    @property
    def size(self) -> ViewportSize:
        return {"width": self.width, "height": SIZES[self.width]}

    @property
    def is_touched(self) -> bool:
        return self.width <= MAX_TOUCH_WIDTH


@dataclass(slots=True)
class PictureStage:
    """A page of one language, scheme and kind of pointer, with one question asked."""

    page: Page
    address: str
    question: str = QUESTION

    def ask(self) -> None:
        self.page.goto(self.address)
        self.page.locator("#question").fill(self.question)
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".answer-footer")).to_be_visible(timeout=60_000)
        expect(self.page.locator("#conversation-list a")).not_to_have_count(0)

    def collect(self) -> None:
        """Pin the answer and its chart, write a text, and show the brief."""
        self._close()
        self.page.locator(".more-actions > summary").first.click()
        for button in (".answer-actions .pin", ".chart .pin"):
            with self.page.expect_response("**/items"):
                self.page.locator(button).first.click()
        link = self.page.locator("#toast a")
        expect(link).to_be_visible()
        self.page.goto(self.address + (link.get_attribute("href") or ""))
        self.page.locator("#brief-add").click()
        self.page.locator(".brief-form input").fill("Summary")
        self.page.locator(".brief-form textarea").fill(self.question)
        self.page.locator(".brief-form [type=submit]").click()
        expect(self.page.locator(".turn")).to_have_count(3)
        self.page.locator(".turn").last.locator("[data-act=edit]").click()

    def show(self, view: View) -> None:
        """Resize the window and open the panes of a view, as far as they fit."""
        self._close()
        self.page.set_viewport_size(view.size)
        if view.state in {"list", "both"}:
            self._open_list()
        # A list that lies over the page hides the citations: one pane at a time.
        has_modal = self.page.locator("dialog:modal").count()
        if view.state == "passage" or (view.state == "both" and not has_modal):
            self.page.locator(".answer-body .citation").first.click()
            expect(self.page.locator("#evidence-original")).to_be_visible()
        self.page.wait_for_timeout(100)

    def _close(self) -> None:
        """Close both panes. A modal one has to go first: it covers the other."""
        for _ in range(2):
            closing = self.page.locator(
                "dialog:modal .icon-only[id$=close], #evidence-close, "
                "#conversations-close"
            )
            for button in closing.all():
                if button.is_visible():
                    button.click()
                    break

    def _open_list(self) -> None:
        if not self.page.locator("#conversations").is_visible():
            self.page.locator("#conversations-button").click()


def staged(
    browser: Browser, address: str, view: View, question: str = QUESTION
) -> PictureStage:
    """Return a new page for views of this language, scheme and pointer."""
    context = browser.new_context(
        viewport=view.size,
        locale=view.language,
        color_scheme="dark" if view.scheme == "dark" else "light",
        has_touch=view.is_touched,
        is_mobile=view.is_touched,
        reduced_motion="reduce",
    )
    return PictureStage(context.new_page(), address, question)


def broken_rules(page: Page) -> list[str]:
    """Return the rules of the layout that what is shown breaks."""
    found: list[str] = page.evaluate(RULES)
    return found


def checked(
    browser: Browser, address: str, views: list[View], into: Path
) -> Iterator[tuple[View, list[str]]]:
    """Yield each view with the rules it breaks; its picture is then in a folder."""
    by_context = itertools.groupby(sorted(views, key=_context), key=_context)
    for _, group in by_context:
        shown = list(group)
        stage = staged(browser, address, shown[0])
        for view in [view for view in shown if view.state in PAGES]:
            stage.page.set_viewport_size(view.size)
            stage.page.goto(address + PAGES[view.state])
            stage.page.wait_for_load_state("networkidle")
            yield view, _pictured(stage.page, view, into)
        in_conversation = [view for view in shown if view.state in STATES]
        of_brief = [view for view in shown if view.state == "brief"]
        if in_conversation or of_brief:
            stage.ask()
        for view in in_conversation:
            stage.show(view)
            yield view, _pictured(stage.page, view, into)
        if of_brief:
            stage.collect()
        for view in of_brief:
            stage.page.set_viewport_size(view.size)
            stage.page.wait_for_timeout(100)
            yield view, _pictured(stage.page, view, into)
        stage.page.context.close()


def _context(view: View) -> tuple[str, str, bool]:
    return view.language, view.scheme, view.is_touched


def _pictured(page: Page, view: View, into: Path) -> list[str]:
    page.screenshot(path=into / f"{view.name}.png")
    return broken_rules(page)


@contextmanager
def browsing(address: str | None) -> Iterator[tuple[Browser, str]]:
    """Yield a browser, and the ``address`` of a server that runs already, None = of a
    new one over the sample reports.
    """
    running = nullcontext(address) if address else server(ROOT, {})
    with running as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield browser, served
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks pictures", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--into", type=Path, default=Path("pictures"))
    parser.add_argument("--address", help="of a server that runs already")
    parser.add_argument("--languages", nargs="+", default=LANGUAGES, choices=LANGUAGES)
    parser.add_argument("--widths", nargs="+", type=int, default=SIZES, choices=SIZES)
    parser.add_argument(
        "--states",
        nargs="+",
        default=VIEWS,
        choices=VIEWS,
    )
    parser.add_argument("--schemes", nargs="+", default=SCHEMES, choices=SCHEMES)
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    views = [
        View(*cell)
        for cell in itertools.product(
            options.languages, options.widths, options.states, options.schemes
        )
    ]
    broken = 0
    with browsing(options.address) as (browser, address):
        for view, rules in checked(browser, address, views, options.into):
            broken += len(rules)
            for rule in rules:
                print(f"{view.name}  {rule}", flush=True)
    print(f"{len(views)} pictures, {broken} broken rules")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
