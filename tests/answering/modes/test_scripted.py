"""Whatever a model says to whatever stage of whatever agent: an answer, and the
fallback that is documented (R-C9). Over HTTP, with the real SDK, streaming.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from chatbot.domain.errors import ChatModelError, ContextLengthError
from chatbot.models.replies import REPAIR
from tests.answering.modes.behaviours import (
    FAILING,
    READABLE,
    SLOW,
    STREAMED,
    THOUGHT,
    TIMEOUT,
    UNREADABLE,
    Behaviour,
    listed,
    some_wrong_indices,
    wrong_indices,
)
from tests.answering.modes.bench import COLLECTIONS, QUESTION, Bench, Told, bench
from tests.data import cases
from tests.fakes.openai_replies import Reply
from tests.fakes.scripted_model import ScriptedModel, ideal

PLANNING = [
    ("deep", "plan"),
    ("deep", "relevance"),
    ("deep", "reflect"),
    ("deep", "collections"),
    ("chain", "follow_up"),
    ("chain", "collections"),
    ("auto", "auto"),
    ("compare", "collections"),
    ("report", "collections"),
]
WRITING = [
    ("direct", "answer"),
    ("deep", "answer"),
    ("chain", "answer"),
    ("auto", "answer"),
    ("compare", "compare"),
    ("report", "answer"),
]
ASKED_IN_PROSE = ("chain", "intermediate")
CASES = cases(__file__)
FALLBACKS = CASES["fallbacks"]
BY_DAY, FEW = 6, 12
SILENT = ("empty", "white space", "thoughts without end")
"""The unreadable replies that are no short answer of a chain either."""
QUOTED = "Quoted from the reports instead:"
STRICT = {"on_model_error": "error"}
"""The modes' own fallbacks; `tests/app/web/test_model_faults.py` has the flow's."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("plain"), **STRICT) as opened:
        yield opened


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """With collections to choose from."""
    folder = tmp_path_factory.mktemp("routed")
    with bench(folder, collections=COLLECTIONS, **STRICT) as opened:
        yield opened


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(
        tmp_path_factory.mktemp("hasty"),
        collections=COLLECTIONS,
        model_timeout=TIMEOUT,
        **STRICT,
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def retrying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(
        tmp_path_factory.mktemp("retrying"),
        collections=COLLECTIONS,
        model_retries=1,
        **STRICT,
    ) as opened:
        yield opened


@pytest.fixture
def either(plain: Bench, routed: Bench, stage: str) -> Bench:
    return routed if stage == "collections" else plain


def cases(
    pairs: Sequence[tuple[str, str]], behaviours: dict[str, Behaviour]
) -> pytest.MarkDecorator:
    """Of a large table one cell in `BY_DAY`, so that each row and each column has
    some; the others at night.
    """
    thin = BY_DAY if len(pairs) * len(behaviours) > FEW else 1
    found = [
        pytest.param(
            agent,
            stage,
            behaviour,
            id=f"{agent}-{stage}-{name}".replace(" ", "_"),
            marks=() if (row + column) % thin == 0 else pytest.mark.nightly,
        )
        for (row, (agent, stage)), (column, (name, behaviour)) in product(
            enumerate(pairs), enumerate(behaviours.items())
        )
    ]
    return pytest.mark.parametrize(("agent", "stage", "behaviour"), found)


def assert_no_thoughts(told: Told, *, shown: bool = False) -> None:
    assert THOUGHT not in told.answer.response
    assert not [step for step in told.path if THOUGHT in f"{step.detail}{step.items}"]
    if not shown:
        assert THOUGHT not in told.tokens


def assert_fell_back(told: Told, stage: str) -> None:
    """It stands in the path as failed, and what is documented was done."""
    failed = [step for step in told.failed if step.name == stage]
    first = "The question itself is asked" if stage == "follow_up" else FALLBACKS[stage]
    assert failed[0].detail.startswith(f"{first}: ")
    assert all(step.detail.startswith(f"{FALLBACKS[stage]}: ") for step in failed[1:])
    assert told.failed == failed
    assert told.answer.answered
    if stage == "relevance":
        assert told.shown == 5
    elif stage == "reflect":
        assert len(told.details("search")) == 1
    elif stage == "collections":
        assert not told.details("collections")
        assert not told.answer.scope.scope.collections
    elif stage == "auto":
        assert told.answer.trace.mode == "direct"
    elif stage == "follow_up":
        assert told.details("follow_up") == [QUESTION]


@cases(PLANNING, {**READABLE, "listed": listed})
def test_what_can_be_read_is_read_at_once(
    either: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told, wanted = (
        either.ask(agent, ScriptedModel(**{stage: behaviour})),
        either.ideal(agent),
    )
    assert told.stages == wanted.stages
    assert [
        (step.name, step.detail, step.items)
        for step in told.path
        if step.name != "found"
    ] == [
        (step.name, step.detail, step.items)
        for step in wanted.path
        if step.name != "found"
    ]
    assert not told.failed
    assert told.timed(REPAIR) == 0
    assert told.answer.response == wanted.answer.response
    assert_no_thoughts(told)


@cases(PLANNING, {**UNREADABLE})
def test_what_cannot_be_read_is_repaired_once(
    either: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told, wanted = (
        either.ask(agent, ScriptedModel(**{stage: [behaviour, ideal]})),
        either.ideal(agent),
    )
    place = wanted.stages.index(stage)
    assert told.stages == [*wanted.stages[:place], stage, *wanted.stages[place:]]
    assert told.timed(REPAIR) == 1
    assert not told.failed
    assert told.answer.response == wanted.answer.response
    assert_no_thoughts(told)


@pytest.mark.parametrize(
    ("agent", "stage", "behaviour"),
    [
        *cases(PLANNING, {**UNREADABLE}).args[1],
        *cases([ASKED_IN_PROSE], {name: UNREADABLE[name] for name in SILENT}).args[1],
    ],
)
def test_what_stays_unreadable_falls_back(
    either: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told = either.ask(agent, ScriptedModel(**{stage: behaviour}))
    assert_fell_back(told, stage)
    assert told.timed(REPAIR) == told.timed(stage) == len(told.failed)
    assert all(
        step.detail.endswith("its reply could not be read") for step in told.failed
    )
    assert_no_thoughts(told)
    if stage == "plan":
        assert len(told.items("plan")) == 2


@cases([*PLANNING, ASKED_IN_PROSE], {**FAILING})
def test_a_call_that_fails_is_not_repaired(
    either: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told = either.ask(agent, ScriptedModel(**{stage: behaviour}))
    assert_fell_back(told, stage)
    assert told.timed(REPAIR) == 0
    assert told.answer.trace.usage.failed_calls == told.timed(stage)
    assert_no_thoughts(told)


@cases([*PLANNING, ASKED_IN_PROSE], {"silent": SLOW["silent from the beginning"]})
def test_a_model_that_says_nothing_is_not_waited_for(
    hasty: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told = hasty.ask(agent, ScriptedModel(**{stage: [behaviour, ideal]}))
    assert_fell_back(told, stage)
    assert "did not answer in time" in told.failed[0].detail
    assert told.timed(REPAIR) == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("agent", "stage"), [*PLANNING, ASKED_IN_PROSE, *WRITING])
def test_after_a_rate_limit_the_sdk_tries_again(
    retrying: Bench, agent: str, stage: str
) -> None:
    limited = Reply(status=429, headers={"retry-after-ms": "1"})
    told = retrying.ask(agent, ScriptedModel(**{stage: [limited, ideal]}))
    assert not told.failed
    assert told.timed(REPAIR) == 0
    assert told.answer.response == retrying.ideal(agent).answer.response


@cases(
    [("deep", "relevance"), ("report", "collections"), ("auto", "auto")],
    {"wrong indices": wrong_indices},
)
def test_numbers_out_of_range_are_unreadable(
    either: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told = either.ask(agent, ScriptedModel(**{stage: behaviour}))
    assert_fell_back(told, stage)
    assert told.timed(REPAIR) == 1


def test_numbers_of_no_passage_are_left_out(plain: Bench, routed: Bench) -> None:
    deep = plain.ask("deep", ScriptedModel(relevance=some_wrong_indices))
    assert deep.details("relevance") == ["2 of 5 passages help"]
    assert not deep.failed
    collections = routed.ask(
        "deep", ScriptedModel(collections='{"numbers": [0, 99, "1"]}')
    )
    assert collections.items("collections") == ["chatbot_data", "report_chatting"]


@cases(WRITING, {"all": lambda request: "So it is [0], [99], [-1], [x] and [1000]."})
def test_a_citation_of_no_passage_is_none(
    plain: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told = plain.ask(agent, ScriptedModel(**{stage: behaviour}))
    # a comparison without a table gets one of quotations
    assert told.answer.answered == (agent == "compare")
    assert {99} <= {
        number for sentence in told.answer.unsupported for number in sentence.unknown
    }


@cases(
    [ASKED_IN_PROSE],
    {**READABLE, "refusal": UNREADABLE["refusal"], "HTML": UNREADABLE["HTML"]},
)
def test_any_words_are_a_short_answer(
    plain: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told = plain.ask(agent, ScriptedModel(**{stage: behaviour}))
    assert not told.failed
    assert told.timed(REPAIR) == 0
    assert told.answer.answered
    assert_no_thoughts(told)


@cases(WRITING, {**READABLE, **STREAMED})
def test_an_answer_is_shown_without_thoughts(
    plain: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told = plain.ask(agent, ScriptedModel(**{stage: behaviour}))
    assert told.answer.answered
    assert not told.failed
    # Thoughts that were never begun are known as such at their end only: until then
    # they are shown.
    assert_no_thoughts(told, shown=behaviour is READABLE["thoughts without beginning"])


@cases(WRITING, {**UNREADABLE})
def test_an_answer_of_nothing_is_quoted(
    plain: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told = plain.ask(agent, ScriptedModel(**{stage: behaviour}))
    silent = behaviour not in (
        UNREADABLE["refusal"],
        UNREADABLE["HTML"],
        UNREADABLE["invalid JSON"],
    )
    assert (QUOTED in told.answer.response) == silent
    assert told.answer.answered == (silent or agent == "compare")
    assert told.answer.trace.usage.failed_calls == 0
    assert_no_thoughts(told)


@cases(WRITING, {**FAILING})
def test_an_answer_that_fails_is_quoted(
    plain: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    model = ScriptedModel(**{stage: behaviour})
    if agent == "direct":
        with pytest.raises(ChatModelError) as raised:
            plain.ask(agent, model)
        assert raised.value.retry_after or isinstance(raised.value, ContextLengthError)
        return
    told = plain.ask(agent, model)
    assert_ended_early(told)
    assert_no_thoughts(told)
    began = behaviour in [
        FAILING[name] for name in FAILING if name.endswith("in the middle")
    ]
    assert (QUOTED in told.answer.response) == (not began)
    assert told.answer.answered or began


@cases(WRITING, {**SLOW})
def test_an_answer_that_is_not_waited_for(
    hasty: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    model = ScriptedModel(**{stage: behaviour})
    if agent == "direct":
        with pytest.raises(ChatModelError, match="did not answer in time"):
            hasty.ask(agent, model)
        return
    assert_ended_early(hasty.ask(agent, model))


@pytest.mark.parametrize(
    ("agent", "stage"), [pair for pair in WRITING if pair[0] != "direct"]
)
def test_thoughts_without_a_beginning_are_no_part_of_what_is_left(
    plain: Bench, agent: str, stage: str
) -> None:
    broken = Reply(
        [f"A {THOUGHT} thought. ", "</think>", "It is so [1]. ", "And"], ending="drop"
    )
    told = plain.ask(agent, ScriptedModel(**{stage: broken}))
    assert_ended_early(told)
    assert_no_thoughts(told, shown=True)
    assert "It is so [1]" in told.answer.response


@cases([("auto", "auto")], {**FAILING})
def test_auto_quotes_where_no_call_works(
    plain: Bench, agent: str, stage: str, behaviour: Behaviour
) -> None:
    told = plain.ask(
        agent,
        ScriptedModel(**{stage: behaviour, "answer": behaviour}),
        "What is the population of Kenya?",
    )
    assert set(told.stages) == {"auto", "answer"}
    began = behaviour in [
        FAILING[name] for name in FAILING if name.endswith("in the middle")
    ]
    assert (QUOTED in told.answer.response) == (not began)
    assert told.answer.trace.stopped_by == "model"


def assert_ended_early(told: Told) -> None:
    trace = told.answer.trace
    assert trace.stopped_by == "model"
    assert not trace.truncated  # that is said of the limit only
    assert (
        trace.usage.failed_calls
        == sum(step.usage.failed_calls for step in trace.steps)
        >= 1
    )
    assert {step.name for step in told.failed} == {"generate"}
