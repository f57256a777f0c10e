"""HTTP requests to a model that can be broken from another thread, also while the model says nothing at all."""

from __future__ import annotations

import email.utils
import socket
import time
from contextvars import ContextVar
from typing import Any

import openai

from .cancellation import current_cancellation

LONGEST_WAIT = 120.0
"""Seconds that a server may ask for before the next try; the SDK does not try again after more."""
_pause: ContextVar[float] = ContextVar("pause", default=0.0)


class Abandoned(Exception):  # noqa: N818  # never leaves the adapter: it says that nobody waits
    """Raised instead of sending a request that nobody waits for any more."""


def breakable_http_client() -> Any:
    """An HTTP client for `openai.OpenAI`. Its connections are not kept: each belongs to one answer."""
    return openai.DefaultHttpxClient(
        event_hooks={"request": [_watch], "response": [_note_pause]}, headers={"Connection": "close"}
    )


def _watch(request: Any) -> None:
    cancel = current_cancellation()
    if cancel is None:
        return
    pause = _pause.get()
    _pause.set(0.0)
    if request.headers.get("x-stainless-retry-count", "0") != "0":
        cancel.wait(pause)
    if cancel.cancelled:
        raise Abandoned

    def trace(event: str, info: dict[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            stream = info["return_value"]
            cancel.on_cancel(lambda: _shut_down(stream.get_extra_info("socket")))

    request.extensions = {**request.extensions, "trace": trace}


def _note_pause(response: Any) -> None:
    """A server may ask for a long pause before the next try, and the SDK would sleep through a cancellation.

    So the SDK is told to try at once, and `_watch` makes the pause.
    """
    if response.status_code < 400 or current_cancellation() is None:
        return
    seconds = _asked_for(response.headers)
    if 0 < seconds <= LONGEST_WAIT:
        _pause.set(seconds)
        response.headers["Retry-After-Ms"] = "1"


def _asked_for(headers: Any) -> float:
    """Seconds of pause; 0 where the server asks for none, or cannot be understood."""
    for name, unit in (("Retry-After-Ms", 0.001), ("Retry-After", 1.0)):
        try:
            return float(headers.get(name, "")) * unit
        except ValueError:
            continue
    at = email.utils.parsedate_tz(headers.get("Retry-After", ""))
    try:
        return email.utils.mktime_tz(at) - time.time() if at else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _shut_down(connection: Any) -> None:
    """Closing the file would not wake a blocked reader, a shutdown does."""
    if isinstance(connection, socket.socket):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # already closed: nothing is left to break
