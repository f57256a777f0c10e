"""Turns of requests without a key. Few of them compute at a time, and none begins or
goes on while a caller with a key waits: threads of one process share one interpreter,
so each that computes delays all others.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from flask import current_app, g

from ...domain.callers import Caller
from ...domain.errors import TooManyRequestsError, read_table
from ...domain.turns import NO_TURN, ComputingTurn, current_turn
from .callers import caller
from .routes import Route, services
from .streaming import connection

__all__ = ["Turns", "end_turn", "held", "keep_turn", "take_turn"]
_LIMITS = read_table(__package__, "limits")
WAIT_SECONDS: float = _LIMITS["turn_wait_seconds"]["value"]
KEYED_SECONDS: float = _LIMITS["keyed_seconds"]["value"]
PAUSE_SECONDS: float = _LIMITS["keyed_pause_seconds"]["value"]
TURN_SECONDS: float = _LIMITS["turn_seconds"]["value"]
QUESTION, REQUEST = "strangers_questions", "strangers_requests"
"""Rows of `limits.toml`: how many run at a time."""
_POLL_SECONDS = 0.25


@dataclass(eq=False)
class StrangersTurn(ComputingTurn):
    """The turn of a request without a key."""

    turns: "Turns"
    kind: str
    account: str
    came_at: float
    began_at: float | None = None
    ready: threading.Event = field(default_factory=threading.Event)
    """Set when it begins."""

    def give_way(self) -> None:
        """Wait while a caller with a key waits for an answer."""
        self.turns.wait_for_keyed()

    def end(self) -> None:
        self.turns.end(self)


@dataclass(eq=False)
class KeyedTurn(ComputingTurn):
    """The turn of a request with a key, which waits for none without."""

    turns: "Turns"
    began_at: float

    def end(self) -> None:
        self.turns.end_keyed(self)


class Turns:
    """The requests of one process that compute or wait. Thread-safe. Among those that
    wait the caller with the fewest turns is next, then the one who came first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._without_keyed = threading.Condition(self._lock)
        self._keyed: list[KeyedTurn] = []
        self._keyed_ended_at = -PAUSE_SECONDS
        self._running: list[StrangersTurn] = []
        self._waiting: list[StrangersTurn] = []

    def begin_keyed(self) -> KeyedTurn:
        """Begin at once."""
        turn = KeyedTurn(self, time.monotonic())
        with self._lock:
            self._keyed.append(turn)
        return turn

    def begin(self, kind: str, account: str) -> StrangersTurn:
        """Begin when it is this account's turn. ``kind``: `QUESTION` or `REQUEST`.
        Raises TooManyRequestsError: it took too long.
        """
        now = time.monotonic()
        turn = StrangersTurn(self, kind, account, now)
        with self._lock:
            self._waiting.append(turn)
            self._begin_next(now)
        client = connection().client
        # The threads of those with a key are not for others to wait in.
        patience = 0.0 if connection().claims_key else WAIT_SECONDS
        while not turn.ready.wait(_POLL_SECONDS):
            now = time.monotonic()
            with self._lock:
                self._begin_next(now)
                if turn.began_at is not None:
                    break
                if now - turn.came_at > patience or client.cancelled:
                    self._waiting.remove(turn)
                    raise _refused()
        return turn

    def end(self, turn: StrangersTurn) -> None:
        """Let the next begin. Ending twice does nothing."""
        with self._lock:
            if turn in self._running:
                self._running.remove(turn)
                self._begin_next(time.monotonic())

    def end_keyed(self, turn: KeyedTurn) -> None:
        with self._lock:
            if turn in self._keyed:
                self._keyed.remove(turn)
                self._keyed_ended_at = time.monotonic()
                self._without_keyed.notify_all()

    def wait_for_keyed(self) -> None:
        """Wait until no caller with a key waits, each of them for a bounded time."""
        end = time.monotonic() + WAIT_SECONDS
        with self._without_keyed:
            while self._is_keyed_waiting(time.monotonic()):
                if time.monotonic() > end:
                    return
                self._without_keyed.wait(_POLL_SECONDS)

    def _is_keyed_waiting(self, now: float) -> bool:
        if now - self._keyed_ended_at < PAUSE_SECONDS:
            return True  # its next request is likely on its way
        return any(now - turn.began_at < KEYED_SECONDS for turn in self._keyed)

    def _begin_next(self, now: float) -> None:
        """Begin all that may; with the lock."""
        if self._is_keyed_waiting(now):
            return
        running = Counter[str]()
        of_account = Counter[str]()
        for other in self._running:
            assert other.began_at is not None
            of_account[other.account] += 1
            # What takes that long mostly waits for something else.
            if now - other.began_at < TURN_SECONDS:
                running[other.kind] += 1
        order = sorted(
            self._waiting, key=lambda turn: (of_account[turn.account], turn.came_at)
        )
        for turn in order:
            if running[turn.kind] < _LIMITS[turn.kind]["value"]:
                running[turn.kind] += 1
                self._waiting.remove(turn)
                self._running.append(turn)
                turn.began_at = now
                turn.ready.set()


def _refused() -> TooManyRequestsError:
    return TooManyRequestsError(
        "Too many callers without a key are waiting. Retry in 10 s.", retry_after=10
    )


def take_turn(route: Route | None) -> None:
    """Wait until the current request may compute. Raises TooManyRequestsError."""
    if route is None or not route.is_counted or route.need == "nothing":
        return
    who = caller()
    turn: ComputingTurn
    if who.key is not None:
        turn = _turns().begin_keyed()
    elif _is_stranger(who):
        # While it waits it holds no place of those that begin (`Front`).
        connection().tell_begun()
        kind = QUESTION if route.waits_for_model else REQUEST
        turn = _turns().begin(kind, who.account)
    else:
        return
    g.turn = turn
    current_turn.set(turn)


def _is_stranger(who: Caller) -> bool:
    """Return whether others go before: nobody does where anybody may do anything."""
    return services().settings.rule != "open" and not who.may("write")


def keep_turn() -> ComputingTurn:
    """Return the turn of the current request, which its answer ends."""
    turn: ComputingTurn = g.pop("turn", NO_TURN)
    return turn


def end_turn() -> None:
    """End the turn of the current request, unless its answer keeps it."""
    keep_turn().end()
    current_turn.set(NO_TURN)


@contextmanager
def held(turn: ComputingTurn) -> Iterator[None]:
    """Compute in a turn, which ends with the block."""
    token = current_turn.set(turn)
    try:
        yield
    finally:
        current_turn.reset(token)
        turn.end()


def _turns() -> Turns:
    turns: Turns = current_app.extensions["turns"]
    return turns
