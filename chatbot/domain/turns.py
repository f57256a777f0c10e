"""The turn of a request among those that compute at the same time. It is a fact about
the current context, as its time limit is: what computes need not be told of it.
"""

from contextvars import ContextVar

__all__ = ["NO_TURN", "ComputingTurn", "current_turn", "give_way"]


class ComputingTurn:
    """The turn of work that waits for nobody."""

    def give_way(self) -> None:
        """Wait while requests that go before compute."""

    def end(self) -> None:
        """Let the next request begin: this one has ended, or waits for a model."""


NO_TURN = ComputingTurn()
current_turn: ContextVar[ComputingTurn] = ContextVar("turn", default=NO_TURN)


def give_way() -> None:
    """Wait while requests that go before the current one compute. To be called between
    two steps of long work, without a lock.
    """
    current_turn.get().give_way()
