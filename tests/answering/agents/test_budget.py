"""What a question may still cost (R-C7)."""

from __future__ import annotations

import threading

from chatbot.answering.agents.budget import Allowance, Spending
from chatbot.domain import Budget


def spending(*, reserve: int = 0, **limits: float) -> Spending:
    return Spending(Budget(**limits), reserve=reserve)  # type: ignore[arg-type]


class TestCalls:
    def test_many_threads_take_no_more_than_there_are(self) -> None:
        mine, taken = spending(calls=11), list[bool]()

        def work() -> None:
            allowance = Allowance(mine)
            taken.extend(allowance.take() for _ in range(10))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(taken) == 10
