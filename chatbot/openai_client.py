"""The one place that knows the OpenAI SDK's errors and options; the embedder and the chat model share it.

Any server that speaks OpenAI's API works, by OPENAI_BASE_URL. A call can be broken from another thread, also while the
model says nothing at all.
"""

from __future__ import annotations

import email.utils
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx2
import openai

from .cancellation import Cancellation
from .errors import TIMEOUT, ChatModelError, ContextLengthError, EmbeddingError, SettingsError
from .settings import Settings

OPENAI_URL = "https://api.openai.com/v1"
"""Named here: left out, the SDK would look into the environment, which only the settings do."""
PLACEHOLDER_KEY = "not-needed"
"""Sent to servers of one's own that want no key."""
CONNECT_SECONDS = 10.0
AZURE_API_VERSION = "2024-10-21"
"""The last one that is not a preview; its embeddings do not change any more."""
LONGEST_WAIT = 120.0
"""Seconds that a server may ask for before the next try; the SDK does not try again after more."""


def openai_client(settings: Settings) -> openai.OpenAI:
    """A client for OPENAI_API_KEY and OPENAI_BASE_URL.

    Raises:
        SettingsError: neither a key nor a server of one's own is set.
    """
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise SettingsError("OPENAI_API_KEY is not set: the openai provider needs it (or OPENAI_BASE_URL).")
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
    return make_client(settings, key=key, base_url=settings.openai_base_url or OPENAI_URL)


def make_client(settings: Settings, *, key: str | None, base_url: str) -> openai.OpenAI:
    """A client with bounded time-outs and the SDK's own bounded back-off, with jitter."""
    return openai.OpenAI(
        api_key=key or PLACEHOLDER_KEY,
        base_url=base_url,
        timeout=_timeout(settings),
        max_retries=settings.model_retries,
        http_client=_connections(),
    )


def azure_client(settings: Settings, *, key: str | None, base_url: str) -> openai.OpenAI:
    """A client for Azure OpenAI: ``base_url`` is the resource's address, and models are the names of deployments."""
    return openai.AzureOpenAI(
        api_key=key,
        azure_endpoint=base_url,
        api_version=AZURE_API_VERSION,
        timeout=_timeout(settings),
        max_retries=settings.model_retries,
        http_client=_connections(),
    )


def _timeout(settings: Settings) -> openai.Timeout:
    """A connection that is being opened cannot be broken off, so that must not take long."""
    return openai.Timeout(settings.model_timeout, connect=min(CONNECT_SECONDS, settings.model_timeout))


@contextmanager
def translated(
    kind: type[EmbeddingError] | type[ChatModelError],
    model: str,
    *,
    key_setting: str = "OPENAI_API_KEY",
    url_setting: str = "OPENAI_BASE_URL",
    unknown_model: str = "Check the model's name.",
) -> Iterator[None]:
    """The SDK's errors as ours. Messages name the model and the setting to look at, never the key."""
    try:
        yield
    except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
        raise kind(
            f"The endpoint of {model} refused the key.", remedy=f"Check {key_setting}.", reason="key_refused"
        ) from error
    except openai.NotFoundError as error:
        raise kind(f"The endpoint does not know the model {model}.", remedy=unknown_model) from error
    except openai.RateLimitError as error:
        raise kind(
            f"The endpoint of {model} limits the rate, or the quota is used up.",
            remedy="Wait, or raise the quota.",
            retry_after=20,
        ) from error
    except openai.BadRequestError as error:
        if kind is ChatModelError and _is_context_length(error):
            raise ContextLengthError(
                f"The prompt is longer than {model} reads.", remedy="Lower CONTEXT_TOKENS."
            ) from error
        raise kind(f"The endpoint of {model} refused the request: {_reason(error)}.") from error
    except openai.APITimeoutError as error:
        raise kind(
            f"The endpoint of {model} did not answer in time.", remedy="Try again.", retry_after=5, reason=TIMEOUT
        ) from error
    except openai.APIConnectionError as error:
        happened, remedy = _connection_problem(error, url_setting)
        raise kind(f"The endpoint of {model} {happened}.", remedy=remedy, retry_after=5) from error
    except openai.APIStatusError as error:
        raise kind(
            f"The endpoint of {model} failed with status {error.status_code}.", remedy="Try again.", retry_after=5
        ) from error
    except openai.APIError as error:
        raise kind(
            f"The endpoint of {model} broke off: {type(error).__name__}.", remedy="Try again.", retry_after=5
        ) from error


