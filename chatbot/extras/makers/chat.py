"""Chat models of Anthropic, Google and Amazon Bedrock, by any-llm."""

import asyncio
from collections.abc import Collection as AnyOf
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from queue import SimpleQueue
from typing import Any

from ...config.settings import Settings
from ...domain import Delta, Prompt, RequestContext, Usage
from ...domain.errors import ChatModelError, SettingsError
from ...models.openai_client import (
    check_end,
    name_in,
    timed_out,
    too_long,
    withheld,
)
from .client import EventLoop, any_llm_client, sdk_error


class AnyLLMChatModel:
    """Implements `protocols.ChatModel`. Thread-safe: the requests run in one event loop
    of their own. JSON schemas are not sent: each maker knows others. The readers of
    replies do without.
    """

    is_language_model = True

    def __init__(self, client: Any, model_id: str, *, settings: Settings) -> None:
        self.model_id = model_id
        self._client = client
        self._timeout = settings.model_timeout
        self._parameters = {
            "temperature": settings.temperature,
            "max_tokens": settings.max_answer_tokens,
        }
        self._refused: frozenset[str] = frozenset()
        """Parameters that this model refuses."""
        # boto is not asynchronous: each call to it needs a loop of its own, which it
        # blocks.
        self._loop = None if model_id.startswith("bedrock:") else EventLoop()

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Stop reading, and give the request up, once ``request`` is cancelled. A
        parameter that the model refuses by name is left out, from then on, too. Raises
        ChatModelError.
        """
        left_out = self._refused
        while not request.cancelled:
            parameters = self._parameters_of(prompt, left_out)
            try:
                for delta in self._deltas(prompt, parameters, request):
                    # Only now: another parameter may have been the cause.
                    self._refused = left_out
                    yield delta
            except ChatModelError as error:
                name = ""
                if error.reason == "refused":
                    name = name_in(error.said, parameters)
                if not name:
                    raise
                left_out |= {name}
            else:
                return

    def _parameters_of(self, prompt: Prompt, left_out: AnyOf[str]) -> dict[str, Any]:
        parameters: dict[str, Any] = dict(self._parameters)
        parameters["max_tokens"] *= prompt.length
        if prompt.thinking_tokens:
            parameters["max_tokens"] += prompt.thinking_tokens
            if prompt.is_plan:
                parameters["reasoning_effort"] = "low"
        for name in left_out:
            parameters.pop(name, None)
        return parameters

    def _deltas(
        self, prompt: Prompt, parameters: dict[str, Any], request: RequestContext
    ) -> Iterator[Delta]:
        chunks = SimpleQueue[Any]()
        finished = ""
        loop = self._loop or EventLoop()
        reading = loop.start(self._read(prompt, parameters, chunks))

        def stop() -> None:
            reading.cancel()
            chunks.put(None)

        request.cancel.on_cancel(stop)
        try:
            while (chunk := chunks.get()) is not None and not request.cancelled:
                choice = chunk.choices[0] if chunk.choices else None
                text = (choice.delta.content if choice else None) or ""
                finished = (choice.finish_reason if choice else None) or finished
                counted = chunk.usage
                usage = (
                    Usage(counted.prompt_tokens, counted.completion_tokens, calls=1)
                    if counted
                    else None
                )
                thoughts = getattr(choice.delta, "reasoning", None) if choice else None
                delta = Delta(text, usage, finished == "length", bool(thoughts))
                if delta != Delta():
                    yield delta
            if not request.cancelled:
                self._finish(reading, finished)
        finally:
            request.cancel.forget(stop)
            stop()
            if loop is not self._loop:
                loop.stop()

    def close(self) -> None:
        if self._loop is not None:
            self._loop.close()

    def _finish(self, reading: Any, finished: str) -> None:
        errors = import_module("any_llm.exceptions")
        try:
            reading.result()
        except TimeoutError as error:
            raise timed_out(ChatModelError, self.model_id) from error
        except errors.AnyLLMError as error:
            raise _chat_error(error, self.model_id) from error
        check_end(self.model_id, finished)

    async def _read(
        self, prompt: Prompt, parameters: dict[str, Any], chunks: SimpleQueue[Any]
    ) -> None:
        """Put each chunk of the reply into ``chunks``, and None at its end, however it
        ends.
        """
        messages = [
            {"role": message.role, "content": message.content}
            for message in prompt.messages
        ]
        model = self.model_id.partition(":")[2]
        try:
            async with asyncio.timeout(self._timeout) as limit:
                reply = await self._client.acompletion(
                    model, messages, stream=True, **parameters
                )
                async for chunk in reply:
                    chunks.put(chunk)
                    limit.reschedule(asyncio.get_running_loop().time() + self._timeout)
        finally:
            chunks.put(None)


def _chat_error(error: Any, model_id: str) -> ChatModelError:
    """Return the library's error as ours."""
    name = type(error).__name__
    if name == "ContentFilterError":
        return withheld(model_id)
    if name == "ContextLengthExceededError":
        return too_long(model_id)
    return sdk_error(ChatModelError, error, model_id, setting="CHAT")


def of_maker(
    settings: Settings, *, provider: str, model: str, **_: object
) -> AnyLLMChatModel:
    """Raises MissingPackageError, SettingsError."""
    if not model:
        raise SettingsError(
            f"CHAT_MODEL={provider} needs a model: CHAT_MODEL={provider}:MODEL."
        )
    key = settings.chat_api_key.get_secret_value() if settings.chat_api_key else None
    client = any_llm_client(
        settings, provider, key=key, base_url=settings.chat_base_url, setting="CHAT"
    )
    return AnyLLMChatModel(client, f"{provider}:{model}", settings=settings)


anthropic = partial(of_maker, provider="anthropic")
google = partial(of_maker, provider="google")
bedrock = partial(of_maker, provider="bedrock")
