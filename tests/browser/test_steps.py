"""The way of answering, the steps of an answer as they arrive, and what they took: the
page over a scripted server.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.fakes.scripted_chat import (
    ROW,
    SCOPE,
    Json,
    ScriptedChat,
    done,
    hit,
    source,
    step,
    token,
)

KENYA, SOMALIA, PRICES = (
    "How many people in Kenya?",
    "How many people in Somalia?",
    "How did prices develop?",
)
QUESTION = "Compare food insecurity in Kenya and Somalia"
COMPARED = """Somalia was hit harder [1].

| | Kenya | Somalia | Difference |
|---|---:|---:|---|
| People | 4.4 million [2] | 6.7 million [1] | 2.3 million more in Somalia, which has a third of the people |
| Share of the population | 8 % [2] | 41 % [1] | five times as high |
"""  # noqa: E501
REPORT = """# Hunger\\_now: Kenya/Somalia

## People

Many were hungry [1].

## Sources

[1] Kenya: Country Report 2023
"""
LEDGER = [
    {
        **ROW,
        "stage": "plan",
        "calls": 2,
        "failed_calls": 1,
        "prompt_tokens": 1200,
        "completion_tokens": 80,
        "ms": 1500,
    },
    {**ROW, "stage": "hybrid_search", "runs": 5, "ms": 42.4, "cost": 0},
    {
        **ROW,
        "stage": "relevance",
        "calls": 1,
        "cached_calls": 2,
        "prompt_tokens": 300,
        "ms": 700,
        "cost": 0.0012,
    },
]
CONVERSATION = {
    "questions": 3,
    "calls": 14,
    "prompt_tokens": 31044,
    "completion_tokens": 1204,
    "embedding_tokens": 0,
    "cost": None,
}


def ask(browser: Page, question: str = QUESTION, mode: str = "deep") -> Locator:
    """Returns the turn."""
    browser.get_by_label("Answer mode").select_option(mode)
    browser.get_by_label("Question", exact=True).fill(question)
    browser.locator("#send").click()
    turn = browser.locator(".turn").last
    expect(turn.locator(".question")).to_have_text(question)
    return turn


def finished(browser: Page, turn: Locator) -> None:
    expect(browser.locator("#send")).to_be_visible()
    expect(turn.locator("article.answer")).not_to_have_attribute("aria-busy", "true")


def plan() -> tuple[str, Json]:
    return step("plan", detail="3 sub-questions", items=[KENYA, SOMALIA, PRICES])


class TestMode:
    def test_the_mode_is_sent_and_kept_in_the_address(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        select = browser.get_by_label("Answer mode")
        expect(select).to_have_value("direct")
        turn = ask(browser, mode="direct")
        chat.say(done("First.", mode="direct"))
        finished(browser, turn)
        assert "mode=" not in browser.url

        select.focus()
        browser.keyboard.press("ArrowDown")
        expect(select).to_have_value("deep")
        expect(select).to_have_accessible_description(
            re.compile("parts of the question")
        )
        assert browser.url.endswith("?mode=deep")
        browser.get_by_label("Question", exact=True).fill("And then?")
        browser.keyboard.press("Enter")
        chat.say(done("Second."))
        finished(browser, browser.locator(".turn").last)
        assert [asked["mode"] for asked in chat.asked] == ["direct", "deep"]
        browser.reload()
        expect(browser.get_by_label("Answer mode")).to_have_value("deep")

    @pytest.mark.nightly
    def test_one_that_needs_a_model_is_shown_with_the_reason(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        chat.modes = {"direct": True, "auto": True, "report": False, "own_way": True}
        chat.mode = "auto"
        browser.goto(f"{chat.address}/?mode=report")
        select = browser.get_by_label("Answer mode")
        expect(select).to_have_value("auto")
        offered = select.locator("option")
        expect(offered).to_have_text(
            ["Automatic", "Write a report (needs a language model)", "Quick", "Own way"]
        )
        assert [offered.nth(place).is_disabled() for place in range(4)] == [
            False,
            True,
            False,
            False,
        ]

    @pytest.mark.nightly
    def test_a_retry_answers_in_the_mode_it_was_asked_in(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser, mode="chain")
        chat.say(
            step("follow_up", detail=KENYA),
            ("error", {"error": {"code": "x", "message": "It broke."}}),
        )
        chat.hang_up()
        expect(turn.locator(".notice")).to_contain_text("It broke.")
        expect(turn.locator(".steps")).to_have_attribute("open", "")
        browser.get_by_label("Answer mode").select_option("direct")
        turn.get_by_role("button", name="Ask again").click()
        expect(turn.locator(".steps")).to_be_hidden()
        chat.say(done("Now.", mode="chain"))
        finished(browser, turn)
        assert [asked["mode"] for asked in chat.asked] == ["chain", "chain"]


class TestSteps:
    def test_steps_arrive_one_by_one(self, browser: Page, chat: ScriptedChat) -> None:
        turn = ask(browser)
        steps, summary = turn.locator(".steps"), turn.locator(".steps-summary")
        chat.say(
            step("condense", detail="Reading the conversation"),
            step("search", detail="Searching 9 passages"),
        )
        expect(turn.locator(".progress-line")).to_have_text("Searching 9 passages")
        expect(steps).to_be_hidden()

        chat.say(plan(), step("search", detail="Round 1: 4 searches at once"))
        expect(steps).to_have_attribute("open", "")
        expect(turn.locator(".progress-line")).to_be_hidden()
        expect(summary).to_have_text("Round 1: 4 searches at once")
        parts = steps.locator('[data-step="plan"] .sub-question')
        expect(parts.get_by_role("heading", level=5)).to_have_text(
            [KENYA, SOMALIA, PRICES]
        )

        chat.say(
            step(
                "found",
                detail=f"{SOMALIA} (Somalia)",
                sources=[source(1, "Somalia"), source(3, "Somalia")],
            )
        )
        expect(summary).to_have_text("1 of 3 sub-questions searched")
        expect(parts.nth(1).locator(".question-status")).to_have_text(
            "– 2 sources (Somalia)"
        )
        expect(parts.nth(0).locator(".question-status")).to_have_text("– searching …")
        found = parts.nth(1).get_by_role("list", name=SOMALIA)
        expect(found.get_by_role("button")).to_have_text(
            [re.compile("Somalia.*page 1"), re.compile("Somalia.*page 3")]
        )

        chat.say(step("found", detail=f"{PRICES}: No answer within 20 s.", failed=True))
        expect(parts.nth(2)).to_contain_text("failed: No answer within 20 s.")
        chat.say(
            step("found", detail=QUESTION, sources=[source(1, "Somalia"), source(2)])
        )
        beside = steps.locator('[data-step="search"]').last.locator(".sub-question")
        expect(beside).to_contain_text(f"{QUESTION} – 2 sources")
        expect(summary).to_have_text("2 of 3 sub-questions searched")

    @pytest.mark.nightly
    def test_a_search_belongs_to_its_own_question(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        """One may begin with another, and the whole question with one of its parts."""
        whole, kenya, mali = (
            "inflation in Kenya and jobs in Mali",
            "inflation in Kenya",
            "inflation in Kenya since 2020",
        )
        turn = ask(browser, whole)
        chat.say(
            step("plan", items=[kenya, mali]),
            step("search", detail="Round 1: 3 searches at once"),
        )
        chat.say(step("found", detail=whole, sources=[source(1)]))
        chat.say(step("found", detail=f"{mali} (Kenya)", sources=[source(3)]))
        chat.say(
            step(
                "found", detail=f"{kenya} (Kenya): No answer within 20 s.", failed=True
            )
        )
        chat.say(done("So [1].", source(1)))
        finished(browser, turn)
        turn.locator(".steps summary").click()
        planned = turn.locator('[data-step="plan"] .sub-question')
        expect(planned.nth(0)).to_have_text(
            f"{kenya} – failed (Kenya): No answer within 20 s."
        )
        expect(planned.nth(1)).to_contain_text(f"{mali} – 1 source (Kenya)")
        expect(planned.nth(1).locator(".step-source")).to_contain_text("page 3")
        expect(turn.locator('[data-step="search"] .sub-question')).to_contain_text(
            f"{whole} – 1 source"
        )

    def test_steps_fold_when_the_answer_is_there(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser)
        steps = turn.locator(".steps")
        chat.say(
            plan(),
            step("found", detail=KENYA, sources=[source(2)]),
            step("reflect", items=["And in 2022?"]),
        )
        chat.say(
            step("found", detail="And in 2022?", sources=[source(2), source(5)]),
            step("reflect", detail="The passages are enough"),
        )
        chat.say(
            step("found", detail=SOMALIA, failed=True),
            step("generate", detail="Writing the answer"),
        )
        expect(turn.locator(".steps-summary")).to_have_text("Writing the answer")
        chat.say(("sources", {"hits": [hit(2)], "scope": SCOPE}), token("Many "))
        expect(steps).not_to_have_attribute("open", "")
        chat.say(done("Many people [1].", source(2)))
        finished(browser, turn)
        expect(turn.locator(".steps-summary")).to_have_text(
            "4 steps, 3 sub-questions (1 failed), 2 sources"
        )
        steps.locator("summary").click()
        expect(steps.locator(".sub-question").nth(2)).to_contain_text("not searched")
        expect(steps.locator('[data-step="reflect"]').last).to_contain_text(
            "The passages are enough"
        )
        expect(steps.locator(".step-source").first).to_have_accessible_name(
            re.compile("Source 1 Kenya")
        )

    @pytest.mark.nightly
    def test_the_persons_own_choice_wins(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser)
        summary = turn.locator(".steps summary")
        chat.say(plan())
        summary.click()
        expect(turn.locator(".steps")).not_to_have_attribute("open", "")
        summary.press("Enter")
        chat.say(
            step("found", detail=KENYA, sources=[source(2)]),
            done("Many people [1].", source(2)),
        )
        finished(browser, turn)
        expect(turn.locator(".steps")).to_have_attribute("open", "")

    def test_a_source_opens_its_passage_and_keeps_the_steps_open(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser)
        chat.say(plan(), step("found", detail=KENYA, sources=[source(7)]))
        turn.locator(".step-source").click()
        expect(browser.locator("#evidence-number")).to_have_text(
            "Found while searching"
        )
        expect(browser.locator("#evidence-passage mark")).to_have_text(
            "Text of passage 7."
        )
        browser.locator("#evidence-close").click()
        expect(turn.locator(".step-source")).to_be_focused()
        chat.say(token("Many"), done("Many people."))
        finished(browser, turn)
        expect(turn.locator(".step-source")).to_be_focused()

    @pytest.mark.nightly
    def test_progress_is_said_without_moving_the_focus(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser)
        chat.say(plan(), step("found", detail=KENYA, sources=[source(2)]))
        expect(browser.locator("#announcer")).to_have_text(
            "1 of 3 sub-questions searched"
        )
        expect(browser.get_by_label("Question", exact=True)).to_be_focused()
        assert (
            browser.evaluate(
                "document.querySelector('.steps').closest('[aria-live]').ariaLive"
            )
            == "off"
        )
        expect(turn.locator(".answer[aria-busy=true]")).to_have_count(1)
        expect(turn.locator("[aria-busy=true] .steps")).to_have_count(0)
        expect(
            turn.get_by_role("list", name="Steps to the answer").locator("> li")
        ).to_have_count(1)
        expect(turn.get_by_role("heading", level=4)).to_have_text("Plan")
        chat.say(done("Many people.", stopped_by="seconds"))
        expect(browser.locator("#announcer")).to_have_text(
            re.compile(r"^Answer with 0 sources\. Stopped early.*people")
        )

    @pytest.mark.nightly
    def test_nothing_moves_for_who_wants_that(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        browser.emulate_media(reduced_motion="reduce")
        ask(browser)
        chat.say(plan())
        moving = (
            "getComputedStyle(document.querySelector('.steps-title'), "
            "'::before').animationName"
        )
        browser.wait_for_selector(".steps.running")
        assert browser.evaluate(moving) == "none"
        browser.emulate_media(reduced_motion="no-preference")
        assert browser.evaluate(moving) == "breathe"

    @pytest.mark.nightly
    def test_a_quick_answer_has_none(self, browser: Page, chat: ScriptedChat) -> None:
        turn = ask(browser, mode="direct")
        steps = [
            step("search", detail="Searching 9 passages"),
            step("generate", detail="Writing the answer"),
        ]
        chat.say(
            *steps,
            done(
                "Many [1].", source(2), mode="direct", path=[data for _, data in steps]
            ),
        )
        finished(browser, turn)
        expect(turn.locator(".steps")).to_be_hidden()
        expect(turn.locator(".stopped-line")).to_be_hidden()

    def test_an_answer_from_the_cache_brings_its_path(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser, mode="chain")
        path = [
            step("mode", detail="Chosen by the model: chain"),
            step("follow_up", detail=KENYA),
            step("found", detail=KENYA, sources=[source(2), source(4)]),
            step("intermediate", detail="4.4 million [2].", sources=[source(2)]),
            step(
                "budget", detail="The budget of 40 model calls is used up.", failed=True
            ),
        ]
        chat.say(
            done(
                "4.4 million [1].",
                source(2),
                mode="chain",
                path=[data for _, data in path],
                cached=True,
            )
        )
        finished(browser, turn)
        expect(turn.locator(".steps-summary")).to_have_text(
            "4 steps, 1 sub-question, 2 sources"
        )
        expect(turn.locator(".steps")).not_to_have_attribute("open", "")
        turn.locator(".steps summary").click()
        expect(turn.locator('[data-step="mode"]')).to_have_text(
            "Answer mode Chosen by the model: Step by step"
        )
        expect(turn.locator('[data-step="follow_up"]')).to_contain_text(
            f"Follow-up question {KENYA} – 2 sources"
        )
        expect(turn.locator('[data-step="intermediate"] .step-text')).to_have_text(
            "4.4 million."
        )
        expect(turn.locator('[data-step="budget"]')).to_contain_text(
            "Stopped early The budget of 40 model calls"
        )

    def test_what_a_document_says_stays_text(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser)
        evil = "<img src=x onerror='window.pwned=1'>"
        chat.say(
            step("plan", items=[evil]),
            step("found", detail=evil, sources=[{**source(1), "title": evil}]),
        )
        chat.say(done(evil, ledger=[{**ROW, "stage": evil}]))
        finished(browser, turn)
        expect(turn.locator("img")).to_have_count(0)
        expect(turn.locator(".question-text")).to_have_text(evil)


def test_a_model_that_broke_off_is_noted_once(
    browser: Page, chat: ScriptedChat
) -> None:
    """The text of the answer says it."""
    turn = ask(browser)
    event, answer = done("Many. The language model broke off.", stopped_by="model")
    answer["degraded"] = {"reason": "broken_off", "retry_after": 5}
    chat.say((event, {**answer, "answered": False}))
    finished(browser, turn)
    expect(turn.locator(".stopped-line")).to_be_hidden()
    expect(turn.locator(".truncated-line")).to_be_hidden()
    expect(turn.locator(".not-found-label")).to_have_text("Not answered")


class TestLedger:
    @pytest.mark.nightly
    def test_what_each_stage_took(self, browser: Page, chat: ScriptedChat) -> None:
        turn = ask(browser)
        chat.say(
            done(
                "Many.",
                ledger=LEDGER,
                cost=None,
                conversation_usage=CONVERSATION,
                stopped_by="calls",
            )
        )
        finished(browser, turn)
        stopped = (
            "Stopped early: the limit of model calls per question was reached. This is "
            "the best answer so far."
        )
        expect(turn.locator(".stopped-line")).to_have_text(stopped)
        turn.get_by_text("How this answer was found").click()
        table = turn.get_by_role("table")
        expect(table.get_by_role("rowheader")).to_have_count(4)
        rows = [
            row.locator("th, td").all_text_contents()
            for row in table.locator("tr").all()
        ]
        assert rows == [
            ["Stage", "Model calls", "Tokens in", "Tokens out", "Working time", "Cost"],
            ["Plan", "2, 1 failed", "1,200", "80", "1.5 s", "unknown"],
            ["Search, 5 times", "0", "0", "0", "42 ms", "0"],
            ["Relevance", "1, 2 more from the cache", "300", "0", "700 ms", "0.0012"],
            [
                "Total",
                "3, 1 failed, 2 more from the cache",
                "1,500",
                "80",
                "2.2 s",
                "unknown",
            ],
        ]
        expect(table.get_by_role("columnheader")).to_have_count(6)
        expect(turn.locator(".conversation-line")).to_have_text(
            "This conversation so far: 3 questions, 14 model calls, 31,044 tokens "
            "in, 1,204 out."
        )

    @pytest.mark.nightly
    def test_without_a_model_there_is_only_time(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser, mode="direct")
        chat.say(done("Many.", mode="direct", ledger=LEDGER[1:2], cost=0, cached=True))
        finished(browser, turn)
        turn.get_by_text("How this answer was found").click()
        expect(turn.get_by_role("columnheader")).to_have_text(["Stage", "Working time"])
        expect(turn.locator(".ledger-note")).to_contain_text("from the cache")


class TestAnswer:
    def test_a_report_is_kept_as_a_file(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser, mode="report")
        written = [
            step("section", detail="People"),
            step("generate", detail="Writing the answer"),
        ]
        chat.say(
            step("plan", detail="Hunger", items=["People"]), token("# Hunger"), *written
        )
        expect(turn.locator(".steps-summary")).to_have_text("Writing: People")
        chat.say(done(REPORT, source(2), mode="report"))
        finished(browser, turn)
        expect(turn.locator(".steps-summary")).to_have_text("2 steps")
        turn.locator(".more-actions > summary").click()
        turn.get_by_role("button", name="Download").click()
        menu = browser.locator("#conversation-menu")
        expect(menu.locator(":is(a, button):visible")).to_have_text(
            ["Export as Markdown"]
        )
        path = re.compile(
            r"^/api/conversations/[\w-]+/export\?format=json&message_id=[\w-]+$"
        )
        expect(menu.locator("[data-export=json]")).to_have_attribute("href", path)
        with browser.expect_download() as download:
            menu.get_by_text("Export as Markdown").click()
        assert download.value.suggested_filename == "Hunger_now Kenya Somalia.md"
        assert download.value.path().read_text(encoding="utf-8") == REPORT
        expect(turn.get_by_role("heading", name="Sources")).to_have_count(1)

    @pytest.mark.nightly
    def test_an_answer_is_copied_as_text_and_with_its_form(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        browser.context.grant_permissions(["clipboard-read", "clipboard-write"])
        turn = ask(browser)
        wrong = {
            "sentence": "It fell",
            "numbers": [1],
            "figures": ["9"],
            "quotations": [],
            "unknown": [],
        }
        event, answer = done(
            "It **grew** [1].\n\nIt fell [1].\n\n| a |\n|---|\n| b |", source(1)
        )
        chat.say((event, {**answer, "unsupported": [wrong]}))
        finished(browser, turn)
        turn.get_by_role("button", name="Copy").click()
        expect(turn.get_by_role("button", name="Copied")).to_be_visible()
        types = (
            "async type => (await (await "
            "navigator.clipboard.read())[0].getType(`text/${type}`)).text()"
        )
        assert browser.evaluate(types, "plain").startswith(
            "It **grew** [1].\n\nIt fell [1]."
        )
        html = browser.evaluate(types, "html")
        for part in (
            "<strong>grew</strong> <sup>[1]</sup>",
            "<mark>It fell",
            '<table border="1">',
            "/passages/",
        ):
            assert part in html
        assert "<button" not in html

    @pytest.mark.nightly
    def test_a_report_is_named_by_its_first_heading(self, browser: Page) -> None:
        names = {
            "Before it.\n\n## *Hunger* in\tKenya ##  \n\nMany.": "Hunger in Kenya.md",
            "# Use of C#\n": "Use of C#.md",
            f"# {QUESTION} [1, 2]\r\n\r\nMany.": f"{QUESTION}.md",
            "#hashtag\n\n#\n\nNo heading.": f"{QUESTION}.md",
            f"# a{' ' * 3000}b": "a b.md",
        }
        name = (
            "async ([a, b]) => (await "
            "import('/static/js/chat/after.js')).markdownFile(a, b).download"
        )
        assert {
            text: browser.evaluate(name, [text, QUESTION]) for text in names
        } == names

    @pytest.mark.nightly
    def test_a_table_scrolls_in_its_box_on_a_phone(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        browser.set_viewport_size({"width": 390, "height": 844})
        turn = ask(browser, mode="compare")
        chat.say(
            done(
                COMPARED, source(1, "Somalia"), source(2), mode="compare", ledger=LEDGER
            )
        )
        finished(browser, turn)
        table = turn.locator(".answer-body").get_by_role("table")
        expect(table.get_by_role("columnheader")).to_have_text(
            ["Kenya", "Somalia", "Difference"]
        )
        expect(table.get_by_role("rowheader")).to_have_text(
            ["People", "Share of the population"]
        )
        box: Any = turn.locator(".answer-body").get_by_role("group", name="Table")
        turn.get_by_text("How this answer was found").click()
        assert box.evaluate("(node) => node.scrollWidth > node.clientWidth")
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
        table.get_by_role("button", name=re.compile("^Source 1")).last.click()
        expect(browser.locator("#evidence-title")).to_have_text(
            "Somalia: Country Report 2023"
        )
