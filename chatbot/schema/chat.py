"""Questions, prompts and what a model gives back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from .documents import Document
from .hits import Context
from .scope import Scope

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls of the chat model. Added up per stage and per answer.

    ``calls`` reached the model; of these ``failed_calls`` brought nothing. ``cached_calls`` were answered before.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedding_tokens: int = 0
    calls: int = 0
    cached_calls: int = 0
    failed_calls: int = 0

    @property
    def tokens(self) -> int:
        """What the chat model read and wrote."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(Usage)))

    @classmethod
    def total(cls, usages: Iterable[Usage]) -> Usage:
        return sum(usages, cls())


@dataclass(frozen=True, slots=True)
class Budget:
    """What one question may cost: calls of the chat model, its tokens, seconds. None: no limit."""

    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A checked request: what an agent works on. ``history`` is oldest first, without the question itself.

    ``attachments`` are what this one question is about, instead of the reports. ``standalone`` is the question with
    what it needs of the history, "" where it needs nothing. ``auto_scope``: apply the scope found in it.
    """

    query: str
    scope: Scope
    top_k: int
    retrieval_method: str
    mode: str
    history: tuple[Message, ...] = ()
    attachments: tuple[Document, ...] = ()
    standalone: str = ""
    auto_scope: bool = False
    page: int | None = None
    """Only passages of this page."""
    preset: str = ""
    """A seed's query-time figures for this question, "" = those of the settings."""
    cache: bool = True
    """Whether an answer given before may be given again."""
    budget: Budget = field(default_factory=Budget)
    """What may be spent on it."""

    @property
    def search_text(self) -> str:
        """What is searched for; prompts have the person's own words instead."""
        return self.standalone or self.query


@dataclass(frozen=True, slots=True)
class Prompt:
    """One generation request. Language models read ``messages``; the extractive model reads question and context."""

    messages: tuple[Message, ...]
    question: str
    context: Context
    json_schema: Mapping[str, Any] | None = None
    """What the reply should be, with its name as ``title``; None = prose. A model need not keep to it."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a model's answer; ``usage`` comes with the last one, where the model reports it.

    ``truncated``: the answer ends here because its token limit is reached.
    """

    text: str = ""
    usage: Usage | None = None
    truncated: bool = False
