"""Answers while they are written: what is kept of them, and what becomes of those that do not end well."""

from __future__ import annotations

import pytest

from chatbot.app.services import Services
from chatbot.database.repositories.conversations import Begun
from chatbot.domain.errors import NotFoundError

OWNER = "visitor:a"
ASKED = {"role": "user", "content": "How many?"}
SAID = [ASKED, {"role": "assistant", "content": "Two."}]


@pytest.fixture
def old(services: Services) -> Begun:
    """A complete answer."""
    added = services.storage.conversations.add(None, SAID, owner=OWNER)
    return Begun(added.conversation_id, added.message_id)


def test_events_are_numbered_and_told_after_any_of_them(services: Services, old: Begun) -> None:
    begun = services.storage.conversations.begin(old.conversation_id, ASKED, OWNER)
    services.storage.unfinished.keep(begun, 1, ["a", "b"])
    services.storage.unfinished.keep(begun, 3, ["c"])
    told = [services.storage.unfinished.events(begun.message_id, after) for after in range(4)]
    assert told == [[(1, "a"), (2, "b"), (3, "c")], [(2, "b"), (3, "c")], [(3, "c")], []]
    services.storage.unfinished.end(begun.message_id, "")
    assert services.storage.unfinished.events(begun.message_id, 0) == []


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
