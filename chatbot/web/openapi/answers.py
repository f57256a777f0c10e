"""What the API says to questions and of conversations, as types: the JSON of `chatbot.serialization` and the views.

Nothing is built from these; the contract test holds every answer of the running server against them.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...repositories.feedback import Reason
from ...schema.chat import Mark, Role, Stopper, Threshold, Unsupported
from ...schema.scope import Range, Value

Json = dict[str, Any]
Conditions = dict[str, list[Value] | Range]
"""Of a scope, by filter field."""
Number = int | float


class ErrorBody(TypedDict):
    """``code`` is stable; ``details`` name the fields, each with what would be valid, or what helps to mend it. Below
    `/v1` with ``type`` and ``param``, which OpenAI's clients read."""

    code: str
    message: str
    details: list[Json]
    request_id: str
    type: NotRequired[str]
    param: NotRequired[str | None]


class Error(TypedDict):
    """The body of every answer with a status from 400 on."""

    error: ErrorBody


class Source(TypedDict):
    """The report, section and page of a passage."""

    chunk_id: str
    document_id: str
    document_name: str
    title: str
    country_name: Value | None
    year: Value | None
    page: int | None
    section: str


class Hit(Source):
    """A passage that was found; what a search did not score is null."""

    rank: int
    text: str
    score: float | None
    keyword_score: float | None
    fused_score: float | None
    found_by: list[str]


class Passage(Hit):
    """A passage with the text around it, and the name of its file where that is kept."""

    wider_text: str
    file: str | None


class Citation(Source):
    """``number`` occurs in the answer's text; ``supported``: the clauses that cite it are borne by the passage."""

    number: int
    snippet: str
    score: float | None
    supported: bool


class Figure(TypedDict):
    """``value`` with its scale, ``text`` as the report writes it; ``year`` the figure's own, ``edition`` the report's.

    ``newest``: no later edition has this figure of this year. ``citation``: the number in the answer.
    """

    subject: str
    indicator: str
    value: Number
    unit: str
    text: str
    year: int | None
    estimate: bool
    document_id: str
    chunk_id: str
    edition: Value | None
    newest: bool
    citation: int | None


class Scope(TypedDict):
    """What was searched; ``from_question`` is the part of ``filters`` that was taken from the question."""

    filters: Conditions
    documents: int
    chunks: int
    collections: NotRequired[list[str]]
    from_question: NotRequired[Conditions]
    page: NotRequired[int]


class Step(TypedDict):
    """The `step` event, and an entry of the path in the trace."""

    name: str
    detail: str
    items: list[str]
    sources: list[Source]
    failed: bool


class Usage(TypedDict):
    """Calls and tokens of the models."""

    prompt_tokens: int
    completion_tokens: int
    embedding_tokens: int
    calls: int
    cached_calls: int
    failed_calls: int


class LedgerRow(Usage):
    """The sum of all steps of one name; ``cost`` is null without a price."""

    stage: str
    runs: int
    ms: float
    cost: float | None


class Understood(TypedDict):
    """The countries and years that a question was understood to be about."""

    countries: list[str]
    figure_years: list[Value | Range]
    editions: list[Value | Range]


class Timing(TypedDict):
    """How long a step took, in milliseconds."""

    name: str
    ms: float


class Aggregation(TypedDict):
    """A pipeline that was sent to MongoDB's search engine."""

    collection: str
    pipeline: list[Json]


class SearchTrace(TypedDict):
    """How the hits were found: the query, the threshold, the steps and their usage."""

    mode: str
    retrieval_method: str
    query: str
    understood: Understood
    pipeline: list[Aggregation] | None
    threshold: Threshold | None
    steps: list[Timing]
    usage: Usage
    cached: bool
    caches: dict[str, int]
    truncated: bool
    closest_only: bool
    stopped_by: Stopper
    path: list[Step]
    ledger: list[LedgerRow]
    cost: float | None


class Trace(SearchTrace):
    """How an answer came about: `SearchTrace`, and the hits."""

    hits: list[Hit]


class SharedAnswer(TypedDict):
    """What a link shows of an answer."""

    response: str
    sources: list[str]
    answered: bool
    citations: list[Citation]
    figures: list[Figure]
    unsupported: list[Unsupported]
    marks: list[Mark]
    scope: Scope
    message_id: str


