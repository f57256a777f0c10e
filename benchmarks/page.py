"""The page in Debian's chromium over a started `app.py` with the echo model: what it
adds to the server's own time.

    python -m benchmarks page [--questions 30] [--turns 300] [--json]

- first word: from the press of the button to the first word of the answer in the page;
  `server` is the part from the request to the arrival of its first `token` event,
  `page` the rest: what the page itself adds.
- conversation: from a click on a link to a conversation of so many turns to its last
  answer in the page; what can be reached with the Tab key then.
- far away: until all modules of the page are there, where each request takes 100 ms
  more.
- scripts: bytes of the page's own scripts at opening, each packed by gzip.

Medians, and the load of the machine before and after.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from chatbot.app.services import Services
from chatbot.app.web.pages import asset_bytes
from chatbot.config.settings import Settings
from tests.browser.conftest import SAMPLE_REPORTS, serving

WATCH = """() => {
  const times = (globalThis.times = {});
  const get = globalThis.fetch;
  globalThis.fetch = async (...request) => {
    const began = performance.now();
    const response = await get(...request);
    if (!String(request[0]).endsWith("/api/chat")) return response;
    times.asked = began;
    const decoder = new TextDecoder();
    const seen = new TransformStream({ transform(chunk, out) {
      const isThere = decoder.decode(chunk, { stream: true }).includes("event: token");
      if (isThere && !times.token) times.token = performance.now();
      out.enqueue(chunk);
    } });
    return new Response(response.body.pipeThrough(seen), response);
  };
  const look = () => {
    const body = [...document.querySelectorAll(".answer-body")].at(-1);
    if (times.pressed && !times.shown && body?.textContent.trim()) times.shown = performance.now();
    const footer = [...document.querySelectorAll(".answer-footer")].at(-1);
    if (!times.opened && footer && !footer.hidden) times.opened = performance.now();
    requestAnimationFrame(look);
  };
  look();
}"""  # noqa: E501
PRESS = """() => {
  Object.assign(globalThis.times, { pressed: performance.now(), shown: 0, token: 0 });
  document.getElementById("send").click();
}"""
STOPS = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
  .filter((node) => node.tabIndex >= 0 && !node.disabled && node.checkVisibility()).length"""  # noqa: E501
LATENCY = 100
LAST_MODULE = """() => Math.max(...performance.getEntriesByType("resource")
  .filter((one) => one.name.endsWith(".js")).map((one) => one.responseEnd))"""
TOPICS = (
    "population",
    "inflation rate",
    "birth rate",
    "unemployment rate",
    "literacy",
    "exports",
    "capital",
    "area",
)
COUNTRIES = ("Kenya", "Somalia", "Mali", "Haiti", "Egypt", "Colombia")


def first_words(page: Page, address: str, count: int) -> dict[str, float]:
    """Milliseconds, medians. Each question is another: none is in the cache."""
    page.goto(address)
    found: dict[str, list[float]] = {"all": [], "server": [], "page": []}
    questions = [
        f"What is the {topic} of {country}?"
        for topic in TOPICS
        for country in COUNTRIES
    ]
    for question in questions[: count + 1]:
        page.locator("#question").fill(question)
        page.evaluate(PRESS)
        page.wait_for_function("() => times.shown")
        page.wait_for_function(
            "() => ![...document.querySelectorAll('.answer-footer')].at(-1).hidden"
        )
        times = page.evaluate("() => times")
        whole, server = (
            times["shown"] - times["pressed"],
            times["token"] - times["asked"],
        )
        for name, value in (
            ("all", whole),
            ("server", server),
            ("page", whole - server),
        ):
            found[name].append(value)
    return {
        name: statistics.median(values[1:]) for name, values in found.items()
    }  # the first loads what others have


