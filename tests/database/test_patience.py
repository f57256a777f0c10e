"""Time limits of calls and requests, on a clock that the test moves."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from chatbot.database.patience import (
    REQUEST_SHARE,
    SILENT_SECONDS,
    NoTimeLeftError,
    Patience,
    begin_request,
    end_request,
)


class SilenceError(Exception):
    """What the driver raises when nobody answers."""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Iterator[Clock]:
    running = Clock()
    yield running
    end_request()


@pytest.fixture
def patience(clock: Clock) -> Patience:
    return Patience(4.0, silence=(SilenceError,), clock=clock)


def answered(patience: Patience, clock: Clock, after: float = 0.0, wanted: float | None = None) -> float:
    """A call that is answered; returns its time limit."""
    with patience.call(wanted) as limit:
        clock.now += after
    return limit


def unanswered(patience: Patience, clock: Clock, *, after: float = 4.0) -> None:
    """A call that fails like one that nobody answers."""
    with patience.call():
        clock.now += after
        raise SilenceError


def in_vain(patience: Patience, clock: Clock) -> None:
    with pytest.raises(SilenceError):
        unanswered(patience, clock)


def made_with_others(patience: Patience, clock: Clock) -> None:
    """The same while another call is answered."""
    with patience.call():
        clock.now += 2.0
        answered(patience, clock)
        clock.now += 2.0
        raise SilenceError


def refused(patience: Patience) -> None:
    with patience.call():
        raise ValueError("refused")


def test_a_call_gets_the_usual_time_or_its_own(patience: Patience, clock: Clock) -> None:
    assert answered(patience, clock) == 4.0
    assert answered(patience, clock, wanted=60.0) == 60.0
    assert answered(patience, clock, wanted=0.5) == 0.5


def test_the_calls_of_a_request_share_a_limit(patience: Patience, clock: Clock) -> None:
    begin_request(clock)
    assert answered(patience, clock, after=3.5) == 4.0
    assert answered(patience, clock, after=2.0) == 4.0 * REQUEST_SHARE - 3.5
    assert answered(patience, clock, after=0.5) == 0.5
    with pytest.raises(NoTimeLeftError) as raised, patience.call():
        pytest.fail("the call was made")
    assert not raised.value.silent
    begin_request(clock)
    assert answered(patience, clock) == 4.0


def test_what_happens_between_calls_does_not_count(patience: Patience, clock: Clock) -> None:
    begin_request(clock)
    clock.now += 60  # a model thinks
    assert answered(patience, clock) == 4.0


def test_a_silent_server_is_waited_for_briefly_until_it_answers(patience: Patience, clock: Clock) -> None:
    in_vain(patience, clock)
    assert answered(patience, clock) == SILENT_SECONDS
    assert answered(patience, clock) == 4.0


def test_requests_that_began_before_the_silence_give_up_at_once(patience: Patience, clock: Clock) -> None:
    begin_request(clock)
    thread = threading.Thread(target=in_vain, args=(patience, clock))  # another request
    thread.start()
    thread.join()
    with pytest.raises(NoTimeLeftError) as raised, patience.call():
        pytest.fail("the call was made")
    assert raised.value.silent
    begin_request(clock)
    assert answered(patience, clock) == SILENT_SECONDS


def test_a_late_call_says_nothing_while_others_are_answered(patience: Patience, clock: Clock) -> None:
    with pytest.raises(SilenceError):
        made_with_others(patience, clock)
    assert answered(patience, clock) == 4.0


def test_a_broken_connection_is_not_silence(patience: Patience, clock: Clock) -> None:
    with pytest.raises(SilenceError):
        unanswered(patience, clock, after=0.01)
    assert answered(patience, clock) == 4.0


def test_a_refusal_is_an_answer(patience: Patience, clock: Clock) -> None:
    in_vain(patience, clock)
    with pytest.raises(ValueError, match="refused"):
        refused(patience)
    assert answered(patience, clock) == 4.0
