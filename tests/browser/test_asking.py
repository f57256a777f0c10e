"""From the composer to the answer: what is sent, what is refused, and what is said
meanwhile and in the end.
"""

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.test_steps import QUESTION, ask, finished
from tests.data import cases
from tests.fakes.scripted_chat import Json, ScriptedChat, done, source, step

CASES = cases(__file__)
TOO_LONG = (
    "A question can have up to 4,000 characters. Shorten it, or attach the text as a "
    "file."
)
PASTED = "Background about the region. " * 160
ASKED = "Which of it is true?"
PHONE, WIDE = (390, 844), (1360, 860)


def composer(browser: Page) -> Locator:
    return browser.get_by_label("Question", exact=True)


class TestTooLong:
    def test_a_question_that_is_too_long_is_neither_cut_nor_sent(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        """R-A7: long input is never cut silently."""
        browser.evaluate(
            """() => {
              const box = document.getElementById("question-error");
              window.told = [];
              new MutationObserver(() => window.told.push(box.textContent)).observe(box, { childList: true });
            }"""  # noqa: E501
        )
        composer(browser).focus()
        browser.keyboard.insert_text(PASTED + ASKED)
        composer(browser).press_sequentially("yz")
        assert browser.evaluate("window.told") == [TOO_LONG]
        composer(browser).press("Enter")
        assert browser.evaluate("window.told") == [TOO_LONG, TOO_LONG]
        composer(browser).fill(PASTED + ASKED)
        expect(browser.get_by_role("alert").filter(visible=True)).to_have_text(TOO_LONG)
        expect(composer(browser)).to_have_value(PASTED + ASKED)
        expect(composer(browser)).to_have_accessible_description(TOO_LONG)
        browser.keyboard.press("Enter")
        browser.locator("#send").click()
        expect(composer(browser)).to_be_focused()
        expect(composer(browser)).to_have_value(PASTED + ASKED)
        expect(browser.locator(".turn")).to_have_count(0)
        assert chat.asked == []

        composer(browser).fill(ASKED)
        expect(browser.locator("#question-error")).to_be_hidden()
        expect(composer(browser)).to_have_attribute("aria-invalid", "false")
        composer(browser).press("Enter")
        chat.say(done("All of it."))
        finished(browser, browser.locator(".turn").last)
        assert [asked["query"] for asked in chat.asked] == [ASKED]

    @pytest.mark.nightly
    def test_characters_are_counted_as_the_server_does(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        question = f"\n{'🌍' * 4000} "
        composer(browser).fill(question)
        expect(browser.locator("#question-error")).to_be_hidden()
        browser.locator("#send").click()
        chat.say(done("Yes."))
        finished(browser, browser.locator(".turn").last)
        assert [asked["query"] for asked in chat.asked] == [question.strip()]


@pytest.mark.nightly
def test_a_term_is_explained_where_an_answer_first_names_it(
    browser: Page, chat: ScriptedChat
) -> None:
    turn = ask(browser, mode="direct")
    chat.say(
        done("In FCS prices rise; `FCS` and FCSX stay, **FCS** too [1].", source(1))
    )
    finished(browser, turn)
    term = turn.locator(".answer-body abbr")
    expect(term).to_have_text(["FCS"])
    expect(term).to_have_attribute("title", "Fragile states.")
    expect(turn.locator(".answer-body")).to_have_text(
        "In FCS prices rise; FCS and FCSX stay, FCS too 1."
    )


class TestLongQuestion:
    @pytest.mark.sampled(3)
    @pytest.mark.parametrize(
        "size", [WIDE, PHONE, (320, 256)], ids=["wide", "phone", "400 %"]
    )
    @pytest.mark.parametrize(
        "question",
        [PASTED[:3900] + ASKED, "A line.\n" * 60 + ASKED],
        ids=["text", "lines"],
    )
    def test_its_answer_is_in_view(
        self, browser: Page, chat: ScriptedChat, question: str, size: tuple[int, int]
    ) -> None:
        browser.emulate_media(reduced_motion="reduce")
        browser.set_viewport_size({"width": size[0], "height": size[1]})
        for number in (1, 2):
            turn = ask(browser, question, mode="direct")
            expect(turn.locator(".progress-line")).to_be_in_viewport(ratio=1)
            composer_covers = (
                "document.getElementById('ask-form').getBoundingClientRect().top"
            )
            line = turn.locator(".progress-line").bounding_box()
            assert line is not None
            assert line["y"] + line["height"] <= browser.evaluate(composer_covers)
            chat.say(done(f"Answer {number}."))
            finished(browser, turn)
            expect(turn.get_by_text(f"Answer {number}.", exact=True)).to_be_in_viewport(
                ratio=1
            )

    def test_a_long_question_is_folded_and_can_be_read_whole(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser, PASTED[:3900] + ASKED)
        heading, button = turn.locator(".question"), turn.locator(".question-fold")
        folded = heading.bounding_box()
        expect(button).to_have_text("Show the whole question")
        expect(button).to_have_attribute("aria-expanded", "false")
        button.click()
        expect(button).to_have_text("Show less of the question")
        expect(button).to_have_attribute("aria-expanded", "true")
        whole = heading.bounding_box()
        assert folded is not None
        assert whole is not None
        assert whole["height"] > 3 * folded["height"]
        assert heading.evaluate("(node) => node.scrollHeight <= node.clientHeight + 1")
        button.press("Enter")
        expect(button).to_have_attribute("aria-expanded", "false")
        chat.say(done("Yes."))
        finished(browser, turn)
        turn = ask(browser)  # a usual one is not folded
        expect(turn.locator(".question-fold")).to_be_hidden()
        assert turn.locator(".question").evaluate(
            "(node) => node.scrollHeight <= node.clientHeight + 1"
        )
        chat.say(done("Many [1].", source(1)))
        finished(browser, turn)
        expect(turn.locator(".not-found-label")).to_be_hidden()

    @pytest.mark.nightly
    def test_the_page_moves_at_once_for_who_wants_no_motion(
        self, browser: Page
    ) -> None:
        behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
        browser.emulate_media(reduced_motion="reduce")
        assert browser.evaluate(behaviour) == "auto"


REFUSED = "The endpoint of openai:gpt refused the key. Check OPENAI_API_KEY."
KEY = {"dependency": "chat_model", "remedy": "Check OPENAI_API_KEY."}


WHAT_HELPS: list[tuple[str, list[Json], list[str]]] = [
    (REFUSED, [KEY], []),
    ("It broke.", [KEY], ["Check OPENAI_API_KEY."]),
    ("It broke.", [{"dependency": "database", "remedy": ""}], []),
    (
        "limit: too many",
        [{"field": "limit", "message": "too many", "valid_values": [1, 2]}],
        [],
    ),
    (
        "No.",
        [{"field": "limit", "message": "too many"}, {"message": "odd"}],
        ["limit: too many", "odd"],
    ),
    ("It broke.", [], []),
]
"""Message and details of an error, and the lines that stand below the message."""
NO_ANSWERS: list[tuple[list[Json] | None, str, str]] = [
    (None, "", "Not found in these reports"),
    ([step("search")[1]], "", "Not found in these reports"),
    ([step("compress")[1]], "", "Not found in these reports"),
    ([step("found")[1]], "", "Not found in these reports"),
    ([step("figures")[1]], "", "Not found in these reports"),
    ([], "", "Nothing was searched"),
    (
        [step("mode", detail="Chosen by the model: compare")[1]],
        "",
        "Nothing was searched",
    ),
    ([step("search")[1]], "seconds", "Not answered"),
]
"""The path of an answer that is none, what stopped it, and what it is called."""


# Many turns of one page each: to load the page takes longer than all of them.


def test_what_helps_with_an_error_is_shown_once(
    browser: Page, chat: ScriptedChat
) -> None:
    for message, details, lines in WHAT_HELPS:
        turn = ask(browser)
        chat.say(
            ("error", {"error": {"code": "x", "message": message, "details": details}})
        )
        chat.hang_up()
        expect(turn.locator(".notice-message")).to_have_text(message)
        expect(turn.locator(".notice-details li")).to_have_text(lines)
        expect(turn.locator(".notice-details")).to_be_visible(visible=bool(lines))
        expect(browser.locator("#announcer")).to_have_text(" ".join([message, *lines]))
        expect(browser.locator("#send")).to_be_visible()


def test_what_an_answer_begins_with(browser: Page, chat: ScriptedChat) -> None:
    for mode, words in CASES["what it begins with"]:
        turn = ask(browser, mode=mode)
        expect(turn.locator(".progress-line")).to_have_text(words)
        expect(browser.locator("#announcer")).to_have_text(f"{words}.")
        chat.say(done("Yes.", mode=mode))
        finished(browser, turn)


def test_an_answer_that_is_none_is_called_what_it_is(
    browser: Page, chat: ScriptedChat
) -> None:
    for number, (path, stopped_by, label) in enumerate(NO_ANSWERS):
        turn = ask(browser, f"{QUESTION} {number}", mode="compare")
        trace = {} if path is None else {"path": path}
        chat.say(
            done(
                "There is nothing to compare.",
                answered=False,
                stopped_by=stopped_by,
                **trace,
            )
        )
        finished(browser, turn)
        expect(turn.locator(".not-found-label")).to_have_text(label)
        assert browser.locator("#announcer").inner_text().startswith(f"{label}.")


@pytest.mark.nightly
def test_marks_in_a_wide_table_do_not_widen_the_page(
    browser: Page, chat: ScriptedChat
) -> None:
    browser.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    heads = " | ".join(f"A long heading {number}" for number in range(8))
    cells = " | ".join([*(f"9.{number} % [1]" for number in range(7)), "9.7 %"])
    kind, answer = done(
        f"| {heads} |\n|{'---|' * 8}\n| {cells} |", source(1), mode="direct"
    )
    answer["unsupported"] = [
        {
            "sentence": f"9.{number} % [1]",
            "numbers": [1],
            "figures": [f"9.{number} %"],
            "quotations": [],
            "unknown": [],
        }
        for number in range(7)
    ]
    without = {
        "numbers": [],
        "figures": [],
        "quotations": [],
        "unknown": [],
        "no_source": True,
    }
    answer["unsupported"].append({"sentence": "9.7 %", **without})
    turn = ask(browser, mode="direct")
    chat.say((kind, answer))
    finished(browser, turn)
    expect(turn.locator(".answer-body .unsupported-mark [aria-hidden]")).to_have_text(
        ["≠"] * 7 + ["○"]
    )
    meanings = ["≠ A figure, date or name is not in the source", "○ No source is given"]
    turn.get_by_text("Check: 8 statements without support in the sources").click()
    expect(turn.locator(".unsupported-lines li").last).to_have_text(
        "9.7 % No source is given."
    )
    expect(turn.locator(".legend-marks li")).to_have_text(
        ["1 Found in its source", *meanings]
    )
    expect(turn.locator(".unsupported-text").last).to_have_text("9.7 %")
    assert browser.evaluate("document.documentElement.scrollWidth") == PHONE[0]


class TestScopeOfTheQuestion:
    SCOPE: Json = {  # noqa: RUF012
        "filters": {"country_name": ["Kenya"]},
        "documents": 4,
        "chunks": 700,
    }

    @pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
    def test_a_scope_of_the_question_is_shown_and_taken_away_by_keyboard(
        self, browser: Page, chat: ScriptedChat, size: tuple[int, int]
    ) -> None:
        browser.set_viewport_size({"width": size[0], "height": size[1]})
        turn = ask(browser, mode="direct")
        chat.say(
            done("2.09%.", scope={**self.SCOPE, "from_question": self.SCOPE["filters"]})
        )
        finished(browser, turn)
        chip = turn.get_by_role(
            "button", name="Ask again without the scope from the question: Kenya"
        )
        expect(turn.locator(".from-words")).to_have_text("From your question: Kenya")
        assert "auto_scope" not in chat.asked[-1]
        chip.focus()
        browser.keyboard.press("Enter")
        again = browser.locator(".turn").last
        chat.say(done("Of all."))
        finished(browser, again)
        assert (chat.asked[-1]["query"], chat.asked[-1]["auto_scope"]) == (
            QUESTION,
            False,
        )
        assert "filters" not in chat.asked[-1]
        expect(again.locator(".from-words")).to_be_hidden()


class TestScopeFromEarlier:
    EARLIER: Json = {"country_name": ["Kenya"], "figure_year": [2023]}  # noqa: RUF012
    SCOPE: Json = {  # noqa: RUF012
        "filters": {"country_name": ["Kenya"]},
        "documents": 4,
        "chunks": 700,
        "from_earlier": EARLIER,
    }

    @pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
    def test_it_is_shown_before_it_is_sent_and_goes_with_one_tap(
        self, browser: Page, chat: ScriptedChat, size: tuple[int, int]
    ) -> None:
        browser.set_viewport_size({"width": size[0], "height": size[1]})
        turn = ask(browser, mode="direct")
        chat.say(done("2.09%."))
        finished(browser, turn)
        looked_up: list[str] = []

        def tell(route: Route) -> None:
            looked_up.append(route.request.url)
            route.fulfill(json=self.SCOPE)

        browser.route("**/api/scope?*", tell)
        composer(browser).fill("and inflation?")
        chips = browser.locator("#earlier-chips .chip")
        expect(chips).to_have_text(["Kenya", "2023"])
        expect(browser.locator("#earlier-scope")).to_contain_text("From earlier")
        expect(browser.locator("#taken-scope")).to_be_hidden()
        assert "conversation_id=conversation-1" in looked_up[-1]
        chips.first.click()
        expect(chips).to_have_text(["2023"])
        expect(composer(browser)).to_be_focused()
        browser.keyboard.press("Enter")
        chat.say(done("4.5%."))
        finished(browser, browser.locator(".turn").last)
        assert chat.asked[-1]["without_earlier"] == ["country_name"]
        expect(browser.locator("#earlier-scope")).to_be_hidden()
        assert browser.evaluate("document.documentElement.scrollWidth") == size[0]

    @pytest.mark.nightly
    def test_it_is_shown_under_the_answer_and_taken_away_by_keyboard(
        self, browser: Page, chat: ScriptedChat
    ) -> None:
        turn = ask(browser, mode="direct")
        chat.say(done("4.5%.", scope=self.SCOPE))
        finished(browser, turn)
        expect(turn.locator(".earlier")).to_have_text("From earlier: Kenya2023")
        expect(turn.locator(".from-words")).to_be_hidden()
        expect(turn.locator(".scope-line")).to_contain_text("Kenya (from earlier)")
        name = "Ask again without Kenya from earlier"
        turn.get_by_role("button", name=name).focus()
        browser.keyboard.press("Enter")
        again = browser.locator(".turn").last
        rest = {**self.SCOPE, "from_earlier": {"figure_year": [2023]}}
        chat.say(done("Of all.", scope=rest))
        finished(browser, again)
        assert chat.asked[-1]["without_earlier"] == ["country_name"]
        again.get_by_role("button", name="Ask again without 2023").click()
        chat.say(done("Of any year."))
        finished(browser, browser.locator(".turn").last)
        assert chat.asked[-1]["without_earlier"] == ["country_name", "figure_year"]
