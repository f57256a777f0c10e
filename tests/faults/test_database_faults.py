"""Every way in which a MongoDB server can fail, seen through the HTTP API; and that it
mends without a restart.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chatbot.app.factory import create_app
from chatbot.domain.errors import UnknownNameError
from tests.fakes import wire_faults
from tests.fakes.wire_faults import Action, Delay, Drop, Hang
from tests.fakes.wire_proxy import EVERYTHING, WireProxy
from tests.faults.conftest import (
    BOUND,
    QUESTION,
    TIMEOUT,
    NewSite,
    Site,
    assert_recovers,
    assert_unavailable,
    settings_for,
)
from tests.library.helpers import until

NO_ANSWER, SLOW, NO_PRIMARY = "does not answer", "too slow", "has no primary"
LASTING: dict[str, tuple[Action, str]] = {
    "frozen": (Hang(), SLOW),
    # PyMongo tries until the time is up, and then tells of whichever came last
    "every connection broken": (Drop(), f"{NO_ANSWER}|{SLOW}"),
    "each call late": (Delay(TIMEOUT / 4), SLOW),
    "commands over their time limit": (wire_faults.TOO_SLOW, SLOW),
    "no primary": (wire_faults.NOT_PRIMARY, f"{NO_PRIMARY}|{SLOW}"),
    "rights taken away": (wire_faults.NO_RIGHTS, "lacks a permission"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("fault", "said"), LASTING.values(), ids=LASTING)
def test_a_lasting_fault_is_a_503_and_mends_itself(
    site: Site, proxy: WireProxy, fault: Action, said: str
) -> None:
    proxy.always(EVERYTHING, fault)
    reply = site.ask(QUESTION)
    assert_unavailable(reply)
    assert re.search(said, reply.error["message"])
    assert site.ask(path="/health").status == 200
    proxy.heal()
    assert_recovers(site)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("find", wire_faults.NOT_PRIMARY),
        ("count", Drop()),
        ("update", wire_faults.STEPPED_DOWN),
        ("findAndModify", wire_faults.SHUTTING_DOWN),
        ("findAndModify", Drop()),
    ],
)
def test_one_step_down_or_broken_connection_is_not_noticed(
    site: Site, proxy: WireProxy, command: str, fault: Action
) -> None:
    before = len(proxy.sent(command))
    proxy.next(command, fault)
    reply = site.ask(QUESTION)
    assert (reply.status, reply.seconds < BOUND) == (200, True)
    assert len(proxy.sent(command)) > before + 1


@pytest.mark.parametrize(
    "fault", [wire_faults.BAD_PASSWORD, wire_faults.ATLAS_BAD_PASSWORD]
)
def test_a_refused_password(site: Site, proxy: WireProxy, fault: Action) -> None:
    proxy.always("saslStart", fault)
    proxy.down()
    proxy.up()
    reply = site.ask(QUESTION)
    assert_unavailable(reply)
    assert "refused the user or password" in reply.error["message"]
    assert "MONGODB_URI" in reply.error["details"][0]["remedy"]
    ready = site.ask(path="/ready")
    assert (ready.status, ready.body["dependencies"][0]["ok"]) == (503, False)
    proxy.heal()
    assert_recovers(site)


def test_a_server_that_goes_down_and_comes_back(site: Site, proxy: WireProxy) -> None:
    proxy.down()
    first, second = site.ask(QUESTION), site.ask(QUESTION)
    assert_unavailable(first)
    assert_unavailable(second)
    assert site.ask(path="/health").status == 200
    ready = site.ask(path="/ready")
    assert (ready.status, ready.seconds < BOUND) == (503, True)
    assert {"database": False, "chat_model": True}.items() <= {
        dependency["name"]: dependency["ok"]
        for dependency in ready.body["dependencies"]
    }.items()
    proxy.up()
    assert_recovers(site)


@pytest.mark.parametrize(
    "fault", [Hang(), Delay(TIMEOUT / 4), None], ids=["frozen", "late", "down"]
)
@pytest.mark.nightly
def test_requests_do_not_queue_up_behind_a_server_in_trouble(
    site: Site, proxy: WireProxy, fault: Action | None
) -> None:
    """They share locks (the index, objects built on first use), so each could wait for
    all before it.
    """
    if fault is None:
        proxy.down()
    else:
        proxy.always(EVERYTHING, fault)
    with ThreadPoolExecutor(
        max_workers=16
    ) as pool:  # twice as many as are served at the same time
        replies = list(pool.map(lambda _: site.ask(QUESTION), range(16)))
    for reply in replies:
        assert_unavailable(reply)
    if fault is None:
        proxy.up()
    proxy.heal()
    assert_recovers(site)


def test_a_server_that_is_down_at_the_start(
    proxy: WireProxy, new_site: NewSite
) -> None:
    proxy.down()
    site = new_site(proxy.uri, indexes="auto")
    assert site.ask(path="/health").status == 200
    assert_unavailable(site.ask(QUESTION))
    ready = site.ask(path="/ready")
    assert ready.status == 503
    assert not proxy.sent("createIndexes")
    proxy.up()
    assert_recovers(site, {"query": "What is the population of Kenya?"})
    until(lambda: bool(proxy.sent("createIndexes")))
    until(lambda: site.ask(path="/ready").body["ready"])


def test_a_password_that_is_refused_at_the_start(
    proxy: WireProxy, new_site: NewSite
) -> None:
    proxy.always("saslStart", wire_faults.BAD_PASSWORD)
    site = new_site(proxy.uri)
    assert_unavailable(site.ask({"query": "Kenya?"}))
    proxy.heal()
    assert_recovers(site, {"query": "Kenya?"})


def test_requests_do_not_queue_up_when_it_was_never_there(
    proxy: WireProxy, new_site: NewSite
) -> None:
    proxy.down()
    site = new_site(proxy.uri)
    with ThreadPoolExecutor(max_workers=8) as pool:
        for reply in pool.map(lambda _: site.ask(QUESTION), range(8)):
            assert_unavailable(reply)


WRONG = {
    "chat_model": "nonsense",
    "vector_search": "nonsense",
    "embedding_provider": "nonsense",
}


@pytest.mark.parametrize(("name", "value"), WRONG.items())
def test_a_wrong_setting_stops_the_start_even_without_a_database(
    proxy: WireProxy, tmp_path: Path, name: str, value: str
) -> None:
    proxy.down()
    with pytest.raises(UnknownNameError, match=value):
        create_app(
            settings_for(proxy.uri, tmp_path, mongodb_timeout=TIMEOUT, **{name: value})
        )


def test_a_stream_ends_with_the_error(site: Site, proxy: WireProxy) -> None:
    proxy.always(EVERYTHING, Hang())
    reply = site.ask(QUESTION, "/api/chat")
    assert reply.status in {200, 503}  # 200 where the headers had gone out already
    assert (reply.error["code"], reply.dependency) == (
        "database_unavailable",
        "database",
    )
    assert reply.seconds < BOUND
