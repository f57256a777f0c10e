"""The chat flow: from a question in a conversation to a saved answer, and what the
answer cost (R-C7).
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import ClassVar

from ..checking.wording import normalise, strip_marks, without_numbers
from ..database.core import Json, bookkeeping
from ..database.failures import FULL, UNWRITABLE
from ..database.limits import made_by
from ..database.repositories.conversations import ConversationRepository
from ..database.repositories.usage import UsageRepository
from ..domain import (
    Answer,
    AnswerEvent,
    Event,
    Message,
    Question,
    StepEvent,
    TokenEvent,
    Trace,
)
from ..domain.callers import ANYBODY, Caller
from ..domain.cancellation import Cancellation
from ..domain.chat import StepTiming
from ..domain.costs import LedgerRow, ModelPrice, Sums, Usage
from ..domain.errors import ChatModelError, DatabaseError, NotFoundError
from ..domain.json import Inlines
from ..domain.protocols import ChatModel, Embedder
from ..domain.request import RequestContext, RequestMeter
from ..domain.scope import Scope, Value
from ..language.analysis import Analyzer
from ..language.characters import evenly_spaced
from ..language.markdown import escape_markdown
from ..language.sentences import sentences
from ..language.words import speaking
from ..models.prompts import on_one_line
from ..models.replies import prose, stage_prompt
from ..models.replies.readers import json_values
from ..models.replies.stream import Reply, complete
from ..questions.follow_ups import FollowUps
from ..questions.reading import read_by_model
from .agents import CHOOSES, DEFAULT
from .agents.budget import PLANNING_SHARE, Spending
from .agents.understanding import Understanding
from .answer import latest

log = logging.getLogger(__name__)
SAVE_SECONDS = 10.0
"""Time limit of each call that saves an answer, which is finished by then."""
NO_SPACE = "This answer is not kept: the database has no space left."
NO_CHANGES = "This answer is not kept: the database takes no changes."
NOT_KEPT = "This answer is not kept: the database did not take it."
MILLION = 1_000_000
COST_DECIMALS = 10
"""A single token of a cheap model costs some 0.00000002."""
WRITING = ("generate", "shorten")
"""Stages of `CHAT_MODEL`; all others are those of `CHAT_MODEL_SMALL`."""
UNFINISHED = "unfinished"
"""The stage of a question that failed or was cancelled."""
MAX_MESSAGES = 40
"""Messages that are read of a conversation; `grounding.answer.latest` limits those in a
prompt.
"""
EVERYTHING = Scope()
MAX_REWRITTEN_CHARACTERS = 500
"""A model that writes more has answered instead of rewriting the question."""
ANSWER_CHARACTERS_SHOWN = 600
"""Characters of each answer in the prompt: its beginning says what it was about."""
_ERROR = re.compile(
    (
        r"^\s*(?:\{\s*\"error\"\s*:|(?:an? )?error\b(?:\s+\d+)?\s*[:!.]|an (?:internal "
        r")?error (?:has )?occurred)"
    ),
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\W*(?:(?:rewritten|standalone|last)\s+)?question\s*:\s*", re.IGNORECASE
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
    """Answers questions and remembers them. ``agent`` and ``condenser`` are asked for
    at each question, for what its caller may see.
    """

    conversations: ConversationRepository
    agent: Callable[[Scope], Understanding]
    condenser: Callable[[Scope], Condenser]
    accounting: UsageAccounting

    def stream(
        self,
        question: Question,
        *,
        place: Place = Place(),
        previous_messages: Sequence[Message] = (),
        cancel: Cancellation,
        caller: Caller = ANYBODY,
    ) -> Iterator[Event | Saved]:
        """Yield the agent's events, then `Saved`. An answer that is cancelled or fails
        is not saved.

        Raises:
            NotFoundError: no such conversation or answer to be replaced, or another's.
            UnknownNameError: the mode is not known.
        """
        conversation_id = place.conversation_id
        is_known = (
            conversation_id is None
            or place.may_start
            or self.conversations.exists(conversation_id, caller.owner)
        )
        if not is_known:
            raise NotFoundError(f"There is no conversation {conversation_id!r}.")
        notes: tuple[StepEvent, ...] = ()
        if question.attachments and question.mode != DEFAULT:
            if question.mode != CHOOSES:
                notes = (
                    StepEvent(
                        "mode", "Questions with attachments are answered in one step."
                    ),
                )
            question = replace(question, mode=DEFAULT)
        yield from notes
        if previous_messages or conversation_id is not None:
            question = replace(
                question,
                history=self._history(question, place, previous_messages, caller.owner),
            )
        if question.history:
            yield StepEvent("condense", "Reading the conversation")
        request = RequestContext(
            cancel, caller=caller, cache=question.cache, private=bool(question.history)
        )
        limit = question.scope.widest()
        agent = self.agent(limit)
        with self.accounting.record(conversation_id, request.meter, limit) as finish:
            question = replace(
                question, budget=replace(question.budget, began=time.monotonic())
            )
            condensing: Sequence[StepTiming] = ()
            if question.history:
                spending = Spending(question.budget)
                with request.within(spending.seconds_left(PLANNING_SHARE)) as limited:
                    ask_model = not spending.stops_exploring()
                    question, condensing = self.condenser(limit).condense(
                        question, limited, ask_model=ask_model
                    )
                spent = Usage.total(step.usage for step in condensing)
                question = replace(
                    question, budget=replace(question.budget, spent=spent)
                )
            understood = agent.read(question, request=request)
            failure: DatabaseError | None = None
            for (
                event
            ) in understood.events():  # held nowhere else: closing this closes them
                if cancel.cancelled:
                    return
                if (
                    isinstance(event, TokenEvent | AnswerEvent)
                    and conversation_id is not None
                    and place.replaces
                ):
                    failure = self._cut(conversation_id, place)
                    place = replace(place, replaces=None)
                for annotated in understood.annotate(event):
                    if isinstance(annotated, AnswerEvent):
                        trace = annotated.answer.trace
                        trace = replace(
                            trace,
                            steps=(*condensing, *trace.steps),
                            path=(*notes, *trace.path),
                        )
                        answer = replace(annotated.answer, trace=finish(trace))
                        if failure is None:
                            yield self._save(question, answer, place, caller.owner)
                        else:
                            sums = Sums.of(answer.trace.ledger)
                            answer = _not_kept(answer, failure, question)
                            yield Saved(answer, conversation_id, None, sums)
                    else:
                        yield annotated

    def _cut(self, conversation_id: str, place: Place) -> DatabaseError | None:
        """Cut the conversation before the answer that is replaced; return why that was
        not possible. Then the old answer stays, and the new one is not kept.
        """
        assert place.replaces is not None
        try:
            with bookkeeping(SAVE_SECONDS):
                self.conversations.cut(
                    conversation_id, place.replaces, keep=place.message_id
                )
        except DatabaseError as error:
            log.warning("An answer was not replaced: %s", error.message)
            return error
        return None

    def answer(
        self, question: Question, *, cancel: Cancellation, caller: Caller = ANYBODY
    ) -> Saved | None:
        """The answer alone, kept in no conversation; None where it is cancelled. Raises
        as `stream` does.
        """
        events = self.stream(
            question, place=Place(kept=False), cancel=cancel, caller=caller
        )
        return next((event for event in events if isinstance(event, Saved)), None)

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

    def _save(
        self, question: Question, answer: Answer, place: Place, owner: str
    ) -> Saved:
        conversation_id, sums = place.conversation_id, Sums.of(answer.trace.ledger)
        saved = Saved(answer, None, None, sums)
        if not place.kept:
            return saved
        row: Json = {
            "role": "assistant",
            "answered": answer.answered,
            "content": answer.response,
            "citations": [],
            **made_by(question.scope.widest()),
        }
        if not question.attachments:
            row["citations"] = [
                {
                    "number": c.number,
                    "chunk_id": c.hit.chunk.id,
                    "supported": c.supported,
                }
                for c in answer.citations
            ]
            chunks = [citation.hit.chunk for citation in answer.citations]
            row["cited"] = {
                "countries": _each_once(map(attrgetter("country_name"), chunks)),
                "headings": _each_once(map(attrgetter("heading"), chunks)),
            }
            if place.describe is not None and owner:
                # As text: not every database takes all of its field names.
                row["response"] = json.dumps(place.describe(saved), ensure_ascii=False)
        elif (
            answer.trace.hits and not answer.trace.usage.calls
        ):  # no text of an attachment is kept (R-A1)
            names = ", ".join(
                escape_markdown(document.name) for document in question.attachments
            )
            row["content"] = (
                f"Quoted from {names}: attached to this one question, and not kept."
            )
        elif answer.trace.hits:
            row["content"] = without_text_of(
                answer.response, [hit.chunk.text for hit in answer.trace.hits]
            )
        try:
            message = {**asked_json(question), "standalone": question.standalone}
            with bookkeeping(SAVE_SECONDS):
                added = self.conversations.add(
                    conversation_id,
                    [message, row],
                    sums,
                    owner,
                    place.message_id,
                    may_start=place.may_start,
                )
        except DatabaseError as error:
            log.warning("An answer was not kept: %s", error.message)
            answer = _not_kept(answer, error, question)
            return Saved(answer, conversation_id, None, sums)
        return Saved(answer, added.conversation_id, added.message_id, added.sums)


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
        "attached": list(map(attrgetter("name"), question.attachments)),
        **made_by(question.scope.widest()),
    }


def _each_once(values: Iterable[Value | None]) -> list[str]:
    return list(dict.fromkeys(map(str, filter(None, values))))


def cost(
    usage: Usage, chat: ModelPrice | None, embedding: ModelPrice | None
) -> float | None:
    """The cost of some usage in the table's currency: 0 for none, None if a price is
    missing.
    """
    total = 0.0
    if usage.tokens:
        if chat is None:
            return None
        total += (
            usage.prompt_tokens * chat.prompt
            + usage.completion_tokens * chat.completion
        )
    if usage.embedding_tokens:
        if embedding is None:
            return None
        total += usage.embedding_tokens * embedding.prompt
    return round(total / MILLION, COST_DECIMALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageAccounting:
    """Books the usage of answers. ``embedder`` is called each time: the model may
    change while this process serves.
    """

    prices: Sequence[ModelPrice]
    chat_model: ChatModel
    small_chat_model: ChatModel
    embedder: Callable[[], Embedder]
    days: UsageRepository
    conversations: ConversationRepository

    @contextmanager
    def record(
        self,
        conversation_id: str | None,
        meter: RequestMeter,
        limit: Scope = EVERYTHING,
    ) -> Iterator[Callable[[Trace], Trace]]:
        """Yield ``finish``, which adds the ledger to the trace of the answer and books
        it to the day.

        Without ``finish`` the question has failed or was cancelled, and its steps are
        unknown. Then the usage that reached the metered chat model is booked to the day
        and to this conversation, as one row `unfinished`. Not included: embedded texts,
        cached calls, and calls on other threads that are still being given up (the
        day's `tokens` have those).
        """
        finished = False
        started = time.perf_counter()

        def finish(trace: Trace) -> Trace:
            nonlocal finished
            finished = True
            rows = self.ledger(trace.steps)
            self.days.book(rows, questions=1, limit=limit)
            return replace(trace, ledger=rows)

        try:
            yield finish
        finally:
            if not finished and meter.usage != Usage():
                rows = self.ledger([StepTiming.since(UNFINISHED, started, meter.usage)])
                self.days.book(rows, questions=0, limit=limit)
                if conversation_id is not None:
                    self._book(conversation_id, Sums.of(rows, questions=0))

    def _book(self, conversation_id: str, sums: Sums) -> None:
        """Add to the usage of a conversation, if the database takes it."""
        try:
            with bookkeeping():
                self.conversations.book(conversation_id, sums)
        except DatabaseError as error:
            log.warning("The usage of a question was not noted: %s", error.message)

    def ledger(self, steps: Sequence[StepTiming]) -> tuple[LedgerRow, ...]:
        """One row for each name of a step, in order of first appearance. Parallel steps
        add up their milliseconds.
        """
        embedding = None
        written, planned = (
            self._price(model.model_id, local=not model.is_language_model)
            for model in (self.chat_model, self.small_chat_model)
        )
        if any(step.usage.embedding_tokens for step in steps):
            embedder = self.embedder()
            embedding = self._price(embedder.model_id, local=embedder.local)
        by_name: dict[str, list[StepTiming]] = {}
        for step in steps:
            by_name.setdefault(step.name, []).append(step)
        rows = []
        for name, several in by_name.items():
            usage, ms = (
                Usage.total(step.usage for step in several),
                round(sum(step.ms for step in several), 2),
            )
            chat = written if name in WRITING else planned
            rows.append(
                LedgerRow(name, len(several), ms, usage, cost(usage, chat, embedding))
            )
        return tuple(rows)

    def _price(self, model_id: str, *, local: bool) -> ModelPrice | None:
        """The price of a model. One that runs in this process is free unless the table
        names it.
        """
        free = ModelPrice(model_id, 0.0, 0.0) if local else None
        return next(
            (price for price in self.prices if price.model_id == model_id), free
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Condenser:
    """Condenses a question and its conversation into one that stands alone: by a model,
    or by rule.

    ``analyzer``: of the language of the questions; a rewritten one has to share a word
    with the conversation.
    """

    follow_ups: FollowUps
    chat_model: ChatModel
    analyzer: Analyzer

    def condense(
        self, question: Question, request: RequestContext, *, ask_model: bool = True
    ) -> tuple[Question, Sequence[StepTiming]]:
        """Return the question, with ``standalone`` unless it is complete already, and
        the steps.

        The steps name who did it: `condense_model`, or `condense_rule` without a model
        or where it failed. A model fills ``reading`` too. It fails where it writes no
        question, or one about other countries or years than the rule.

        ``ask_model``: whether there is budget for it.
        """
        if question.attachments and not self.follow_ups.is_elliptic(question.query):
            return question, ()
        started = time.perf_counter()
        ruled = self.follow_ups.by_rule(
            question.query, question.history, question.scope
        )
        by_rule = StepTiming.since("condense_rule", started)
        if ruled == question.query:
            return question, ()
        if not ask_model or not self.chat_model.is_language_model:
            return replace(question, standalone=ruled), (by_rule,)
        started = time.perf_counter()
        written, fields, usage = self._rewritten(question, request)
        by_model = StepTiming.since("condense_model", started, usage)
        if self.follow_ups.is_same_question(written, ruled):
            reading = read_by_model(
                written, fields, self.follow_ups.catalog, question.scope
            )
            return replace(question, standalone=written, reading=reading), (by_model,)
        return replace(question, standalone=ruled), (by_model, by_rule)

    def _rewritten(
        self, question: Question, request: RequestContext
    ) -> tuple[str, Mapping[str, object], Usage]:
        """The model's question, "" where it failed or wrote about something else, and
        what else it said of it.
        """
        shown = []
        for message in question.history:
            text = on_one_line(message.content, "conversation")
            cut = (
                f"{text[:ANSWER_CHARACTERS_SHOWN]} …"
                if len(text) > ANSWER_CHARACTERS_SHOWN
                else text
            )
            shown.append(replace(message, content=cut))
        conversation = "\n".join(
            f"{message.role}: {message.content}" for message in latest(shown)
        )
        values = {"conversation": conversation, "question": question.query}
        prompt = stage_prompt("condense", prose(), question.query, **values)
        response = Reply(prompt)
        try:
            done = complete(self.chat_model, prompt, request, response)
        except ChatModelError as error:
            return "", {}, response.usage_of_failed(error)
        objects = [one for one in json_values(done.text) if isinstance(one, Mapping)]
        fields = next(
            (one for one in objects if isinstance(one.get("question"), str)), {}
        )
        lines = [
            line.strip()
            for line in str(fields.get("question", done.text)).splitlines()
            if line.strip()
        ]
        written = _LABEL.sub("", lines[0]).strip(" \"'`“”*") if lines else ""
        terms = set(self.analyzer.terms(f"{question.query} {conversation}"))
        shares_words = not terms.isdisjoint(self.analyzer.terms(written))
        return (
            written
            if shares_words and len(written) <= MAX_REWRITTEN_CHARACTERS
            else "",
            fields,
            done.usage,
        )
