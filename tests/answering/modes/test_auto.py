"""The router (R-C1): one call, or a rule; what it picked and why is part of the
answer.
"""

import pytest

from chatbot.domain import Scope
from chatbot.domain.scope import Values
from tests.answering.modes.bench import Bench, keyless, model
from tests.data import cases
from tests.fakes.scripted_model import ScriptedModel, asked

CASES = cases(__file__)

__all__ = ["keyless", "model"]

COMPARED = "Compare the population of Kenya and Mali"


@pytest.mark.parametrize("mode", ["direct", "deep", "chain", "compare"])
def test_auto_takes_the_mode_that_the_model_picks(model: Bench, mode: str) -> None:
    """One call more than the mode itself, and its path, steps and ledger before the
    mode's own.
    """
    told, alone = (
        model.ask("auto", ScriptedModel(auto=f'{{"choice": "{mode}"}}'), COMPARED),
        model.ask(mode, None, COMPARED),
    )
    assert told.stages == ["auto", *alone.stages]
    trace = told.answer.trace
    assert trace.mode == mode
    assert told.details("mode") == [f"Chosen by the model: {mode}"]
    assert trace.path[0].name == "mode"
    names = [(step.name, step.items) for step in alone.path if step.name != "found"]
    assert [
        (step.name, step.items) for step in trace.path[1:] if step.name != "found"
    ] == names
    assert trace.steps[0].name == "auto"
    assert trace.ledger[0].stage == "auto"
    assert trace.usage.calls == alone.answer.trace.usage.calls + 1
    assert told.answer.response == alone.answer.response


def test_a_comparison_is_offered_where_there_is_something_to_compare(
    model: Bench,
) -> None:
    compared = model.ask("auto", None, COMPARED).requests[0]
    assert "compare: the same search in each" in compared.body["messages"][0]["content"]
    told = model.ask(
        "auto",
        ScriptedModel(auto='{"choice": "compare"}'),
        "What is the population of Kenya?",
    )
    assert "compare" not in told.requests[0].body["messages"][0]["content"]
    assert told.answer.trace.mode == "direct"


def test_the_report_is_never_picked(model: Bench) -> None:
    told = model.ask("auto", ScriptedModel(auto='{"choice": "report"}'), COMPARED)
    assert told.answer.trace.mode == "direct"


def test_the_router_is_told_the_scope(model: Bench) -> None:
    told = model.ask(
        "auto",
        None,
        "What is the population?",
        scope=Scope.of({"country_name": Values(("Kenya", "Mali"))}),
    )
    assert "Scope chosen: Kenya or Mali" in asked(told.requests[0])


@pytest.mark.parametrize(
    ("query", "mode"), [*CASES["without_a_model_a_rule_picks"], (COMPARED, "compare")]
)
def test_without_a_model_a_rule_picks(keyless: Bench, query: str, mode: str) -> None:
    told = keyless.ask("auto", query=query)
    assert told.answer.trace.mode == mode
    assert told.details("mode")[0].startswith(f"Chosen: {mode}, because it ")
    assert told.answer.trace.usage.calls == 0
