"""Pieces of work at once, each of which may fail or be too slow alone (R-C10)."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

from ...domain import RequestContext
from ...domain.errors import ChatbotError
from ...domain.turns import give_way

T = TypeVar("T")
Outcome: TypeAlias = T | ChatbotError | None
"""The result of a piece of work, its error, or None if it was too slow."""


def in_parallel(
    work: Sequence[Callable[[RequestContext], T]],
    *,
    threads: int,
    request: RequestContext,
    seconds: float | None = None,
) -> Iterator[tuple[int, Outcome[T]]]:
    """Yield the place and outcome of each piece of work as it ends, ``threads`` at a
    time; those too slow come last. Work that takes longer than ``seconds`` is cancelled
    by its `RequestContext` and not waited for. A piece of work may fail alone, with a
    `ChatbotError`; any other exception is a defect and ends all, as a cancelled
    ``request`` does.
    """
    results, ended = (
        [Future[Outcome[T]]() for _ in work],
        SimpleQueue[Future[Outcome[T]]](),
    )
    todo = zip(work, results, strict=True)
    for each in results:
        each.add_done_callback(ended.put)
    with request.within(seconds) as limited:

        def settle(result: Future[Outcome[T]], outcome: Outcome[T]) -> None:
            with suppress(InvalidStateError):  # it was given up before
                # Work that the end of the time broke off is too slow, whatever it
                # returns: half of a result.
                result.set_result(None if limited.cancelled else outcome)

        def give_up() -> None:
            for result in results:
                settle(result, None)

        def run() -> None:
            for piece, result in todo:
                give_way()
                if limited.cancelled:
                    return
                try:
                    settle(result, piece(limited))
                except ChatbotError as error:
                    settle(result, error)
                finally:
                    result.cancel()  # after a defect

        limited.cancel.on_cancel(give_up)
        try:
            for _ in range(min(threads, len(work))):
                # Daemons, unlike those of a pool: the process must not wait at its end
                # for a search that was given up. In this context, so that they share
                # what the request has read.
                threading.Thread(
                    target=copy_context().run, args=(run,), name="search", daemon=True
                ).start()
            for _ in work:
                result = ended.get()
                if request.cancelled:
                    return
                if result.cancelled():
                    raise RuntimeError(
                        "A piece of work ended in a defect; its own thread has "
                        "reported it."
                    )
                yield results.index(result), result.result()
        finally:
            limited.cancel.cancel()
