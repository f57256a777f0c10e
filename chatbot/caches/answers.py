"""Caches of a model's replies, by prompt, and of whole answers, by question and state of the reports (R-B10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from ..prompts import unmarked
from ..protocols import Cache, ChatModel
from ..request import RequestContext
from ..schema import ATTACHMENTS, Answer, Budget, Delta, Prompt, Question, Usage
from .vectors import cache_key, normalise

_ANSWER = TypeAdapter(Answer)


class CachedChatModel:
    """Implements `protocols.ChatModel`. Only an answer that came to its end is kept.

    ``parameters``: what besides the prompt changes an answer (temperature, length).
    """

    def __init__(self, inner: ChatModel, cache: Cache, *, parameters: tuple[float, ...]) -> None:
        self._inner = inner
        self._cache = cache
        self._parameters = parameters
        self.model_id = inner.model_id
        self.is_language_model = inner.is_language_model

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """The cached answer as one delta, without a call, else the model's. Answers on attachments are not cached
        (R-A1).

        Raises ChatModelError.
        """
        if any(passage.hit.chunk.collection == ATTACHMENTS for passage in prompt.context.passages):
            yield from self._inner.stream(prompt, request=request)
            return
        messages = [[message.role, unmarked(message.content)] for message in prompt.messages]
        owner = request.cached_for
        key = cache_key(self.model_id, self._parameters, messages, prompt.json_schema, owner)
        if (text := self._cache.get("response", key, request=request)) is not None:
            yield Delta(text, Usage(cached_calls=1))
            return
        pieces: list[str] = []
        truncated = False
        for delta in self._inner.stream(prompt, request=request):
            pieces.append(delta.text)
            truncated = truncated or delta.truncated
            yield delta
        if not truncated and not request.cancelled and (text := "".join(pieces)).strip():
            self._cache.put("response", key, text, owner=owner)

    def close(self) -> None:
        """Close the inner model's connections, where it has any."""
        if close := getattr(self._inner, "close", None):
            close()


@dataclass(frozen=True, slots=True)
class ChatModels:
    """The one that remembers what it said, and the same for who wants a new answer."""

    cached: ChatModel
    uncached: ChatModel

    @property
    def is_language_model(self) -> bool:
        return self.cached.is_language_model

    def of(self, question: Question) -> ChatModel:
        """The one that this question may ask."""
        return self.cached if question.cache else self.uncached


class AnswerCache:
    """Answers by question. Abstentions, failures and answers that ended early are not kept.

    ``generation`` changes with everything else an answer depends on: the reports, the models, the settings; None while
    reports change, when nothing is kept.
    """

    def __init__(self, cache: Cache, generation: Callable[[Question], str | None]) -> None:
        self._cache = cache
        self._generation = generation

    def key(self, question: Question, request: RequestContext) -> str:
        """Return the key of the answer, "" if it may not be kept.

        Taken before the answer is made: a change meanwhile makes it an entry that nobody finds.
        """
        generation = None if question.attachments or not question.cache else self._generation(question)
        if generation is None:
            return ""
        # Without the budget: an answer that ended early because of it is not kept.
        fields = asdict(replace(question, query=normalise(question.query), budget=Budget()))
        return cache_key(generation, to_jsonable_python(fields), request.cached_for)

    def get(self, key: str, request: RequestContext) -> Answer | None:
        """Return the answer of this key."""
        found = self._cache.get("query", key, request=request)
        return None if found is None else _ANSWER.validate_python(found)

    def put(self, key: str, answer: Answer, request: RequestContext) -> None:
        """Keep an answer that is complete: what failed or ended early may go well the next time."""
        trace = answer.trace
        complete = not (trace.stopped_by or trace.truncated or any(step.failed for step in trace.path))
        if answer.answered and complete and not request.cancelled:
            self._cache.put("query", key, to_jsonable_python(asdict(answer)), owner=request.cached_for)
