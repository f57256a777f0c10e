"""While an answer is written: what was found, what a number stands for, what is
selected and said, what comes next.
"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_steps import ask, finished
from tests.fakes.scripted_chat import Json, ScriptedChat, done, hit, source, token


def sources(*numbers: int) -> tuple[str, Json]:
    return "sources", {"hits": [{**hit(number), "rank": number} for number in numbers]}


def test_what_was_found_can_be_opened_before_the_first_word(
    browser: Page, chat: ScriptedChat
) -> None:
    turn = ask(browser, mode="direct")
    chat.say(sources(1, 2))
    expect(turn.locator(".found-count")).to_have_text("2 passages")
    turn.locator(".found-list button").nth(1).click()
    expect(browser.locator("#evidence-passage mark")).to_contain_text("passage 2")
    chat.say(token("Many people"))
    expect(turn.locator(".found-list")).to_be_hidden()
    chat.say(done("Many people [1].", source(2), mode="direct"))
    finished(browser, turn)
    expect(turn.locator(".found")).to_be_hidden()


def test_what_was_found_stays_when_the_model_fails(
    browser: Page, chat: ScriptedChat
) -> None:
    turn = ask(browser, mode="direct")
    chat.say(
        sources(1, 2),
        ("error", {"error": {"code": "model_failed", "message": "The model broke."}}),
    )
    chat.hang_up()
    expect(turn.locator(".notice")).to_contain_text("The model broke.")
    expect(turn.locator(".found-list button")).to_have_count(2)
    expect(turn.get_by_role("button", name="Ask again")).to_be_visible()


def test_a_number_shows_its_passage_to_pointer_and_keyboard(
    browser: Page, chat: ScriptedChat
) -> None:
    turn = ask(browser, mode="direct")
    chat.say(done("Many people [1].", source(2), mode="direct"))
    finished(browser, turn)
    number, peek = turn.locator("button.citation"), browser.locator("#peek")
    number.hover()
    expect(peek).to_contain_text("Text of passage 1.")
    expect(number).to_have_attribute("aria-describedby", "peek")
    browser.mouse.move(0, 0)
    expect(peek).to_be_hidden()
    browser.keyboard.press("Tab")
    number.focus()
    expect(peek).to_be_visible()
    browser.keyboard.press("Escape")
    expect(peek).to_be_hidden()


@pytest.mark.nightly
def test_numbers_stay_when_the_answer_ends(browser: Page, chat: ScriptedChat) -> None:
    """They are in order of first appearance from the first word on."""
    turn = ask(browser, mode="direct")
    chat.say(sources(1, 2, 3), token("Many [3] people [1, 3] live there"))
    numbers = turn.locator("button.citation")
    expect(numbers).to_have_text(["1", "2", "1"])
    numbers.first.click()
    expect(browser.locator("#evidence-passage mark")).to_contain_text("passage 3")
    chat.say(done("Many [1] people [2, 1] live there.", source(2), mode="direct"))
    finished(browser, turn)


@pytest.mark.nightly
def test_selected_text_survives_the_next_words(
    browser: Page, chat: ScriptedChat
) -> None:
    turn = ask(browser, mode="direct")
    chat.say(sources(1), token("Many **people** live in Kenya [1] and"))
    expect(turn.locator("button.citation")).to_have_count(1)
    turn.locator(".answer-body strong").select_text()
    chat.say(token(" more in **Somalia**, which is"))
    expect(turn.locator(".answer-body strong")).to_have_count(2)
    assert browser.evaluate("getSelection().toString()") == "people"


@pytest.mark.nightly
def test_sentences_are_said_as_they_come_and_once(
    browser: Page, chat: ScriptedChat
) -> None:
    turn, announcer = ask(browser, mode="direct"), browser.locator("#announcer")
    chat.say(sources(1), token("Many people live there [1]. They are"))
    expect(announcer).to_have_text("Many people live there 1.")
    chat.say(
        token(" young"),
        done(
            "Many people live there [1]. They are young [1].", source(1), mode="direct"
        ),
    )
    finished(browser, turn)
    expect(announcer).to_have_text("They are young 1. Answer with 1 source.")


@pytest.mark.nightly
def test_how_it_came_about_is_a_picture(browser: Page, chat: ScriptedChat) -> None:
    hits = [
        {**hit(1), "score": 0.82},
        {**hit(2), "score": 0.61, "found_by": ["vector", "keyword"]},
    ]
    row = {
        "stage": "generate",
        "runs": 1,
        "ms": 900.0,
        "cost": None,
        "prompt_tokens": 80,
        "completion_tokens": 20,
    }
    counts = {"calls": 1, "cached_calls": 0, "failed_calls": 0, "embedding_tokens": 0}
    pipeline = [
        {"collection": "reports", "pipeline": [{"$vectorSearch": {"limit": 5}}]}
    ]
    threshold = {"start": 0.7, "used": 0.6, "relaxed": True}
    trace = {
        "hits": hits,
        "threshold": threshold,
        "ledger": [{**row, **counts}],
        "pipeline": pipeline,
    }
    turn = ask(browser, mode="direct")
    chat.say(done("Many people [1].", source(1), **trace))
    finished(browser, turn)
    turn.locator(".ledger summary").first.click()
    shown = turn.locator(".trace")
    expect(shown.locator(".trace-note")).to_have_text(
        "The threshold is 0.7 and was lowered to 0.6."
    )
    expect(shown.locator(".trace-list").first.locator(".trace-facts")).to_have_text(
        [
            "similarity 0.82, found by meaning, cited as 1",
            (
                "similarity 0.61, below the threshold, found by meaning and keywords, "
                "not cited"
            ),
        ]
    )
    expect(shown.locator(".bar-filled.relaxed")).to_have_count(1)
    expect(shown.locator(".stages .trace-facts")).to_have_text("900 ms, 100 tokens")
    shown.locator(".trace-pipeline summary").click()
    expect(shown.locator("pre")).to_contain_text("$vectorSearch")


def test_a_quotation_is_cited_with_its_words(browser: Page, chat: ScriptedChat) -> None:
    turn = ask(browser, mode="direct")
    said = (
        "- **Trust, page 1:** “It **repaired** 5\\* wells.” [1]\n\nMany dug wells [2]."
    )
    trust = {"title": "Trust: Report 2024", "publisher": "Trust"}
    passage = {"snippet": "Rain fell. They dug many wells in May. It was dry."}
    event, answer = done(said, {**source(1), **trust}, {**source(2), **trust})
    answer["citations"][1] |= passage
    chat.say((event, answer))
    finished(browser, turn)
    turn.locator(".cite").click()
    sentence = browser.locator(".cite-text").first
    expect(sentence).to_contain_text("“It repaired 5* wells.” Trust: Report 2024, page")
    browser.locator("dialog.cite select").select_option("1")
    expect(sentence).to_contain_text("“They dug many wells in May.” Trust: Report")


def test_how_an_answer_of_figures_came_about_is_shown_without_a_threshold(
    browser: Page, chat: ScriptedChat
) -> None:
    trace = {"hits": [{**hit(1), "score": None}], "threshold": None, "ledger": []}
    turn = ask(browser, mode="direct")
    chat.say(done("Kenya: 38.5% [1].", source(1), **trace))
    finished(browser, turn)
    turn.locator(".ledger summary").first.click()
    facts = turn.locator(".trace .trace-list .trace-facts")
    expect(facts).to_have_text("no similarity, found by meaning, cited as 1")
    expect(turn.locator(".trace .trace-note")).to_be_empty()


@pytest.mark.nightly
def test_questions_to_go_on_with(browser: Page, chat: ScriptedChat) -> None:
    chat.further = [
        "What does the report of 2021 say about growth in Kenya?",
        "Compare Kenya and Mali: growth",
    ]
    turn = ask(browser, mode="direct")
    chat.say(done("Many people [1].", source(2), mode="direct"))
    finished(browser, turn)
    offered = turn.locator(".further-question")
    expect(offered).to_have_text(chat.further)
    offered.first.click()
    expect(browser.locator(".turn").last.locator(".question")).to_have_text(
        re.compile("report of 2021")
    )
    chat.say(done("More [1].", source(2), mode="direct"))
    finished(browser, browser.locator(".turn").last)
    assert chat.asked[-1]["query"] == chat.further[0]


def test_what_is_missing_can_be_searched_for(browser: Page, chat: ScriptedChat) -> None:
    missing = ["What is the capital of Kenya?"]
    turn = ask(browser, mode="direct")
    name, answer = done("Nobody says [1].", source(1), mode="direct")
    chat.say((name, {**answer, "answered": False, "missing": missing}))
    finished(browser, turn)
    missed = turn.locator(".further").last
    expect(missed.locator("h3")).to_have_text("Search again for")
    offered = missed.locator(".further-question")
    expect(offered).to_have_text(missing)
    offered.click()
    chat.say(done("Nairobi [1].", source(2), mode="direct"))
    finished(browser, browser.locator(".turn").last)
    assert chat.asked[-1]["query"] == missing[0]


MARKDOWN = Path(__file__).parents[1] / "app/web/data/markdown.md"


def test_markdown_as_models_write_it(browser: Page, chat: ScriptedChat) -> None:
    turn = ask(browser)
    chat.say(done(MARKDOWN.read_text("utf-8"), source(1)))
    finished(browser, turn)
    body = turn.locator(".answer-body")
    expect(body.locator("del")).to_have_text(["withdrawn"])
    expect(body).to_contain_text(
        "Between ~$120B and ~$130B; 23~30 °C in May, 22~31 in June"
    )
    expect(body.locator("sub, sup")).to_have_text(["2", "7"])
    expect(body.locator("h3, h4")).to_have_text(["Summary", "Details"])
    expect(body.locator("li")).to_have_text(["☑ read", "☐ open"])
    expect(
        body.locator("td br").or_(body.get_by_role("button", name="Copy"))
    ).to_have_count(2)
    expect(body.locator("p code")).to_have_text(
        [r"$r = \frac{\Delta n}{n}$", r"\(x_1\)", r"\[ n_t = n_0 e^{rt} \]"]
    )
    expect(body).to_contain_text("It costs $5 to $10")
    expect(body.locator("strong")).to_have_text(["「重要」"])
    browser.set_viewport_size({"width": 390, "height": 800})
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    code = body.get_by_role("group", name="Code")
    assert code.evaluate(
        "(one) => one.scrollWidth > one.clientWidth && one.tabIndex === 0"
    )
