"""Gives an answer again that was given before, as long as nothing has changed."""

import time
from collections import Counter
from dataclasses import dataclass, replace

from ...domain.chat import StepTiming, Trace
from ...models.caches import AnswerCache
from ..turn import Draft, Turn


@dataclass(frozen=True, slots=True)
class RepeatAnswer:
    """The stage of the answer cache: what comes before it runs each time, what follows
    only for a new question.
    """

    cache: AnswerCache

    def run(self, turn: Turn) -> Draft | None:
        started = time.perf_counter()
        turn.cache_key = self.cache.key(turn.question, turn.request)
        if not turn.cache_key:
            return None
        answer = self.cache.get(turn.cache_key, turn.request)
        if answer is None:
            return None
        numbers = {one.hit.chunk.id: one.number for one in answer.citations}
        hits = answer.trace.hits
        turn.events.finished(answer.response, hits, numbers, answer.scope)
        turn.limits.spending.add(StepTiming.since("cache", started))
        trace = replace(answer.trace, cached=True, steps=turn.limits.spending.steps)
        return Draft(
            text=answer.response,
            scope=answer.scope,
            is_sent=True,
            why="It was answered before.",
            finished=replace(answer, trace=trace),
        )


def with_lookups(trace: Trace, turn: Turn, before: Counter[str]) -> Trace:
    """Return the trace with the lookups of caches for this question. All callers share
    the vectors of questions: a limited one does not see what others have asked.
    """
    lookups = dict(turn.request.meter.lookups - before)
    if turn.question.scope.is_limited:
        lookups = {
            name: count
            for name, count in lookups.items()
            if not name.startswith("embedding ")
        }
    return replace(trace, caches=lookups)
