"""The thread that stores the events of resumable answers, while the database fails."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chatbot.app.services import Services
from chatbot.app.web.streaming import (
    ActiveStreams,
    Connection,
    ResumableStream,
    Tell,
)
from chatbot.database.repositories.answers import UnfinishedRepository
from chatbot.domain import StepEvent
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.errors import DatabaseError
from tests.fakes.hooked_database import HookedDatabase


def no_events(cancel: Cancellation, tell: Tell) -> None:
    """Make no answer."""


def begin(services: Services, streams: ActiveStreams) -> ResumableStream:
    question = {"role": "user", "content": "Where does the zebra live?"}
    begun = services.storage.conversations.begin(None, question, "visitor:a")
    return ResumableStream(begun, streams, no_events, Connection())


def write(answer: ResumableStream, *texts: str) -> None:
    for text in texts:
        answer.number(StepEvent(text), text)


def stored(services: Services, answer: ResumableStream) -> list[str]:
    repository = UnfinishedRepository(services.storage.database)
    events = repository.events(answer.begun.message_id, 0)
    assert [number for number, _ in events] == list(range(1, len(events) + 1))
    return [text.partition("\n")[2] for _, text in events]


@pytest.fixture
def fail(services: Services) -> Callable[[int], None]:
    """Let so many of the next calls that store events fail."""
    left = [0]

    def refuse() -> None:
        if left[0] > 0:
            left[0] -= 1
            raise DatabaseError("The database is away.", retry_after=1)

    hooks = {
        ("message_events", "insert_one"): refuse,
        ("message_events", "replace_many"): refuse,
    }
    hooked = HookedDatabase(services.storage.database, hooks)
    unfinished = UnfinishedRepository(hooked)
    services.storage = replace(services.storage, unfinished=unfinished)

    def set_failures(count: int) -> None:
        left[0] = count

    return set_failures


def test_events_that_could_not_be_stored_are_stored_later(
    services: Services, fail: Callable[[int], None]
) -> None:
    streams = ActiveStreams(services, lambda work: None)
    answer = begin(services, streams)
    write(answer, "one")
    streams.work_once()
    write(answer, "two")
    fail(1)
    with pytest.raises(DatabaseError, match="away"):
        streams.work_once()
    write(answer, "three")
    streams.work_once()
    assert stored(services, answer) == ["one", "two", "three"]


def test_an_answer_whose_events_cannot_be_stored_holds_up_no_other(
    services: Services, fail: Callable[[int], None]
) -> None:
    streams = ActiveStreams(services, lambda work: None)
    answers = [begin(services, streams) for _ in range(3)]
    for answer in answers:
        write(answer, "one", "two")
    fail(1)
    with pytest.raises(DatabaseError, match="away"):
        streams.work_once()
    written = [stored(services, answer) for answer in answers]
    assert written == [[], ["one", "two"], ["one", "two"]]
    streams.work_once()
    assert stored(services, answers[0]) == ["one", "two"]


def test_events_that_were_stored_by_a_call_that_failed_are_told_once(
    services: Services,
) -> None:
    repository = UnfinishedRepository(services.storage.database)
    answer = begin(services, ActiveStreams(services, lambda work: None))
    repository.keep(answer.begun, 1, ["id: 1\none", "id: 2\ntwo"])
    repository.keep(answer.begun, 1, ["id: 1\none", "id: 2\ntwo", "id: 3\nthree"])
    repository.keep(answer.begun, 4, ["id: 4\nfour"])
    assert stored(services, answer) == ["one", "two", "three", "four"]
    rest = repository.events(answer.begun.message_id, 2)
    assert [number for number, _ in rest] == [3, 4]
