"""What a reranker decides: the order of the hits that are left after threshold and fusion (R-B7, R-B8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from ..cancellation import Cancellation
from ..schema import SearchHit, Usage


@dataclass(frozen=True, slots=True)
class Reranked:
    """At most top_k of the hits, best first, and what it cost. Scores and ranks are as they came."""

    hits: tuple[SearchHit, ...]
    usage: Usage = field(default_factory=Usage)


_may_call: ContextVar[Callable[[], bool] | None] = ContextVar("may_call", default=None)


@contextmanager
def calls_allowed_by(take: Callable[[], bool]) -> Iterator[None]:
    """Rerankers ask ``take`` in this context before each call of a model. Not around a ``yield``."""
    token = _may_call.set(take)
    try:
        yield
    finally:
        _may_call.reset(token)


def may_call() -> bool:
    """Whether one more call of a model may be made; it counts as made."""
    take = _may_call.get()
    return take is None or take()


class Reranker(Protocol):
    def candidates(self, top_k: int) -> int:
        """How many hits to be given for ``top_k`` of them; never fewer."""

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, cancel: Cancellation) -> Reranked:
        """``hits`` are best first. Raises DependencyError where a model behind it failed."""
