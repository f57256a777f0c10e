"""Telling work that nobody waits for it, from another thread, in time, and in part."""

from __future__ import annotations

import threading
import time

import pytest

from chatbot.cancellation import Cancellation, breakable, current_cancellation, time_limit


class TestCancellation:
    def test_callbacks_run_once(self) -> None:
        cancel, heard = Cancellation(), list[str]()
        cancel.on_cancel(lambda: heard.append("a"))
        assert not cancel.cancelled
        cancel.cancel()
        cancel.cancel()
        assert cancel.cancelled
        assert heard == ["a"]

    def test_what_is_said_too_late_runs_at_once(self) -> None:
        cancel, heard = Cancellation(), list[str]()
        cancel.cancel()
        cancel.on_cancel(lambda: heard.append("late"))
        assert heard == ["late"]

    def test_what_is_forgotten_does_not_run(self) -> None:
        cancel, heard = Cancellation(), list[str]()

        def callback() -> None:
            heard.append("a")

        cancel.on_cancel(callback)
        cancel.forget(callback)
        cancel.forget(callback)
        cancel.cancel()
        assert heard == []

    def test_a_part_ends_with_the_whole_and_not_the_other_way_round(self) -> None:
        whole = Cancellation()
        one, other = Cancellation(whole), Cancellation(whole)
        one.cancel()
        assert (one.cancelled, other.cancelled, whole.cancelled) == (True, False, False)
        whole.cancel()
        assert other.cancelled
        assert Cancellation(whole).cancelled

    def test_a_sleeper_is_woken(self) -> None:
        cancel = Cancellation()
        threading.Timer(0.1, cancel.cancel).start()
        started = time.monotonic()
        assert cancel.wait(30.0)
        assert time.monotonic() - started < 1.0

    def test_a_sleeper_that_nobody_wakes(self) -> None:
        assert not Cancellation().wait(0.01)


class TestTimeLimit:
    def test_it_ends_alone(self) -> None:
        cancel = Cancellation()
        with time_limit(cancel, 0.05) as limited:
            assert limited.wait(5.0)
        assert not cancel.cancelled

    @pytest.mark.parametrize("seconds", [None, 30.0])
    def test_it_ends_with_the_whole(self, seconds: float | None) -> None:
        cancel = Cancellation()
        with time_limit(cancel, seconds) as limited:
            cancel.cancel()
            assert limited.cancelled

    @pytest.mark.parametrize("seconds", [0.0, -3.0])
    def test_no_time_at_all(self, seconds: float) -> None:
        with time_limit(Cancellation(), seconds) as limited:
            assert limited.wait(5.0)

    def test_afterwards_nothing_is_left_of_it(self) -> None:
        cancel, before = Cancellation(), threading.active_count()
        for seconds in [30.0] * 50 + [None] * 50:
            with time_limit(cancel, seconds) as limited:
                pass
        assert cancel._callbacks == []
        cancel.cancel()
        assert not limited.cancelled
        deadline = time.monotonic() + 5.0
        while threading.active_count() > before:
            assert time.monotonic() < deadline
            time.sleep(0.01)


class TestBreakable:
    def test_the_innermost_holds(self) -> None:
        outer, inner = Cancellation(), Cancellation()
        assert current_cancellation() is None
        with breakable(outer):
            with breakable(inner):
                assert current_cancellation() is inner
            assert current_cancellation() is outer
        assert current_cancellation() is None

    def test_another_thread_has_none(self) -> None:
        seen: list[object] = []
        with breakable(Cancellation()):
            thread = threading.Thread(target=lambda: seen.append(current_cancellation()))
            thread.start()
            thread.join()
        assert seen == [None]
