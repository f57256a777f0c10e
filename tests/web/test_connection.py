"""What each server knows about the client of a request."""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Iterator

import pytest

from chatbot.web.connection import client_gone

peeks = pytest.mark.skipif(sys.platform == "win32", reason="a socket cannot be peeked at without waiting")


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_waitress_is_asked() -> None:
    connected = [True]
    gone = client_gone({"waitress.client_disconnected": lambda: not connected[0]})
    assert not gone()
    connected[0] = False
    assert gone()


@peeks
@pytest.mark.parametrize("name", ["gunicorn.socket", "werkzeug.socket"])
def test_a_socket_is_looked_into_and_nothing_is_taken_out(pair, name: str) -> None:
    ours, theirs = pair
    gone = client_gone({name: ours})
    assert not gone()
    theirs.send(b"x")
    assert not gone()
    assert ours.recv(10) == b"x"
    theirs.close()
    assert gone()


@peeks
def test_a_socket_that_is_closed_here_has_no_client(pair) -> None:
    gone = client_gone({"gunicorn.socket": pair[0]})
    pair[0].close()
    assert gone()


@pytest.mark.parametrize("environ", [{}, {"gunicorn.socket": object()}], ids=["another server", "no socket"])
def test_who_says_nothing_has_a_client(environ: dict[str, object]) -> None:
    assert not client_gone(environ)()


def test_tls_cannot_be_looked_into(pair) -> None:
    with ssl.create_default_context().wrap_socket(
        pair[0], server_hostname="localhost", do_handshake_on_connect=False
    ) as ours:
        assert not client_gone({"gunicorn.socket": ours})()
