"""Several pieces of work at once (R-C10): each result as it comes, and nobody waits for the slowest for ever."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..cancellation import Cancellation, time_limit
from ..errors import ChatbotError

T = TypeVar("T")
LOOK_SECONDS = 0.05
"""How often a waiting agent looks whether the person has stopped it."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """Of the ``place``-th piece of work. ``result`` is None where it failed, or was too slow (no ``error``)."""

    place: int
    result: T | None
    error: ChatbotError | None = None


class Defect:
    """Stands for an outcome that never came."""


_DEFECT = Defect()


def in_parallel(
    work: Sequence[Callable[[Cancellation], T]],
    *,
    threads: int,
    cancel: Cancellation,
    seconds: float | None = None,
) -> Iterator[Outcome[T]]:
    """The outcomes as they come, at most ``threads`` at a time; those not back after ``seconds`` last, as too slow.

    What is given up is told so by its `Cancellation` and not waited for. A piece of work may fail alone, with a
    `ChatbotError`; anything else is a defect of ours, and ends it all. Ends early when ``cancel`` is set.
    """
    waiting: queue.SimpleQueue[tuple[int, Callable[[Cancellation], T]]] = queue.SimpleQueue()
    done: queue.SimpleQueue[Outcome[T] | Defect] = queue.SimpleQueue()
    for place, piece in enumerate(work):
        waiting.put((place, piece))
    missing = set(range(len(work)))
    deadline = None if seconds is None else time.monotonic() + seconds
    with time_limit(cancel, seconds) as limited:
        try:
            for _ in range(min(threads, len(work))):
                # in a copy of this context: the time limits of the request hold in the thread, too
                context = contextvars.copy_context()
                worker = threading.Thread(
                    target=context.run, args=(_work_through, waiting, done, limited), name="search", daemon=True
                )
                worker.start()
            while missing:
                outcome = _next(done, deadline)
                if cancel.cancelled:
                    break
                if isinstance(outcome, Defect):
                    raise RuntimeError("A search ended in a defect; its own thread has reported it.")
                if outcome is not None:
                    missing.discard(outcome.place)
                    yield outcome
                elif limited.cancelled:
                    break
        finally:
            limited.cancel()
    if not cancel.cancelled:
        yield from (Outcome(place, None) for place in sorted(missing))


def _work_through(
    waiting: queue.SimpleQueue[tuple[int, Callable[[Cancellation], T]]],
    done: queue.SimpleQueue[Outcome[T] | Defect],
    limited: Cancellation,
) -> None:
    while not limited.cancelled:
        try:
            place, piece = waiting.get_nowait()
        except queue.Empty:
            return
        outcome: Outcome[T] | None = None
        try:
            outcome = Outcome(place, piece(limited))
        except ChatbotError as error:
            # What was broken off because time is up is too slow, whatever it says of itself.
            outcome = Outcome(place, None, None if limited.cancelled else error)
        finally:
            done.put(outcome or _DEFECT)


def _next(done: queue.SimpleQueue[Outcome[T] | Defect], deadline: float | None) -> Outcome[T] | Defect | None:
    left = LOOK_SECONDS if deadline is None else max(0.0, min(LOOK_SECONDS, deadline - time.monotonic()))
    try:
        return done.get(timeout=left)
    except queue.Empty:
        return None
