"""Chain of RAG (R-C3): one simple question after the other, each with what the earlier
ones found.
"""

import json

from tests.answering.modes.bench import Bench, model
from tests.fakes.scripted_model import ScriptedModel, asked, passages

__all__ = ["model"]

ENOUGH = '{"enough": true, "question": ""}'


def then(question: str) -> str:
    return json.dumps({"enough": False, "question": question})


def test_question_and_answer_until_it_is_enough(model: Bench) -> None:
    # which is not asked any more
    enough = '{"enough": true, "question": "What is exported?"}'
    links = [
        then("What is the population of Kenya?"),
        then("What is the population of Mali?"),
        enough,
    ]
    told = model.ask(
        "chain",
        ScriptedModel(
            follow_up=links, intermediate=["52 million [1].", "20 million [1]."]
        ),
    )
    assert told.stages == [
        "follow_up",
        "intermediate",
        "follow_up",
        "intermediate",
        "follow_up",
        "answer",
    ]
    assert told.details("follow_up") == [
        "What is the population of Kenya?",
        "What is the population of Mali?",
    ]
    assert told.details("intermediate") == ["52 million [1].", "20 million [1]."]
    so_far = (
        "- What is the population of Kenya?\n  52 million.\n- What is the population "
        "of Mali?\n  20 million."
    )
    assert so_far in asked(told.requests[-2])
    assert so_far in asked(told.requests[-1])


def test_only_supporting_passages_are_kept(model: Bench) -> None:
    links = [then("What is the population of Kenya?"), ENOUGH]
    told = model.ask(
        "chain", ScriptedModel(follow_up=links, intermediate="52 million [2].")
    )
    asked_of = next(
        request
        for request in told.requests
        if "52 million" not in asked(request) and passages(request)
    )
    assert len(passages(asked_of)) == 3
    assert told.shown == 1


def test_an_answer_that_cites_nothing_keeps_all(model: Bench) -> None:
    told = model.ask(
        "chain",
        ScriptedModel(
            follow_up=[then("Population of Kenya?"), ENOUGH], intermediate="52 million."
        ),
    )
    assert told.shown == 3


def test_what_is_not_found_supports_nothing(model: Bench) -> None:
    links = [then("Who rules Kenya?"), then("What is the population of Kenya?"), ENOUGH]
    told = model.ask(
        "chain",
        ScriptedModel(
            follow_up=links, intermediate=["**Not found**", "52 million [1]."]
        ),
    )
    assert told.details("intermediate") == ["Not found.", "52 million [1]."]
    assert "- Who rules Kenya?\n  Not found." in asked(told.requests[-1])
    assert told.shown == 1


def test_nothing_found_at_all_is_said(model: Bench) -> None:
    told = model.ask(
        "chain",
        ScriptedModel(
            follow_up=[then("Who rules Kenya?"), ENOUGH], intermediate="Not found."
        ),
    )
    assert told.stages == ["follow_up", "intermediate", "follow_up"]
    assert not told.answer.answered
    assert "The closest passages:" in told.answer.response
