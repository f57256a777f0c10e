"""The nouns of the product: Document -> Chunk -> SearchHit -> Context -> Answer with
Citations. Everything else is imported from its module.

Plain frozen dataclasses, no I/O. Scores are on one scale everywhere: ``score`` is the
Atlas ``vectorSearchScore`` for cosine, (1 + cosine) / 2, in [0, 1].
"""

from .callers import ApiKey, Caller
from .cancellation import Cancellation
from .chat import (
    Answer,
    Citation,
    Delta,
    Event,
    Message,
    Prompt,
    QuerySettings,
    Question,
    SourcesEvent,
    StepEvent,
    TokenEvent,
    Trace,
)
from .costs import Usage
from .documents import (
    Chunk,
    Context,
    Document,
    DocumentRecord,
    Loaded,
    Match,
    Passage,
    Quotation,
    SearchHit,
    Section,
    Vector,
)
from .figures import ReportedFigure
from .protocols import ChatModel, Embedder, Store
from .request import RequestContext
from .scope import Range, Scope

__all__ = [
    "Answer",
    "ApiKey",
    "Caller",
    "Cancellation",
    "ChatModel",
    "Chunk",
    "Citation",
    "Context",
    "Delta",
    "Document",
    "DocumentRecord",
    "Embedder",
    "Event",
    "Loaded",
    "Match",
    "Message",
    "Passage",
    "Prompt",
    "QuerySettings",
    "Question",
    "Quotation",
    "Range",
    "ReportedFigure",
    "RequestContext",
    "Scope",
    "SearchHit",
    "Section",
    "SourcesEvent",
    "StepEvent",
    "Store",
    "TokenEvent",
    "Trace",
    "Usage",
    "Vector",
]
