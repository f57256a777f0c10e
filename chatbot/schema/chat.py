"""Questions, prompts, what a model gives back, answers with their citations and trace, and the events on the way."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from typing import Any, Literal

from .costs import LedgerRow, Usage
from .documents import Context, Document, SearchHit
from .figures import ReportedFigure
from .scope import Condition, Scope

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Budget:
    """What one question may cost: calls of the chat model, its tokens, seconds. None: no limit."""

    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """The settings that one question is searched and answered with. See `Settings` for the meaning of each field.

    A preset that a request names changes them for its question alone.
    """

    threshold_start: float = 0.7
    threshold_step: float = 0.1
    threshold_floor: float = 0.0
    threshold_keep: int | Literal["auto"] = "auto"
    num_candidates: int | Literal["auto"] = "auto"
    vector_weight: float = 0.6
    fusion: str = "zscore"
    rrf_k: int = 60
    search_candidates: int = 100
    keyword_exempt: int = 10
    refine: bool = True
    reranker: str = "none"
    rerank_candidates: int | None = None
    relevance_floor: float | Literal["auto"] = "auto"
    on_empty: Literal["abstain", "relax", "general"] = "abstain"
    context_tokens: int = 3000
    context_margin: int = 300
    context_metadata: bool = True
    context_role: Literal["user", "system"] = "user"
    system_prompt: str | None = None
    max_answer_tokens: int = 1024
    deep_context_tokens: int = 6000
    deep_rounds: int = 3
    deep_sub_questions: int = 4
    deep_gaps: int = 3
    chain_rounds: int = 4
    search_seconds: float = 20.0

    @classmethod
    def of(cls, settings: object) -> QuerySettings:
        """Take over the fields of ``settings`` that have the same names."""
        return cls(**{each.name: getattr(settings, each.name) for each in fields(cls)})


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
    """The name of the preset that ``settings`` were made from; "" = none."""
    settings: QuerySettings | None = None
    """None: those of the server."""
    cache: bool = True
    """Whether an answer given before may be given again."""
    expand: bool = False
    """Whether mode deep adds terms to it (seed 001)."""
    language: str = "en"
    """What of the answer is fixed words is said in it: one of `words.LANGUAGES`."""
    budget: Budget = field(default_factory=Budget)
    """What may be spent on it."""
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
    """When it is asked: prompts say it, and the answer is kept for others of that day only."""

    @property
    def search_text(self) -> str:
        """The text that is searched for; prompts have the person's own words instead."""
        return self.standalone or self.query


@dataclass(frozen=True, slots=True)
class Prompt:
    """One generation request. Language models read ``messages``; the extractive model reads question and context."""

    messages: tuple[Message, ...]
    question: str
    context: Context
    json_schema: Mapping[str, Any] | None = None
    """What the reply should be, with its name as ``title``; None = prose. A model need not keep to it."""
    language: str = "en"
    """Of the fixed words around quotations; a language model answers in that of the question."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a model's answer; ``usage`` comes with the last one, where the model reports it.

    ``truncated``: the answer ends here because its token limit is reached.
    """

    text: str = ""
    usage: Usage | None = None
    truncated: bool = False


QUERY_CHARACTERS = 4000


def question_problem(text: str) -> str:
    """What is wrong with a question's text, without the space around it; "" where nothing is. Never cut (R-A7)."""
    if not text:
        return "must not be empty."
    if len(text) > QUERY_CHARACTERS:
        return (
            f"longer than {QUERY_CHARACTERS:,} characters ({len(text):,}): shorten it, or attach the text as a file, "
            "in the page or with POST /query."
        )
    return ""


@dataclass(frozen=True, slots=True)
class Citation:
    """A number that occurs in the answer, and the passage behind it. ``section``: that of the place in it."""

    number: int
    hit: SearchHit
    section: str
    snippet: str
    supported: bool


MarkKind = Literal[
    "figure", "unit", "year", "name", "direction", "negation", "attribution", "quotation",
    "no_source", "unknown_citation",
]  # fmt: skip
"""What is wrong with a place. Of a ``unit`` or ``year`` the number stands in the passages, with another one."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place of the answer's text that its passages do not bear, in characters; ``detail``: what stands there."""

    start: int
    end: int
    kind: MarkKind
    detail: str

    def moved(self, by: int) -> Mark:
        """The mark for a text that has so many characters put in front."""
        return replace(self, start=self.start + by, end=self.end + by)


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A clause of the answer with something that the passages it cites do not have.

    ``numbers`` are the passages it cites, ``unknown`` numbers that no passage has, ``figures`` (dates too),
    ``quotations`` and ``names`` (countries, and whom it quotes) what was not found, as the answer writes them;
    ``contradicted`` what stands there otherwise. ``no_source``: it gives a figure or a name and cites nothing.
    """

    sentence: str
    numbers: tuple[int, ...]
    figures: tuple[str, ...] = ()
    quotations: tuple[str, ...] = ()
    unknown: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()
    no_source: bool = False

    @property
    def lacking(self) -> bool:
        """Whether a passage lacks something, not just the answer a passage."""
        return bool(self.figures or self.quotations or self.names or self.contradicted)


@dataclass(frozen=True, slots=True)
class Threshold:
    """The adaptive threshold's outcome (D5): where it started, what was used, whether it had to be lowered."""

    start: float
    used: float
    relaxed: bool


