"""VERIFY and REPAIR: a language model checks, and mends, what it has written, over a
real HTTP server.
"""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from chatbot.app.services import Services, build
from chatbot.domain import Answer
from chatbot.domain.chat import Budget, QuerySettings
from chatbot.library.pipeline import Ingested
from tests.answering.modes.conftest import question
from tests.asking import in_conversation
from tests.fakes.openai_replies import Recorded
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

GOLD = "What is the most important export of Mali?"
RIGHT = "Mali sells more gold than anything else [1]."
CAUSE = "Gold became important because of the war [1]."
WORDS = "Gold is the most important export of Mali"


@pytest.fixture
def checked(services: Services) -> Iterator[Services]:
    with build(services.settings.override(verify="auto", repair=1)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def report(mali: Ingested) -> None:
    """The report is there."""


def ask(services: Services, **fields: object) -> Answer:
    asked = replace(question(GOLD), **fields)  # type: ignore[arg-type]
    saved = in_conversation(services.chat, asked)[-1]
    answer = saved.answer
    assert isinstance(answer, Answer)
    return answer


def verdict(sentence: int, verdict: str, words: str = "", **formulas: str) -> Reply:
    calculations = [
        {"figure": figure, "formula": formula} for figure, formula in formulas.items()
    ]
    one = {
        "sentence": sentence,
        "verdict": verdict,
        "words": words,
        "calculations": calculations,
    }
    return Reply([json.dumps({"verdicts": [one]})])


def asked_of(request: Recorded) -> str:
    return str(request.body["messages"][-1]["content"])


class TestVerify:
    def test_what_the_passages_do_not_say_is_marked(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply([f"{RIGHT} {CAUSE}"]), verdict(2, "not said"))
        given = ask(checked)
        sentences = asked_of(server.received(CHAT)[1]).partition("Sentences:")[2]
        assert "because of the war" in sentences
        (mark,) = given.marks

        assert mark.kind == "not_said"
        assert given.response[mark.start : mark.end].startswith("Gold became")
        (doubt,) = given.unsupported
        assert doubt.verdict == "not_said"
        # Another sentence is right by the same source.
        assert given.citations[0].supported

    def test_a_free_paraphrase_is_the_models_to_judge(
        self, checked: Services, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply([RIGHT]))
        assert [mark.kind for mark in ask(services).marks] == ["no_source"]
        server.chat(Reply([RIGHT]), verdict(1, "supported"))
        given = ask(checked)
        assert not given.marks
        assert not given.unsupported

    def test_a_sentence_without_a_source_may_say_what_the_passages_lack(
        self, checked: Services, services: Services, server: FakeOpenAI
    ) -> None:
        lacks = f"{WORDS} [1]. No ranking of continents is among these extracts."
        server.chat(Reply([lacks]))
        assert [mark.kind for mark in ask(services).marks] == ["no_source"]
        server.chat(Reply([lacks]), verdict(1, "supported"))
        assert not ask(checked).marks
        server.chat(Reply([lacks + " "]), verdict(1, "not said"))
        given = ask(checked)
        assert [mark.kind for mark in given.marks] == ["not_said"]
        # No source of another sentence is doubtful for it.
        assert given.citations[0].supported

    def test_a_contradiction_shows_the_words_that_say_so(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply([CAUSE]), verdict(1, "contradicted", WORDS))
        given = ask(checked)
        assert [(mark.kind, mark.words) for mark in given.marks] == [
            ("contradicted", WORDS)
        ]
        assert not given.citations[0].supported

    def test_words_that_no_passage_has_prove_nothing(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply([CAUSE]), verdict(1, "contradicted", "Gold was lost"))
        given = ask(checked)
        assert [(mark.kind, mark.words) for mark in given.marks] == [("not_said", "")]

    def test_a_superlative_is_held_against_what_the_program_computed(
        self, checked: Services, server: FakeOpenAI, kenya: Ingested
    ) -> None:
        ranked = {"indicators": ["Population"], "steps": [{"op": "rank"}]}
        with build(checked.settings.override(planner="model")) as led:
            server.chat(
                Reply(tool_calls=(("figures", ranked),)),
                Reply(["Of these countries Kenya has the most inhabitants [1]."]),
                verdict(1, "supported"),
            )
            given = ask(led)
        shown, _, sentences = asked_of(server.received(CHAT)[2]).partition("Sentences:")
        table = shown.partition("Computed by the program")[2]
        assert "1. Kenya" in table
        assert "[1]" in table
        assert "the most inhabitants" in sentences
        assert not given.marks

    @pytest.mark.parametrize(
        ("said", "formula", "is_proven"),
        [
            ("supported", "20137527 / 365 / 24", True),
            ("supported", "20137527 / 366 / 25", False),
            ("supported", "", False),
            ("not said", "20137527 / 365 / 24", False),
        ],
    )
    def test_a_figure_that_no_rule_derives_is_proven_by_a_calculation(
        self,
        checked: Services,
        server: FakeOpenAI,
        said: str,
        formula: str,
        is_proven: bool,
    ) -> None:
        text = "All of them, one hour of the year each, are 2,299 at once [1][2]."
        server.chat(Reply([text]), verdict(1, said, **{"2,299": formula}))
        given = ask(checked)
        sentences = asked_of(server.received(CHAT)[1]).partition("Sentences:")[2]
        assert "to compute: 2,299" in sentences
        assert bool(given.marks) != is_proven
        assert bool(given.unsupported) != is_proven
        assert given.citations[0].supported == is_proven

    def test_a_copied_sentence_needs_no_call(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply([f"{WORDS} [1]."]))
        assert not ask(checked).marks
        assert server.calls(CHAT) == 1

    @pytest.mark.parametrize(
        "reply", [Reply(["hm"]), Reply(status=500), verdict(7, "not said")]
    )
    def test_a_reply_that_says_nothing_doubts_nothing(
        self, checked: Services, server: FakeOpenAI, reply: Reply
    ) -> None:
        server.chat(Reply([CAUSE]), reply)
        given = ask(checked)
        assert given.response == CAUSE
        assert not given.marks
        assert given.degraded is None
        assert server.calls(CHAT) == 2

    def test_its_usage_is_counted_apart(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply([CAUSE]), verdict(1, "supported"))
        given = ask(checked)
        stages = {stage.name: stage.usage.calls for stage in given.trace.stages}
        assert stages["verify"] == 1
        assert stages["write"] == 1
        assert given.trace.usage.calls == 2

    def test_it_stays_within_the_budget(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply([CAUSE]))
        assert not ask(checked, budget=Budget(calls=1)).trace.stopped_by
        assert server.calls(CHAT) == 1

    def test_a_preset_is_not_checked(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply(["In 1999 it was 7 % [1]."]))
        preset = QuerySettings.of(checked.modes.settings_with("adaptive"))
        ask(checked, settings=preset, preset="adaptive", is_streamed=False)
        assert server.calls(CHAT) == 1


class TestRepair:
    WRONG = "Mali has 31,000,000 people [1]."

    def test_a_wrong_figure_is_mended_before_anybody_reads_it(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply([self.WRONG]), Reply([f"{WORDS} [1]."]))
        given = ask(checked, is_streamed=False)
        assert given.response == f"{WORDS} [1]."
        assert "31,000,000" in asked_of(server.received(CHAT)[1])
        assert "repair" in [step.name for step in given.trace.path]
        assert server.calls(CHAT) == 2

    def test_the_model_sees_its_last_line_again(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        ending = '{"answered": true, "missing": []}'
        written = Reply([f"{self.WRONG}\n\n{ending}"])
        server.chat(written, Reply([f"{WORDS} [1].\n\n{ending}"]))
        ask(checked, is_streamed=False)
        again = server.received(CHAT)[1].body["messages"]
        assert again[-2]["content"] == f"{self.WRONG}\n\n{ending}"

    def test_what_may_be_computed_is_marked_and_stays(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        gap = "The gap is 77,777 people [1]."
        server.chat(Reply([gap]))
        given = ask(checked, is_streamed=False)
        assert given.response == gap
        assert [mark.kind for mark in given.marks] == ["figure"]
        assert "repair" not in [step.name for step in given.trace.path]

    def test_what_is_sent_already_is_marked(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply([self.WRONG]))
        given = ask(checked)
        assert given.response == self.WRONG
        assert [mark.kind for mark in given.marks] == ["figure"]
        assert "repair" not in [step.name for step in given.trace.path]

    def test_the_first_text_stays_where_the_second_is_no_better(
        self, checked: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply([self.WRONG]), Reply(["It has 41,000,000 people [1]."]))
        given = ask(checked, is_streamed=False)
        assert given.response == self.WRONG
        # Besides one that asks how the first text's figure is computed.
        assert server.calls(CHAT) == 3
