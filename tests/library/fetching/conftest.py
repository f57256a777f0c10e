"""What the tests of fetching share: a real web server on loopback."""

from collections.abc import Iterator

import pytest

from tests.fakes.web_server import WebServer


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as opened:
        yield opened
