"""Generation calls, counted at the server: as many as each agent promises, and as many
as its ledger says (R-C7).
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.answering.modes.bench import Bench, Told, add, bench
from tests.answering.modes.conftest import scope
from tests.fakes.openai_replies import Recorded, Reply
from tests.fakes.scripted_model import ScriptedModel, is_repair

TOPICS = 120
NOT_FOUND = '{"numbers": []}'


def long_report() -> str:
    sections = (
        f"## Topic {n}\n\nThe matter of topic{n} is {n} units, as counted.\n"
        for n in range(TOPICS)
    )
    return "\n".join(["# Chad: Country Report 2022\n", *sections])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("calls")


def opened(folder: Path, **overrides: int | str) -> Iterator[Bench]:
    with bench(folder, **overrides) as made:
        add(
            made.services,
            folder,
            long_report(),
            "chad-2022",
            country_name="Chad",
            year=2022,
            type="country_report",
        )
        yield made


@pytest.fixture(scope="module", params=[1, 2, 3], ids="rounds-{}".format)
def rounds(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[Bench, int]]:
    many: int = request.param
    for made in opened(folder / str(many), deep_rounds=many, chain_rounds=many):
        yield made, many


@pytest.fixture(scope="module")
def usual(folder: Path) -> Iterator[Bench]:
    yield from opened(folder / "usual")


def queries(*asked: str) -> str:
    return json.dumps({"queries": asked})


class Curious:
    """Never has enough: each reply asks for topics that were not asked for."""

    def __init__(self, many: int, first: int = 0) -> None:
        self.many, self.next = many, first

    def __call__(self, request: Recorded) -> str:
        self.next += self.many
        return queries(
            *(
                f"What is the matter of topic{n}?"
                for n in range(self.next - self.many, self.next)
            )
        )

    def one(self, request: Recorded) -> str:
        self.next += 1
        return json.dumps(
            {"enough": False, "question": f"What is the matter of topic{self.next}?"}
        )


@pytest.mark.parametrize("top_k", [5, 50])
def test_deep_makes_two_and_two_a_round(rounds: tuple[Bench, int], top_k: int) -> None:
    """Relevance is one call, however much was found; nobody reflects on the last
    round.
    """
    made, many = rounds
    model = ScriptedModel(plan=Curious(4), reflect=Curious(3, first=10))
    told = made.ask("deep", model, "What is the matter of topic100?", top_k=top_k)
    assert told.stages == [
        "plan",
        *["relevance", "reflect"] * (many - 1),
        "relevance",
        "answer",
    ]
    assert len(told.stages) <= 2 + 2 * many
    assert len(told.details("search")) == many


def test_chain_makes_at_most_three_a_round_and_one(rounds: tuple[Bench, int]) -> None:
    made, many = rounds
    told = made.ask(
        "chain",
        ScriptedModel(follow_up=Curious(1).one),
        "What is the matter of topic100?",
    )
    assert told.stages == [*["follow_up", "intermediate"] * many, "answer"]
    assert len(told.stages) <= 3 * many + 1


@pytest.mark.parametrize(
    "mode", ["direct", "deep", "chain", "auto", "compare", "report"]
)
def test_the_ledger_has_each_stage(usual: Bench, mode: str) -> None:
    told = usual.ask(mode)
    assert ledger(told) == Counter(
        {"generate" if name in WRITES else name: n for name, n in calls(told).items()}
    )


def test_the_ledger_has_what_failed_and_what_was_repaired(usual: Bench) -> None:
    model = ScriptedModel(
        plan="Well.", relevance=Reply(status=500), reflect=["Hm.", queries()]
    )
    told = usual.ask("deep", model)
    rows = {row.stage: row.usage for row in told.answer.trace.ledger if row.usage.calls}
    assert {
        name: (usage.calls, usage.failed_calls) for name, usage in rows.items()
    } == {
        "plan": (1, 0),
        "relevance": (1, 1),
        "reflect": (1, 0),
        "repair": (2, 0),
        "generate": (1, 0),
    }
    assert sum(map(is_repair, told.requests)) == 2


@pytest.mark.parametrize("mode", ["deep", "chain", "compare", "report"])
def test_the_ledger_has_the_tries_of_a_context_that_is_too_long(
    usual: Bench, mode: str
) -> None:
    too_long = Reply(
        status=400, error={"message": "Too long.", "code": "context_length_exceeded"}
    )
    told = usual.ask(mode, ScriptedModel(answer=too_long, compare=too_long))
    rows = {row.stage: row.usage for row in told.answer.trace.ledger}
    assert rows["generate"].failed_calls == 1
    written = sum(stage in WRITES for stage in told.stages)
    shortened = rows["shorten"].failed_calls if "shorten" in rows else 0
    assert (
        shortened == written - 1 == [step.name for step in told.path].count("shorten")
    )


def test_what_breaks_off_is_paid_for_and_what_is_refused_is_not(usual: Bench) -> None:
    broken = usual.ask(
        "deep", ScriptedModel(answer=Reply(["It is so [1]. ", "And"], ending="drop"))
    )
    refused = usual.ask("deep", ScriptedModel(answer=Reply(status=429)))
    assert spent(broken) > 20
    assert spent(refused) == 0


WRITES = {"answer", "compare"}


def calls(told: Told) -> Counter[str]:
    return Counter(told.stages)


def ledger(told: Told) -> Counter[str]:
    return Counter(
        {
            row.stage: row.usage.calls
            for row in told.answer.trace.ledger
            if row.usage.calls
        }
    )


def spent(told: Told) -> int:
    return next(
        row.usage.tokens for row in told.answer.trace.ledger if row.stage == "generate"
    )


def test_no_query_is_searched_twice(usual: Bench) -> None:
    model = ScriptedModel(
        plan=queries(
            "What is the matter of topic7?",
            "what is  the MATTER of topic7",
            "What is topic100?",
        ),
        reflect=queries(
            "WHAT IS THE MATTER OF TOPIC7 ?",
            " What is topic100",
            "What is the matter of topic9?",
        ),
    )
    told = usual.ask("deep", model, "What is topic100?")
    searched = [step.detail for step in told.path if step.name == "found"]
    assert sorted(searched) == [
        "What is the matter of topic7?",
        "What is the matter of topic9?",
        "What is topic100?",
    ]


def test_gaps_that_were_asked_already_end_the_search(usual: Bench) -> None:
    model = ScriptedModel(
        plan=queries("What is topic100?"), reflect=queries("what is topic100 ??")
    )
    told = usual.ask("deep", model, "What is Topic100?")
    assert told.stages == ["plan", "relevance", "reflect", "answer"]
    assert len(told.details("search")) == 1


def test_a_round_that_brings_nothing_new_ends_the_search(usual: Bench) -> None:
    """The new question finds the same passages: nothing to judge, nothing to reflect
    on.
    """
    model = ScriptedModel(plan=queries("topic7"), reflect=Curious(1))
    told = usual.ask("deep", model, "topic7", top_k=50, scope=scope(year=2021))
    assert told.stages == ["plan", "relevance", "reflect", "answer"]
    assert len(told.details("search")) == 2


def test_a_round_of_nothing_relevant_ends_the_search(usual: Bench) -> None:
    first_all = lambda request: json.dumps({"numbers": [1, 2, 3]})  # noqa: E731
    model = ScriptedModel(
        plan=Curious(2), relevance=[first_all, NOT_FOUND], reflect=Curious(3)
    )
    told = usual.ask("deep", model, "What is the matter of topic100?")
    assert told.stages == ["plan", "relevance", "reflect", "relevance", "answer"]
    assert told.answer.answered


def test_a_chain_that_has_enough_before_it_began_asks_the_question(
    usual: Bench,
) -> None:
    told = usual.ask(
        "chain",
        ScriptedModel(follow_up='{"enough": true, "question": ""}'),
        "What is topic100?",
    )
    assert told.details("follow_up") == ["What is topic100?"]
    assert told.stages == ["follow_up", "intermediate", "follow_up", "answer"]


def test_a_chain_that_asks_the_same_again_ends(usual: Bench) -> None:
    same = [
        '{"enough": false, "question": "What is topic7?"}',
        '{"enough": false, "question": " what IS topic7 "}',
    ]
    told = usual.ask("chain", ScriptedModel(follow_up=same), "What is topic100?")
    assert told.stages == ["follow_up", "intermediate", "follow_up", "answer"]
    assert told.details("follow_up") == ["What is topic7?"]


def test_nothing_relevant_is_no_answer(usual: Bench) -> None:
    told = usual.ask("deep", ScriptedModel(relevance=NOT_FOUND))
    assert told.stages == ["plan", "relevance"]
    assert not told.answer.answered
    assert "do not seem to answer this question" in told.answer.response
    assert "The closest passages:" in told.answer.response
    assert told.answer.trace.hits
