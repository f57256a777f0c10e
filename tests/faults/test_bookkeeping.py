"""Usage and counters over a database that fails: they fail nothing, and count once."""

from collections.abc import Iterator

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.core import Database
from chatbot.database.repositories.usage import Counters, UsageRepository
from chatbot.domain import Usage
from chatbot.domain.costs import LedgerRow
from tests.fakes import wire_faults
from tests.fakes.nx_server import wait_until
from tests.fakes.wire_faults import Action, Delay, Drop
from tests.fakes.wire_proxy import EVERYTHING, WireProxy

SECONDS = 0.5
"""MONGODB_TIMEOUT."""


@pytest.fixture
def database(proxy: WireProxy) -> Iterator[Database]:
    options = {"mongodb_uri": proxy.uri, "mongodb_timeout": SECONDS}
    opened = open_database(Settings.from_env({}, **options))
    opened.ping()
    yield opened
    opened.close()


def calls(number: int) -> LedgerRow:
    return LedgerRow("generate", 1, 1.5, Usage(calls=number), 0.25)


@pytest.mark.parametrize(
    "fault",
    [Delay(1.5 * SECONDS), Drop(after=True), wire_faults.TOO_SLOW, wire_faults.FULL],
    ids=["written after the time-out", "answer lost", "over its time", "full"],
)
def test_usage_counts_once_whether_or_not_a_failed_write_was_made(
    database: Database, proxy: WireProxy, fault: Action
) -> None:
    usage = UsageRepository(database)
    usage.add(1)
    proxy.next("update", fault)
    usage.add(10)
    usage.add(100)
    usage.book([calls(3)], questions=1)

    def is_written() -> bool:
        return usage.days(1)[0].metered_tokens == 111

    wait_until(is_written, "the tokens are not written", 5)
    assert usage.today() == 111
    (day,) = usage.days(1)
    assert (day.sums.questions, day.sums.usage.calls, day.sums.cost) == (1, 3, 0.25)


def test_what_was_not_written_counts_towards_the_limit_of_the_day(
    database: Database, proxy: WireProxy
) -> None:
    usage, counters = UsageRepository(database), Counters(database)
    proxy.always("update", wire_faults.FULL)
    for _ in range(3):
        usage.add(10)
        counters.add_tokens("key:a", 7)
    assert usage.today() == 30
    assert counters.tokens_today("key:a") == 21
    proxy.heal()
    counters.add_tokens("key:a", 7)
    other = Counters(database)
    assert (counters.tokens_today("key:a"), other.tokens_today("key:a")) == (28, 28)


@pytest.mark.parametrize("fault", [wire_faults.FULL, wire_faults.NO_RIGHTS])
def test_counters_of_a_database_that_fails_turn_nothing_into_an_error(
    database: Database, proxy: WireProxy, fault: Action
) -> None:
    counters = Counters(database)
    finished = []
    with counters.question("a", most=1, seconds=60):
        proxy.always(EVERYTHING, fault)
        finished.append("answer")
    with counters.question("a", most=1, seconds=60):
        finished.append("another")
    assert finished == ["answer", "another"]
    assert [counters.request("a")[0] for _ in range(3)] == [1, 2, 3]
