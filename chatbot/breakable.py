"""HTTP requests to a model that can be broken from another thread, also while the model says nothing at all."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import openai

from .cancellation import Cancellation

_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


class Abandoned(Exception):  # noqa: N818  # never leaves the adapter: it says that nobody waits
    """Raised instead of sending a request that nobody waits for any more."""


@contextmanager
def breakable(cancel: Cancellation) -> Iterator[None]:
    """Requests begun inside are broken off once ``cancel`` is set, by whichever thread sets it."""
    token = _current.set(cancel)
    try:
        yield
    finally:
        _current.reset(token)


def breakable_http_client() -> Any:
    """An HTTP client for `openai.OpenAI`. Its connections are not kept: each belongs to one answer."""
    return openai.DefaultHttpxClient(event_hooks={"request": [_watch]}, headers={"Connection": "close"})


def _watch(request: Any) -> None:
    cancel = _current.get()
    if cancel is None:
        return
    if cancel.cancelled:
        raise Abandoned

    def trace(event: str, info: dict[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            stream = info["return_value"]
            cancel.on_cancel(lambda: _shut_down(stream.get_extra_info("socket")))

    request.extensions = {**request.extensions, "trace": trace}


def _shut_down(connection: Any) -> None:
    """Closing the file would not wake a blocked reader, a shutdown does."""
    if isinstance(connection, socket.socket):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # already closed: nothing is left to break
