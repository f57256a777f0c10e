"""Conversations and their messages; and sums by day: of the meter and of the answers,
whoever adds at the same time.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chatbot.app.services import Services
from chatbot.database.core import Database
from chatbot.database.repositories import conversations as module
from chatbot.database.repositories.conversations import ConversationRepository
from chatbot.database.repositories.usage import UsageRepository
from chatbot.domain import Usage
from chatbot.domain.costs import LedgerRow, StageSums, Sums
from chatbot.domain.errors import DiskFullError, NotFoundError
from tests.fakes.hooked_database import HookedDatabase


def said(content: str, role: str = "user", **extra: Any) -> list[dict[str, Any]]:
    return [{"role": role, "content": content, **extra}]


def begin(repository: ConversationRepository, title: str = "a") -> str:
    return repository.add(None, said(title)).conversation_id


def test_concurrent_messages_each_get_a_place(services: Services) -> None:
    conversation = begin(services.storage.conversations, "m0")
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda n: services.storage.conversations.add(
                    conversation, said(f"m{n}")
                ),
                range(1, 32),
            )
        )
    rows = list(
        services.storage.database["messages"].find({"conversation_id": conversation})
    )
    assert sorted(row["ordinal"] for row in rows) == list(range(1, 33))
    assert {
        message.content
        for message in services.storage.conversations.messages(conversation)
    } == {f"m{n}" for n in range(32)}


def test_what_a_conversation_took_adds_up_whoever_adds_at_the_same_time(
    database: Database,
) -> None:
    """R-C7."""
    repository = ConversationRepository(database)
    conversation, other = begin(repository, "hello"), begin(repository)
    one = Sums(1, Usage(100, 10, 5, calls=2, cached_calls=1, failed_calls=1), 0.25, 3)
    repository.book(other, one)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: repository.book(conversation, one), range(31)))
    assert repository.add(conversation, said("and?"), one).sums == Sums.total(
        [one] * 32
    )
    assert [message.content for message in repository.messages(conversation)] == [
        "hello",
        "and?",
    ]


def test_a_conversation_is_its_owners_and_nobodys_is_whoever_knows_its_id(
    database: Database,
) -> None:
    repository = ConversationRepository(database)
    mine = repository.add(None, said("secret"), owner="visitor:a").conversation_id
    nobodys = begin(repository, "open")
    database["conversations"].replace_many(
        [{"_id": "old", "title": "before there were owners", "messages": 1}]
    )
    database["messages"].replace_many(
        [{"_id": "m", "conversation_id": "old", "ordinal": 1, **said("b")[0]}]
    )
    assert [message.content for message in repository.messages(mine, "visitor:a")] == [
        "secret"
    ]
    for other in ("", "visitor:b"):
        assert not repository.exists(mine, other)
        assert repository.messages(mine, other) == []
        with pytest.raises(NotFoundError):
            repository.add(mine, said("intruded"), owner=other)
        for free in (nobodys, "old"):
            assert repository.exists(free, other)
            repository.add(free, said("more"), owner=other)
    assert len(repository.messages("old", "visitor:c")) == 3
    assert len(repository.messages(mine, "visitor:a")) == 1


ROWS = (
    LedgerRow("embed", 2, 1.25, Usage(embedding_tokens=9), 0.0),
    LedgerRow("generate", 1, 100.5, Usage(1000, 100, calls=2, failed_calls=1), 0.0035),
    LedgerRow("fuse", 1, 0.0, Usage(), 0.0),
)


def day(ago: int = 0) -> str:
    return (datetime.now(UTC).date() - timedelta(days=ago)).isoformat()


def test_the_meter_and_the_answers_are_counted_apart_and_stages_the_longest_first(
    database: Database,
) -> None:
    usage = UsageRepository(database)
    usage.book(ROWS, questions=1)
    assert usage.today() == 0
    usage.add(1100)
    usage.add(50)
    (found,) = usage.days(1)
    assert (found.day, found.metered_tokens, usage.today()) == (day(), 1150, 1150)
    assert found.sums == Sums(1, Usage(1000, 100, 9, 2, 0, 1), 0.0035)
    usage.book(ROWS, questions=1)
    (found,) = usage.days(1)
    assert found.stages == (
        StageSums("generate", 2, 4, 2200, 0, 201.0),
        StageSums("embed", 4, 0, 0, 18, 2.5),
        StageSums("fuse", 2),
    )
    assert found.sums.questions == 2


def test_a_question_of_many_stages_is_counted_whole(database: Database) -> None:
    """The embedded database forgets the paths of an update beyond its 64th, or writes
    their dots into the name.
    """
    usage = UsageRepository(database)
    rows = [
        LedgerRow(f"stage_{number}", 1, 1.5, Usage(1, 1, 1, calls=1), 0.25)
        for number in range(40)
    ]
    for _ in range(3):
        usage.book(rows, questions=1)
    (found,) = usage.days(1)
    assert {stage.stage for stage in found.stages} == {row.stage for row in rows}
    assert {
        (s.runs, s.calls, s.tokens, s.embedding_tokens, s.ms) for s in found.stages
    } == {(3, 3, 6, 3, 4.5)}
    assert (found.sums.usage.calls, found.sums.cost) == (120, 30.0)


def test_days_are_newest_first_and_one_of_an_older_version_has_tokens_only(
    database: Database,
) -> None:
    for ago in (0, 1, 6, 7, 400):
        database["usage"].insert_one({"_id": day(ago), "tokens": ago})
    usage = UsageRepository(database)
    assert [found.day for found in usage.days(1)] == [day()]
    assert [found.day for found in usage.days(7)] == [day(), day(1), day(6)]
    assert [found.metered_tokens for found in usage.days(366)] == [0, 1, 6, 7]
    found = usage.days(7)[1]
    assert (found.metered_tokens, found.sums, found.stages) == (1, Sums(), ())


def test_many_writers_at_once_lose_nothing(database: Database) -> None:
    usage = UsageRepository(database)

    def work(number: int) -> None:
        usage.book(ROWS, questions=1)
        usage.add(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(80)))
    (found,) = usage.days(1)
    assert (found.metered_tokens, usage.today()) == (sum(range(80)), sum(range(80)))
    assert found.sums == Sums(80, Usage(80_000, 8_000, 720, 160, 0, 80), 0.28)
    assert {stage.stage: stage.runs for stage in found.stages} == {
        "generate": 80,
        "embed": 160,
        "fuse": 80,
    }


YEARS_AGO, TOMORROW = "2020-01-01T00:00:00.000+00:00", "2999-01-01"


def two_old_ones(database: Database) -> list[str]:
    """Two conversations of one owner, deleted and last written to years ago."""
    repository = ConversationRepository(database)
    ids = [
        repository.add(None, said(title), owner="visitor:a").conversation_id
        for title in ("one", "two")
    ]
    for id in ids:
        repository.delete(id, "visitor:a")
        database["conversations"].update_one(
            {"_id": id}, {"$set": {"deleted_at": YEARS_AGO, "updated_at": YEARS_AGO}}
        )
    return ids


def once(work: Callable[[], object]) -> Callable[[], None]:
    """Return a function that does the work when it is called first."""
    left = [work]

    def run() -> None:
        if left:
            left.pop()()

    return run


@pytest.mark.parametrize(
    "moment",
    [
        ("conversations", "update_one"),
        ("message_events", "delete_many"),
        ("conversations", "delete_many"),
    ],
    ids=" ".join,
)
def test_a_conversation_that_is_restored_while_others_are_purged_stays(
    database: Database, moment: tuple[str, str]
) -> None:
    ids = two_old_ones(database)
    repository = ConversationRepository(database)
    restored = []

    def restore() -> None:
        with suppress(NotFoundError):
            restored.append(repository.restore(ids[1], "visitor:a").id)

    hooked = HookedDatabase(database, {moment: once(restore)})
    purged = ConversationRepository(hooked).purge(deleted_before=TOMORROW)
    assert purged == 2 - len(restored)
    left = [row["_id"] for row in database["conversations"].find()]
    assert left == restored, "whoever was told that it is restored has it"
    messages = [row["conversation_id"] for row in database["messages"].find()]
    assert messages == restored


@pytest.mark.parametrize(
    "moment",
    [("conversations", "update_one"), ("message_events", "delete_many")],
    ids=" ".join,
)
def test_a_conversation_that_is_continued_while_old_ones_are_purged_stays(
    database: Database, moment: tuple[str, str]
) -> None:
    repository = ConversationRepository(database)
    ids = two_old_ones(database)
    for id in ids:
        repository.restore(id, "visitor:a")
    continued = []

    def continue_it() -> None:
        try:
            repository.add(ids[1], said("more"), owner="visitor:a")
        except NotFoundError:
            return
        continued.append(ids[1])

    hooked = HookedDatabase(database, {moment: once(continue_it)})
    ConversationRepository(hooked).purge(before="2021-01-01")
    assert [row["_id"] for row in database["conversations"].find()] == continued
    assert database["messages"].count({}) == 2 * len(continued)


class KilledError(BaseException):
    pass


def test_a_purge_that_was_killed_is_finished_by_the_next_one(
    database: Database,
) -> None:
    ids = two_old_ones(database)

    def kill() -> None:
        raise KilledError

    hooked = HookedDatabase(database, {("messages", "delete_many"): kill})
    with pytest.raises(KilledError):
        ConversationRepository(hooked).purge(deleted_before=TOMORROW)
    repository = ConversationRepository(database)
    for id in ids:
        with pytest.raises(NotFoundError):
            repository.restore(id, "visitor:a")
    assert repository.purge(deleted_before=YEARS_AGO) == 0
    for name in ("conversations", "messages"):
        assert database[name].count({}) == 0


def test_a_full_database_purges_conversations(database: Database) -> None:
    two_old_ones(database)

    def refuse() -> None:
        raise DiskFullError("No space is left.")

    hooked = HookedDatabase(database, {("conversations", "update_one"): refuse})
    assert ConversationRepository(hooked).purge(deleted_before=TOMORROW) == 2
    for name in ("conversations", "messages"):
        assert database[name].count({}) == 0


def test_of_a_long_conversation_only_the_last_messages_are_read(
    database: Database,
) -> None:
    repository = ConversationRepository(database)
    conversation = begin(repository, "m0")
    for number in range(1, 100):
        repository.add(conversation, said(f"m{number}"))
    repository.begin(conversation, said("asked just now")[0], "")
    hooked = HookedDatabase(database)
    messages = ConversationRepository(hooked).messages(conversation, limit=41)
    assert [message.content for message in messages] == [
        f"m{number}" for number in range(59, 100)
    ]
    assert hooked.rows_read["messages"] == 41


def test_a_search_looks_at_a_limited_number_of_conversations_and_goes_on(
    database: Database, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.id == "nx27017":
        pytest.skip("NX-27017 compares the cursor's second field without the first")
    monkeypatch.setattr(module, "MAX_SEARCHED_CONVERSATIONS", 6)
    monkeypatch.setattr(module, "MAX_SEARCHED_AT_ONCE", 2)
    hooked = HookedDatabase(database)
    repository = ConversationRepository(hooked)
    for number in range(20):
        added = repository.add(
            None, said(f"title {number}"), owner="visitor:a"
        ).conversation_id
        question = f"about Zebras {number}" if number % 5 == 0 else "about lions"
        repository.add(added, said(question), owner="visitor:a")
        time.sleep(0.002)  # the order is that of milliseconds
    found, cursor, pages = [], "", 0
    while cursor or not pages:
        hooked.rows_read.clear()
        records, cursor = repository.page(
            "visitor:a", search="zebras", after=cursor, limit=30
        )
        found += [record.title for record in records]
        pages += 1
        assert hooked.rows_read["conversations"] <= 6
        assert hooked.rows_read["messages"] <= 2 * 6
    assert found == ["title 15", "title 10", "title 5", "title 0"]
    assert pages == 4
    (first,), cursor = repository.page("visitor:a", search="zebras", after="", limit=1)
    assert first.title == "title 15"
    (second,), _ = repository.page("visitor:a", search="zebras", after=cursor, limit=1)
    assert second.title == "title 10"
