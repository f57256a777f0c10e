"""`ChatService.stream`: the whole chat flow on one screen; and the question condensed with its conversation before."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ..agents import CHOOSES, DEFAULT
from ..agents.budget import PLANNING_SHARE, Spending
from ..agents.understanding import Understanding
from ..caches.answers import ChatModels
from ..cancellation import Cancellation
from ..database.core import Json
from ..errors import ChatModelError, DiskFullError, NotFoundError
from ..grounding.answer import latest
from ..grounding.wording import without_text_of
from ..model_output.stream import Reply, complete, without_thoughts
from ..prompts import on_one_line, render
from ..protocols import Agent
from ..questions.follow_ups import FollowUps
from ..repositories.conversations import Added
from ..request import RequestContext
from ..schema import Answer, AnswerEvent, Context, Event, Message, Prompt, Question, StepEvent, StepTiming, Usage
from ..schema.access import ANYBODY, Caller
from ..schema.costs import Sums
from ..text import Analyzer, escape_markdown
from .accounting import Books

LONGEST = 500
"""Characters of a rewritten question; a model that writes more has answered instead."""
SHOWN = 600
"""Characters of an answer that the model sees: what it was about stands at its beginning."""
_LABEL = re.compile(r"^\W*(?:(?:rewritten|standalone|last)\s+)?question\s*:\s*", re.IGNORECASE)
_ERROR = re.compile(
    r"^\s*(?:\{\s*\"error\"\s*:|(?:an? )?error\b(?:\s+\d+)?\s*[:!.]|an (?:internal )?error (?:has )?occurred)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Condensed:
    """``text``: the standalone question, "" where the question is one already."""

    text: str = ""
    steps: tuple[StepTiming, ...] = ()


class Condenser:
    """``analyzer``: of the language of the questions; a rewritten one has to share a word with what was said."""

    def __init__(self, *, follow_ups: FollowUps, chat_models: ChatModels, analyzer: Analyzer) -> None:
        self._follow_ups = follow_ups
        self._chat_models = chat_models
        self._analyzer = analyzer

    def condense(self, question: Question, request: RequestContext, *, ask_model: bool = True) -> Condensed:
        """The steps name who did it: `condense_model`, or `condense_rule` without a model or where it failed.

        A model fails where it writes no question, or one about other countries or years than the rule.

        ``ask_model``: whether there is budget for it.
        """
        if question.attachments and not self._follow_ups.is_elliptic(question.query):
            return Condensed()
        started = time.perf_counter()
        ruled = self._follow_ups.by_rule(question.query, question.history, question.scope)
        by_rule = StepTiming.since("condense_rule", started)
        if ruled == question.query:
            return Condensed()
        if not ask_model or not self._chat_models.is_language_model:
            return Condensed(ruled, (by_rule,))
        started = time.perf_counter()
        written, usage = self._rewritten(question, request)
        by_model = StepTiming.since("condense_model", started, usage)
        if self._follow_ups.is_same_question(written, ruled):
            return Condensed(written, (by_model,))
        return Condensed(ruled, (by_model, by_rule))

    def _rewritten(self, question: Question, request: RequestContext) -> tuple[str, Usage]:
        """The model's words; "" where it failed or wrote about something else."""
        shown = [replace(message, content=_shortened(message.content)) for message in question.history]
        talk = "\n".join(f"{message.role}: {message.content}" for message in latest(shown))
        asked = render("condense_user", conversation=talk, question=question.query)
        messages = (Message("system", render("condense_system")), Message("user", asked))
        prompt = Prompt(messages, question.query, Context())
        heard = Reply(prompt)
        try:
            done = complete(self._chat_models.of(question), prompt, request, heard)
        except ChatModelError as error:
            return "", heard.usage_of_failed(error)
        return self._checked(done.text, talk, question.query), done.usage

    def _checked(self, text: str, talk: str, query: str) -> str:
        lines = [line.strip() for line in without_thoughts(text).splitlines() if line.strip()]
        written = _LABEL.sub("", lines[0]).strip(" \"'`“”*") if lines else ""
        known = set(self._analyzer.terms(f"{query} {talk}"))
        shares_words = not known.isdisjoint(self._analyzer.terms(written))
        return written if shares_words and len(written) <= LONGEST else ""


def without_errors(messages: Sequence[Message]) -> list[Message]:
    """What was really said: an error that a client shows as an answer, or an empty one, is no part of it.

    The server's own conversations hold none, a failed answer is not saved.
    """
    return [m for m in messages if m.role != "assistant" or (m.content.strip() and not _ERROR.match(m.content))]


