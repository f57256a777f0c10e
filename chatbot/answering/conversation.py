"""A conversation's answers: from a question in its place to an answer that is kept."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from ..checking.wording import normalise, strip_marks, without_numbers
from ..database.core import BOOKKEEPING_SECONDS, Json, bookkeeping
from ..database.events import event_fields
from ..database.failures import FULL, UNWRITABLE
from ..database.limits import made_by
from ..database.repositories.conversations import ConversationRepository
from ..domain import Answer, Event, Message, Question, StepEvent, TokenEvent
from ..domain.callers import ANYBODY, Caller
from ..domain.cancellation import Cancellation
from ..domain.costs import Sums
from ..domain.errors import CancelledError, DatabaseError, NotFoundError
from ..domain.json import Inlines
from ..domain.request import RequestContext
from ..domain.scope import Scope, Value
from ..language.characters import evenly_spaced
from ..language.markdown import escape_markdown
from ..language.sentences import sentences
from ..language.words import speaking
from .accounting import UsageAccounting
from .emitter import Send, send_nothing
from .flow import Flow

log = logging.getLogger(__name__)
SAVE_SECONDS = 5.0
"""Time limit of each call that saves an answer, which is finished by then."""
NO_SPACE = "This answer is not kept: the database has no space left."
NO_CHANGES = "This answer is not kept: the database takes no changes."
NOT_KEPT = "This answer is not kept: the database did not take it."
MAX_MESSAGES = 40
"""Messages that are read of a conversation; `grounding.answer.latest` limits those in a
prompt.
"""
_ERROR = re.compile(
    (
        r"^\s*(?:\{\s*\"error\"\s*:|(?:an? )?error\b(?:\s+\d+)?\s*[:!.]|an (?:internal "
        r")?error (?:has )?occurred)"
    ),
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a question: its conversation (None = it begins one) and its message.

    ``may_start``: the conversation is made under this id where there is none.
    ``message_id``: of an answer that was begun in the database. ``replaces``: the
    answer whose place it takes, with all that came after; these go with the first word
    of the new answer. ``describe``: gives what is kept of the answer beside its text,
    for the next time its owner opens the conversation. Not ``kept``: the client keeps
    its conversations itself.
    """

    conversation_id: str | None = None
    may_start: bool = False
    message_id: str | None = None
    replaces: str | None = None
    describe: Callable[[Saved], Json] | None = None
    kept: bool = True


NO_PLACE = Place()