def long_conversation(
    page: Page, address: str, data: Path, turns: int
) -> dict[str, float]:
    """Milliseconds to the last of so many answers, the turns in the page, and stops of
    the Tab key.
    """
    page.goto(address)
    page.locator("#question").fill("What is the population of Kenya?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/*")
    page.locator(".answer-footer").last.wait_for()
    conversation_id = urlsplit(page.url).path.rpartition("/")[2]
    with Services(Settings(data_dir=data)) as services:
        repeat(services, conversation_id, turns - 1)
    opened = []
    for _ in range(5):
        page.goto("about:blank")
        page.goto(f"{address}/c/{conversation_id}")
        page.wait_for_function("() => times.opened")
        opened.append(page.evaluate("() => times.opened"))
    return {
        "opened": statistics.median(opened),
        "shown": page.locator(".turn").count(),
        "stops": page.evaluate(STOPS),
    }


def repeat(services: Services, conversation_id: str, times: int) -> None:
    """The last question and its answer once more, so often."""
    rows, _ = services.storage.conversations.rows(conversation_id)
    said = [
        {name: value for name, value in row.items() if name not in LEFT_OUT}
        for row in rows[-2:]
    ]
    for _ in range(times):
        services.storage.conversations.add(
            conversation_id, said, owner=rows[-1]["owner"]
        )


LEFT_OUT = (
    "_id",
    "ordinal",
    "conversation_id",
    "owner",
    "created_at",
    "conversation_usage",
)


def scripts(page: Page, address: str) -> int:
    """Bytes of the page's own."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    names = [
        url.partition("/static/v/")[2].partition("/")[2]
        for url in asked
        if url.endswith(".js")
    ]
    return sum(
        len(asset_bytes(name)) for name in names if not name.startswith("vendor/")
    )


def far_away(browser: Browser, address: str) -> float:
    """Milliseconds, the median of five visits with an empty cache."""
    seen = []
    for _ in range(5):
        with browser.new_context() as context:
            page = context.new_page()
            network = {
                "offline": False,
                "latency": LATENCY,
                "downloadThroughput": -1,
                "uploadThroughput": -1,
            }
            context.new_cdp_session(page).send(
                "Network.emulateNetworkConditions", network
            )
            page.goto(address, wait_until="networkidle")
            seen.append(page.evaluate(LAST_MODULE))
    return statistics.median(seen)


def measure(browser: Browser, data: Path, questions: int, turns: int) -> dict[str, Any]:
    """All of it, on one server."""
    loads = [os.getloadavg()[0]]
    with serving(data, SAMPLE_REPORTS, CHAT_MODEL="echo") as address:
        context = browser.new_context()
        context.add_init_script(f"({WATCH})()")
        found: dict[str, Any] = {
            "first word": first_words(context.new_page(), address, questions)
        }
        found["conversation"] = {
            "turns": turns,
            **long_conversation(context.new_page(), address, data, turns),
        }
        found["far away"] = far_away(browser, address)
        found["scripts"] = scripts(context.new_page(), address)
    return {**found, "load": [*loads, os.getloadavg()[0]]}


def main() -> None:
    """Parse and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="report-chat-page-") as folder,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        found = measure(browser, Path(folder), options.questions, options.turns)
        browser.close()
    if options.json:
        print(json.dumps(found, indent=1))
        return
    word, opened = found["first word"], found["conversation"]
    print(
        f"first word     {word['all']:7.1f} ms, of the server "
        f"{word['server']:.1f}, of the page {word['page']:.1f}"
    )
    about = (
        f"{opened['turns']} answers, {opened['shown']} turns in the page, "
        f"{opened['stops']} stops of the Tab key"
    )
    print(f"conversation   {opened['opened']:7.1f} ms to the last of {about}")
    print(
        f"far away       {found['far away']:7.1f} ms until all modules are there, "
        f"{LATENCY} ms for each request"
    )
    print(f"scripts        {found['scripts']:7,} bytes")
    print(f"load           {found['load'][0]:.1f} before, {found['load'][1]:.1f} after")


if __name__ == "__main__":
    main()
