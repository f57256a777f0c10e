"""Questions, prompts and what a model gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    """Tokens and model calls. Added up per stage and per answer."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedding_tokens: int = 0
    calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.embedding_tokens + other.embedding_tokens,
            self.calls + other.calls,
        )


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


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a model's answer; ``usage`` comes with the last one, where the model reports it.

    ``truncated``: the answer ends here because its token limit is reached.
    """

    text: str = ""
    usage: Usage | None = None
    truncated: bool = False
