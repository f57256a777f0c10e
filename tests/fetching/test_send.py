"""What is sent to an address that somebody named."""

from __future__ import annotations

import pytest

from chatbot.errors import LoadError
from chatbot.fetching.send import send
from tests.fakes.web_server import Page, WebServer, redirect


def test_a_body_of_any_size_arrives_whole(server: WebServer) -> None:
    server.pages["/hook"] = Page(b"", status=204)
    body = b"x" * 3_000_000
    assert send(server.url("/hook"), body, {"webhook-id": "1"}, allow_private=True) == 204
    (request,) = server.requests
    assert request.body == body
    assert request.headers["webhook-id"] == "1"


def test_a_redirect_is_not_followed(server: WebServer) -> None:
    server.pages["/hook"] = redirect("/elsewhere")
    assert send(server.url("/hook"), b"{}", {}, allow_private=True) == 302
    assert len(server.requests) == 1


def test_this_network_is_out_of_reach(server: WebServer) -> None:
    with pytest.raises(LoadError, match="public"):
        send(server.url("/hook").replace(f":{server.port}", ""), b"{}", {})
    with pytest.raises(LoadError):
        send(server.url("/hook"), b"{}", {})
    assert not server.connections
