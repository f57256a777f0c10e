"""OpenAI's chat completions, or those of any server that speaks its API, as a stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from openai import BadRequestError, OpenAI, Stream, UnprocessableEntityError

from ...config.settings import Settings
from ...domain import Delta, Prompt, Usage
from ...domain.errors import NOTHING_WRITTEN, ChatModelError, ContextLengthError, SettingsError
from ...domain.protocols import Embedder
from ...domain.request import RequestContext
from ..openai_client import OPENAI_URL, Abandoned, breakable, openai_client, translated

DEFAULT_MODEL = "gpt-4o"
REFUSALS = (BadRequestError, UnprocessableEntityError)
"""Servers that copy the API answer 400 or 422 to parameters that they do not know."""
MAX_CHARACTERS_PER_TOKEN = 32
"""More than any text has: a server that sends more ignores the limit of the answer."""


class OpenAIChatModel:
    """Implements `protocols.ChatModel`."""

    is_language_model = True

    def __init__(self, client: OpenAI, model: str, *, temperature: float, max_answer: dict[str, int]) -> None:
        """``max_answer``: the limit in tokens, under the name that the server knows."""
        self._client = client
        self._model = model
        self._temperature = temperature
        self._max_answer = max_answer
        self._max_characters = MAX_CHARACTERS_PER_TOKEN * max(max_answer.values())
        self._refuses_schemas = threading.Event()
        self.model_id = f"openai:{model}"

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Stop reading, and close the connection, once ``request`` is cancelled or the reply exceeds its limit by far.

        Raises:
            ChatModelError
        """
        try:
            with translated(ChatModelError, self.model_id):
                yield from self._deltas(prompt, request)
        except (ChatModelError, Abandoned):
            if not request.cancelled:
                raise  # else the connection was broken on purpose

    def _deltas(self, prompt: Prompt, request: RequestContext) -> Iterator[Delta]:
        finished, characters = False, 0
        with breakable(self._client, request.cancel) as client, self._open(client, prompt) as stream:
            try:
                for chunk in stream:
                    if request.cancelled:
                        return
                    text, reason, usage = _read(chunk)
                    finished, truncated = finished or bool(reason), reason == "length"
                    characters += len(text)
                    if truncated and not characters:
                        raise ChatModelError(
                            f"{self.model_id} reached the limit of an answer before its first word: it may have spent "
                            "it on thinking.",
                            remedy="Raise MAX_ANSWER_TOKENS.",
                            reason=NOTHING_WRITTEN,
                        )
                    flooded = characters > self._max_characters
                    if text or usage or truncated:
                        yield Delta(text[: self._max_characters], usage, truncated or flooded)
                    if flooded:
                        return
            except ValueError as error:  # no JSON, or not even text: the SDK does not catch it
                raise ChatModelError(
                    f"The endpoint of {self.model_id} sent what is no event of a stream.",
                    remedy="Try again.",
                    retry_after=5,
                ) from error
        if not finished:
            raise ChatModelError(
                f"The endpoint of {self.model_id} broke off in the middle of its answer.",
                remedy="Try again.",
                retry_after=5,
            )

    def close(self) -> None:
        self._client.close()

    def _open(self, client: OpenAI, prompt: Prompt) -> Stream[object]:
        """Begin a completion, with the prompt's JSON schema unless this server has refused one before."""
        if prompt.json_schema is None or self._refuses_schemas.is_set():
            return self._send(client, prompt, None)
        try:
            with translated(ChatModelError, self.model_id):
                return self._send(client, prompt, prompt.json_schema)
        except ChatModelError as error:
            if isinstance(error, ContextLengthError) or not isinstance(error.__cause__, REFUSALS):
                raise
        stream = self._send(client, prompt, None)
        self._refuses_schemas.set()  # only now: a request that is wrong otherwise is refused again
        return stream

    def _send(self, client: OpenAI, prompt: Prompt, schema: Mapping[str, Any] | None) -> Stream[object]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in prompt.messages],
            "temperature": self._temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
            **self._max_answer,
        }
        if schema:
            named = {"name": schema.get("title", "reply"), "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        # Not `chat.completions.create`: its types take five sixths of the processor time of a token.
        return client.post("/chat/completions", body=body, cast_to=object, stream=True, stream_cls=Stream[object])


def _read(chunk: object) -> tuple[str, str | None, Usage | None]:
    """Return the text, the reason of the end, and the usage. Of other servers anything may be missing or mistyped."""

    def part(value: object, name: str) -> object:
        return value.get(name) if isinstance(value, dict) else None

    def count(name: str) -> int:
        value = part(part(chunk, "usage"), name)
        return value if isinstance(value, int) and value > 0 else 0

    choices = part(chunk, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    text, reason = part(part(choice, "delta"), "content"), part(choice, "finish_reason")
    usage = Usage(count("prompt_tokens"), count("completion_tokens"), calls=1)
    return (
        text if isinstance(text, str) else "",
        reason if isinstance(reason, str) else None,
        usage if usage.tokens else None,
    )


def build(settings: Settings, *, model: str, embedder: Callable[[], Embedder]) -> OpenAIChatModel:
    """Raises SettingsError: neither OPENAI_API_KEY nor OPENAI_BASE_URL is set."""
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise SettingsError("CHAT_MODEL=openai needs OPENAI_API_KEY (or OPENAI_BASE_URL for a server of your own).")
    # OpenAI renamed the limit; other servers know the old name.
    limit = "max_tokens" if settings.openai_base_url else "max_completion_tokens"
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
    return OpenAIChatModel(
        openai_client(settings, key=key, base_url=settings.openai_base_url or OPENAI_URL),
        model or DEFAULT_MODEL,
        temperature=settings.temperature,
        max_answer={limit: settings.max_answer_tokens},
    )
