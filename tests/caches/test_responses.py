"""The response level (R-B10): what makes two prompts one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chatbot.caches.responses import CachedChatModel
from chatbot.cancellation import Cancellation
from chatbot.model_output.shapes import numbers, queries
from chatbot.schema import Context, Message, Prompt
from tests.rerankers.hits import Scripted


class Memory:
    """Implements `protocols.Cache`."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Any] = {}

    def get(self, level: str, key: str) -> Any:
        return self._kept.get((level, key))

    def put(self, level: str, key: str, value: Any) -> None:
        self._kept[level, key] = value


def test_the_same_words_with_another_schema_are_another_prompt() -> None:
    inner = Scripted("prose", '{"numbers": []}', '{"queries": []}')
    model = CachedChatModel(inner, Memory(), parameters=(0.0,))
    plain = Prompt((Message("user", "Which?"),), "Which?", Context())
    prompts = [plain, *(replace(plain, json_schema=shape.schema) for shape in (numbers(5), queries(4)))]

    def said(prompt: Prompt) -> str:
        return "".join(delta.text for delta in model.stream(prompt, cancel=Cancellation())).strip()

    first = [said(prompt) for prompt in prompts]
    assert first == ["prose", '{"numbers": []}', '{"queries": []}']
    assert [said(prompt) for prompt in prompts] == first
    assert len(inner.prompts) == 3
