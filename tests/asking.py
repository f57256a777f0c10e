"""Asks questions as the web layer does, and keeps all that happens on the way."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from chatbot.answering.conversation import ChatService, Saved
from chatbot.answering.flow import STAGES, Flow
from chatbot.app.services import Services
from chatbot.domain import Answer, Event, Question
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.errors import CancelledError
from chatbot.domain.request import RequestContext

BY_MODE = STAGES[STAGES.index("cache") :]
"""The stages of a question that was read: its mode alone."""


@dataclass(frozen=True)
class Finished:
    """The end of the events of a question: its answer."""

    answer: Answer


Happened = Event | Finished
Watch = Callable[[Any], object]
"""Sees each event as it happens."""


def on_the_way(
    flow: Flow,
    question: Question,
    *,
    request: RequestContext | None = None,
    watch: Watch = lambda event: None,
) -> list[Any]:
    """Return the events of a question, and its answer at the end; what came before it
    was cancelled.
    """
    events: list[Happened] = []

    def send(event: Event) -> None:
        events.append(event)
        watch(event)

    try:
        answer = flow.answer(question, request=request or RequestContext(), send=send)
    except CancelledError:
        return events
    return [*events, Finished(answer)]


def by_mode(
    services: Services,
    question: Question,
    *,
    request: RequestContext | None = None,
    watch: Watch = lambda event: None,
) -> list[Any]:
    """Return the events of a question that is taken as it stands: nothing is read into
    it, no early answer is given.
    """
    flow = services.everything.flow
    settings = replace(question.settings or flow.settings, stages=BY_MODE)
    question = replace(question, settings=settings)
    return on_the_way(flow, question, request=request, watch=watch)


def in_conversation(
    chat: ChatService,
    question: Question,
    *,
    watch: Watch = lambda event: None,
    cancel: Cancellation | None = None,
    **options: Any,
) -> list[Any]:
    """Return the events of a question, and `Saved` at the end."""
    events: list[Event | Saved] = []

    def send(event: Event) -> None:
        events.append(event)
        watch(event)

    saved = chat.answer(question, send=send, cancel=cancel or Cancellation(), **options)
    return events if saved is None else [*events, saved]
