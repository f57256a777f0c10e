"""What the first page costs: bytes, requests, own scripts, first paint, slow 3G, and
the requests until the first answer is drawn.

    python -m benchmarks first_load [--rounds 5] [--address URL]

Keyless, in Chromium without a cache, over the sample reports. Slow 3G: 400 kbit/s and
400 ms a round trip; the page is idle when nothing has come for 1.5 s, and the time is
that of the last byte before. Exits with status 1 where a limit is exceeded.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, expect

from benchmarks.pictures import browsing

QUESTION = "Compare the inflation rate of Kenya and Somalia"
QUIET_SECONDS = 1.5
AHEAD_MS = 6000
"""After it the page has fetched what shows answers."""
SLOW_3G = {
    "offline": False,
    "latency": 400,
    "downloadThroughput": 50_000,
    "uploadThroughput": 50_000,
}
OWN_SCRIPTS = """() => performance.getEntriesByType("resource")
  .filter(({ name }) => name.endsWith(".js") && !name.includes("/vendor/"))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)"""
WATCH = """() => {
  window.asked = performance.now();
  const observer = new MutationObserver(() => {
    if (!document.querySelector(".answer-footer:not([hidden])")) return;
    window.drawn ??= performance.now();
  });
  observer.observe(document, { subtree: true, attributes: true });
}"""
REQUESTS = """() => performance.getEntriesByType("resource")
  .filter(({ startTime }) => asked < startTime && startTime < drawn)
  .map(({ name }) => name)"""
LIMITS = {
    "own scripts at opening, bytes": 46_000,
    "first load, bytes": 125_000,
    "requests to foreign hosts": 0,
    "style sheets before the first paint": 1,
    "requests of a first answer": 3,
    "slow 3G idle, s": 4.0,
}
"""The question itself is the first of the requests of an answer."""


@dataclass
class Load:
    """What Chromium's network domain tells of one page. Times are its own seconds.

    Playwright marks the object whose methods it calls, which slots would forbid.
    """

    begun: float = 0.0
    urls: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    ends: list[float] = field(default_factory=list)

    def request(self, event: dict[str, Any]) -> None:
        if not event["request"]["url"].startswith("http"):
            return
        self.begun = self.begun or event["timestamp"]
        self.urls[event["requestId"]] = event["request"]["url"]

    def finish(self, event: dict[str, Any]) -> None:
        if event["requestId"] in self.urls:
            self.sizes[event["requestId"]] = int(event["encodedDataLength"])
            self.ends.append(event["timestamp"] - self.begun)

    @property
    def idle_seconds(self) -> float:
        """When the last byte came before a pause."""
        last = 0.0
        for end in sorted(self.ends):
            if end > last + QUIET_SECONDS and last:
                break
            last = end
        return last


def opened(browser: Browser, address: str, is_slow: bool, asks: bool) -> dict[str, Any]:
    """Open the first page once, and ask where ``asks``; return what it cost."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    network = context.new_cdp_session(page)
    load = Load()
    network.send("Network.enable")
    if is_slow:
        network.send("Network.emulateNetworkConditions", SLOW_3G)
    network.on("Network.requestWillBeSent", load.request)
    network.on("Network.loadingFinished", load.finish)
    page.goto(address)
    expect(page.locator("#examples .example")).to_have_count(3, timeout=30_000)
    expect(page.locator(".map .point").first).to_be_attached(timeout=30_000)
    page.wait_for_timeout(1000 * QUIET_SECONDS)
    paint = page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    idle = "slow 3G idle, s" if is_slow else "idle, s"
    first = "slow 3G first paint, s" if is_slow else "first paint, s"
    found: dict[str, Any] = {idle: load.idle_seconds, first: paint / 1000}
    if is_slow:
        context.close()
        return found
    found |= {
        "first load, bytes": sum(load.sizes.values()),
        "first load, requests": len(load.urls),
        "requests to foreign hosts": sum(
            not url.startswith(address) for url in load.urls.values()
        ),
        "style sheets before the first paint": sum(
            url.endswith(".css") for url in load.urls.values()
        ),
        "own scripts at opening, bytes": page.evaluate(OWN_SCRIPTS),
    }
    if asks:
        page.wait_for_timeout(AHEAD_MS)
        page.evaluate(WATCH)
        page.locator("#question").fill(QUESTION)
        page.keyboard.press("Enter")
        expect(page.locator(".chart .plot")).to_be_visible(timeout=30_000)
        urls = page.evaluate(REQUESTS)
        found["requests of a first answer"] = len(urls)
        found["they are"] = sorted(url.removeprefix(address) for url in urls)
    context.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks first_load", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--address", help="of a server that runs already")
    options = parser.parse_args()
    with browsing(options.address) as (browser, address):
        rounds = [
            opened(browser, address, is_slow=False, asks=number == 0)
            | opened(browser, address, is_slow=True, asks=False)
            for number in range(options.rounds)
        ]
    exceeded = 0
    for name, value in rounds[0].items():
        if isinstance(value, list):
            print(f"{name}: {', '.join(value)}")
            continue
        median = statistics.median(one[name] for one in rounds if name in one)
        limit = LIMITS.get(name)
        is_exceeded = limit is not None and median > limit
        exceeded += is_exceeded
        wanted = "" if limit is None else f"   at most {limit:,}"
        print(f"{name:<38} {median:>10,.2f}{wanted}{'  EXCEEDED' * is_exceeded}")
    sys.exit(exceeded > 0)


if __name__ == "__main__":
    main()
