"""Whether the charts of answers draw what the answers state.

    python -m benchmarks drawn [--answers 60] [--address URL]

Keyless, in Chromium, over the sample reports: rankings, comparisons and series of the
indicators that are asked for most. Every figure that a chart draws has to stand in the
text of its answer, of the same subject, unless it is marked as revised later; and its
title has to name the indicator that was asked. Exits with status 1 if one does not.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterator

import httpx
from playwright.sync_api import Page, expect

from benchmarks.pictures import browsing

KINDS = (
    "Which five countries have the highest {name}?",
    "Compare the {name} of Kenya, Somalia and Peru",
    "How did the {name} of Kenya and Ethiopia change from 2019 to 2024?",
)
POINT = re.compile(r"(?P<subject>.+?)(?:, \d{4})?: (?P<text>.+?)(?:, |$)")


def questions(address: str, count: int) -> Iterator[tuple[str, str]]:
    """Yield questions with the indicator that each asks for."""
    found = httpx.get(f"{address}/api/indicators?limit={count}").json()["indicators"]
    names = [one["name"] for one in found if ": " not in one["name"]]
    for name, kind in itertools.product(names, KINDS):
        plain = re.sub(r"\s*\([^()]*\)$", "", name)
        yield kind.format(name=plain[0].lower() + plain[1:]), name


def faults(page: Page, question: str, indicator: str) -> list[str] | None:
    """Ask a question; return what is wrong with its charts, None = it has none."""
    page.locator("#new-chat").click()
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".answer-footer")).to_be_visible(timeout=60_000)
    page.wait_for_load_state("networkidle")
    charts = page.locator(".chart")
    if not charts.count():
        return None
    text = page.locator(".answer-body").text_content() or ""
    found = []
    for chart in charts.all():
        title = chart.locator("h3").inner_text()
        if indicator not in title:
            found.append(f"draws {title!r}")
        for label in chart.locator(".point:not(.revised)").evaluate_all(
            "(all) => all.map((one) => one.getAttribute('aria-label'))"
        ):
            point = POINT.match(label)
            if point is None:
                found.append(f"{label!r} is no figure")
            elif point["text"] not in text or point["subject"] not in text:
                found.append(f"{label!r} is not in the answer")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks drawn", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--answers", type=int, default=60)
    parser.add_argument("--address", help="of a server that runs already")
    options = parser.parse_args()
    drawn = wrong = 0
    with browsing(options.address) as (browser, address):
        page = browser.new_page()
        page.goto(address)
        page.locator("#question").fill("How many people live in Kenya?")
        page.keyboard.press("Enter")
        expect(page.locator(".answer-footer")).to_be_visible(timeout=60_000)
        for question, indicator in questions(address, options.answers):
            if drawn == options.answers:
                break
            found = faults(page, question, indicator)
            if found is None:
                continue
            drawn += 1
            wrong += bool(found)
            for fault in found:
                print(f"{question}  {fault}", flush=True)
    print(f"{drawn} answers with charts, {wrong} that draw something else")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