@dataclass(frozen=True, slots=True)
class Saved(Inlines):
    """The end of a stream: the answer, its place, and the usage of its conversation so
    far.
    """

    INLINED: ClassVar = ("answer",)
    answer: Answer
    conversation_id: str | None
    message_id: str | None
    """None if the database did not take the answer, so that it is not stored."""
    conversation_usage: Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatService:
    """Answers questions and remembers them. ``flow`` is asked for at each question, for
    what its caller may see.
    """

    conversations: ConversationRepository
    flow: Callable[[Scope], Flow]
    accounting: UsageAccounting
    at_once: Callable[[Sequence[Callable[[], Any]]], list[Any]]
    """`Database.at_once`."""

    def answer(
        self,
        question: Question,
        *,
        cancel: Cancellation,
        send: Send = send_nothing,
        place: Place = NO_PLACE,
        previous_messages: Sequence[Message] = (),
        caller: Caller = ANYBODY,
    ) -> Saved | None:
        """Answer a question, send each event as it happens, and keep the answer in its
        place; None where it was cancelled. An answer that is cancelled or fails is not
        kept.

        Raises:
            NotFoundError: no such conversation or answer to be replaced, or another's.
            UnknownNameError: the mode is not known.
            ChatbotError: something that the answer needs failed.
        """
        self._require(place, caller)
        if previous_messages or place.conversation_id is not None:
            history = self._history(question, place, previous_messages, caller.owner)
            question = replace(question, history=history)
        request = RequestContext(
            cancel, caller=caller, cache=question.cache, private=bool(question.history)
        )
        keeper = _Keeper(self.conversations, place, send)
        limit = question.scope.widest()
        flow = self.flow(limit)
        conversation_id = place.conversation_id
        with self.accounting.record(conversation_id, request.meter, limit) as finish:
            began = replace(question.budget, began=time.monotonic())
            question = replace(question, budget=began)
            try:
                turn = flow.run(question, request=request, send=keeper.send)
            except CancelledError:
                if not cancel.cancelled:
                    raise
                return None
            keeper.begin()
            answer = finish(turn.answer)
        question = replace(question, standalone=turn.condensed)
        book = partial(self.accounting.book, answer, limit)
        keep = partial(keeper.keep, question, answer, caller.owner)
        # The usage first: the first call is made whatever becomes of the others.
        *_, saved = self.at_once([book, *turn.writes, keep])
        assert isinstance(saved, Saved)
        return saved

    def history_of(
        self, question: Question, place: Place, caller: Caller
    ) -> tuple[Message, ...]:
        """Return what is read of a conversation for its next question. Raises
        NotFoundError: there is none, or it is another's.
        """
        self._require(place, caller)
        return self._history(question, place, (), caller.owner)

    def _require(self, place: Place, caller: Caller) -> None:
        """Raise NotFoundError: there is no such conversation, or it is another's."""
        conversation_id = place.conversation_id
        if conversation_id is None or place.may_start:
            return
        if not self.conversations.exists(conversation_id, caller.owner):
            raise NotFoundError(f"There is no conversation {conversation_id!r}.")

    def _history(
        self, question: Question, place: Place, previous: Sequence[Message], owner: str
    ) -> tuple[Message, ...]:
        """The conversation so far, oldest first, bounded, without a repetition of the
        question at its end. The client's messages win over the stored ones.
        """
        # A client may send answers that are empty or an error; the server saves none.
        history = [
            m
            for m in previous
            if m.role != "assistant"
            or (m.content.strip() and not _ERROR.match(m.content))
        ]
        if place.conversation_id is not None and (
            place.replaces is not None or not previous
        ):
            stored = self.conversations.messages(
                place.conversation_id, owner, place.replaces, limit=MAX_MESSAGES + 1
            )
            history = history if previous else stored
        messages = []
        for message in history[-MAX_MESSAGES - 1 :]:
            # Questions that were stored before they were spaced evenly at the door may
            # have any space.
            spaced = (
                evenly_spaced(message.content)
                if message.role == "user"
                else message.content
            )
            messages.append(replace(message, content=spaced))
        if (
            messages
            and messages[-1].role == "user"
            and messages[-1].content.strip() == question.query
        ):
            messages.pop()
        return tuple(messages[-MAX_MESSAGES:])


class _Keeper:
    """Keeps one answer in its place, with the first word in that of the answer that it
    replaces.
    """

    def __init__(
        self, conversations: ConversationRepository, place: Place, send: Send
    ) -> None:
        self._conversations = conversations
        self._place = place
        self._send = send
        self._failure: DatabaseError | None = None

    def send(self, event: Event) -> None:
        """Pass an event on; the first word takes the place of the old answer."""
        if isinstance(event, TokenEvent):
            self.begin()
        self._send(event)

    def begin(self) -> None:
        """Cut the conversation before the answer that is replaced. Where that is not
        possible the old answer stays, and the new one is not kept.
        """
        place = self._place
        if place.conversation_id is None or not place.replaces:
            return
        self._place = replace(place, replaces=None)
        try:
            with bookkeeping(SAVE_SECONDS):
                self._conversations.cut(
                    place.conversation_id, place.replaces, keep=place.message_id
                )
        except DatabaseError as error:
            log.warning("An answer was not replaced: %s", error.message)
            self._failure = error

    def keep(self, question: Question, answer: Answer, owner: str) -> Saved:
        """Keep the answer; one that the database does not take says so."""
        place = self._place
        sums = Sums.of(answer.trace.ledger)
        if self._failure is not None:
            answer = _not_kept(answer, self._failure, question)
            return Saved(answer, place.conversation_id, None, sums)
        saved = Saved(answer, None, None, sums)
        if not place.kept:
            return saved
        # Of nobody's answers only those that were begun are opened again.
        may_return = bool(owner) or place.message_id is not None
        describe = place.describe if may_return else None
        message = {**asked_json(question), "standalone": question.standalone}
        row = answer_json(question, saved, describe)
        if not answer.answered:
            row |= event_fields("question.unanswered")
        try:
            with bookkeeping(self._patience(owner)):
                added = self._conversations.add(
                    place.conversation_id,
                    [message, row],
                    sums,
                    owner,
                    place.message_id,
                    may_start=place.may_start,
                )
        except DatabaseError as error:
            log.warning("An answer was not kept: %s", error.message)
            answer = _not_kept(answer, error, question)
            return Saved(answer, place.conversation_id, None, sums)
        return Saved(answer, added.conversation_id, added.message_id, added.sums)

    def _patience(self, owner: str) -> float:
        """Return how many seconds the finished answer may wait to be saved."""
        begins = self._place.conversation_id is None
        if begins and not owner and self._conversations.embedded:
            # Nobody has this conversation yet, and another program may write to the
            # file for long.
            return BOOKKEEPING_SECONDS
        return SAVE_SECONDS


