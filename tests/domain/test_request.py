"""What goes with a question: parts of it end in time and with the whole, and share what
is counted.
"""

import threading
import time

import pytest

from chatbot.domain import Cancellation, RequestContext, Usage


class TestWithin:
    @pytest.mark.parametrize("seconds", [0.05, 0.0, -3.0])
    def test_a_part_that_runs_out_of_time_ends_alone(self, seconds: float) -> None:
        cancel = Cancellation()
        with RequestContext(cancel).within(seconds) as limited:
            assert limited.cancel.wait(30.0)
        assert not cancel.cancelled

    @pytest.mark.parametrize("seconds", [None, 30.0])
    def test_a_part_ends_with_the_whole(self, seconds: float | None) -> None:
        cancel = Cancellation()
        with RequestContext(cancel).within(seconds) as limited:
            cancel.cancel()
            assert limited.cancelled

    def test_a_part_leaves_nothing_behind(self) -> None:
        cancel, before = Cancellation(), threading.active_count()
        for seconds in [30.0] * 50 + [None] * 50:
            with RequestContext(cancel).within(seconds) as limited:
                pass
        assert cancel._callbacks == []
        cancel.cancel()
        assert not limited.cancelled
        deadline = time.monotonic() + 30.0
        while threading.active_count() > before:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def test_a_part_has_the_deadline_of_the_whole(self) -> None:
        whole, before = RequestContext(), time.monotonic()
        with whole.within(30.0) as limited, limited.within(None) as part:
            assert (
                limited.deadline
                == part.deadline
                == pytest.approx(before + 30.0, abs=1.0)
            )
        assert whole.deadline is None

    def test_what_a_part_takes_is_counted_for_the_whole(self) -> None:
        whole = RequestContext()
        with whole.within(30.0) as part:
            part.meter.add(Usage(calls=1))
            part.meter.count_lookup("query", hit=False)
        assert whole.meter.usage == Usage(calls=1)
        assert whole.meter.lookups == {"query miss": 1}
