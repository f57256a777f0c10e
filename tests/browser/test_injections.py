"""What a model writes has no power but text: the answers of the corpus, as the page
shows them.
"""

import re

from playwright.sync_api import Page, expect

from chatbot.extras.evaluation.runner import injection_cases
from tests.browser.test_steps import ask, finished
from tests.fakes.scripted_chat import ScriptedChat, done, source


def test_links_show_their_host_and_no_number_is_one(
    browser: Page, chat: ScriptedChat
) -> None:
    """All in one answer each, over one page: 20 pages would take as long as the rest of
    the file's tests.
    """
    asked: list[str] = []
    browser.on("request", lambda request: asked.append(request.url))
    for case in injection_cases("answer"):
        turn = ask(browser, case["name"])
        chat.say(done(f"{case['answer']}\n\nAnd [1].", source(1), source(2)))
        finished(browser, turn)
        body = turn.locator(".answer-body")
        expect(body.locator("img, script, iframe, [onerror]")).to_have_count(0)
        assert _problems(body.evaluate(LINKS)) == [], case["name"]
    assert not [url for url in asked if "evil" in url]


LINKS = """(body) => ({
  links: [...body.querySelectorAll("a")].map((link) => [link.href, link.textContent]),
  buttons: [...body.querySelectorAll("button")].map((button) => [button.className, button.textContent]),
})"""  # noqa: E501


def _problems(shown: dict[str, list[list[str]]]) -> list[str]:
    found = [
        f"{kind} {text}"
        for kind, text in shown["buttons"]
        if "citation" not in kind or text not in {"1", "2"}
    ]
    for address, text in shown["links"]:
        host = re.match(r"https?://(?:[^/@]*@)?([^/]+)", address)
        if (
            not host
            or host[1] not in text
            or not re.search(r"[^\W\d_]{3}", text.replace(f"({host[1]})", ""))
        ):
            found.append(f"{address}: {text}")
    return found