class ConversationUsage(Usage):
    """The usage of all answers of a conversation; ``cost`` is null where a price is missing."""

    questions: int
    cost: float | None
    unpriced_tokens: int


class Answer(SharedAnswer):
    """The whole answer, and the data of the `done` event."""

    suggested_scope: Scope | None
    trace: Trace
    conversation_id: str
    conversation_usage: ConversationUsage | None


class SearchResult(TypedDict):
    """The passages found, without an answer."""

    hits: list[Hit]
    scope: Scope
    trace: SearchTrace


class Begun(TypedDict):
    """The `begun` event: by these ids the answer is found again."""

    conversation_id: str
    message_id: str


class Found(TypedDict):
    """The `sources` event, before the first word."""

    hits: list[Hit]
    scope: Scope


class Token(TypedDict):
    """The `token` event: a piece of the answer's text."""

    text: str


class Conversation(TypedDict):
    """``share``: the token of its link, null where it has none."""

    conversation_id: str
    title: str
    created_at: str
    updated_at: str
    share: str | None


class Conversations(TypedDict):
    """A page of conversations; ``next``: the ``cursor`` of the next page."""

    conversations: list[Conversation]
    next: str | None


class Message(TypedDict):
    """``state``: "" or running, stopped, failed."""

    role: Role
    content: str
    created_at: str
    state: Literal["", "running", "stopped", "failed"]


class AskedMessage(Message):
    """A question, with all that it takes to ask it again but its attachments."""

    mode: str | None
    preset: str | None
    page: int | None
    auto_scope: bool | None
    attached: list[str] | None
    replaces: str | None
    scope: Conditions
    collections: list[str]


class BatchCounts(TypedDict):
    """The number of a batch's questions in each state."""

    queued: int
    running: int
    done: int
    failed: int
    cancelled: int


class Batch(TypedDict):
    """``progress``: the share of questions that have ended; ``detail``: what it waits for."""

    batch_id: str
    state: Literal["queued", "running", "done", "cancelled"]
    created_at: str
    detail: str
    total: int
    progress: Number
    questions: BatchCounts


class Batches(TypedDict):
    """One's own batches, the newest first."""

    batches: list[Batch]


class Feedback(TypedDict):
    """What its owner thinks of an answer."""

    rating: Literal["up", "down"]
    reason: Reason | None
    comment: str


class RatedMessage(TypedDict):
    """The feedback on an answer; null where it was taken back."""

    message_id: str
    rating: Literal["up", "down"] | None
    reason: Reason | None
    comment: str


class AskedQuestion(TypedDict):
    """A question as it was asked, and the passages that its answer cites."""

    message_id: str
    at: str
    question: str
    filters: Conditions
    collections: list[str]
    mode: str
    answered: bool
    chunk_ids: list[str]


class RatedQuestion(AskedQuestion):
    """A question with the feedback on its answer."""

    rating: Literal["up", "down"]
    reason: Reason | None
    comment: str


class AllFeedback(TypedDict):
    """Feedback on answers, the newest first."""

    feedback: list[RatedQuestion]


class Unanswered(TypedDict):
    """Questions that the reports did not answer, the newest first."""

    questions: list[AskedQuestion]


class AnsweringMessage(Message):
    """An answer in a conversation; ``answer`` is null where something was attached, or nothing was kept but the
    text.
    """

    message_id: str
    answered: bool | None
    answer: Answer | None
    feedback: Feedback | None


class SharedMessage(Message):
    """As `AnsweringMessage`, without what only its owner sees."""

    message_id: str
    answered: bool | None
    answer: SharedAnswer | None


class OpenedConversation(Conversation):
    """A conversation with its last messages; ``next``: the ``cursor`` of those before them."""

    messages: list[AskedMessage | AnsweringMessage]
    next: str | None


class SharedConversation(TypedDict):
    """A conversation as its link shows it."""

    title: str
    messages: list[AskedMessage | SharedMessage]
    next: str | None


class ExportedConversation(Conversation):
    """A whole conversation."""

    messages: list[AskedMessage | AnsweringMessage]
