"""Telling work that nobody waits for it, from another thread, in time, and in part."""

from __future__ import annotations

import threading
import time

from chatbot.cancellation import Cancellation


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
        assert cancel.wait(60.0)
        assert time.monotonic() - started < 10

    def test_a_sleeper_that_nobody_wakes(self) -> None:
        assert not Cancellation().wait(0.01)
