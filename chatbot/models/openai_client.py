"""Clients of the OpenAI SDK for the embedder and the chat model, and its errors as
ours.

OPENAI_BASE_URL selects any server that speaks OpenAI's API. Another thread can end a
call, even while the server is silent.
"""

import re
import socket
import ssl
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from http import HTTPStatus
from typing import Any, TypeVar

import httpx2
import openai

from ..config.settings import Settings
from ..domain import Cancellation
from ..domain.errors import (
    TIMEOUT,
    ChatModelError,
    ContextLengthError,
    EmbeddingError,
    Fault,
)

E = TypeVar("E", bound=EmbeddingError | ChatModelError)
OPENAI_URL = "https://api.openai.com/v1"
"""Without an address the SDK would read the environment, which only the settings may
do.
"""
PLACEHOLDER_KEY = "not-needed"
"""Sent to self-hosted servers that need no key."""
AZURE_API_VERSION = "2024-10-21"
"""The latest version that is not a preview."""
REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
"""Servers that copy the API answer either to parameters that they do not know."""
TOO_LONG = ("context length", "context size")
"""In the words of servers that send no code for it."""
MAX_WORDS, MOST_PARTS = 300, 10
_WORDS = ("message", "msg", "detail", "error", "errors", "reason", "title")
_KEY = re.compile(r"\b(?:sk|pk|api|key|bearer)[-_][\w.-]{6,}", re.IGNORECASE)
RATE_LIMIT_SECONDS = 20
"""Until the next try, if the endpoint does not say how long to wait."""
NO_SUCH_THING = (
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
)
"""A model, or a part of the API, that an endpoint does not have."""
TRIED_TWICE = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT)
"""Time-outs that a server reports itself."""
_NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient.{0,10}(?:balance|credit|fund)|current quota"
    r"|credit_balance|spend_limit|billing",
    re.IGNORECASE,
)
"""In the codes and words of endpoints that only money helps."""


def openai_client(
    settings: Settings, *, key: str | None, base_url: str, azure: bool = False
) -> openai.OpenAI:
    """Return a client with bounded time-outs and the SDK's own bounded back-off with
    jitter.

    ``azure``: ``base_url`` is the address of a resource, and models are names of
    deployments.
    """
    # Opening a connection cannot be interrupted, so its time-out is short.
    timeout = openai.Timeout(
        settings.model_timeout, connect=min(10.0, settings.model_timeout)
    )
    options: Any = {
        "timeout": timeout,
        "max_retries": settings.model_retries,
        "http_client": _Connections(),
    }
    if azure:
        return openai.AzureOpenAI(
            api_key=key,
            azure_endpoint=base_url,
            api_version=AZURE_API_VERSION,
            **options,
        )
    return openai.OpenAI(api_key=key or PLACEHOLDER_KEY, base_url=base_url, **options)


def _unreachable(
    kind: type[EmbeddingError] | type[ChatModelError],
    model: str,
    url_setting: str,
    error: openai.APIConnectionError,
) -> EmbeddingError | ChatModelError:
    """Return the error of an endpoint that did not answer, or not to its end."""
    fault: Fault = "unreachable"
    if isinstance(error.__cause__, httpx2.RemoteProtocolError | httpx2.ReadError):
        fault = "broken_off"
        problem = "closed the connection before its answer was whole"
        remedy = "Try again."
    else:
        why = _system_message(error)
        what = "the network"
        if "certificate" in why:
            what = "its authority's certificates (SSL_CERT_FILE)"
        problem = f"cannot be reached{why}"
        remedy = f"Check {what} and {url_setting}."
    message = f"The endpoint of {model} {problem}."
    return kind(message, remedy=remedy, retry_after=5, reason=fault)