@dataclass(frozen=True, slots=True)
class StepTiming:
    """One piece of work, and what it took of the models."""

    name: str
    ms: float
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def since(cls, name: str, started: float, usage: Usage = Usage()) -> StepTiming:  # noqa: B008  # frozen and zero
        """What has gone on since ``started``, a reading of `time.perf_counter`."""
        return cls(name, round((time.perf_counter() - started) * 1000, 2), usage)


@dataclass(frozen=True, slots=True)
class ScopeSummary:
    """What the scope holds: repeated under each answer. ``page``: only passages that begin on it."""

    scope: Scope
    documents: int
    chunks: int
    page: int | None = None
    from_question: Scope = field(default_factory=Scope)
    """The part of it that nobody chose: it was found in the question."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """What a question was understood to be about; a year is a figure's, or an edition's."""

    countries: tuple[str, ...] = ()
    figure_years: tuple[Condition, ...] = ()
    editions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class StepEvent:
    """Something began, or came back: shown to the person who waits.

    ``items`` are what a step came up with (sub-questions, sections), ``hits`` what it found.
    """

    name: str
    detail: str = ""
    items: tuple[str, ...] = ()
    hits: tuple[SearchHit, ...] = ()
    failed: bool = False


NUMBERS_SHOWN = 3
"""Numbers of a query vector that are shown."""


@dataclass(frozen=True, slots=True)
class Aggregation:
    """What a search engine was asked: a collection, and the ``stages`` as JSON.

    As text, because it is kept with the answer, and not every database takes field names that begin with "$".
    """

    collection: str
    stages: str

    @classmethod
    def of(cls, collection: str, pipeline: Sequence[Mapping[str, Any]]) -> Aggregation:
        """The aggregation as it was sent, with only the first numbers of query vectors, and how many there are."""
        return cls(collection, json.dumps(_without_vectors(list(pipeline))))


def _without_vectors(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_vectors(one) for one in part]
    if not isinstance(part, Mapping):
        return part
    return {
        name: [*value[:NUMBERS_SHOWN], f"{len(value)} numbers"] if name == "queryVector" else _without_vectors(value)
        for name, value in part.items()
    }


Stopper = Literal["", "calls", "tokens", "seconds", "model"]
"""What ended an answer early: a part of its budget, or a model that failed."""


@dataclass(frozen=True, slots=True)
class Trace:
    """How an answer came about: the search, the steps with their times and usage, what ended it early."""

    mode: str
    retrieval_method: str
    query: str
    threshold: Threshold | None = None
    hits: tuple[SearchHit, ...] = ()
    steps: tuple[StepTiming, ...] = ()
    path: tuple[StepEvent, ...] = ()
    """What was done, in order, as it was shown while it happened."""
    ledger: tuple[LedgerRow, ...] = ()
    stopped_by: Stopper = ""
    cached: bool = False
    caches: Mapping[str, int] = field(default_factory=dict)
    """What the caches did, e.g. ``{"embedding hit": 1, "query miss": 1}``."""
    truncated: bool = False
    """The answer ends where its token limit did."""
    closest_only: bool = False
    """What was found may only be near to what was asked."""
    understood: Subjects = field(default_factory=Subjects)
    pipeline: tuple[Aggregation, ...] | None = None
    """What MongoDB's search engine was asked, in order; None where another engine searches."""

    @property
    def usage(self) -> Usage:
        """Calls and tokens of all steps."""
        return Usage.total(step.usage for step in self.steps)

    @property
    def cost(self) -> float | None:
        """The cost of all steps; None where a price is missing."""
        costs = [row.cost for row in self.ledger]
        return None if None in costs else round(sum(cost for cost in costs if cost is not None), 10)


@dataclass(frozen=True, slots=True)
class Answer:
    """``answered`` is False where the passages do not hold the answer; then ``response`` says so."""

    response: str
    answered: bool
    citations: tuple[Citation, ...]
    scope: ScopeSummary
    trace: Trace
    suggested_scope: ScopeSummary | None = None
    """The scope found in the question, where it is narrower and was not applied."""
    unsupported: tuple[Unsupported, ...] = ()
    marks: tuple[Mark, ...] = ()
    figures: tuple[ReportedFigure, ...] = ()
    """The figures of the passages that it cites."""


@dataclass(frozen=True, slots=True)
class SourcesEvent:
    """The passages an answer will stand on, before its first word."""

    hits: tuple[SearchHit, ...]
    scope: ScopeSummary


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """The finished answer; always the last event."""

    answer: Answer


Event = StepEvent | SourcesEvent | TokenEvent | AnswerEvent
