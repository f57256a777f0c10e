"""Time limits of calls and requests, on a clock that the test moves."""

from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace

import pytest
from pymongo.errors import ConnectionFailure

from chatbot.database import core, mongo
from chatbot.database.core import begin_request, end_request
from chatbot.database.mongo import REQUEST_CALLS, SILENT_SECONDS, TimeLimits
from chatbot.domain.errors import DatabaseError


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    running = Clock()
    for module in (core, mongo):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=running))
    yield running
    end_request()


@pytest.fixture
def limits(clock: Clock) -> TimeLimits:
    return TimeLimits(4.0)


def answered(
    limits: TimeLimits, clock: Clock, after: float = 0.0, wanted: float | None = None
) -> float:
    """A call that is answered; returns its time limit."""
    with limits.call(wanted) as call:
        clock.now += after
    return call.seconds


def in_vain(limits: TimeLimits, clock: Clock, *, after: float = 4.0) -> None:
    """A call that fails like one that nobody answers."""
    with suppress(ConnectionFailure), limits.call():
        clock.now += after
        raise ConnectionFailure


def test_the_calls_of_a_request_share_a_limit(limits: TimeLimits, clock: Clock) -> None:
    begin_request()
    assert answered(limits, clock, after=3.5) == 4.0
    assert answered(limits, clock, after=2.0) == 4.0 * REQUEST_CALLS - 3.5
    assert answered(limits, clock, after=0.5) == 0.5
    with pytest.raises(DatabaseError) as raised, limits.call():
        pytest.fail("the call was made")
    assert raised.value.reason == "slow"
    begin_request()
    assert answered(limits, clock) == 4.0


def test_calls_of_a_request_that_overlap_count_once(
    limits: TimeLimits, clock: Clock
) -> None:
    begin_request()
    with limits.call(), limits.call(), limits.call(), limits.call():
        clock.now += 2.0
    clock.now += 60.0  # of a model
    assert answered(limits, clock, after=4.0) == 4.0
    with pytest.raises(DatabaseError), limits.call():
        pytest.fail("the call was made")


def test_a_call_that_begins_while_others_wait_has_what_is_left(
    limits: TimeLimits, clock: Clock
) -> None:
    begin_request()
    with limits.call():
        clock.now += 3.0
        assert answered(limits, clock) == 4.0 * REQUEST_CALLS - 3.0


def test_a_silent_server_is_waited_for_briefly_until_it_answers(
    limits: TimeLimits, clock: Clock
) -> None:
    in_vain(limits, clock)
    assert answered(limits, clock) == SILENT_SECONDS
    assert answered(limits, clock) == 4.0


def test_a_late_call_says_nothing_while_others_are_answered(
    limits: TimeLimits, clock: Clock
) -> None:
    with suppress(ConnectionFailure), limits.call():
        clock.now += 2.0
        answered(limits, clock)
        clock.now += 2.0
        raise ConnectionFailure
    assert answered(limits, clock) == 4.0