@contextmanager
def translated(
    kind: type[EmbeddingError] | type[ChatModelError],
    model: str,
    *,
    key_setting: str = "OPENAI_API_KEY",
    url_setting: str = "OPENAI_BASE_URL",
    unknown_model: str = "Check the model's name.",
) -> Iterator[None]:
    """Raise the SDK's errors as ours. Messages name the model and the setting to check,
    never the key.
    """
    try:
        yield
    except openai.APITimeoutError as error:
        raise timed_out(kind, model) from error
    except openai.APIConnectionError as error:
        raise _unreachable(kind, model, url_setting, error) from error
    except openai.APIStatusError as error:
        text = words_of(error.body) or words_of(error.response.text)
        if kind is ChatModelError:
            if _says_too_long(error, text):
                raise too_long(model) from error
            if error.code == "content_filter":
                raise withheld(model) from error
        hint = _address_hint(error.request.url)
        if hint and error.status_code == HTTPStatus.NOT_FOUND:
            unknown_model = f"{unknown_model} {url_setting} may be wrong, too: {hint}."
        wait = error.response.headers.get("retry-after", "")
        raise status_error(
            kind,
            model,
            error.status_code,
            text,
            check_key=f"Check {key_setting}.",
            check_model=unknown_model,
            wait=int(wait) if wait.strip("0").isdecimal() else RATE_LIMIT_SECONDS,
            lacks_credit=lacks_credit(error.response),
        ) from error
    except openai.APIError as error:
        raise _broken_off(kind, model, error) from error


def _broken_off(
    kind: type[EmbeddingError] | type[ChatModelError],
    model: str,
    error: openai.APIError,
) -> EmbeddingError | ChatModelError:
    """Return the error for one that came within a stream, without a status."""
    text = words_of(error.body) or error.message
    code = error.body
    status = code.get("code") if isinstance(code, Mapping) else None
    if status == HTTPStatus.TOO_MANY_REQUESTS or "quota" in text.lower():
        return status_error(
            kind,
            model,
            HTTPStatus.TOO_MANY_REQUESTS,
            text,
            check_key="",
            check_model="",
            lacks_credit=_NO_CREDIT.search(text) is not None,
        )
    return kind(
        f"The endpoint of {model} broke off with an error.",
        remedy="Try again.",
        retry_after=5,
        reason="broken_off",
        said=text,
    )


def _says_too_long(error: openai.APIStatusError, text: str) -> bool:
    """Return whether an endpoint refuses a prompt for its length."""
    if error.status_code not in REFUSED:
        return error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if error.code == "context_length_exceeded":
        return True
    return any(words in text.lower() for words in TOO_LONG)


def lacks_credit(response: Any) -> bool:
    """Return whether an error, an HTTP response that was read, says that the account
    has no credit left: only money helps, and no waiting.
    """
    if response.status_code == HTTPStatus.PAYMENT_REQUIRED:
        return True
    if response.status_code != HTTPStatus.TOO_MANY_REQUESTS:
        return False
    return _NO_CREDIT.search(response.text) is not None


def timed_out(kind: type[E], model: str) -> E:
    """Return the error for an endpoint that was silent for too long."""
    return kind(
        f"The endpoint of {model} did not answer in time.",
        remedy="Try again.",
        retry_after=5,
        reason=TIMEOUT,
    )


def too_long(model: str) -> ContextLengthError:
    """Return the error for a prompt that does not fit."""
    return ContextLengthError(
        f"The prompt is longer than {model} reads.", remedy="Lower CONTEXT_TOKENS."
    )


def withheld(model: str) -> ChatModelError:
    """Return the error for a content filter that stopped a prompt or an answer."""
    message = f"The content filter of {model}'s endpoint stopped the answer."
    return ChatModelError(
        message, remedy="Ask in other words.", reason="content_filter"
    )


def check_end(model: str, finish_reason: str, refusal: str = "") -> None:
    """Raises ChatModelError: a content filter stopped the answer, or the model declined
    to give one, in the words ``refusal``.
    """
    if finish_reason.startswith("content_filter"):  # Google adds the category
        raise withheld(model)
    if refusal or finish_reason == "refusal":
        message = f"{model} declined to answer."
        raise ChatModelError(
            message, remedy="Ask in other words.", reason="refused", said=refusal
        )


