"""The query level (R-B10): a question that was answered before, over the same reports, is not answered again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from pydantic import TypeAdapter

from ..cache_counts import begin_counting
from ..caches.keys import cache_key, normalised
from ..cancellation import Cancellation
from ..protocols import Agent, Cache
from ..schema import Answer, AnswerEvent, Budget, Event, Question, SourcesEvent, StepTiming, TokenEvent, Trace

_ANSWER = TypeAdapter(Answer)
_QUESTION = TypeAdapter(Question)


class CachedAgent:
    """Implements `protocols.Agent`. Abstentions, failures and answers that ended early are never kept.

    ``generation`` changes with everything else an answer depends on: the reports, the models, the settings.
    """

    def __init__(self, inner: Agent, cache: Cache, generation: Callable[[], str]) -> None:
        self._inner = inner
        self._cache = cache
        self._generation = generation

    def run(self, question: Question, *, cancel: Cancellation) -> Iterator[Event]:
        if question.attachments or not question.cache:
            yield from self._inner.run(question, cancel=cancel)
            return
        started, counts = time.perf_counter(), begin_counting()
        key = self._key(question)
        if (found := self._cache.get("query", key)) is not None:
            yield from _replayed(_ANSWER.validate_python(found), started, counts)
            return
        for event in self._inner.run(question, cancel=cancel):
            if not isinstance(event, AnswerEvent):
                yield event
                continue
            if event.answer.answered and _is_complete(event.answer.trace) and not cancel.cancelled:
                self._cache.put("query", key, _ANSWER.dump_python(event.answer, mode="json"))
            yield AnswerEvent(_counted(event.answer, counts))

    def _key(self, question: Question) -> str:
        # Taken before the answer is made: what changes meanwhile makes it an entry that nobody finds.
        # Without the budget: an answer that ended early because of it is not kept.
        asked = replace(question, query=normalised(question.query), budget=Budget())
        return cache_key(self._generation(), _QUESTION.dump_python(asked, mode="json"))


def _is_complete(trace: Trace) -> bool:
    """Whether nothing of it failed or ended early, that might go well the next time."""
    return not (trace.stopped_by or trace.truncated) and not any(step.failed for step in trace.path)


def _counted(answer: Answer, counts: Mapping[str, int]) -> Answer:
    return replace(answer, trace=replace(answer.trace, caches=dict(counts)))


def _replayed(answer: Answer, started: float, counts: Mapping[str, int]) -> Iterator[Event]:
    yield SourcesEvent(tuple(citation.hit for citation in answer.citations), answer.scope)
    yield TokenEvent(answer.response)
    step = StepTiming.since("cache", started)
    replayed = replace(answer, trace=replace(answer.trace, cached=True, steps=(step,)))
    yield AnswerEvent(_counted(replayed, counts))
