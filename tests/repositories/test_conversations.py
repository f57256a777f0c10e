"""Conversations and their messages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from chatbot.database import Database
from chatbot.repositories.conversations import ConversationRepository
from chatbot.schema import Message, Usage
from chatbot.schema.sums import Sums
from chatbot.services import Services
from chatbot.settings import Settings


def test_messages_come_back_in_their_order(services: Services) -> None:
    repository = services.conversations
    repository.ensure_indexes()
    repository.ensure_indexes()
    conversation = repository.create("What is the rate?")
    assert repository.messages(conversation) == []
    for number in range(12):
        repository.add(conversation, "user" if number % 2 == 0 else "assistant", f"message {number}")
    assert repository.messages(conversation) == [
        Message("user" if number % 2 == 0 else "assistant", f"message {number}") for number in range(12)
    ]


def test_conversations_are_apart_and_ids_cannot_be_guessed(services: Services) -> None:
    one, two = services.conversations.create("a"), services.conversations.create("a")
    assert one != two
    assert len(one) == len(two) == 32
    services.conversations.add(one, "user", "hello")
    assert services.conversations.messages(two) == []
    assert services.conversations.exists(one)
    assert not services.conversations.exists("0" * 32)


def test_what_belongs_to_a_message_is_kept_with_it(services: Services) -> None:
    conversation = services.conversations.create("x" * 200)
    message = services.conversations.add(conversation, "assistant", "text", citations=[{"number": 1}], answered=True)
    row = services.database["messages"].find_one({"_id": message})
    assert row is not None
    assert (row["citations"], row["answered"], row["ordinal"]) == ([{"number": 1}], True, 1)
    stored = services.database["conversations"].find_one({"_id": conversation})
    assert stored is not None
    assert (stored["title"], stored["messages"]) == ("x" * 80, 1)


def test_concurrent_messages_each_get_a_place(services: Services) -> None:
    conversation = services.conversations.create("a")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: services.conversations.add(conversation, "user", f"m{n}"), range(32)))
    rows = list(services.database["messages"].find({"conversation_id": conversation}))
    assert sorted(row["ordinal"] for row in rows) == list(range(1, 33))
    assert {message.content for message in services.conversations.messages(conversation)} == {
        f"m{n}" for n in range(32)
    }


def test_a_conversation_outlives_the_process(settings: Settings, services: Services) -> None:
    """DESIGN.md, "State only in the database"."""
    conversation = services.conversations.create("a")
    services.conversations.add(conversation, "user", "hello")
    with Services(settings) as other:
        assert ConversationRepository(other.database).messages(conversation) == [Message("user", "hello")]


def test_what_a_conversation_took_adds_up_whoever_adds_at_the_same_time(database: Database) -> None:
    """R-C7."""
    repository = ConversationRepository(database)
    conversation, other = repository.create("a"), repository.create("b")
    repository.add(conversation, "user", "hello")
    one = Sums(1, Usage(100, 10, 5, calls=2, cached_calls=1, failed_calls=1), 0.25, 3)
    assert repository.book(other, one) == one
    with ThreadPoolExecutor(8) as pool:
        sums = list(pool.map(lambda _: repository.book(conversation, one), range(32)))
    assert sorted(found.questions for found in sums) == list(range(1, 33))
    assert max(sums, key=lambda found: found.questions) == Sums.total([one] * 32)
    assert repository.messages(conversation) == [Message("user", "hello")]


def test_a_conversation_that_is_gone_took_what_it_takes_now(database: Database) -> None:
    repository = ConversationRepository(database)
    assert repository.book("gone", Sums(questions=1)) == Sums(questions=1)
    assert not repository.exists("gone")