def answer_json(
    question: Question, saved: Saved, describe: Callable[[Saved], Json] | None
) -> Json:
    """Return an answer as it is kept. No text of an attachment is (R-A1)."""
    answer = saved.answer
    row: Json = {
        "role": "assistant",
        "answered": answer.answered,
        "content": answer.response,
        "citations": [],
        **made_by(question.scope.widest()),
    }
    hits = answer.trace.hits
    if not question.attachments:
        row["citations"] = [
            {
                "number": citation.number,
                "chunk_id": citation.hit.chunk.id,
                "supported": citation.supported,
            }
            for citation in answer.citations
        ]
        chunks = [citation.hit.chunk for citation in answer.citations]
        if answer.missing:
            row["missing"] = list(answer.missing)
        row["cited"] = {
            "countries": _each_once(chunk.country_name for chunk in chunks),
            "headings": _each_once(chunk.heading for chunk in chunks),
            "chunk_ids": _each_once(chunk.id for chunk in chunks),
        }
        if describe is not None:
            # As text: not every database takes all of its field names.
            row["response"] = json.dumps(describe(saved), ensure_ascii=False)
    elif hits and (answer.degraded is not None or not answer.trace.usage.calls):
        attached = [escape_markdown(one.name) for one in question.attachments]
        row["content"] = (
            f"Quoted from {', '.join(attached)}: attached to this one question, and "
            "not kept."
        )
    elif hits:
        texts = [hit.chunk.text for hit in hits]
        row["content"] = without_text_of(answer.response, texts)
    return row


def _not_kept(answer: Answer, error: DatabaseError, question: Question) -> Answer:
    """Return an answer with a note that, and why, it is not kept."""
    say = speaking(question.language)
    text = say(NOT_KEPT)
    if error.reason == FULL:
        text = say(NO_SPACE)
    elif error.reason in UNWRITABLE:
        text = say(NO_CHANGES)
    note = StepEvent("save", text, failed=True)
    trace = replace(answer.trace, path=(*answer.trace.path, note))
    return replace(answer, trace=trace)


def without_text_of(response: str, texts: Collection[str]) -> str:
    """Return the response with "…" for every sentence that is in one of the texts."""
    compared = [normalise(text) for text in texts]
    for sentence in sentences(response):
        words = normalise(strip_marks(without_numbers(sentence))).strip("> -.'")
        if " " in words and any(words in text for text in compared):
            response = response.replace(sentence, "…", 1)
    return response


def asked_json(question: Question) -> Json:
    """A question as it is kept: all that is needed to ask it again, without its
    attachments (R-A1).
    """
    return {
        "role": "user",
        "content": question.query,
        "scope": question.scope.to_json(),
        "collections": list(question.scope.collections),
        "mode": question.mode,
        "preset": question.preset,
        "page": question.page,
        "auto_scope": question.auto_scope,
        "without_earlier": list(question.without_earlier),
        "attached": [document.name for document in question.attachments],
        **made_by(question.scope.widest()),
    }


def _each_once(values: Iterable[Value | None]) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values if value))
