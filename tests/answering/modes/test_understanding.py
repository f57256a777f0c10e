"""What is found in a question before any agent runs: scope, missing subjects,
rankings.
"""

from dataclasses import replace
from typing import Any

import pytest

from chatbot.answering.answer import GENERAL
from chatbot.answering.turn import Turn
from chatbot.app.services import Services
from chatbot.domain import Document, Scope
from chatbot.domain.chat import (
    Answer,
    Budget,
    QuerySettings,
    Question,
    ScopeSummary,
    SourcesEvent,
    Subjects,
    TokenEvent,
)
from chatbot.domain.scope import Values
from tests.answering.modes.conftest import question, scope
from tests.asking import Finished, on_the_way
from tests.data import cases
from tests.fakes.openai_server import CHAT, Reply

CASES = cases(__file__)
pytestmark = pytest.mark.usefixtures("kenya", "mali")


class Recorder:
    """Keeps the questions that no early answer has ended."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def run(self, turn: Turn) -> None:
        self.asked.append(turn.question)


@pytest.fixture
def agent() -> Recorder:
    return Recorder()


def run(
    services: Services, agent: Recorder, asked: Question, on_empty: Any = "abstain"
) -> list[Any]:
    flow = services.everything.flow
    recorded = replace(
        flow,
        settings=QuerySettings(on_empty=on_empty, planner="rules"),
        stages={**flow.stages, "cache": agent},
    )
    return on_the_way(recorded, asked)


def answer(events: list[Any]) -> Answer:
    assert isinstance(events[-1], Finished)
    return events[-1].answer


def streamed(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokenEvent))


def test_a_language_model_reads_a_misspelt_word_as_it_was_written(
    services, server, agent
) -> None:
    server.chat(Reply(["It is 2.09% [1]."]))
    query = "What is the popluation growth rate of Kenya?"
    events = run(services, agent, question(query))
    assert agent.asked[0].search_text == query
    assert "taken as" not in answer(events).response


class TestMissingSubject:
    def test_a_model_is_told_of_a_country_without_a_report(
        self, services, server, agent
    ) -> None:
        server.chat(Reply(["The passages say nothing on France."]))
        events = run(services, agent, question("What is the growth rate in France?"))
        found = answer(events)
        assert found.response.startswith("There is no report on France.\n\n")
        assert streamed(events) == found.response
        [request] = [one for one in server.requests if one.path == CHAT]
        last = request.body["messages"][-1]["content"]
        assert last.endswith("\nNote: There is no report on France.")
        assert found.trace.closest_only

    def test_relax_goes_on_and_says_it(self, services, server, agent) -> None:
        server.chat(Reply(["It is 2.09% [1]."]))
        found = answer(
            run(
                services, agent, question("What is the growth rate in France?"), "relax"
            )
        )
        assert found.response.startswith("There is no report on France.")
        assert found.response.endswith("\n\nIt is 2.09% [1].")
        assert found.answered

    def test_a_preset_of_the_question_decides(self, services, server, agent) -> None:
        asked = replace(
            question("What is the growth rate in France?"),
            settings=QuerySettings(on_empty="relax", planner="rules"),
        )
        assert answer(run(services, agent, asked)).response.startswith(
            "There is no report on France."
        )
        assert len(agent.asked) == 1

    def test_general_asks_the_model_without_passages(
        self, services, server, agent
    ) -> None:
        server.chat(Reply(["Without sources: 0.3%."]))
        found = answer(
            run(
                services,
                agent,
                question("What is the growth rate in France?"),
                "general",
            )
        )
        assert found.response == f"{GENERAL}\n\nWithout sources: 0.3%."
        assert (found.answered, found.citations) == (False, ())
        assert "<passage" not in str(server.received(CHAT)[-1].body["messages"])
        assert agent.asked == []

    def test_a_model_gets_the_passages_that_name_a_country_without_a_report(
        self, services, server, agent
    ) -> None:
        server.chat(Reply(["Tanzania borders Kenya [1]."]))
        asked = question("What is the growth rate in Tanzania?")
        found = answer(run(services, agent, asked))
        note = "There is no report on Tanzania; one passage names it."
        assert found.response == f"{note}\n\nTanzania borders Kenya [1]."
        last = server.received(CHAT)[0].body["messages"][-1]["content"]
        assert last.endswith(f"\nNote: {note}")
        assert "between Somalia and Tanzania" in last
        assert "2.09%" not in last
        assert found.trace.closest_only

    def test_general_knowledge_takes_the_place_of_the_closest_passages(
        self, services, server, agent
    ) -> None:
        server.chat(Reply(["Without sources: 0.3%."]))
        asked = question("What is the growth rate in Tanzania?")
        found = answer(run(services, agent, asked, "general"))
        assert found.response.endswith(f"{GENERAL}\n\nWithout sources: 0.3%.")
        assert (found.answered, found.citations) == (False, ())

    def test_general_within_the_seconds_of_the_question(
        self, services, server, agent
    ) -> None:
        server.chat(Reply(silent_before=30.0))
        asked = replace(
            question("What is the growth rate in France?"), budget=Budget(seconds=0.5)
        )
        events = run(services, agent, asked, "general")
        found = answer(events)
        assert streamed(events) == found.response
        assert found.response.startswith("There is no report on France.")
        assert (found.trace.stopped_by, found.trace.truncated) == ("seconds", False)
        assert [step.name for step in found.trace.path] == ["generate", "budget"]

    def test_what_is_there_is_answered_and_what_is_not_is_named_first(
        self, services, server, agent
    ) -> None:
        server.chat(Reply(["Kenya has 2.09% [1]."]))
        events = run(services, agent, question("Compare growth in Kenya and France"))
        assert (
            streamed(events)
            == answer(events).response
            == "There is no report on France.\n\nKenya has 2.09% [1]."
        )
        assert answer(events).answered

    def test_it_is_there_where_a_report_without_a_country_names_it(
        self, services, server, agent, add_report
    ) -> None:
        add_report("# Outlook\n\nThe growth rate is 0.3%.", "France_outlook")
        found = answer(
            run(services, agent, question("What is the growth rate in France?"))
        )
        assert "There is no report" not in found.response
        chosen = question("What is the growth rate in France?", country_name="Kenya")
        assert (
            "There is no report on France."
            in answer(run(services, agent, chosen)).response
        )

    def test_a_passing_mention_changes_nothing(self, services, server, agent) -> None:
        server.chat(Reply(["It is 2.09% [1]."]))
        asked = question(
            "What is the growth rate, compared with France's?", country_name="Kenya"
        )
        assert answer(run(services, agent, asked)).response == "It is 2.09% [1]."

    def test_questions_about_attachments_are_left_alone(
        self, services, server, agent
    ) -> None:
        asked = replace(
            question("What about France?"),
            attachments=(Document("a", "a.md", "A", "a.md", {}),),
        )
        run(services, agent, asked)
        [left] = agent.asked
        assert left == replace(asked, settings=left.settings)


class TestScope:
    ASKED = "What is the population growth rate of Kenya in the 2023 report?"
    KENYA = Values(("Kenya",), or_none=True)
    FOUND = Scope.of({"country_name": KENYA, "year": Values((2023,), or_none=True)})

    def test_a_scope_of_the_question_is_offered(self, services, server, agent) -> None:
        found = answer(run(services, agent, question(self.ASKED)))
        assert found.suggested_scope == ScopeSummary(self.FOUND, 1, 3)
        assert found.scope.scope == agent.asked[0].scope == scope()

    def test_a_scope_of_the_question_is_applied_when_that_is_asked_for(
        self, services, server, agent
    ) -> None:
        events = run(services, agent, replace(question(self.ASKED), auto_scope=True))
        found = answer(events)
        assert found.suggested_scope is None
        assert found.scope == ScopeSummary(self.FOUND, 1, 3, from_question=self.FOUND)
        (sources,) = [event for event in events if isinstance(event, SourcesEvent)]
        assert sources.scope == found.scope
        assert {hit.chunk.metadata["country_name"] for hit in sources.hits} == {"Kenya"}

    def test_a_chosen_scope_is_never_widened(self, services, server, agent) -> None:
        asked = replace(
            question("growth compared with Mali", country_name="Kenya"), auto_scope=True
        )
        assert answer(run(services, agent, asked)).scope.scope == scope(
            country_name="Kenya"
        )

    def test_what_was_chosen_stays_and_less_is_offered(
        self, services, server, agent
    ) -> None:
        chosen = Scope.of({"country_name": Values(("Kenya", "Mali"))})
        asked = replace(
            question("What is the growth rate of Kenya?"), scope=chosen, auto_scope=True
        )
        found = answer(run(services, agent, asked))
        assert (found.scope.scope, found.scope.from_question) == (chosen, Scope())
        assert found.suggested_scope == ScopeSummary(scope(country_name="Kenya"), 1, 3)

    def test_a_report_without_a_country_is_counted_beside_the_scope(
        self, services, server, agent, add_report
    ) -> None:
        add_report("# Notes\n\nThe growth rate of Kenya was 5% in 1999.", "notes")
        asked = replace(question("What is the growth rate of Kenya?"), auto_scope=True)
        found = answer(run(services, agent, asked))
        assert found.scope == ScopeSummary(
            Scope.of({"country_name": self.KENYA}),
            1,
            3,
            from_question=found.scope.scope,
            documents_beside=1,
        )
        assert {hit.chunk.metadata.get("country_name") for hit in found.trace.hits} == {
            "Kenya",
            None,
        }

    def test_what_was_understood(self, services, server, agent) -> None:
        asked = question("Compare growth in Kenya and France in 2022")
        understood = answer(run(services, agent, asked)).trace.understood
        assert understood == Subjects(
            countries=("Kenya", "France"), figure_years=(Values((2022,)),)
        )

    @pytest.mark.parametrize(
        ("query", "asked"), CASES["it is searched for as reports say it"]
    )
    def test_a_question_is_searched_for_as_reports_say_it(
        self, services, server, agent, query: str, asked: str
    ) -> None:
        run(services, agent, question(query))
        assert [one.search_text for one in agent.asked] == [asked]

    def test_the_condensed_question_counts(self, services, server, agent) -> None:
        asked = replace(
            question("and there?"), standalone="What is the growth rate of Mali?"
        )
        assert answer(run(services, agent, asked)).suggested_scope == ScopeSummary(
            Scope.of({"country_name": Values(("Mali",), or_none=True)}), 1, 2
        )


class TestCollection:
    def test_a_question_about_the_library_is_answered_from_the_list_of_reports(
        self, services, server, agent
    ) -> None:
        events = run(services, agent, question("Which reports do you have on Kenya?"))
        found = answer(events)
        assert (
            found.response
            == "There is 1 report for Kenya:\n\n- Kenya: Country Report 2023"
        )
        assert (found.answered, found.citations, found.trace.hits) == (True, (), ())
        assert found.scope == ScopeSummary(scope(country_name="Kenya"), 1, 3)
        assert (agent.asked, server.requests) == ([], [])

    def test_what_there_is_no_report_on_is_said(self, services, server, agent) -> None:
        found = answer(run(services, agent, question("Do you have reports on France?")))
        assert (
            found.response.startswith("There is no report on France."),
            found.answered,
        ) == (True, False)
        both = answer(
            run(
                services,
                agent,
                question("Which reports do you have on Kenya and France?"),
            )
        )
        assert both.response.startswith(
            "There is no report on France.\n\nThere is 1 report for Kenya:"
        )

    def test_the_chosen_scope_holds(self, services, server, agent) -> None:
        found = answer(
            run(
                services,
                agent,
                question("How many reports are there?", country_name="Mali"),
            )
        )
        assert found.response.startswith("There is 1 report for Mali:")
