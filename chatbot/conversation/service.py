"""`ChatService.stream`: the whole chat flow on one screen."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import computed_field

from ..agents import CHOOSES, DEFAULT
from ..agents.budget import PLANNING_SHARE, Spending
from ..agents.understanding import Understanding
from ..cancellation import Cancellation
from ..database.core import Json
from ..errors import DiskFullError, NotFoundError
from ..grounding.wording import without_text_of
from ..protocols import Agent
from ..repositories.conversations import ConversationRepository
from ..request import RequestContext
from ..schema import (
    Answer,
    AnswerEvent,
    Event,
    Message,
    Question,
    StepEvent,
    TokenEvent,
)
from ..schema.access import ANYBODY, Caller
from ..schema.costs import Sums
from ..schema.json import Hidden, Inlines
from ..text import escape_markdown, evenly_spaced
from .accounting import Books
from .condensing import Condensed, Condenser

_ERROR = re.compile(
    r"^\s*(?:\{\s*\"error\"\s*:|(?:an? )?error\b(?:\s+\d+)?\s*[:!.]|an (?:internal )?error (?:has )?occurred)",
    re.IGNORECASE,
)


def without_errors(messages: Sequence[Message]) -> list[Message]:
    """What was really said: an error that a client shows as an answer, or an empty one, is no part of it.

    The server's own conversations hold none, a failed answer is not saved.
    """
    return [m for m in messages if m.role != "assistant" or (m.content.strip() and not _ERROR.match(m.content))]


MOST_MESSAGES = 40
"""Messages of a conversation that are read. How much of them a model is shown is bounded in
`grounding.answer.latest`.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a question: its conversation (None = it begins one) and its message.

    ``message_id``: of an answer that was begun in the database. ``replaces``: the answer whose place it takes, with all
    that came after; that goes with the first word of the new one. ``describe``: what is kept of the answer beside its
    text, for whoever opens the conversation again. Not ``kept``: the client keeps its conversations itself.
    """

    conversation_id: str | None = None
    message_id: str | None = None
    replaces: str | None = None
    describe: Callable[[Saved], Json] | None = None
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Saved(Inlines):
    """The end of a stream: the answer, its place, and the usage of its conversation so far."""

    INLINED: ClassVar = ("answer",)
    event: Hidden[AnswerEvent]
    conversation_id: str | None
    message_id: str | None
    """None where there was no room to keep it."""
    conversation_usage: Sums

    @computed_field
    @property
    def answer(self) -> Answer:
        return self.event.answer


class ChatService:
    """Answers questions and remembers them. ``agent(mode)`` gives the agent, for as long as the question takes."""

    def __init__(
        self,
        *,
        conversations: ConversationRepository,
        agent: Callable[[str], AbstractContextManager[Agent]],
        condenser: Condenser,
        understanding: Understanding,
        books: Books,
    ) -> None:
        self._conversations = conversations
        self._agent = agent
        self._condenser = condenser
        self._understanding = understanding
        self._books = books

    def stream(
        self,
        question: Question,
        *,
        place: Place = Place(),
        previous_messages: Sequence[Message] = (),
        cancel: Cancellation,
        caller: Caller = ANYBODY,
    ) -> Iterator[Event | Saved]:
        """The agent's events, then `Saved`. An answer that is cancelled or fails is not saved.

        Raises:
            NotFoundError: no such conversation or answer to be replaced, or another's.
            UnknownNameError: no such mode.
        """
        conversation_id = place.conversation_id
        if conversation_id is not None and not self._conversations.exists(conversation_id, caller.owner):
            raise NotFoundError(f"There is no conversation {conversation_id!r}.")
        question, changed = _in_its_mode(question)
        yield from changed
        history = self._history(question, place, previous_messages, caller.owner)
        question = replace(question, history=history)
        if history:
            yield StepEvent("condense", "Reading the conversation")
        request = RequestContext(cancel, caller=caller, private=bool(history))
        with self._agent(question.mode) as agent, self._books.open(conversation_id, request.meter) as settle:
            question, condensed = self._condensed(question, request)
            understood = self._understanding.read(question, request=request)
            for event in understood.events(agent, request):
                if cancel.cancelled:
                    return
                for told in understood.annotate(event):
                    if isinstance(told, TokenEvent | AnswerEvent):
                        place = self._cut(place)
                    if isinstance(told, AnswerEvent):
                        settled = settle(_with_trace(told, condensed, changed))
                        yield self._save(question, settled, place, caller.owner)
                    else:
                        yield told

    def answer(self, question: Question, *, cancel: Cancellation, caller: Caller = ANYBODY) -> Saved | None:
        """The answer alone, kept in no conversation; None where it is cancelled. Raises as `stream` does."""
        events = self.stream(question, place=Place(kept=False), cancel=cancel, caller=caller)
        return next((event for event in events if isinstance(event, Saved)), None)

    def _condensed(self, question: Question, request: RequestContext) -> tuple[Question, Condensed]:
        """The question as it stands without the conversation, with the budget that is left after finding that out."""
        spending = Spending(question.budget, reserve=0)
        with request.within(spending.seconds_left(PLANNING_SHARE)) as limited:
            condensed = self._condenser.condense(question, limited, ask_model=not spending.stops_exploring())
        spending.add(*condensed.steps)
        return replace(question, standalone=condensed.text, budget=spending.left()), condensed

    def _cut(self, place: Place) -> Place:
        if place.conversation_id is not None and place.replaces is not None:
            self._conversations.cut(place.conversation_id, place.replaces, keep=place.message_id)
        return replace(place, replaces=None)

    def _history(
        self, question: Question, place: Place, previous: Sequence[Message], owner: str
    ) -> tuple[Message, ...]:
        """What the client sent wins over what is stored; a repeated last question is dropped. Bounded, oldest first."""
        history = without_errors(previous)
        if place.conversation_id is not None and (place.replaces is not None or not previous):
            kept = self._conversations.messages(place.conversation_id, owner, place.replaces)
            history = history if previous else kept
        said = [_spaced(message) for message in history[-MOST_MESSAGES - 1 :]]
        if said and said[-1].role == "user" and said[-1].content.strip() == question.query:
            said.pop()
        return tuple(said[-MOST_MESSAGES:])

    def _save(self, question: Question, event: AnswerEvent, place: Place, owner: str) -> Saved:
        answer, conversation_id = event.answer, place.conversation_id
        citations = [
            {"number": c.number, "chunk_id": c.hit.chunk.id, "supported": c.supported}
            for c in answer.citations
            if not question.attachments
        ]
        asked: Json = asked_json(question)
        said: Json = {"role": "assistant", "content": _kept(question, answer), "answered": answer.answered}
        sums = Sums.of(answer.trace.ledger)
        if not place.kept:
            return Saved(event, None, None, sums)
        if place.describe is not None and owner and not question.attachments:  # of these nothing is kept (R-A1)
            # As text: not every database takes all of its field names.
            said["response"] = json.dumps(place.describe(Saved(event, None, None, sums)), ensure_ascii=False)
        try:
            added = self._conversations.add(
                conversation_id, [asked, {**said, "citations": citations}], sums, owner, place.message_id
            )
        except DiskFullError as error:
            note = StepEvent("save", f"This answer is not kept. {error.finding}", failed=True)
            told = AnswerEvent(replace(answer, trace=replace(answer.trace, path=(*answer.trace.path, note))))
            return Saved(told, conversation_id, None, sums)
        return Saved(event, added.conversation_id, added.message_id, added.sums)


def _spaced(message: Message) -> Message:
    """As questions are when they come in; those that were kept before have any space."""
    return replace(message, content=evenly_spaced(message.content)) if message.role == "user" else message


def asked_json(question: Question) -> Json:
    """A question as it is kept: all that is needed to ask it again, without its attachments (R-A1)."""
    return {
        "role": "user",
        "content": question.query,
        "scope": question.scope.to_json(),
        "collections": list(question.scope.collections),
        "mode": question.mode,
        "preset": question.preset,
        "page": question.page,
        "auto_scope": question.auto_scope,
        "attached": [document.name for document in question.attachments],
    }


def _in_its_mode(question: Question) -> tuple[Question, tuple[StepEvent, ...]]:
    """The question in the mode that answers it: attachments are answered from directly, and a step says so."""
    if not question.attachments or question.mode == DEFAULT:
        return question, ()
    said = StepEvent("mode", "What is attached to a question is answered from directly.")
    return replace(question, mode=DEFAULT), () if question.mode == CHOOSES else (said,)


def _kept(question: Question, answer: Answer) -> str:
    """The text of an answer as it is kept, without any text of an attachment (R-A1), which quotations are all of."""
    if not question.attachments or not answer.trace.hits:
        return answer.response
    if not answer.trace.usage.calls:
        names = ", ".join(escape_markdown(document.name) for document in question.attachments)
        return f"Quoted from {names}: attached to this one question, and not kept."
    return without_text_of(answer.response, [hit.chunk.text for hit in answer.trace.hits])


def _with_trace(event: AnswerEvent, condensed: Condensed, changed: tuple[StepEvent, ...]) -> AnswerEvent:
    """What condensing took, and a mode that was changed before, are part of the answer's trace."""
    trace = event.answer.trace
    trace = replace(trace, steps=(*condensed.steps, *trace.steps), path=(*changed, *trace.path))
    return AnswerEvent(replace(event.answer, trace=trace))
