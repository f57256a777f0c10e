"""Tap the example questions of the first page in pairs, each after each other one.

    python -m benchmarks tapped [DATA] [--library NAME ...] [--address URL]

Libraries: `samples`, `uploads` (questions4/dev/docs of the folder DATA,
REPORT_CHAT_TEST_DATA by default) and `mixed` (the samples with mixed_library).
Keyless, in Chromium, with the default settings. An answer is right if it has each
value that its example shows, is the same as without the question before it, and has no
chart but of the indicator of its example. Exits with status 1 if one is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect, sync_playwright

from benchmarks.mixed import documents_of
from benchmarks.pictures import CHROMIUM
from benchmarks.recorded_client import server

ROOT = Path(__file__).parents[1]
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "samples": (),
    "uploads": ("uploads",),
    "mixed": ("mixed",),
}
"""The sets of documents in each library; all but `uploads` have the samples, too."""
SETTLE_MS = 200
COUNTRIES = 2
"""Of the map, whose overviews are tapped too."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question of the first page. ``values``: what its card shows; ``indicator``: ""
    = the question is of none.
    """

    question: str
    indicator: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """What the page shows of an answer: its text and the titles of its charts."""

    text: str
    charts: tuple[str, ...]

    def faults(self, example: Example, alone: ShownAnswer) -> list[str]:
        """Return what is wrong with this answer to an example, which without another
        question before it is answered ``alone``.
        """
        found = []
        lacking = [value for value in example.values if value not in self.text]
        if lacking:
            found.append(f"lacks {', '.join(lacking)}: {self.text[:120]!r}")
        if not example.values and example.indicator == "" and not self.text.strip():
            found.append("is empty")
        if self != alone:
            found.append(f"is {self}, alone {alone}")
        for title in self.charts:
            if example.indicator and example.indicator not in title:
                found.append(f"has a chart of {title}")
        return found


def examples_of(page: Page, address: str, countries: int) -> list[Example]:
    """Return the examples of the first page, and some countries of its map."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    expect(page.locator("#examples .example").first).to_be_visible(timeout=60_000)
    examples = []
    for card in page.locator("#examples .example").all():
        values = card.locator(".card-value").all_inner_texts()
        # The names of bars; their values may be rounded.
        names = card.locator(".plot text[text-anchor=end]").all_text_contents()
        values += [name for name in names if not name.endswith("…")]
        indicator = card.get_attribute("data-indicator") or ""
        question = card.get_attribute("data-example") or ""
        examples.append(Example(question, indicator, tuple(values)))
    for point in page.locator("#inside .point").all()[:countries]:
        examples.append(Example(point.get_attribute("data-example") or "", "", ()))
    return examples


def answered(page: Page, address: str, *questions: str) -> ShownAnswer:
    """Ask in a new conversation; return the last answer."""
    page.goto(address)
    for number, question in enumerate(questions, 1):
        page.locator("#question").fill(question)
        page.keyboard.press("Enter")
        footers = page.locator(".answer-footer:visible")
        expect(footers).to_have_count(number, timeout=60_000)
    shown = shown_answer(page)
    # The card is drawn by a script that is loaded with the first answer.
    while True:
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(SETTLE_MS)
        before, shown = shown, shown_answer(page)
        if shown == before:
            return shown


def shown_answer(page: Page) -> ShownAnswer:
    answer = page.locator("article.answer").last
    text = answer.locator(".answer-body").inner_text()
    card = "\n".join(answer.locator(".card-value").all_inner_texts())
    charts = answer.locator("figure.chart h3").all_inner_texts()
    return ShownAnswer(" ".join(f"{text}\n{card}".split()), tuple(charts))


def tap_pairs(
    page: Page, address: str, countries: int = COUNTRIES
) -> Iterator[tuple[str, list[str]]]:
    """Yield each example, and each pair of them, with what is wrong with the answer to
    the last one. ``countries``: of the map.
    """
    examples = examples_of(page, address, countries)
    alone = {each.question: answered(page, address, each.question) for each in examples}
    for example in examples:
        shown = alone[example.question]
        yield example.question, shown.faults(example, shown)
    for first, example in itertools.permutations(examples, 2):
        shown = answered(page, address, first.question, example.question)
        pair = f"{first.question} -> {example.question}"
        yield pair, shown.faults(example, alone[example.question])


def add_documents(address: str, names: tuple[str, ...], data: Path) -> None:
    """Add sets of documents, and wait until they are read."""
    with httpx.Client(base_url=address, timeout=60) as client:
        for path in itertools.chain(*(documents_of(name, data) for name in names)):
            with path.open("rb") as file:
                sent = client.post("/api/documents", files={"files": (path.name, file)})
            sent.raise_for_status()
            job = f"/api/ingestions/{sent.json()['ingestion_id']}"
            while client.get(job).json()["state"] in {"queued", "running", "waiting"}:
                time.sleep(0.2)


@contextmanager
def library(name: str, data: Path) -> Iterator[str]:
    """Yield the address of a server over a library."""
    sample_data = "off" if name == "uploads" else "auto"
    with server(ROOT, {"SAMPLE_DATA": sample_data}) as address:
        add_documents(address, LIBRARIES[name], data)
        yield address


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("REPORT_CHAT_TEST_DATA")
    parser.add_argument("data", nargs="?", type=Path, default=default)
    parser.add_argument("--library", nargs="*", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument("--address", help="of a server that runs already")
    chosen = parser.parse_args()
    if chosen.data is None and not chosen.address:
        parser.error("name the folder of the data, or set REPORT_CHAT_TEST_DATA")
    wrong = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        for name in chosen.library:
            page = browser.new_page()
            if chosen.address:
                wrong += print_pairs("served", page, chosen.address)
                break
            with library(name, Path(chosen.data)) as address:
                wrong += print_pairs(name, page, address)
        browser.close()
    sys.exit(wrong > 0)


def print_pairs(name: str, page: Page, address: str) -> int:
    """Print what is wrong, and the sum; return the number of wrong answers."""
    asked = wrong = 0
    for pair, faults in tap_pairs(page, address):
        asked += 1
        wrong += bool(faults)
        for fault in faults:
            print(f"{name}: {pair}: {fault}", flush=True)
    print(f"{name}: {asked - wrong} of {asked} right", flush=True)
    return wrong


if __name__ == "__main__":
    main()
