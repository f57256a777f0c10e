"""Time limits of requests over a server with long round trips; the pool of calls."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from werkzeug.routing import Rule

from chatbot.database import mongo
from tests.fakes.nx_server import NxThread
from tests.fakes.wire_faults import Delay
from tests.fakes.wire_proxy import EVERYTHING, WireProxy
from tests.faults.conftest import BOUND, QUESTION, NewSite, Site, add_kenya

QUESTIONS = 64
ROUND_TRIP = 0.4


# every day: database/test_time_limits.py, calls "that overlap count once"
@pytest.mark.nightly
def test_64_questions_at_once_over_long_round_trips_are_all_answered(
    proxy: WireProxy, new_site: NewSite, tmp_path: Path
) -> None:
    site = new_site(proxy.uri, mongodb_timeout=5.0)
    add_kenya(site.services, tmp_path)
    assert site.ask(QUESTION).status == 200
    proxy.always(EVERYTHING, Delay(ROUND_TRIP))
    with ThreadPoolExecutor(QUESTIONS) as pool:
        replies = list(pool.map(lambda _: site.ask(QUESTION), range(QUESTIONS)))
    assert [reply.status for reply in replies] == [200] * QUESTIONS


@pytest.fixture
def narrow(
    server: NxThread,
    new_site: NewSite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Site:
    """A site whose database has one thread for calls at once."""
    monkeypatch.setattr(mongo, "MAX_THREADS", 1)
    site = new_site(server.uri, mongodb_timeout=10.0, access="open")
    add_kenya(site.services, tmp_path)
    return site


LEFT_OUT = {"static", "catalog.list_figures"}
"""Files; and what NX-27017 cannot do: it loses a field of the versions of figures."""


def addresses(site: Site) -> list[tuple[str, str]]:
    """Every route, with ids of what exists where there is such a thing; changes last,
    the deletion of the report among them.
    """
    (report,) = site.services.storage.documents.all()
    (passage, *_), _ = site.services.runtime.store.stored(report.id)
    values = {"document_id": report.id, "chunk_id": passage.id}
    found = []
    for rule in site.app.url_map.iter_rules():
        if rule.endpoint not in LEFT_OUT and "<path:" not in rule.rule:
            found += [(method, _filled(rule, values)) for method in _methods(rule)]
    return sorted(found, key=lambda one: ORDER.index(one[0]))


ORDER = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def _methods(rule: Rule) -> list[str]:
    return [name for name in ORDER if name in (rule.methods or ())]


def _filled(rule: Rule, values: dict[str, str]) -> str:
    address = rule.rule
    for name in rule.arguments:
        for form in (f"<{name}>", f"<string:{name}>"):
            address = address.replace(form, values.get(name, "none"))
    return address


@pytest.mark.nightly
def test_every_route_answers_with_one_thread_for_calls_at_once(narrow: Site) -> None:
    client: Any = narrow.app.test_client
    routes = addresses(narrow)
    assert len(routes) > 60

    def ask(method: str, address: str) -> tuple[str, str, int, bool]:
        began = time.monotonic()
        body = None if method == "GET" else dict(QUESTION)
        response = client().open(address, method=method, json=body)
        response.get_data()
        return method, address, response.status_code, time.monotonic() - began > BOUND

    reading = [one for one in routes if one[0] == "GET"]
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda one: ask(*one), [*reading, *reading]))
    replies += [ask(*one) for one in routes if one[0] != "GET"]
    assert [one for one in replies if one[2] >= 500 or one[3]] == []
