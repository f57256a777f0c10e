"""The nouns of the product: Document -> Chunk -> SearchHit -> Context -> Answer with Citations.

Plain frozen dataclasses, no I/O. Scores are on one scale everywhere: ``score`` is the Atlas
``vectorSearchScore`` for cosine, (1 + cosine) / 2, in [0, 1]."""

from .chat import (
    Aggregation,
    Answer,
    AnswerEvent,
    Budget,
    Citation,
    Delta,
    Event,
    Mark,
    MarkKind,
    Message,
    Prompt,
    QuerySettings,
    Question,
    Role,
    ScopeSummary,
    SearchTrace,
    SourcesEvent,
    StepEvent,
    StepTiming,
    Stopper,
    Subjects,
    Threshold,
    TokenEvent,
    Trace,
    Unsupported,
)
from .costs import LedgerRow, Usage
from .documents import (
    ATTACHMENTS,
    SECTION_SEPARATOR,
    SUMMARY_ORDINAL,
    Chunk,
    Chunking,
    Context,
    Document,
    DocumentRecord,
    Holdings,
    Loaded,
    Match,
    Matrix,
    Part,
    Passage,
    Proposal,
    Quotation,
    Report,
    SearchHit,
    Section,
    Status,
    Vector,
    document_text,
    lay_out,
)
from .scope import NO_VALUE, YEAR_IN_REVIEW, Condition, Range, Scope, Several, Value, Values, each_value
