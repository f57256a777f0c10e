"""A sentence that its sources do not bear is marked in the API and on the page (beyond
the seeds, 3).
"""

from collections.abc import Iterator

import pytest
from flask import Flask
from playwright.sync_api import Locator, Page, expect

from chatbot.config.settings import Settings
from chatbot.library.pipeline import Ingested
from tests.app.web.conftest import QUESTION, Post
from tests.app.web.live import served
from tests.browser.conftest import page
from tests.fakes.openai_server import FakeOpenAI, Reply

__all__ = ["page"]

RIGHT = "The growth rate is **2.09%** (2023 est.) [1]."
WRONG = "In `2031` it was *9.9 %* \u2013 \u201cnever said\u201d [1] [2]."
HOSTILE = (
    'Then <img src=x onerror="alert(1)"> 77 & [a link](http://x.example/8) came [1].'
)
UNKNOWN = "- A list: 2.09% [9]"
SMALL = "2.09 [1]"


@pytest.fixture
def settings(settings: Settings, server: FakeOpenAI) -> Settings:
    return settings.override(**server.as_settings)


@pytest.fixture
def port(app: Flask, kenya: Ingested) -> Iterator[int]:
    with served(app) as port:
        yield port


NOTHING_ELSE = {"names": [], "contradicted": [], "no_source": False}


@pytest.mark.usefixtures("kenya")
def test_the_answer_lists_what_its_sources_do_not_bear(
    query: Post, server: FakeOpenAI
) -> None:
    server.chat(Reply([RIGHT, " ", WRONG, "\n\n", UNKNOWN]))
    body = query(filters={"country_name": "Kenya"}).get_json()
    assert body["unsupported"] == [
        {
            "sentence": "In 2031 it was 9.9 % \u2013 \u201cnever said\u201d [1] [2].",
            "numbers": [1, 2],
            "figures": ["2031", "9.9 %"],
            "quotations": ["never said"],
            "unknown": [],
            **NOTHING_ELSE,
        },
        {
            "sentence": "A list: 2.09% [9]",
            "numbers": [],
            "figures": [],
            "quotations": [],
            "unknown": [9],
            **NOTHING_ELSE,
        },
    ]
    assert {
        citation["number"]: citation["supported"] for citation in body["citations"]
    } == {1: True, 2: False}  # a right sentence cites the first
    assert [
        (mark["kind"], body["response"][mark["start"] : mark["end"]])
        for mark in body["marks"]
    ] == [
        ("year", "2031"),
        ("figure", "9.9 %"),
        ("quotation", "never said"),
        ("unknown_citation", "[9]"),
    ]


def asked(browser: Page, port: int) -> Locator:
    browser.goto(f"http://127.0.0.1:{port}")
    browser.get_by_label("Question", exact=True).fill(QUESTION)
    browser.locator("#send").click()
    answer = browser.locator("article.answer").last
    expect(answer).not_to_have_attribute("aria-busy", "true", timeout=30_000)
    browser.wait_for_load_state(
        "networkidle"
    )  # marks are drawn by a script that is loaded with the first of them
    return answer


def test_the_page_marks_these_sentences_and_no_other(
    page: tuple[Page, list[str]], server: FakeOpenAI, port: int
) -> None:
    browser, problems = page
    text = "\n\n".join([f"{RIGHT} {WRONG}", HOSTILE, UNKNOWN])
    server.chat(Reply([text[n : n + 7] for n in range(0, len(text), 7)]))
    answer = asked(browser, port)
    marked = " ".join(
        "".join(answer.locator(".unsupported-text").all_text_contents()).split()
    )
    assert marked == (
        "In 2031 it was 9.9 % \u2013 \u201cnever said\u201d Then <img src=x "
        'onerror="alert(1)"> 77 & a link came '
        "A list: 2.09% [9]"
    )
    marks = answer.locator(".answer-body .unsupported-mark")
    explanations = [
        "Not found in sources 1 and 2: 2031, 9.9 %, \u201cnever said\u201d.",
        "Not found in source 1: 1, 77, \u201calert(1)\u201d.",
        "There is no source 9.",
    ]
    assert [mark.get_attribute("title") for mark in marks.all()] == explanations
    assert [
        mark.inner_text().strip() for mark in marks.locator(".visually-hidden").all()
    ] == [f"({explanation})" for explanation in explanations]
    lines = answer.locator(".unsupported-lines li").all_text_contents()
    assert [
        line[-len(text) :] for line, text in zip(lines, explanations, strict=True)
    ] == explanations
    # The citation of the right sentence is not coloured, those of the wrong ones are.
    colours = [
        (button.inner_text(), "unsupported" in (button.get_attribute("class") or ""))
        for button in answer.locator(".answer-body .citation").all()
    ]
    assert colours == [("1", False), ("1", True), ("2", True), ("1", True)]
    assert answer.locator("img").count() == 0
    assert answer.locator(".sources .source-number").all_inner_texts() == ["1", "2"]

    answer.locator(".answer-body .citation.unsupported").first.click()
    expect(browser.locator("#evidence-unsupported")).to_have_text(
        "Not found in the passage: 2031, 9.9 %, \u201cnever said\u201d, 1, 77, "
        "\u201calert(1)\u201d"
    )
    assert problems == []


@pytest.mark.nightly
def test_a_supported_answer_has_no_mark_and_one_cut_short_says_so(
    page: tuple[Page, list[str]], server: FakeOpenAI, port: int
) -> None:
    browser, problems = page
    server.chat(Reply(["First [2]. ", RIGHT, " And"], finish_reason="length"))
    answer = asked(browser, port)
    expect(answer.locator(".truncated-line")).to_be_visible()
    assert (
        answer.locator(
            ".unsupported-mark, .unsupported-text, .citation.unsupported"
        ).count()
        == 0
    )
    assert answer.locator(".unsupported-lines li").count() == 0
    # The text cites 2 first; the list is in the order of the numbers.
    assert answer.locator(".sources .source-number").all_inner_texts() == ["1", "2"]
    assert problems == []


@pytest.mark.nightly
def test_the_second_of_two_like_sentences_is_found(
    page: tuple[Page, list[str]], server: FakeOpenAI, port: int
) -> None:
    browser, _ = page
    table = "| a | b |\n|---|---|\n| x | 3.33 [1] |\n| x | 4.44 [1] |\n\n"
    server.chat(Reply(["Not 52.09 [1] at all.\n\n", table, SMALL]))
    answer = asked(browser, port)
    assert answer.locator(".unsupported-text").all_text_contents() == [
        "Not 52.09 ",
        " at all",
        "3.33 ",
        "4.44 ",
    ]
