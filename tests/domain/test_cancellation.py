"""Telling work that nobody waits for it, from another thread, in time, and in part."""

import gc
import queue
import threading
import time
import weakref
from functools import partial

from chatbot.domain import Cancellation
from chatbot.domain.cancellation import Deadlines


class TestCancellation:
    def test_callbacks_run_once(self) -> None:
        cancel, heard = Cancellation(), list[str]()
        cancel.on_cancel(lambda: heard.append("a"))
        assert not cancel.cancelled
        cancel.cancel()
        cancel.cancel()
        assert cancel.cancelled
        assert heard == ["a"]

        cancel.on_cancel(lambda: heard.append("late"))
        assert heard == ["a", "late"]

    def test_a_forgotten_callback_does_not_run(self) -> None:
        cancel, heard = Cancellation(), list[str]()
        callback = partial(heard.append, "a")
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
        assert not Cancellation().wait(0.01)


def _wait(event: threading.Event) -> None:
    event.wait(30)


class TestDeadlines:
    def test_each_is_cancelled_in_its_time_and_what_is_done_is_not(self) -> None:
        deadlines, order = Deadlines(), queue.SimpleQueue[str]()
        parts = {name: Cancellation() for name in ("late", "soon", "done", "now")}
        for name, part in parts.items():
            part.on_cancel(partial(order.put, name))
        deadlines.add(parts["late"], 0.3)
        forget = deadlines.add(parts["done"], 0.1)
        deadlines.add(parts["soon"], 0.05)
        deadlines.add(parts["now"], -1.0)
        forget()
        assert [order.get(timeout=10) for _ in range(3)] == ["now", "soon", "late"]
        assert not parts["done"].cancelled

    def test_what_is_done_in_time_is_not_held(self) -> None:
        deadlines, first = Deadlines(), Cancellation()
        gone = weakref.ref(first)
        for forget in [
            deadlines.add(first, 60.0),
            *(deadlines.add(Cancellation(), 60.0) for _ in range(200)),
        ]:
            forget()
        del first, forget
        gc.collect()
        assert gone() is None

    def test_a_slow_cancellation_holds_up_no_other(self) -> None:
        deadlines, slow, quick = Deadlines(), Cancellation(), Cancellation()
        go_on, done = threading.Event(), threading.Event()
        slow.on_cancel(partial(_wait, go_on))
        quick.on_cancel(done.set)
        deadlines.add(slow, 0.0)
        deadlines.add(quick, 0.05)
        assert done.wait(10)
        go_on.set()
