"""The nouns of the product: Document -> Chunk -> SearchHit -> Context -> Answer with Citations.

Plain frozen dataclasses, no I/O. Scores are on one scale everywhere: ``score`` is the Atlas
``vectorSearchScore`` for cosine, (1 + cosine) / 2, in [0, 1].
"""

from .answers import (
    Answer,
    AnswerEvent,
    Citation,
    Event,
    ScopeSummary,
    SourcesEvent,
    StepEvent,
    StepTiming,
    Threshold,
    TokenEvent,
    Trace,
    Unsupported,
)
from .chat import Delta, Message, Prompt, Question, Role, Usage
from .documents import (
    ATTACHMENTS,
    SECTION_SEPARATOR,
    SUMMARY_ORDINAL,
    Chunk,
    Chunking,
    Document,
    DocumentRecord,
    Loaded,
    Part,
    Section,
    Status,
    document_text,
    lay_out,
)
from .hits import Context, Match, Matrix, Passage, SearchHit, Vector
from .scope import Condition, Range, Scope, Value, Values

__all__ = [
    "ATTACHMENTS",
    "SECTION_SEPARATOR",
    "SUMMARY_ORDINAL",
    "Answer",
    "AnswerEvent",
    "Chunk",
    "Chunking",
    "Citation",
    "Condition",
    "Context",
    "Delta",
    "Document",
    "DocumentRecord",
    "Event",
    "Loaded",
    "Match",
    "Matrix",
    "Message",
    "Part",
    "Passage",
    "Prompt",
    "Question",
    "Range",
    "Role",
    "Scope",
    "ScopeSummary",
    "SearchHit",
    "Section",
    "SourcesEvent",
    "Status",
    "StepEvent",
    "StepTiming",
    "Threshold",
    "TokenEvent",
    "Trace",
    "Unsupported",
    "Usage",
    "Value",
    "Values",
    "Vector",
    "document_text",
    "lay_out",
]
