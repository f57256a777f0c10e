"""Pages of the browser (`launched`), and servers for them."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import (
    Browser,
    Page,
    Request,
    ViewportSize,
    expect,
)

from tests.app.cli import processes
from tests.app.web.live import address
from tests.fakes.scripted_chat import ScriptedChat, scripted_chat

__all__ = ["address"]
ROOT = Path(__file__).parents[2]
SAMPLE_REPORTS = len(
    json.loads((ROOT / "sample_data/manifest.json").read_text(encoding="utf-8"))
)
PATIENCE = 120.0
VIEWPORT: ViewportSize = {"width": 1360, "height": 860}
Watched = tuple[Page, list[str]]
expect.set_options(timeout=20_000)  # a busy machine is no fault of the page


@contextmanager
def serving(data: Path, samples: int, **settings: str) -> Iterator[str]:
    """The address of a server over this folder, once so many sample reports are
    searchable.
    """
    environment = {**os.environ, **settings, "DATA_DIR": str(data), "PORT": "0"}
    log = data / "server.log"
    with (
        log.open("w", encoding="utf-8") as errors,
        processes.started(environment, "app.py", stderr=errors) as server,
    ):
        url = processes.address(server.stdout)
        wait_for_samples(url, samples, log, server)
        yield url
        server.terminate()
        server.wait(30)


def wait_for_samples(
    url: str, samples: int, log: Path, server: subprocess.Popen[str]
) -> None:
    deadline = time.monotonic() + PATIENCE
    state: Any = None
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urlopen(f"{url}/ready", timeout=10) as response:
                state = json.load(response)
        except HTTPError as error:
            error.close()
        except (URLError, ConnectionError):
            pass
        if state and state["sample_data"] == {"ready": samples, "total": samples}:
            return
        time.sleep(0.2)
    pytest.fail(
        f"the sample reports are not searchable: {state}\n"
        f"{log.read_text(encoding='utf-8')}"
    )


@pytest.fixture
def page(launched: Browser) -> Iterator[Watched]:
    """A page of a fresh profile."""
    with watched(launched) as found:
        yield found


@contextmanager
def watched(launched: Browser) -> Iterator[Watched]:
    """A page, and what went wrong in it: scripts, console, content security policy,
    requests.
    """
    problems: list[str] = []
    with launched.new_context(viewport=VIEWPORT) as context:
        opened = context.new_page()
        opened.on(
            "console",
            lambda m: (
                problems.append(m.text) if m.type in {"error", "warning"} else None
            ),
        )
        opened.on("pageerror", lambda error: problems.append(f"page error: {error}"))
        opened.on(
            "requestfailed",
            lambda r: (
                None if left_on_purpose(r) else problems.append(f"{r.url}: {r.failure}")
            ),
        )
        opened.on(
            "response",
            lambda r: (
                problems.append(f"{r.status} {r.url}") if r.status >= 400 else None
            ),
        )
        opened.on(
            "request",
            lambda r: (
                problems.append(f"foreign: {r.url}")
                if "//127.0.0.1:" not in r.url
                else None
            ),
        )
        yield opened, problems


def left_on_purpose(request: Request) -> bool:
    """The page gives up counts that a further click outdates, and a stream after its
    `done` event. What a server does wrong has other names (ERR_CONNECTION_RESET,
    ERR_INCOMPLETE_CHUNKED_ENCODING, ...).
    """
    return request.failure == "net::ERR_ABORTED"


@pytest.fixture
def chat() -> Iterator[ScriptedChat]:
    with scripted_chat() as scripted:
        yield scripted
        scripted.hang_up()


@pytest.fixture(scope="module")
def reused(launched: Browser) -> Iterator[Watched]:
    """One page for all tests of a file: a new one costs more than most of them. Each
    server is an origin of its own, so nothing is kept from one test to the next.
    """
    with watched(launched) as found:
        yield found


@pytest.fixture
def browser(reused: Watched, chat: ScriptedChat) -> Iterator[Page]:
    """The chat page; what went wrong in it fails the test."""
    opened, problems = reused
    problems.clear()
    opened.set_viewport_size(VIEWPORT)
    opened.emulate_media(reduced_motion="null")
    opened.goto(chat.address)
    yield opened
    opened.goto("about:blank")
    assert problems == []
