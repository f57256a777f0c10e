"""Answers while they are written: what is kept of them, and what becomes of those that do not end well."""

from __future__ import annotations

import pytest

from chatbot.app.services import Services
from chatbot.database.repositories.conversations import Begun, State
from chatbot.domain import Message
from chatbot.domain.errors import NotFoundError

OWNER = "visitor:a"
ASKED = {"role": "user", "content": "How many?"}
SAID = [ASKED, {"role": "assistant", "content": "Two."}]


@pytest.fixture
def old(services: Services) -> Begun:
    """A complete answer."""
    added = services.storage.conversations.add(None, SAID, owner=OWNER)
    return Begun(added.conversation_id, added.message_id)


def contents(services: Services, begun: Begun) -> list[str]:
    return [row["content"] for row in services.storage.conversations.rows(begun.conversation_id)[0]]


def test_events_are_numbered_and_told_after_any_of_them(services: Services, old: Begun) -> None:
    begun = services.storage.conversations.begin(old.conversation_id, ASKED, OWNER)
    services.storage.unfinished.keep(begun, 1, ["a", "b"])
    services.storage.unfinished.keep(begun, 3, ["c"])
    told = [services.storage.unfinished.events(begun.message_id, after) for after in range(4)]
    assert told == [[(1, "a"), (2, "b"), (3, "c")], [(2, "b"), (3, "c")], [(3, "c")], []]
    services.storage.unfinished.end(begun.message_id, "")
    assert services.storage.unfinished.events(begun.message_id, 0) == []


def test_only_what_is_complete_was_said(services: Services, old: Begun) -> None:
    conversations, unfinished = services.storage.conversations, services.storage.unfinished
    begun = conversations.begin(old.conversation_id, {**ASKED, "content": "And now?"}, OWNER)
    assert conversations.messages(old.conversation_id, OWNER) == [
        Message("user", "How many?"),
        Message("assistant", "Two."),
    ]
    unfinished.end(begun.message_id, "stopped", "Thr")
    assert contents(services, old) == ["How many?", "Two.", "And now?", "Thr"]
    assert len(conversations.messages(old.conversation_id, OWNER)) == 2


def test_an_answer_stands_where_its_question_was_asked(services: Services, old: Begun) -> None:
    conversations = services.storage.conversations
    first, second = (conversations.begin(old.conversation_id, {**ASKED, "content": text}, OWNER) for text in "AB")
    for begun, text in ((second, "B"), (first, "A")):
        said = [{**ASKED, "content": text}, {"role": "assistant", "content": text.lower()}]
        added = conversations.add(old.conversation_id, said, owner=OWNER, message_id=begun.message_id)
        assert added.message_id == begun.message_id
    assert contents(services, old) == ["How many?", "Two.", "A", "a", "B", "b"]


@pytest.mark.parametrize("state", ["stopped", "failed"])
def test_what_was_to_take_its_place_leaves_the_old_answer(services: Services, old: Begun, state: State) -> None:
    conversations, unfinished = services.storage.conversations, services.storage.unfinished
    begun = conversations.begin(old.conversation_id, ASKED, OWNER, old.message_id)
    unfinished.end(begun.message_id, state)
    assert contents(services, old) == ["How many?", "Two."]
    begun = conversations.begin(old.conversation_id, ASKED, OWNER, old.message_id)
    conversations.cut(old.conversation_id, old.message_id, keep=begun.message_id)
    unfinished.end(begun.message_id, state, "Th")
    assert contents(services, old) == ["How many?", "Th"]


def test_others_say_whether_they_listen_or_want_it_stopped(services: Services, old: Begun) -> None:
    conversations, unfinished = services.storage.conversations, services.storage.unfinished
    begun = conversations.begin(old.conversation_id, ASKED, OWNER)
    unfinished.listen(begun.message_id)
    unfinished.stop(begun.message_id)
    unfinished.stop(old.message_id)
    told = unfinished.beat([begun.message_id, "0" * 32])
    assert list(told) == [begun.message_id]
    heard = told[begun.message_id]
    assert (heard.beat, heard.heard, heard.stop, heard.state) == (1, 1, True, "running")
    assert not unfinished.find(old.message_id, OWNER).stop
    with pytest.raises(NotFoundError):
        unfinished.find(begun.message_id, "visitor:b")


def test_it_goes_with_its_conversation(services: Services, old: Begun) -> None:
    begun = services.storage.conversations.begin(old.conversation_id, ASKED, OWNER)
    services.storage.unfinished.keep(begun, 1, ["a"])
    services.retention.conversations(owner=OWNER)
    with pytest.raises(NotFoundError):
        services.storage.conversations.add(begun.conversation_id, SAID, owner=OWNER, message_id=begun.message_id)
    for name in ("conversations", "messages", "message_events"):
        assert services.storage.database[name].count({}) == 0
