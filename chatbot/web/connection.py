"""Whether the client of a request is still there, as far as the server that took the request can tell."""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Callable, Mapping
from typing import Any

from werkzeug.exceptions import HTTPException


class ClientGoneError(HTTPException):
    """Nobody reads the response any more. The number is nginx's, for the log."""

    code = 499
    description = "The client closed the connection."


def client_gone(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """What tells, without waiting, whether the connection of this WSGI request was closed; thread-safe.

    waitress says it itself; gunicorn and Werkzeug hand their socket on. Where that cannot be looked into (TLS, Windows)
    or the server is another one, the answer is always False: it is then noticed when something is written.
    """
    told: Callable[[], bool] | None = environ.get("waitress.client_disconnected")
    if told is not None:
        return told
    connection = environ.get("gunicorn.socket", environ.get("werkzeug.socket"))
    if sys.platform == "win32" or not isinstance(connection, socket.socket) or isinstance(connection, ssl.SSLSocket):
        return lambda: False
    return lambda: _ended(connection)


def _ended(connection: socket.socket) -> bool:
    """Peeks only: what the client has sent ahead is the server's to read."""
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:  # reset by the client, or closed by the server
        return True
