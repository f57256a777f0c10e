"""`ChatService.stream`: the whole chat flow on one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..cancellation import Cancellation
from ..errors import NotFoundError
from ..protocols import Agent
from ..schema import AnswerEvent, Event, Message, Question, Role


class Conversations(Protocol):
    """Where conversations are kept."""

    def create(self, title: str) -> str: ...

    def exists(self, conversation_id: str) -> bool: ...

    def messages(self, conversation_id: str) -> list[Message]: ...

    def add(self, conversation_id: str, role: Role, content: str, **extra: Any) -> str: ...


@dataclass(frozen=True, slots=True)
class Saved:
    """The last thing a stream yields: the answer and where it was kept."""

    event: AnswerEvent
    conversation_id: str
    message_id: str


class ChatService:
    """Answers questions and remembers them. ``agents(mode)`` gives the agent of a mode."""

    def __init__(self, *, conversations: Conversations, agents: Callable[[str], Agent]) -> None:
        self._conversations = conversations
        self._agents = agents

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
        agent = self._agents(question.mode)
        history = self._history(question, conversation_id, previous_messages)
        question = replace(question, history=history)
        for event in agent.run(question, cancel=cancel):
            if cancel.cancelled:
                return
            if isinstance(event, AnswerEvent):
                yield self._save(question, event, conversation_id)
            else:
                yield event

    def _history(
        self, question: Question, conversation_id: str | None, previous: Sequence[Message]
    ) -> tuple[Message, ...]:
        """What the client sent wins over what is stored; a repeated last question is dropped."""
        history = list(previous)
        if not history and conversation_id is not None:
            history = self._conversations.messages(conversation_id)
        if history and history[-1].role == "user" and history[-1].content.strip() == question.query:
            history.pop()
        return tuple(history)

    def _save(self, question: Question, event: AnswerEvent, conversation_id: str | None) -> Saved:
        answer = event.answer
        kept_in = conversation_id or self._conversations.create(question.query)
        self._conversations.add(kept_in, "user", question.query, scope=question.scope.to_json())
        message_id = self._conversations.add(
            kept_in,
            "assistant",
            answer.response,
            answered=answer.answered,
            citations=[
                {"number": c.number, "chunk_id": c.hit.chunk.id, "supported": c.supported} for c in answer.citations
            ],
        )
        return Saved(event, kept_in, message_id)
