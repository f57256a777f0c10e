"""A chat model for tests: it repeats the question and cites every passage."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...config.settings import Settings
from ...domain import Delta, Prompt, Usage
from ...domain.protocols import Embedder
from ...domain.request import RequestContext
from ...language import estimate_tokens


class EchoChatModel:
    """Implements `protocols.ChatModel`: one piece per word, usage at the end."""

    model_id = "echo"
    is_language_model = False

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        numbers = "".join(f"[{passage.number}]" for passage in prompt.context.passages)
        words = f"You asked: {prompt.question} {numbers}".split(" ")
        for position, word in enumerate(words):
            if request.cancelled:
                return
            yield Delta(word if position == 0 else f" {word}")
        prompt_tokens = sum(estimate_tokens(message.content) for message in prompt.messages)
        yield Delta(usage=Usage(prompt_tokens, len(words), calls=1))


def build(settings: Settings, *, model: str, embedder: Callable[[], Embedder]) -> EchoChatModel:
    return EchoChatModel()
