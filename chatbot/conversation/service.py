"""`ChatService.stream`: the whole chat flow on one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..agents import DEFAULT
from ..agents.spending import PLANNING_SHARE, Spending
from ..agents.understanding import Understanding
from ..cancellation import Cancellation, time_limit
from ..errors import NotFoundError
from ..protocols import Agent
from ..schema import AnswerEvent, Event, Message, Question, Role, Scope, StepEvent
from ..schema.sums import Sums
from .books import Books
from .condense import Condensed, Condenser, without_errors

MOST_MESSAGES = 40
"""Of a conversation. What of them is shown to a model has bounds of its own (`generation.answer.latest`)."""


class Conversations(Protocol):
    """Where conversations are kept."""

    def create(self, title: str) -> str: ...

    def exists(self, conversation_id: str) -> bool: ...

    def messages(self, conversation_id: str) -> list[Message]: ...

    def add(self, conversation_id: str, role: Role, content: str, **extra: Any) -> str: ...


@dataclass(frozen=True, slots=True)
class Saved:
    """The last thing a stream yields: the answer, where it was kept, and what this conversation has taken so far."""

    event: AnswerEvent
    conversation_id: str
    message_id: str
    conversation_usage: Sums


class ChatService:
    """Answers questions and remembers them. ``agents(mode, preset)`` gives the agent."""

    def __init__(
        self,
        *,
        conversations: Conversations,
        agents: Callable[[str, str], Agent],
        condenser: Condenser,
        understanding: Understanding,
        books: Books,
    ) -> None:
        self._conversations = conversations
        self._agents = agents
        self._condenser = condenser
        self._understanding = understanding
        self._books = books

    def stream(
        self,
        question: Question,
        *,
        conversation_id: str | None = None,
        previous_messages: Sequence[Message] = (),
        cancel: Cancellation,
    ) -> Iterator[Event | Saved]:
        """The agent's events, then `Saved`. An answer that is cancelled or fails is not saved.

        Raises:
            NotFoundError: no such conversation.
            UnknownNameError: no such mode.
        """
        if conversation_id is not None and not self._conversations.exists(conversation_id):
            raise NotFoundError(f"There is no conversation {conversation_id!r}.")
        changed: tuple[StepEvent, ...] = ()
        if question.attachments and question.mode != DEFAULT:
            question = replace(question, mode=DEFAULT)
            changed = (StepEvent("mode", "What is attached to a question is answered from directly."),)
        yield from changed
        agent = self._agents(question.mode, question.preset)
        history = self._history(question, conversation_id, previous_messages)
        question = replace(question, history=history)
        if history:
            yield StepEvent("condense", "Reading the conversation")
        with self._books.open(conversation_id) as bill:
            spending = Spending(question.budget, reserve=0)
            with time_limit(cancel, spending.seconds_left(PLANNING_SHARE)) as limited:
                ask_model = not spending.stops_exploring()
                condensed = self._condenser.condense(question, limited, ask_model=ask_model)
            spending.add(*condensed.steps)
            question = replace(question, standalone=condensed.text, budget=spending.left())
            for event in self._understanding.run(agent, question, cancel=cancel):
                if cancel.cancelled:
                    return
                if isinstance(event, AnswerEvent):
                    yield self._save(question, bill.settle(_with_trace(event, condensed, changed)), conversation_id)
                else:
                    yield event

    def _history(
        self, question: Question, conversation_id: str | None, previous: Sequence[Message]
    ) -> tuple[Message, ...]:
        """What the client sent wins over what is stored; a repeated last question is dropped. Bounded, oldest first."""
        history = without_errors(previous)
        if not previous and conversation_id is not None:
            history = self._conversations.messages(conversation_id)
        if history and history[-1].role == "user" and history[-1].content.strip() == question.query:
            history.pop()
        return tuple(history[-MOST_MESSAGES:])

    def _save(self, question: Question, event: AnswerEvent, conversation_id: str | None) -> Saved:
        answer = event.answer
        kept_in = conversation_id or self._conversations.create(question.query)
        self._conversations.add(kept_in, "user", question.query, **_kept(question.scope))
        message_id = self._conversations.add(
            kept_in,
            "assistant",
            answer.response,
            answered=answer.answered,
            citations=[
                {"number": c.number, "chunk_id": c.hit.chunk.id, "supported": c.supported} for c in answer.citations
            ],
        )
        return Saved(event, kept_in, message_id, self._books.add(kept_in, event))


def _kept(scope: Scope) -> dict[str, Any]:
    return {"scope": scope.to_json(), "collections": list(scope.collections)}


def _with_trace(event: AnswerEvent, condensed: Condensed, changed: tuple[StepEvent, ...]) -> AnswerEvent:
    """What condensing took, and a mode that was changed before, are part of the answer's trace."""
    trace = event.answer.trace
    trace = replace(trace, steps=(*condensed.steps, *trace.steps), path=(*changed, *trace.path))
    return AnswerEvent(replace(event.answer, trace=trace))
