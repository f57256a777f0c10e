"""Deep search (R-C2): sub-questions at once, relevance in one call a round, gaps until
nothing is missing.
"""

import json
from collections.abc import Iterator

import pytest

from chatbot.domain import Message, StepEvent
from tests.answering.modes.bench import Bench, bench, model
from tests.fakes.scripted_model import ScriptedModel, asked

__all__ = ["model"]

COMPARED = "What is the population of Kenya and Mali?"


def queries(*found: str) -> str:
    return json.dumps({"queries": found})


@pytest.fixture(scope="module")
def keyless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(
        tmp_path_factory.mktemp("keyless"), chat_model="extractive", relevance_floor=0.6
    ) as opened:
        yield opened


class TestRounds:
    def test_what_is_missing_is_searched_and_shown(self, model: Bench) -> None:
        """Of the plan only Kenya is found; the gap brings Mali's gold."""
        plan, gaps = (
            queries("Population of Kenya?"),
            [queries("What is exported?"), queries()],
        )
        told = model.ask(
            "deep",
            ScriptedModel(plan=plan, reflect=gaps),
            "Who lives in Kenya?",
            top_k=1,
        )
        assert told.items("reflect") == ["What is exported?"]
        assert told.details("search") == [
            "Round 1: 2 searches at once",
            "Round 2: 1 search at once",
        ]

    def test_what_is_judged_useless_is_not_in_the_answer(self, model: Bench) -> None:
        told = model.ask("deep", ScriptedModel(relevance='{"numbers": [2]}'))
        assert told.details("relevance")[0].startswith("1 of ")
        assert told.shown == 1

    def test_a_sub_question_about_a_country_is_searched_there(
        self, model: Bench
    ) -> None:
        told = model.ask(
            "deep",
            ScriptedModel(plan=queries("Population of Kenya?", "Population of Mali?")),
        )
        found = {
            s.detail: {hit.chunk.metadata["country_name"] for hit in s.hits}
            for s in told.path
            if s.name == "found"
        }
        assert found["Population of Kenya? (Kenya)"] == {"Kenya"}
        assert found["Population of Mali? (Mali)"] == {"Mali"}

    def test_the_answer_is_told_what_was_asked(self, model: Bench) -> None:
        told = model.ask(
            "deep", ScriptedModel(plan=queries("Population of Kenya?")), COMPARED
        )
        assert f"- {COMPARED}\n- Population of Kenya?" in asked(told.requests[-1])

    def test_a_passage_comes_once(self, model: Bench) -> None:
        told = model.ask("deep")
        ids = [hit.chunk.id for hit in told.answer.trace.hits]
        assert len(ids) == len(set(ids))
        assert [hit.rank for hit in told.answer.trace.hits] == list(
            range(1, len(ids) + 1)
        )


class TestKeyless:
    def test_a_part_without_anything_says_so_in_the_language_of_the_page(
        self, keyless: Bench
    ) -> None:
        query = (
            "What is the population of Kenya? Who flew across lunar craters to Jupiter?"
        )
        told = keyless.ask("deep", query=query, language="fr")
        assert told.answer.response.endswith(
            "Jupiter in Kenya?**\n\nRien n'a été trouvé."
        )

    def test_one_question_has_no_headings(self, keyless: Bench) -> None:
        told = keyless.ask("deep", query="What is the population of Kenya?")
        assert told.details("plan") == []
        assert "**What" not in told.answer.response
        assert "52,428,290" in told.answer.response

    def test_what_is_about_something_else_is_not_quoted(self, keyless: Bench) -> None:
        told = keyless.ask(
            "deep", query="Who walked across lunar craters and who flew to Jupiter?"
        )
        assert not told.answer.answered
        assert "do not seem to answer this question" in told.answer.response


def test_a_follow_up_is_planned_with_its_conversation(model: Bench) -> None:
    before = [
        Message("user", "What is the population of Kenya?"),
        Message("assistant", "52,428,290 [1]."),
    ]
    told = model.ask("deep", None, "And of Mali?", previous=before)
    assert told.stages[:2] == ["condense", "plan"]
    assert isinstance(told.events[0], StepEvent)
    assert told.events[0].name == "condense"
    assert told.answer.trace.query in asked(told.requests[1])
    assert told.answer.trace.steps[0].name == "condense_model"
    assert told.answer.answered


def test_terms_of_a_model_are_searched_for_where_that_is_asked_for(
    model: Bench,
) -> None:
    told = model.ask("deep", ScriptedModel(), "Who lives in Kenya?", expand=True)
    assert told.stages[:2] == ["plan", "expand"]
    assert told.items("expand") == ["inhabitants", "demography"]
    assert "Who lives in Kenya? inhabitants demography" in " ".join(
        told.details("found")
    )
    assert "expand" not in model.ask("deep").stages
