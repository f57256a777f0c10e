"""The nouns of the product: Document -> Chunk -> SearchHit -> Context -> Answer with Citations.

Plain frozen dataclasses, no I/O. Scores are on one scale everywhere: ``score`` is the Atlas
``vectorSearchScore`` for cosine, (1 + cosine) / 2, in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""Shape (dimensions,), L2-normalised."""
Matrix = NDArray[np.float32]
"""Shape (n, dimensions), rows L2-normalised."""
Value = str | int
"""A metadata value that a scope can name: years are ints, the rest strings."""
Role = Literal["system", "user", "assistant"]

SECTION_SEPARATOR = " › "


@dataclass(frozen=True, slots=True)
class Values:
    """Any of these values (OR within a field). Never empty."""

    values: tuple[Value, ...]

    def matches(self, value: Value | None) -> bool:
        return value in self.values

    def to_mql(self) -> dict[str, Any]:
        return {"$eq": self.values[0]} if len(self.values) == 1 else {"$in": list(self.values)}

    def to_json(self) -> Any:
        return list(self.values)


@dataclass(frozen=True, slots=True)
class Range:
    """A closed range of ints; at least one end is given."""

    gte: int | None = None
    lte: int | None = None

    def matches(self, value: Value | None) -> bool:
        if not isinstance(value, int):
            return False
        return (self.gte is None or value >= self.gte) and (self.lte is None or value <= self.lte)

    def to_mql(self) -> dict[str, Any]:
        return {f"${name}": end for name, end in (("gte", self.gte), ("lte", self.lte)) if end is not None}

    def to_json(self) -> Any:
        return {name: end for name, end in (("gte", self.gte), ("lte", self.lte)) if end is not None}


Condition = Values | Range


@dataclass(frozen=True, slots=True)
class Scope:
    """The metadata filter a person chose: AND across fields. Hashable; no conditions = everything."""

    conditions: tuple[tuple[str, Condition], ...] = ()

    @classmethod
    def of(cls, conditions: Mapping[str, Condition]) -> Scope:
        return cls(tuple(sorted(conditions.items())))

    def __bool__(self) -> bool:
        return bool(self.conditions)

    def get(self, name: str) -> Condition | None:
        return dict(self.conditions).get(name)

    def without(self, name: str) -> Scope:
        return Scope(tuple(item for item in self.conditions if item[0] != name))

    def matches(self, metadata: Mapping[str, Value | None]) -> bool:
        return all(condition.matches(metadata.get(name)) for name, condition in self.conditions)

    def to_mql(self) -> dict[str, Any]:
        """The filter as MQL: what `$vectorSearch.filter` and `find` take. ``{}`` when empty."""
        return {name: condition.to_mql() for name, condition in self.conditions}

    def to_json(self) -> dict[str, Any]:
        return {name: condition.to_json() for name, condition in self.conditions}


@dataclass(frozen=True, slots=True)
class Section:
    """A run of text under one heading path, as the loader found it. ``start`` = offset in the document's text."""

    path: tuple[str, ...]
    text: str
    start: int
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A report as loaded, before it is cut: identity and metadata, and its sections in reading order."""

    id: str
    name: str
    title: str
    source: str
    metadata: Mapping[str, Value]
    sections: tuple[Section, ...] = ()
    pages: int | None = None
    labels: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A registered report: what the list of reports and the facets show. Its chunks may still be on their way."""

    id: str
    name: str
    title: str
    source: str
    collection: str
    status: Literal["pending", "ready", "failed"]
    version: str
    metadata: Mapping[str, Value]
    chunks: int = 0
    pages: int | None = None
    updated_at: str = ""
    error: str = ""
    sample: bool = False
    replacing: str = ""
    """The version that is being written over this one: passages of both may be there until that is finished."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: what is embedded, searched and cited. ``start``/``end`` are offsets in the document's text."""

    id: str
    document_id: str
    document_name: str
    title: str
    text: str
    section: str = ""
    page: int | None = None
    ordinal: int = 0
    start: int = 0
    end: int = 0
    metadata: Mapping[str, Value] = field(default_factory=dict)
    collection: str = ""
    labels: tuple[str, ...] = ()
    description: str = ""

    @staticmethod
    def make_id(document_id: str, version: str, ordinal: int) -> str:
        """Deterministic: writing the same version of a document again replaces its chunks."""
        return f"{document_id}-{version}-{ordinal:05d}"

    def sibling_id(self, ordinal: int) -> str:
        """The id of the chunk at ``ordinal`` in the same version of the document."""
        return f"{self.id.rpartition('-')[0]}-{ordinal:05d}"

    @property
    def search_text(self) -> str:
        """What is embedded and indexed for keywords: a passage is found by its report and heading too."""
        return "\n".join(part for part in (self.title, self.section, self.text) if part)


@dataclass(frozen=True, slots=True)
class Match:
    """One row of a store's answer, best first. ``chunk`` is set where the store had it at hand anyway."""

    chunk_id: str
    score: float
    chunk: Chunk | None = None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A chunk with its scores. ``score`` is always the vector score; ``found_by`` says which searches found it."""

    chunk: Chunk
    rank: int = 0
    score: float | None = None
    keyword_score: float | None = None
    fused_score: float | None = None
    found_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A numbered source in the prompt: the hit and the wider text shown around it."""

    number: int
    hit: SearchHit
    wider_text: str


@dataclass(frozen=True, slots=True)
class Context:
    """The numbered passages that fit the token budget."""

    passages: tuple[Passage, ...] = ()


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
    """A checked request: what an agent works on. ``history`` is oldest first, without the question itself."""

    query: str
    scope: Scope
    top_k: int
    retrieval_method: str
    mode: str
    history: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """One generation request. Language models read ``messages``; the extractive model reads question and context."""

    messages: tuple[Message, ...]
    question: str
    context: Context


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a model's answer; ``usage`` comes with the last one, where the model reports it."""

    text: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """A number that occurs in the answer, and the passage behind it."""

    number: int
    hit: SearchHit
    snippet: str
    supported: bool


@dataclass(frozen=True, slots=True)
class Threshold:
    """The adaptive threshold's outcome (D5): where it started, what was used, whether it had to be lowered."""

    start: float
    used: float
    relaxed: bool


@dataclass(frozen=True, slots=True)
class StepTiming:
    name: str
    ms: float


@dataclass(frozen=True, slots=True)
class ScopeSummary:
    """What the scope holds: repeated under each answer."""

    scope: Scope
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Trace:
    """How an answer came about."""

    mode: str
    retrieval_method: str
    query: str
    threshold: Threshold | None = None
    hits: tuple[SearchHit, ...] = ()
    steps: tuple[StepTiming, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    response: str
    answered: bool
    citations: tuple[Citation, ...]
    scope: ScopeSummary
    trace: Trace


@dataclass(frozen=True, slots=True)
class StepEvent:
    """Something began: shown to the person who waits."""

    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourcesEvent:
    """The passages an answer will stand on, before its first word."""

    hits: tuple[SearchHit, ...]
    scope: ScopeSummary


@dataclass(frozen=True, slots=True)
class TokenEvent:
    text: str


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """The finished answer; always the last event."""

    answer: Answer


Event = StepEvent | SourcesEvent | TokenEvent | AnswerEvent