def _connection_problem(error: openai.APIConnectionError, url_setting: str) -> tuple[str, str]:
    """What happened to the connection, and what to do about it."""
    if isinstance(error.__cause__, httpx2.RemoteProtocolError | httpx2.ReadError):
        return "closed the connection before its answer was whole", "Try again."
    why = _why(error)
    what = "its authority's certificates (SSL_CERT_FILE)" if "certificate" in why else "the network"
    return f"cannot be reached{why}", f"Check {what} and {url_setting}."


def _why(error: BaseException | None) -> str:
    """What the system says at the end of the chain of causes: refused, unknown, not certified."""
    while error is not None:
        if said := getattr(error, "verify_message", None) or (isinstance(error, OSError) and error.strerror):
            return f": {said}"
        error = error.__cause__ or error.__context__
    return ""


def _reason(error: openai.BadRequestError) -> str:
    body = error.body
    reason = body.get("message") if isinstance(body, dict) else None
    return str(reason or "no reason given")[:300]


def _is_context_length(error: openai.BadRequestError) -> bool:
    """Whether the prompt was too long, by OpenAI's code or by the wording of servers that send none."""
    wording = _reason(error).lower()
    return error.code == "context_length_exceeded" or "context length" in wording or "context size" in wording


class Abandoned(Exception):  # noqa: N818  # never leaves the adapter: it says that nobody waits
    """Raised instead of sending a request that nobody waits for any more."""


@contextmanager
def breakable(client: openai.OpenAI, cancel: Cancellation) -> Iterator[openai.OpenAI]:
    """A copy of the client for one call, whose requests end once ``cancel`` is set: in `Abandoned`, or a failed read.
    It has connections of its own, which are not kept.

    Over connections of its own, which are not kept: each belongs to one answer.
    """
    call = _BreakableCall(cancel)
    hooks: Any = {"request": [call.watch], "response": [call.note_pause]}
    cancel.on_cancel(call.break_off)
    try:
        with _connections(event_hooks=hooks, headers={"Connection": "close"}) as connections:
            yield client.with_options(http_client=connections)
    finally:
        cancel.forget(call.break_off)


def _connections(**options: Any) -> httpx2.Client:
    """An HTTP client as the SDK makes its own, with certificates that are read once."""
    return _Connections(verify=_certificates(), **options)


class _Connections(openai.DefaultHttpxClient):
    """Closed when nobody holds them any more, as the SDK's own are: an adapter may fail while it is built."""

    def __del__(self) -> None:
        self.close()


@cache
def _certificates() -> ssl.SSLContext:
    """Read once: that takes 80 ms, all else of a client less than one."""
    return httpx2.create_ssl_context()


class _BreakableCall:
    """What happens to the requests of one call: the first try and those of the SDK after it."""

    def __init__(self, cancel: Cancellation) -> None:
        self._cancel = cancel
        self._connections: list[Any] = []
        self._pause = 0.0

    def watch(self, request: Any) -> None:
        """Before each request: the pause that the server asked for, then a look at the cancellation."""
        pause, self._pause = self._pause, 0.0
        if request.headers.get("x-stainless-retry-count", "0") != "0":
            self._cancel.wait(pause)
        if self._cancel.cancelled:
            raise Abandoned
        request.extensions = {**request.extensions, "trace": self._trace}

    def note_pause(self, response: Any) -> None:
        """A server may ask for a long pause before the next try, and the SDK would sleep through a cancellation.

        So the SDK is told to try at once, and `watch` makes the pause.
        """
        if response.status_code < 400:
            return
        seconds = _requested_pause(response.headers)
        if 0 < seconds <= LONGEST_WAIT:
            self._pause = seconds
            response.headers["Retry-After-Ms"] = "1"

    def break_off(self) -> None:
        """Closing the files would not wake a blocked reader, a shutdown does."""
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # already closed: nothing is left to break

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            connection = info["return_value"].get_extra_info("socket")
            if isinstance(connection, socket.socket):
                self._connections.append(connection)
            if self._cancel.cancelled:  # meanwhile
                self.break_off()


def _requested_pause(headers: Any) -> float:
    """Seconds; 0 where the server asks for none, or cannot be understood."""
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
