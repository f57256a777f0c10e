"""OpenAI's chat completions, or those of any server that speaks its API; always streamed."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

from openai import APIError, OpenAI, Stream

from ..cancellation import Cancellation
from ..errors import ChatModelError, SettingsError
from ..openai_client import openai_client, translated
from ..schema import Delta, Prompt, Usage
from ..settings import Settings

DEFAULT_MODEL = "gpt-4o"


class OpenAIChatModel:
    """Implements `protocols.ChatModel`."""

    def __init__(self, client: OpenAI, model: str, *, temperature: float, max_answer: dict[str, int]) -> None:
        self._client = client
        self._model = model
        self._temperature = temperature
        self._max_answer = max_answer
        self.model_id = f"openai:{model}"

    def stream(self, prompt: Prompt, *, cancel: Cancellation) -> Iterator[Delta]:
        """Raises ChatModelError; stops reading, and closes the connection, once ``cancel`` is set."""
        with translated(ChatModelError, self.model_id):
            stream = self._open(prompt)
            cancel.on_cancel(_breaker(stream))
            try:
                for chunk in stream:
                    if cancel.cancelled:
                        return
                    text = chunk.choices[0].delta.content if chunk.choices else None
                    usage = chunk.usage and Usage(chunk.usage.prompt_tokens, chunk.usage.completion_tokens, calls=1)
                    if text or usage:
                        yield Delta(text or "", usage or None)
            except APIError:
                if cancel.cancelled:
                    return  # the read was broken on purpose
                raise
            finally:
                stream.close()

    def _open(self, prompt: Prompt) -> Stream[Any]:
        # The SDK has one type for each role; ours is one dataclass.
        messages: Any = [{"role": message.role, "content": message.content} for message in prompt.messages]
        return self._client.chat.completions.create(
            model=self._model,
            messages=messages,
            temperature=self._temperature,
            stream=True,
            stream_options={"include_usage": True},
            extra_body=self._max_answer,
        )


def _breaker(stream: Stream[Any]) -> Callable[[], None]:
    """Ends a blocking read from another thread: closing the file would not wake the reader, a shutdown does."""

    def shut_down() -> None:
        network = stream.response.extensions.get("network_stream")
        connection = network.get_extra_info("socket") if network is not None else None
        if isinstance(connection, socket.socket):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # already closed: nothing is left to break

    return shut_down


def build(settings: Settings, *, model: str) -> OpenAIChatModel:
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