def status_error(
    kind: type[E],
    model: str,
    status: int,
    text: str,
    *,
    check_key: str,
    check_model: str,
    wait: int = RATE_LIMIT_SECONDS,
    refused: str = "The log has its reason.",
    lacks_credit: bool = False,
) -> E:
    """Return the error for an HTTP status. ``text``: the endpoint's own words, "" for
    none; ``wait``: the seconds until a rate limit allows the next request;
    ``lacks_credit``: only money helps.
    """
    if lacks_credit:
        return kind(
            f"The account of {model} has no credit left.",
            remedy="Add credit, or raise its limit.",
            reason="quota_used_up",
            said=text,
        )
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return kind(
            f"The endpoint of {model} refused the key.",
            remedy=check_key,
            reason="key_refused",
            said=text,
        )
    if status in NO_SUCH_THING:
        return kind(
            f"The endpoint does not know the model {model}.",
            remedy=check_model,
            reason="unknown_model",
            said=text,
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        message = f"The endpoint of {model} limits the rate, or the quota is used up."
        return kind(
            message,
            remedy=f"Wait {wait} s, or raise the quota.",
            retry_after=wait,
            reason="rate_limited",
            said=text,
        )
    if 300 <= status < 400:
        return kind(
            f"The endpoint of {model} sends its callers to another address.",
            remedy="Set that one.",
            said=text,
        )
    if status in REFUSED:
        return kind(
            f"The endpoint of {model} refused the request.",
            remedy=refused,
            reason="refused",
            said=text,
        )
    return kind(
        f"The endpoint of {model} failed with status {status}.",
        remedy="Try again.",
        retry_after=5,
        said=text,
    )


def words_of(body: object) -> str:
    """Return what a provider says in the body of an error, of whatever shape, "" for
    nothing. Keys are left out. Seen: OpenAI's object, a list of such (Google),
    FastAPI's ``detail`` with a place and a message, and plain text.
    """
    if isinstance(body, str):
        return (
            _KEY.sub("***", " ".join(body.split()))[:MAX_WORDS]
            if re.search(r"\w", body)
            else ""
        )
    if isinstance(body, Mapping):
        text = next(
            (words for name in _WORDS if (words := words_of(body.get(name)))), ""
        )
        place = body.get("loc")
        return (
            f"{'.'.join(map(str, place))}: {text}"
            if isinstance(place, list) and text
            else text
        )
    if isinstance(body, list):
        return "; ".join(filter(None, map(words_of, body[:MOST_PARTS])))[:MAX_WORDS]
    return ""


def refused_name(
    error: BaseException | None, names: Collection[str], *, unnamed: str = ""
) -> str:
    """Return which of these parameters an endpoint refuses by this error, "" for none:
    it names it, or its place. ``unnamed``: the one that is refused in other words.
    """
    if not isinstance(error, openai.APIStatusError) or error.status_code not in REFUSED:
        return ""
    if error.param in names:
        return str(error.param)
    named = name_in(words_of(error.body) or words_of(error.response.text), names)
    return named or (unnamed if unnamed in names else "")


def name_in(text: str, names: Collection[str]) -> str:
    """Return which of these parameters an endpoint's words name, "" for none."""
    for name in names:
        if re.search(rf"\b{name}\b", text):
            return name
    return ""


def _address_hint(url: httpx2.URL) -> str:
    """Return what is unusual about the address that a path of the API was added to, ""
    for nothing.
    """
    base = url.path.removesuffix("/chat/completions").removesuffix("/embeddings")
    if url.query:
        return "an address ends without a query"
    if base.endswith(("/chat/completions", "/embeddings")):
        return "it ends before /chat/completions or /embeddings"
    return "" if base.rstrip("/") else "most servers need /v1 at its end"


def _system_message(error: BaseException | None) -> str:
    """Return the operating system's message from the chain of causes: refused, unknown
    host, bad certificate.
    """
    while error is not None:
        if message := getattr(error, "verify_message", None) or (
            isinstance(error, OSError) and error.strerror
        ):
            return f": {message}"
        error = error.__cause__ or error.__context__
    return ""


class Abandoned(Exception):  # noqa: N818  # a signal within the adapter, not an error
    """Raised instead of sending a request after its cancellation."""


@contextmanager
def breakable(client: openai.OpenAI, cancel: Cancellation) -> Iterator[openai.OpenAI]:
    """Yield a copy of the client for one call, whose requests end once ``cancel`` is
    set: in `Abandoned`, or a failed read. Its connections belong to this call and are
    closed after it.
    """
    call = _BreakableCall(client, cancel)
    hooks: Any = {"request": [call.watch], "response": [call.note_pause]}
    cancel.on_cancel(call.break_off)
    try:
        with _Connections(
            event_hooks=hooks, headers={"Connection": "close"}
        ) as connections:
            yield client.with_options(http_client=connections)
    finally:
        cancel.forget(call.break_off)


class _Connections(openai.DefaultHttpxClient):
    """An HTTP client that is closed once unreferenced, as the SDK's own: the
    constructor of an adapter may fail. It follows no redirect: another address would
    get the key and the reports' text.

    It also says what the SDK may not try again: a server that was silent for
    MODEL_TIMEOUT, any other time-out a second time, and an account without credit.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(verify=_certificates(), follow_redirects=False, **options)

    def send(self, request: Any, **options: Any) -> Any:
        """Send a request as httpx does. Raises openai.APITimeoutError, which the SDK
        passes on at once.
        """
        is_retry = request.headers.get("x-stainless-retry-count", "0") != "0"
        try:
            response = super().send(request, **options)
        except httpx2.TimeoutException as error:
            if is_retry or isinstance(error, httpx2.ReadTimeout):
                raise openai.APITimeoutError(request=request) from error
            raise
        if response.status_code in TRIED_TWICE and is_retry:
            response.headers["x-should-retry"] = "false"
        elif response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            response.read()
            if lacks_credit(response):
                response.headers["x-should-retry"] = "false"
        return response

    def __del__(self) -> None:
        self.close()


@cache
def _certificates() -> ssl.SSLContext:
    """Reading them takes 80 ms, the rest of a client less than one."""
    return httpx2.create_ssl_context()


class _BreakableCall:
    """The requests of one call: the first one and the SDK's retries."""

    longest_pause = 3.0
    """Seconds before a retry. Where the server asks for more the call fails at once: a
    person waits for the answer.
    """

    def __init__(self, client: openai.OpenAI, cancel: Cancellation) -> None:
        self._client = client
        self._cancel = cancel
        self._connections: list[Any] = []
        self._pause = 0.0

    def watch(self, request: Any) -> None:
        """Make the pause that the server requested, then check for cancellation. Called
        before each request.
        """
        pause = self._pause
        self._pause = 0.0
        if request.headers.get("x-stainless-retry-count", "0") != "0":
            self._cancel.wait(pause)
        if self._cancel.cancelled:
            raise Abandoned
        request.extensions = {**request.extensions, "trace": self._trace}

    def note_pause(self, response: Any) -> None:
        """Move a requested pause from the SDK, which would sleep through a
        cancellation, to `watch`. A long one ends the retries.
        """
        if response.status_code < 400:
            return
        seconds = self._client._parse_retry_after_header(response.headers) or 0.0
        if seconds > self.longest_pause:
            response.headers["x-should-retry"] = "false"
        elif seconds > 0:
            self._pause = seconds
            response.headers["Retry-After-Ms"] = "1"

    def break_off(self) -> None:
        """Shut the connections down; closing them would not wake a blocked reader."""
        for connection in list(self._connections):
            with suppress(OSError):  # already closed
                connection.shutdown(socket.SHUT_RDWR)

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event in (
            "connection.connect_tcp.complete",
            "connection.start_tls.complete",
        ):
            connection = info["return_value"].get_extra_info("socket")
            if isinstance(connection, socket.socket):
                self._connections.append(connection)
            if self._cancel.cancelled:  # meanwhile
                self.break_off()