def _shortened(text: str) -> str:
    text = on_one_line(text, "conversation")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"


MOST_MESSAGES = 40
"""Of a conversation. What of them is shown to a model has bounds of its own (`grounding.answer.latest`)."""


class Conversations(Protocol):
    """Where conversations are kept."""

    def exists(self, conversation_id: str, owner: str) -> bool: ...

    def messages(self, conversation_id: str, owner: str) -> list[Message]:
        """Oldest first."""
        ...

    def add(self, conversation_id: str | None, said: Sequence[Json], sums: Sums, owner: str) -> Added:
        """Keep messages and what they took; None begins a conversation."""
        ...


@dataclass(frozen=True, slots=True)
class Saved:
    """The last thing a stream yields: the answer, where it was kept, and what this conversation has taken so far."""

    event: AnswerEvent
    conversation_id: str | None
    message_id: str | None
    """None where there was no room to keep it."""
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
        caller: Caller = ANYBODY,
    ) -> Iterator[Event | Saved]:
        """The agent's events, then `Saved`. An answer that is cancelled or fails is not saved.

        Raises:
            NotFoundError: no such conversation, or another's.
            UnknownNameError: no such mode.
        """
        if conversation_id is not None and not self._conversations.exists(conversation_id, caller.owner):
            raise NotFoundError(f"There is no conversation {conversation_id!r}.")
        changed: tuple[StepEvent, ...] = ()
        if question.attachments and question.mode != DEFAULT:
            if question.mode != CHOOSES:
                changed = (StepEvent("mode", "What is attached to a question is answered from directly."),)
            question = replace(question, mode=DEFAULT)
        yield from changed
        agent = self._agents(question.mode, question.preset)
        history = self._history(question, conversation_id, previous_messages, caller.owner)
        question = replace(question, history=history)
        if history:
            yield StepEvent("condense", "Reading the conversation")
        request = RequestContext(cancel, caller=caller, private=bool(history))
        with self._books.open(conversation_id, request.meter) as bill:
            spending = Spending(question.budget, reserve=0)
            with request.within(spending.seconds_left(PLANNING_SHARE)) as limited:
                ask_model = not spending.stops_exploring()
                condensed = self._condenser.condense(question, limited, ask_model=ask_model)
            spending.add(*condensed.steps)
            question = replace(question, standalone=condensed.text, budget=spending.left())
            understood = self._understanding.read(question, request=request)
            for event in understood.events(agent, request):
                if cancel.cancelled:
                    return
                for told in understood.annotate(event):
                    if isinstance(told, AnswerEvent):
                        settled = bill.settle(_with_trace(told, condensed, changed))
                        yield self._save(question, settled, conversation_id, caller.owner)
                    else:
                        yield told

    def _history(
        self, question: Question, conversation_id: str | None, previous: Sequence[Message], owner: str
    ) -> tuple[Message, ...]:
        """What the client sent wins over what is stored; a repeated last question is dropped. Bounded, oldest first."""
        history = without_errors(previous)
        if not previous and conversation_id is not None:
            history = self._conversations.messages(conversation_id, owner)
        if history and history[-1].role == "user" and history[-1].content.strip() == question.query:
            history.pop()
        return tuple(history[-MOST_MESSAGES:])

    def _save(self, question: Question, event: AnswerEvent, conversation_id: str | None, owner: str) -> Saved:
        answer = event.answer
        scope: Json = {"scope": question.scope.to_json(), "collections": list(question.scope.collections)}
        citations = [
            {"number": c.number, "chunk_id": c.hit.chunk.id, "supported": c.supported}
            for c in answer.citations
            if not question.attachments
        ]
        asked: Json = {"role": "user", "content": question.query, **scope}
        said = {"role": "assistant", "content": _kept(question, answer), "answered": answer.answered}
        sums = Sums.of(answer.trace.ledger)
        try:
            added = self._conversations.add(conversation_id, [asked, {**said, "citations": citations}], sums, owner)
        except DiskFullError as error:
            note = StepEvent("save", f"This answer is not kept. {error.finding}", failed=True)
            told = AnswerEvent(replace(answer, trace=replace(answer.trace, path=(*answer.trace.path, note))))
            return Saved(told, conversation_id, None, sums)
        return Saved(event, added.conversation_id, added.message_id, added.sums)


def _kept(question: Question, answer: Answer) -> str:
    """What is stored of an answer: nothing of the text of an attachment (R-A1), which quotations are all of."""
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
