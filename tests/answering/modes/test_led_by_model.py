"""PLANNER=model: the model says what to look for by calls of tools, over a real HTTP
server; what rules read is a hint to it.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from chatbot.answering.conversation import Place, Saved
from chatbot.answering.writers.report import LENGTH, WANTED
from chatbot.app.services import Services, build
from chatbot.domain import Answer, Message, Scope, SourcesEvent, StepEvent
from chatbot.domain.chat import Budget, QuerySettings
from chatbot.library.pipeline import Ingested
from tests.answering.modes.conftest import question, scope
from tests.asking import in_conversation
from tests.fakes.openai_replies import Recorded
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

GROWTH = "What is the population growth rate of Kenya?"
GOLD = "What is the most important export of Mali?"


def search(*queries: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "search", {"queries": list(queries), **fields}


def calls(*called: tuple[str, dict[str, Any]]) -> Reply:
    return Reply(tool_calls=called)


def told(request: Recorded) -> str:
    return str(request.body["messages"][-1]["content"])


@pytest.fixture
def led(services: Services) -> Iterator[Services]:
    with build(services.settings.override(planner="model")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def reports(kenya: Ingested, mali: Ingested) -> None:
    """Both reports are there."""


def answer(events: list[Any]) -> Answer:
    assert isinstance(events[-1], Saved)
    return events[-1].answer


def ask(services: Services, query: str, **fields: Any) -> Answer:
    return answer(in_conversation(services.chat, replace(question(query), **fields)))


class TestCalls:
    def test_what_the_model_calls_is_found_in_two_calls(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(calls(search(GOLD, countries=["Mali"])), Reply(["Gold [1]."]))
        given = ask(led, "¿Qué exporta sobre todo Malí?")
        plan, written = server.received(CHAT)
        assert plan.body["tool_choice"] == "required"
        assert written.body["tool_choice"] == "none"
        assert "Gold is the most important export" in told(written)
        assert {hit.chunk.country_name for hit in given.trace.hits} == {"Mali"}
        assert given.trace.usage.calls == 2
        assert given.trace.query == GOLD

    def test_all_parts_of_a_question_have_passages(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(calls(search(GOLD, GROWTH)), Reply(["Gold [1]."]))
        ask(led, "Both, please.")
        shown = told(server.received(CHAT)[1])
        assert "# Mali: Country Report 2021" in shown
        assert "most important export" in shown
        assert "Population growth rate" in shown

    def test_a_table_of_figures_cites_the_passages_of_the_prompt(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        ranked = {"indicators": ["Population"], "steps": [{"op": "rank"}]}
        server.chat(calls(("figures", ranked), search(GOLD)), Reply(["Kenya [1]."]))
        given = ask(led, "Where do most people live?")
        shown = told(server.received(CHAT)[1])
        table = shown.partition("Computed by the program")[2]
        assert "Kenya" in table.partition("Mali")[0]
        numbers = {hit.rank: hit.chunk.country_name for hit in given.trace.hits}
        for rank, country in ((1, "Kenya"), (2, "Mali")):
            assert f"[{rank}]" in table
            assert numbers[rank] == country
        assert given.citations[0].hit.chunk.country_name == "Kenya"

    def test_what_the_program_counted_in_an_earlier_round_is_no_wrong_figure(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        ranked = {"indicators": ["Population"], "steps": [{"op": "rank"}], "more": True}
        counted = "Of the 2 countries with a figure Kenya has most inhabitants [1]."
        server.chat(calls(("figures", ranked)), calls(search(GOLD)), Reply([counted]))
        assert not ask(led, "Where do most people live?").marks
        server.chat(
            calls(("figures", ranked)),
            calls(search(GOLD)),
            Reply([counted.replace("2", "7")]),
        )
        (mark,) = ask(led, "In which of them do most people live?").marks
        assert mark.detail == "7"

    def test_an_indicator_that_is_searched_for_in_all_reports_is_computed(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(calls(search("population")), Reply(["Kenya [1]."]))
        ask(led, "Where do most people live?")
        table = told(server.received(CHAT)[1]).partition("Computed by the program")[2]
        assert "1. Kenya" in table
        assert "2. Mali" in table
        of_one = search("population", countries=["Mali"])
        server.chat(calls(of_one), Reply(["Twenty million [1]."]))
        ask(led, "How many people live in Mali?")
        assert "Computed by the program" not in told(server.received(CHAT)[3])

    def test_a_newer_part_stands_beside_an_old_total(
        self, led: Services, server: FakeOpenAI, add_report: Callable[..., Ingested]
    ) -> None:
        users = "total: 15.37 million (2016 est.)\n\npercent of population: 35% (2023)"
        add_report(
            f"# Kenya\n\n## Media\n\n### Internet users\n\n{users}\n",
            "kenya-2025",
            country_name="Kenya",
            year=2025,
        )
        asked = {"indicators": ["Internet users"], "subjects": ["Kenya"]}
        server.chat(calls(("figures", asked)), Reply(["35% [1]."]))
        ask(led, "Who is online in Kenya?")
        shown = told(server.received(CHAT)[1]).partition("Computed by the program")[2]
        assert "15.37 million (2016 est.)" in shown
        assert "percent of population: 35% (2023)" in shown

    def test_an_indicator_that_is_not_there_is_called_again(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        wrong = ("figures", {"indicators": ["Populatoin"]})
        right = ("figures", {"indicators": ["Population"]})
        server.chat(calls(wrong), calls(right), Reply(["Kenya [1]."]))
        ask(led, "How many people are there?")
        again, written = server.received(CHAT)[1:]
        assert "Populatoin" in told(again)
        assert "Computed by the program" in told(written)

    def test_what_is_too_much_is_cut_and_said(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        queries = [GOLD, *(f"{GROWTH} {n}" for n in range(10))]
        server.chat(calls(search(*queries)), Reply(["Gold [1]."]))
        ask(led, GOLD)
        (plan, written) = server.received(CHAT)
        assert "only the first 8 queries" in told(written)
        (tool,) = [one for one in plan.body["tools"] if "search" in str(one)][:1]
        assert tool["function"]["parameters"]["properties"]["queries"]["maxItems"] == 8

    def test_a_call_that_cannot_be_read_is_told_why(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        wrong = ("figures", {"indicators": ["Population"], "steps": [{"op": "filter"}]})
        server.chat(calls(wrong), calls(search(GOLD)), Reply(["Gold [1]."]))
        ask(led, GOLD)
        again = told(server.received(CHAT)[1])
        assert "compare" in again
        assert "Field required" in again
        assert "Write only JSON" not in again

    def test_nothing_is_said_to_lack_where_nothing_was_looked_for(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        enough = calls(("answer", {}))
        server.chat(calls(search(GOLD, more=True)), enough, Reply(["Gold [1]."]))
        ask(led, GOLD)
        assert "Nothing was found" not in told(server.received(CHAT)[2])

    def test_a_section_is_read_whole(self, led: Services, server: FakeOpenAI) -> None:
        named = {"report": "Mali: Country Report 2021", "heading": "Gold"}
        server.chat(calls(("read", named)), Reply(["Gold [1]."]))
        given = ask(led, "Read me that section.")
        assert {hit.chunk.country_name for hit in given.trace.hits} == {"Mali"}

    def test_what_depends_on_what_was_found_is_asked_afterwards(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(
            calls(search("Where is gold exported?", more=True)),
            calls(search("What is the population of Mali?", countries=["Mali"])),
            Reply(["20,137,527 [2]."]),
        )
        given = ask(led, "How many people live where gold is exported?")
        first, second, written = (
            request.body["messages"] for request in server.received(CHAT)
        )
        assert "most important export" in second[-1]["content"]
        # What was said stays, so that the provider's cache has it.
        assert second[: len(first)] == first
        assert written[: len(second) - 1] == second[:-1]
        assert "most important export" not in written[-1]["content"]
        assert given.trace.usage.calls == 3

    def test_before_another_round_few_passages_are_shown(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        first = calls(search(GOLD, more=True))
        enough = calls(("answer", {}))
        server.chat(first, enough, Reply(["Gold [1]."]))
        ask(led, "What is sold?", top_k=1)
        again, written = server.received(CHAT)[1:]
        assert told(again).count("\n[") == 1
        assert "<passages" not in told(written)
        server.chat(first, calls(search(GOLD)), Reply(["Gold [1]."]))
        ask(led, "What is sold there?", top_k=1)
        again, written = server.received(CHAT)[4:]
        assert told(again).count("\n[") == 1
        assert told(written).count("\n[") > 1

    def test_it_ends_by_itself(self, led: Services, server: FakeOpenAI) -> None:
        for _ in range(5):
            server.chat(calls(search(GOLD, more=True)))
        server.always(CHAT, Reply(["Gold [1]."]))
        given = ask(led, "And then?")
        assert given.trace.usage.calls <= 5

    @pytest.mark.parametrize("mode", ["deep", "chain"])
    def test_modes_of_several_rounds_go_on_while_the_model_wants_more(
        self, led: Services, server: FakeOpenAI, mode: str
    ) -> None:
        server.chat(
            calls(search(GOLD, countries=["Mali"])),
            calls(search(GROWTH, countries=["Kenya"], more=True)),
            calls(("answer", {})),
            Reply(["Gold [1], people [2]."]),
        )
        given = ask(led, "What is sold, and by how many?", mode=mode)
        third, written = server.received(CHAT)[2:]
        assert "Population growth rate" in told(third)
        assert "Population growth rate" not in told(written)
        assert given.trace.usage.calls == 4
        assert given.trace.mode == mode
        server.always(CHAT, lambda request: _by_turns(request, calls(search(GOLD))))
        assert ask(led, "What is sold?", mode=mode).trace.usage.calls == 3

    def test_their_rounds_are_those_of_the_settings(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        settings = QuerySettings.of(led.settings)
        more = calls(search(GOLD, more=True))
        server.always(CHAT, lambda request: _by_turns(request, more))
        asked = replace(settings, deep_rounds=2)
        ask(led, "What is sold?", mode="deep", settings=asked)
        assert server.calls(CHAT) == 3

    def test_auto_needs_no_call_to_choose(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(calls(search(GOLD)), Reply(["Gold [1]."]))
        assert ask(led, "What is sold?", mode="auto").trace.mode == "direct"
        assert server.calls(CHAT) == 2

    def test_a_comparison_is_written_as_a_table(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        both = calls(search("population of Mali", "population of Kenya"))
        server.chat(both, Reply(["| Mali | Kenya |\n|---|---|\n| 20 [1] | 57 [2] |"]))
        given = ask(led, "Compare Mali and Kenya.", mode="compare")
        assert "a column for each side" in told(server.received(CHAT)[1])
        assert given.trace.mode == "compare"
        assert given.trace.usage.calls == 2

    def test_a_report_is_written_in_one_call_after_the_same_rounds(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        text = "# Both\n\n## Gold\n\nGold [1].\n\n## People\n\nMany [2]."
        server.chat(calls(search(GOLD, GROWTH)), calls(("answer", {})), Reply([text]))
        given = ask(led, "A report, please.", mode="report")
        written = server.received(CHAT)[2]
        assert told(written).endswith(WANTED)
        assert written.body["max_tokens"] == LENGTH * 1024
        assert given.trace.mode == "report"
        assert given.response.startswith(text)
        assert "## Sources" in given.response

    def test_the_trace_says_what_the_provider_has_read_before(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(
            calls(search(GOLD)),
            Reply(["Gold [1]."], prompt_tokens=900, cached_tokens=800),
        )
        trace = ask(led, "What is sold?").trace
        assert trace.usage.reused_tokens == 800

    def test_the_trace_says_what_of_the_prompts_is_the_same_in_each_question(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(calls(search(GOLD)), Reply(["Gold [1]."]))
        usage = ask(led, "What is sold?").trace.usage
        server.chat(calls(search(GROWTH)), Reply(["People [1]."]))
        other = ask(led, "How fast do they become more?").trace.usage
        assert usage.fixed_tokens == other.fixed_tokens
        assert usage.fixed_tokens > 2000

    def test_the_model_may_ask_back(self, led: Services, server: FakeOpenAI) -> None:
        server.chat(calls(("ask_back", {"question": "Which country?"})))
        given = ask(led, "How many?")
        assert given.response == "Which country?"
        assert not given.answered
        assert server.calls(CHAT) == 1

    def test_the_step_is_sent_before_the_call(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(calls(search(GOLD)), Reply(["Gold [1]."]))
        called_at_plan: list[int] = []

        def watch(event: Any) -> None:
            if isinstance(event, StepEvent) and event.name == "plan":
                called_at_plan.append(server.calls(CHAT))

        in_conversation(led.chat, question("What does Mali sell?"), watch=watch)
        assert called_at_plan[0] == 0


class TestRules:
    def test_a_country_without_a_report_is_a_hint(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(calls(search("gold India")), Reply(["Gold [1]."]))
        given = ask(led, "How much gold does India sell?")
        plan, written = server.received(CHAT)
        assert "There is no report on India" in told(plan)
        assert "no report" not in given.response
        assert "most important export" in told(written)

    def test_no_word_is_corrected(self, led: Services, server: FakeOpenAI) -> None:
        server.chat(calls(search(GOLD)), Reply(["Gold [1]."]))
        given = ask(led, "What is the most importent expurt of Mali?")
        assert "importent expurt" in told(server.received(CHAT)[0])
        assert "taken as" not in given.response

    def test_a_follow_up_is_the_models_to_read(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        history = (Message("user", GROWTH), Message("assistant", "2.09 % [1]."))
        server.chat(calls(search(GOLD)), Reply(["Gold [1]."]))
        previous = {"previous_messages": history}
        events = in_conversation(led.chat, question("And the gold?"), **previous)
        assert answer(events).trace.query == GOLD
        first = server.received(CHAT)[0].body["messages"]
        assert [one["content"] for one in first[3:5]] == [GROWTH, "2.09 %."]

    def test_without_the_setting_there_is_one_call(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply(["2.09 % [1]."]))
        ask(services, GROWTH)
        assert server.calls(CHAT) == 1

    def test_a_preset_does_not_plan(self, led: Services, server: FakeOpenAI) -> None:
        server.chat(Reply(["2.09 % [1]."]))
        preset = QuerySettings.of(led.modes.settings_with("adaptive"))
        ask(led, GROWTH, settings=preset, preset="adaptive")
        assert server.calls(CHAT) == 1


class TestFailures:
    def test_a_plan_that_cannot_be_read_is_made_by_rule(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply(["Well,"]), Reply(["hm."]), Reply(["2.09 % [1]."]))
        given = ask(led, GROWTH)
        assert "2.09" in given.response
        assert given.trace.usage.calls == 3
        assert [step.name for step in given.trace.path if step.failed] == ["plan"]

    def test_a_model_that_was_down_for_the_plan_may_still_write(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        busy = Reply(status=503, headers={"Retry-After": "0"})
        server.chat(busy, Reply(["2.09 % [1]."]))
        given = ask(led, GROWTH)
        assert "2.09" in given.response
        assert given.trace.hits[0].chunk.heading == "Population growth rate"

    def test_a_server_without_tools_gets_a_schema(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        refused = Reply(status=400, error={"message": "fake does not support tools"})
        plan = json.dumps({"calls": [{"tool": "search", "queries": [GOLD]}]})
        server.chat(refused, Reply([plan]), Reply(["Gold [1]."]))
        ask(led, "What does it sell?")
        asked = server.received(CHAT)[1].body
        assert "tools" not in asked
        assert "tool_choice" not in asked
        assert asked["response_format"]["json_schema"]["name"] == "calls"
        server.chat(Reply([plan]), Reply(["Gold [1]."]))
        ask(led, "What else does it sell?")
        assert "tools" not in server.received(CHAT)[-2].body
        assert '{"calls": [{"tool": "search"' in told(server.received(CHAT)[-2])

    def test_a_budget_of_one_call_is_for_the_answer(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply(["2.09 % [1]."]))
        given = ask(led, GROWTH, budget=Budget(calls=1))
        assert server.calls(CHAT) == 1
        assert "2.09" in given.response


class TestLimits:
    def test_no_call_leaves_the_scope_of_the_question(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        outside = calls(
            search(GOLD, countries=["Mali"]),
            ("read", {"report": "Mali: Country Report 2021", "heading": "Gold"}),
            ("figures", {"indicators": ["Population"], "subjects": ["Mali"]}),
        )
        server.always(CHAT, lambda request: _by_turns(request, outside))
        kenya = question("What about Mali?", country_name="Kenya")
        given = answer(in_conversation(led.chat, kenya))
        assert {hit.chunk.country_name for hit in given.trace.hits} <= {"Kenya"}
        for request in server.received(CHAT):
            assert "Gold is the most" not in json.dumps(request.body)
            assert "20,137,527" not in json.dumps(request.body)

    def test_no_call_leaves_what_the_caller_may_see(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(calls(search(GOLD)), Reply(["Gold [1]."]))
        first = in_conversation(led.chat, question(GOLD))[-1]
        outside = calls(
            search(GOLD, countries=["Mali"]),
            ("read", {"report": "Mali: Country Report 2021", "heading": "Gold"}),
            ("figures", {"indicators": ["Population"]}),
            ("earlier", {}),
        )
        before = server.calls(CHAT)
        server.always(CHAT, lambda request: _by_turns(request, outside))
        limited = Scope().limited_to(scope(country_name="Kenya"))
        assert limited is not None
        asked = replace(question("What is exported?"), scope=limited)
        place = Place(conversation_id=first.conversation_id)
        in_conversation(led.chat, asked, place=place)
        requests = server.received(CHAT)[before:]
        assert len(requests) > 1
        for request in requests:
            body = json.dumps(request.body["messages"])
            assert "Gold is the most important" not in body
            assert "20,137,527" not in body
            assert "# Mali" not in body


def _by_turns(request: Recorded, plan: Reply) -> Reply:
    is_plan = request.body.get("tool_choice") == "required"
    return plan if is_plan else Reply(["Nothing [1]."])


class TestConversations:
    def test_earlier_sources_can_be_taken_again(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(calls(search(GOLD)), Reply(["Gold is important [1]."]))
        events = in_conversation(led.chat, question(GOLD))
        first = events[-1]
        server.chat(calls(("earlier", {})), Reply(["You found gold [1]."]))
        place = Place(conversation_id=first.conversation_id)
        events = in_conversation(
            led.chat, question("Summarise what we have found."), place=place
        )
        assert "most important export" in told(server.received(CHAT)[-1])
        assert answer(events).citations[0].hit.chunk.heading == "Gold"

    def test_sources_come_before_the_first_word(
        self, led: Services, server: FakeOpenAI
    ) -> None:
        server.chat(calls(search(GOLD)), Reply(["Gold [1]."]))
        events = in_conversation(led.chat, question("What is sold?"))
        names = [type(event).__name__ for event in events]
        assert names.index("SourcesEvent") < names.index("TokenEvent")
        assert isinstance(events[names.index("SourcesEvent")], SourcesEvent)
