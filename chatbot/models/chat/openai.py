"""OpenAI's chat completions, or those of any server that speaks its API, as a
stream.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
from openai import APIConnectionError, APIError, APITimeoutError, OpenAI, Stream
from openai._streaming import ServerSentEvent

from ...config.settings import Settings
from ...domain import Delta, Prompt, Usage
from ...domain.chat import ToolSpec
from ...domain.errors import (
    ChatModelError,
    ContextLengthError,
    Fault,
    SettingsError,
)
from ...domain.request import RequestContext
from ..openai_client import (
    OPENAI_URL,
    Abandoned,
    breakable,
    check_end,
    openai_client,
    refused_name,
    translated,
)

DEFAULT_MODEL = "gpt-4o"
OPTIONAL = frozenset(
    {
        "temperature",
        "max_tokens",
        "max_completion_tokens",
        "stream_options",
        "response_format",
        "reasoning_effort",
        "tools",
        "tool_choice",
    }
)
"""Parameters that an answer does not need."""
MAX_EVENT = 1 << 20
"""Bytes of one event of a stream, or of a whole answer that is not streamed."""


class OpenAIChatModel:
    """Implements `protocols.ChatModel`."""

    is_language_model = True

    def __init__(
        self,
        client: OpenAI,
        model: str,
        *,
        temperature: float,
        max_answer_tokens: int,
        limit: str,
    ) -> None:
        """``limit``: the server's name for the limit of an answer in tokens."""
        self._client = client
        self._model = model
        self._temperature = temperature
        self._max_answer_tokens = max_answer_tokens
        self._limit = limit
        self._refused: dict[str, None] = {}
        """Parameters that this server refuses."""
        self.model_id = f"openai:{model}"

    @property
    def takes_tools(self) -> bool:
        """True unless this server refuses tools."""
        return "tools" not in self._refused

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Stop reading, and close the connection, once ``request`` is cancelled. Raises
        ChatModelError.
        """
        try:
            with translated(ChatModelError, self.model_id):
                yield from self._deltas(prompt, request)
        except (ChatModelError, Abandoned):
            if not request.cancelled:
                raise  # else the connection was broken on purpose

    def _deltas(self, prompt: Prompt, request: RequestContext) -> Iterator[Delta]:
        finished = ""
        refusal = ""
        calls = ToolCalls()
        with (
            breakable(self._client, request.cancel) as client,
            self._open(client, prompt) as stream,
        ):
            try:
                for chunk in stream:
                    if request.cancelled:
                        return
                    piece = _read(chunk)
                    calls.add(piece.calls)
                    finished = finished or piece.reason
                    refusal += piece.refusal
                    if piece.delta != Delta():
                        yield piece.delta
            except (
                ValueError
            ) as error:  # no JSON, or not even text: the SDK does not catch it
                raise self._failed("sent what is no event of a stream") from error
        check_end(self.model_id, finished, refusal)
        if not (finished or stream.is_done):
            raise self._failed("broke off in the middle of its answer", "broken_off")
        if calls and prompt.json_schema is not None:
            yield Delta(calls.text)

    def _failed(self, how: str, reason: Fault = "failed") -> ChatModelError:
        return ChatModelError(
            f"The endpoint of {self.model_id} {how}.",
            remedy="Try again.",
            retry_after=5,
            reason=reason,
        )

    def close(self) -> None:
        self._client.close()

    def _open(self, client: OpenAI, prompt: Prompt) -> "_Completion":
        """Begin a completion, without the parameters that this server refuses by name,
        which are remembered. A JSON schema is refused in many words: after a refusal
        that names nothing it is left out, too.
        """
        body = self._body(prompt)
        refused = list[str]()
        while True:
            try:
                # Not `chat.completions.create`: its types take five sixths of the
                # processor time of a token.
                with translated(ChatModelError, self.model_id):
                    stream = client.post(
                        "/chat/completions",
                        body=body,
                        cast_to=object,
                        stream=True,
                        stream_cls=_Completion,
                    )
            except ChatModelError as error:
                # Without a schema there is no second try of a request that is wrong
                # otherwise.
                unnamed = "tools" if "tools" in body else "response_format"
                named = refused_name(
                    error.__cause__, body.keys() & OPTIONAL, unnamed=unnamed
                )
                if not named or isinstance(error, ContextLengthError):
                    raise
                refused.append(named)
                if named == "tools":
                    self._use_schema(body, prompt)
                _leave_out(body, named)
            else:
                self._refused.update(
                    dict.fromkeys(refused)
                )  # only now: others may have been the cause
                return stream

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        messages = [
            {"role": message.role, "content": message.content}
            for message in prompt.messages
        ]
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "temperature": self._temperature,
        }
        body |= {
            "stream": True,
            "stream_options": {"include_usage": True},
            self._limit: self._max_answer_tokens * prompt.length
            + prompt.thinking_tokens,
        }
        if prompt.thinking_tokens and prompt.is_plan:
            body["reasoning_effort"] = "low"
        if prompt.tools and "tools" not in self._refused:
            body["tools"] = [_as_function(tool) for tool in prompt.tools]
            body["tool_choice"] = "required" if prompt.json_schema else "none"
        else:
            self._use_schema(body, prompt)
        for name in list(self._refused):
            _leave_out(body, name)
        return body

    @staticmethod
    def _use_schema(body: dict[str, Any], prompt: Prompt) -> None:
        """Ask for the schema of a prompt, where it has one, instead of calls of
        tools.
        """
        body.pop("tool_choice", None)
        if schema := prompt.json_schema:
            named = {
                "name": schema.get("title", "reply"),
                "strict": True,
                "schema": dict(schema),
            }
            body["response_format"] = {"type": "json_schema", "json_schema": named}


class _Completion(Stream[object]):
    """The events of one completion, or the one object of a server that does not
    stream.
    """

    is_done = False
    """True if the server said that it has sent everything."""

    def __stream__(self) -> Iterator[object]:
        if (
            self.response.headers.get("content-type", "").partition(";")[0]
            != "application/json"
        ):
            yield from super().__stream__()
            return
        try:
            whole = json.loads(b"".join(self._bounded()))
        finally:
            self.response.close()
        if isinstance(whole, dict) and whole.get("error"):
            raise APIError(
                "An error in place of an answer",
                self.response.request,
                body=whole["error"],
            )
        self.is_done = True
        yield whole

    def _iter_events(self) -> Iterator[ServerSentEvent]:
        try:
            for event in self._decoder.iter_bytes(self._bounded()):
                self.is_done = self.is_done or event.data.startswith("[DONE]")
                yield event
        except httpx2.TimeoutException as error:
            raise APITimeoutError(request=self.response.request) from error
        except httpx2.TransportError as error:
            raise APIConnectionError(request=self.response.request) from error

    def _bounded(self) -> Iterator[bytes]:
        """Yield the bytes as they come. Raises ValueError: an event is longer than any,
        and would fill the memory.
        """
        length = 0
        last = b""
        for part in self.response.iter_bytes():
            seen = last + part  # the end of an event may come in two parts
            end = max(seen.rfind(blank) for blank in (b"\n\n", b"\r\r", b"\r\n\r\n"))
            length = len(seen) - end if end >= 0 else length + len(part)
            last = seen[-3:]
            if length > MAX_EVENT:
                raise ValueError(f"an event of more than {MAX_EVENT} bytes")
            yield part


class ToolCalls:
    """The calls of tools in a reply, which may come in pieces."""

    def __init__(self) -> None:
        self._names: dict[object, str] = {}
        self._arguments: dict[object, str] = {}

    def __bool__(self) -> bool:
        return any(self._names.values())

    def add(self, calls: object) -> None:
        """Add the pieces of one event. Of other servers anything may be missing."""
        if not isinstance(calls, list):
            return
        for place, call in enumerate(calls):
            index = _part(call, "index")
            key = place if index is None else index
            name = _part(call, "function", "name")
            arguments = _part(call, "function", "arguments")
            if isinstance(name, str):
                self._names[key] = self._names.get(key, "") or name
            if isinstance(arguments, str):
                self._arguments[key] = self._arguments.get(key, "") + arguments

    @property
    def text(self) -> str:
        """The calls as the JSON text that a model without tools writes."""
        calls = [
            {"tool": name, "arguments": self._arguments.get(key, "")}
            for key, name in self._names.items()
        ]
        return json.dumps({"calls": calls}, ensure_ascii=False)


def _as_function(tool: ToolSpec) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def _leave_out(body: dict[str, Any], name: str) -> None:
    """Take a refused parameter out of a request; the limit of an answer has two
    names.
    """
    value = body.pop(name, None)
    if name == "max_tokens" and value is not None:
        body["max_completion_tokens"] = value


@dataclass(frozen=True, slots=True)
class _Piece:
    """One event of a stream: ``reason`` of the end, "" before it, and the words with
    which the model declines to answer.
    """

    delta: Delta
    reason: str
    refusal: str
    calls: object
    """Pieces of calls of tools, or whole ones."""


def _read(chunk: object) -> _Piece:
    """Return what an event says. Of other servers anything may be missing or
    mistyped.
    """

    def count(*names: str) -> int:
        value = _part(chunk, "usage", *names)
        return value if isinstance(value, int) and value > 0 else 0

    def text_of(value: object) -> str:
        return value if isinstance(value, str) else ""

    choices = _part(chunk, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = _part(choice, "delta") or _part(choice, "message")
    content = _part(message, "content")
    reason = text_of(_part(choice, "finish_reason"))
    parts = content if isinstance(content, list) else [{"text": content}]
    text = "".join(text_of(_part(one, "text")) for one in parts)
    thoughts = _part(message, "reasoning_content") or _part(message, "reasoning")
    usage = Usage(
        count("prompt_tokens"),
        count("completion_tokens"),
        calls=1,
        reused_tokens=count("prompt_tokens_details", "cached_tokens"),
    )
    delta = Delta(
        text,
        usage if usage.tokens else None,
        truncated=reason == "length",
        thinks=bool(thoughts)
        or count("completion_tokens_details", "reasoning_tokens") > 0,
    )
    refusal = text_of(_part(message, "refusal"))
    return _Piece(delta, reason, refusal, _part(message, "tool_calls"))


def _part(value: object, *names: str) -> object:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def build(settings: Settings, *, model: str) -> OpenAIChatModel:
    """Raises SettingsError: neither OPENAI_API_KEY nor OPENAI_BASE_URL is set."""
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise SettingsError(
            "CHAT_MODEL=openai needs OPENAI_API_KEY (or OPENAI_BASE_URL for a "
            "server of your own)."
        )
    # OpenAI renamed the limit; other servers know the old name.
    limit = "max_tokens" if settings.openai_base_url else "max_completion_tokens"
    key = (
        settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
    )
    return OpenAIChatModel(
        openai_client(
            settings, key=key, base_url=settings.openai_base_url or OPENAI_URL
        ),
        model or DEFAULT_MODEL,
        temperature=settings.temperature,
        max_answer_tokens=settings.max_answer_tokens,
        limit=limit,
    )
