"""The application on the real driver, with a proxy between it and its server that plays
the faults.
"""

import http.client
import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from chatbot.app.factory import create_app
from chatbot.app.services import Services
from chatbot.config.settings import Settings
from tests.app.web.live import served
from tests.conftest import KENYA_2023, ingest_file, write_report
from tests.fakes.nx_server import NxThread, wait_until
from tests.fakes.wire_proxy import WireProxy

TIMEOUT = 2.0
"""MONGODB_TIMEOUT in these tests: short, so that they are."""
BOUND = 30.0
"""No request may take longer: the time limit of a request (1.5 x TIMEOUT) and much room
for a busy machine.
"""
QUESTION = {
    "query": "What is the population of Kenya?",
    "filters": {"country_name": ["Kenya"]},
}
SECRET = "s3cret-pw"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Message
    body: dict[str, Any]
    seconds: float

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["error"]
        return found

    @property
    def dependency(self) -> str:
        return str(self.error["details"][0]["dependency"])


class Site:
    """An application served on a free port."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.services: Services = app.extensions["services"]
        self._served = served(app)
        self._port = self._served.__enter__()

    def ask(
        self,
        body: dict[str, Any] | None = None,
        path: str = "/query",
        *,
        within: float = 60.0,
    ) -> Reply:
        """POST where there is a body, else GET."""
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=within)
        try:
            if body is None:
                connection.request("GET", path)
            else:
                connection.request(
                    "POST", path, json.dumps(body), {"Content-Type": "application/json"}
                )
            response = connection.getresponse()
            text = response.read().decode()
            assert SECRET not in text
            return Reply(
                response.status,
                response.headers,
                _content(text),
                time.monotonic() - began,
            )
        finally:
            connection.close()

    def close(self) -> None:
        self.app.extensions["startup"].close()
        self._served.__exit__(None, None, None)
        self.services.close()


def _content(text: str) -> dict[str, Any]:
    """JSON, or the last event of a stream."""
    found: dict[str, Any] = json.loads(text.rpartition("data: ")[2])
    return found


def assert_unavailable(
    reply: Reply, *, dependency: str = "database", retry: bool = True
) -> None:
    """A typed 503 that names the dependency, soon enough."""
    assert reply.status == 503, reply
    assert reply.dependency == dependency
    assert reply.error["code"] in {"database_unavailable", "search_unavailable"}
    assert reply.error["details"][0]["remedy"]
    assert ("Retry-After" in reply.headers) == retry
    assert reply.seconds < BOUND


def assert_recovers(site: Site, question: dict[str, Any] | None = None) -> None:
    """Answers again, without a restart. (That the first try succeeds is shown in
    test_outage.py.)
    """
    wait_until(lambda: site.ask(question or QUESTION).status == 200, "no answer", 20)


NewSite = Callable[..., Site]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NxThread]:
    with NxThread(tmp_path / "nx") as running:
        yield running


@pytest.fixture
def proxy(server: NxThread) -> Iterator[WireProxy]:
    with WireProxy(server.port) as running:
        yield running


@pytest.fixture
def new_site(tmp_path: Path) -> Iterator[NewSite]:
    """``new_site(uri, **settings)`` starts an application; it is stopped after the
    test.
    """
    sites: list[Site] = []

    def start(uri: str, **values: Any) -> Site:
        options = {
            "vector_search": "faiss",
            "mongodb_timeout": TIMEOUT,
            "threads": 8,
            **values,
        }
        site = Site(create_app(settings_for(uri, tmp_path, **options)))
        sites.append(site)
        return site

    yield start
    for site in sites:
        site.close()


def settings_for(uri: str | None, folder: Path, **values: Any) -> Settings:
    fixed = {
        "embedding_provider": "hashing",
        "chat_model": "echo",
        "sample_data": "off",
        "data_dir": str(folder),
        "indexes": "never",
        "cache_seconds": 0,
    }
    return Settings.from_env({}, **{**fixed, "mongodb_uri": uri, **values})


def add_kenya(services: Services, folder: Path) -> None:
    path = write_report(folder / "reports", KENYA_2023, "kenya-2023")
    ingest_file(
        services,
        path,
        "test/kenya-2023",
        country_name="Kenya",
        year=2023,
        type="country_report",
    )


@pytest.fixture
def site(proxy: WireProxy, new_site: NewSite, tmp_path: Path) -> Site:
    """The application behind the proxy, with one report that has been asked about
    once.
    """
    running = new_site(proxy.uri)
    add_kenya(running.services, tmp_path)
    assert running.ask(QUESTION).status == 200
    return running


@pytest.fixture(autouse=True)
def no_secret_in_the_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.INFO)
    yield
    assert SECRET not in caplog.text
