"""OpenAI's chat completions, or those of any server that speaks its API; always streamed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from openai import BadRequestError, OpenAI, Stream, UnprocessableEntityError

from ..errors import NOTHING_WRITTEN, ChatModelError, ContextLengthError, SettingsError
from ..openai_client import Abandoned, breakable, openai_client, translated
from ..protocols import Embedder
from ..request import RequestContext
from ..schema import Delta, Prompt, Usage
from ..settings import Settings

DEFAULT_MODEL = "gpt-4o"
REFUSED = (BadRequestError, UnprocessableEntityError)
"""Servers that copy the API answer 400 or 422 to what they do not know."""
MOST_PER_TOKEN = 32
"""Characters, more than any text has: a server that goes on beyond does not keep to the limit it was given."""


class OpenAIChatModel:
    """Implements `protocols.ChatModel`."""

    is_language_model = True

    def __init__(self, client: OpenAI, model: str, *, temperature: float, max_answer: dict[str, int]) -> None:
        """``max_answer``: the limit in tokens, under the name that the server knows."""
        self._client = client
        self._model = model
        self._temperature = temperature
        self._max_answer = max_answer
        self._longest = MOST_PER_TOKEN * max(max_answer.values())
        self._refuses_schemas = threading.Event()
        self.model_id = f"openai:{model}"

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Stops reading, and closes the connection, once ``request`` is cancelled, or where a server floods it.

        Raises:
            ChatModelError
        """
        try:
            with translated(ChatModelError, self.model_id):
                yield from self._deltas(prompt, request)
        except (ChatModelError, Abandoned):
            if not request.cancelled:
                raise  # else the read was broken on purpose

    def _deltas(self, prompt: Prompt, request: RequestContext) -> Iterator[Delta]:
        finished, wrote = False, 0
        with breakable(self._client, request.cancel) as client, self._open(client, prompt) as stream:
            for chunk in self._chunks(stream):
                if request.cancelled:
                    return
                text, reason, usage = _read(chunk)
                finished, truncated = finished or bool(reason), reason == "length"
                wrote += len(text)
                if truncated and not wrote:
                    raise self._nothing_written()
                flooded = wrote > self._longest
                if text or usage or truncated:
                    yield Delta(text[: self._longest], usage, truncated or flooded)
                if flooded:
                    return
        if not finished:
            raise ChatModelError(
                f"The endpoint of {self.model_id} broke off in the middle of its answer.",
                remedy="Try again.",
                retry_after=5,
            )

    def _chunks(self, stream: Stream[object]) -> Iterator[object]:
        try:
            yield from stream
        except ValueError as error:  # no JSON, or not even text: the SDK lets it through
            raise ChatModelError(
                f"The endpoint of {self.model_id} sent what is no event of a stream.",
                remedy="Try again.",
                retry_after=5,
            ) from error

    def _nothing_written(self) -> ChatModelError:
        return ChatModelError(
            f"{self.model_id} reached the limit of an answer before its first word: it may have spent it on thinking.",
            remedy="Raise MAX_ANSWER_TOKENS.",
            reason=NOTHING_WRITTEN,
        )

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()

    def _open(self, client: OpenAI, prompt: Prompt) -> Stream[object]:
        """Begin a completion, with the prompt's JSON schema unless this server has refused one before."""
        if prompt.json_schema is None or self._refuses_schemas.is_set():
            return self._send(client, prompt, None)
        try:
            with translated(ChatModelError, self.model_id):
                return self._send(client, prompt, prompt.json_schema)
        except ContextLengthError:
            raise
        except ChatModelError as error:
            if not isinstance(error.__cause__, REFUSED):
                raise
        stream = self._send(client, prompt, None)
        self._refuses_schemas.set()  # only now: a request that is wrong otherwise is refused again
        return stream

    def _send(self, client: OpenAI, prompt: Prompt, schema: Mapping[str, Any] | None) -> Stream[object]:
        # Not `chat.completions.create`: its types take five sixths of the processor that a token needs.
        return client.post(
            "/chat/completions",
            body={
                "model": self._model,
                "messages": [{"role": message.role, "content": message.content} for message in prompt.messages],
                "temperature": self._temperature,
                "stream": True,
                "stream_options": {"include_usage": True},
                **self._max_answer,
                **({"response_format": _response_format(schema)} if schema else {}),
            },
            cast_to=object,
            stream=True,
            stream_cls=Stream[object],
        )


def _read(chunk: object) -> tuple[str, str | None, Usage | None]:
    """Text, reason of the end, usage. Of servers that copy the API anything may be missing, or of another type."""
    choices = _part(chunk, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    text, reason, counted = (
        _part(_part(choice, "delta"), "content"),
        _part(choice, "finish_reason"),
        _part(chunk, "usage"),
    )
    asked, said = _count(_part(counted, "prompt_tokens")), _count(_part(counted, "completion_tokens"))
    return (
        text if isinstance(text, str) else "",
        reason if isinstance(reason, str) else None,
        Usage(asked, said, calls=1) if asked or said else None,
    )


def _part(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": schema.get("title", "reply"), "strict": True, "schema": dict(schema)}
    return {"type": "json_schema", "json_schema": named}


def build(settings: Settings, *, model: str, embedder: Callable[[], Embedder]) -> OpenAIChatModel:
    """Build it for OPENAI_API_KEY and OPENAI_BASE_URL. Raises SettingsError where neither is set."""
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise SettingsError("CHAT_MODEL=openai needs OPENAI_API_KEY (or OPENAI_BASE_URL for a server of your own).")
    # OpenAI renamed the limit; servers that copy its API know the old name.
    limit = "max_tokens" if settings.openai_base_url else "max_completion_tokens"
    return OpenAIChatModel(
        openai_client(settings),
        model or DEFAULT_MODEL,
        temperature=settings.temperature,
        max_answer={limit: settings.max_answer_tokens},
    )
