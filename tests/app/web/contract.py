"""The objects of the HTTP contract and the fields that each has, as integrators know
them. What is sent as a whole dataclass is asked of the dataclass.
"""

from dataclasses import fields

from chatbot.domain import ReportedFigure, Usage
from chatbot.domain.chat import Threshold, Unsupported
from chatbot.domain.costs import StageSums
from chatbot.domain.documents import Chunking


def names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


SOURCE = {
    "chunk_id",
    "document_id",
    "document_name",
    "title",
    "country_name",
    "year",
    "page",
    "section",
}
HIT = SOURCE | {"rank", "text", "score", "keyword_score", "fused_score", "found_by"}
CITATION = SOURCE | {"number", "snippet", "score", "supported"}
SCOPE = {"filters", "documents", "chunks"}
STEP = {"name", "detail", "items", "sources", "failed"}
USAGE, THRESHOLD, UNSUPPORTED, CHUNKING, STAGE = map(
    names, (Usage, Threshold, Unsupported, Chunking, StageSums)
)
# Left out where they say nothing.
USAGE = USAGE - {"reused_tokens", "fixed_tokens"}
UNSUPPORTED = UNSUPPORTED - {"verdict", "words"}
LEDGER = USAGE | {"stage", "runs", "ms", "cost"}
SUMS = USAGE | {"questions", "cost", "unpriced_tokens"}
TRACE = {
    "mode",
    "retrieval_method",
    "query",
    "understood",
    "pipeline",
    "threshold",
    "hits",
    "steps",
    "stages",
    "usage",
    "cached",
    "caches",
    "truncated",
    "closest_only",
    "unused",
    "stopped_by",
    "path",
    "ledger",
    "cost",
}
ANSWER = {
    "response",
    "sources",
    "answered",
    "citations",
    "figures",
    "unsupported",
    "marks",
    "scope",
    "suggested_scope",
    "trace",
    "conversation_id",
    "message_id",
    "conversation_usage",
}
# `how` is only in figures that an answer computed.
FIGURE = names(ReportedFigure) - {"heading", "label", "how"} | {"indicator"}
REPORT = {
    "document_id",
    "document_name",
    "title",
    "country_name",
    "year",
    "type",
    "pages",
    "chunks",
    "status",
    "updated_at",
    "publisher",
    "authors",
    "publication_date",
    "source_url",
}
DOCUMENT = REPORT | {
    "source",
    "collection",
    "labels",
    "description",
    "error",
    "sample",
    "parts",
    "has_file",
    "can_reingest",
    "deleted_at",
    "partial",
    "chunking",
    "may_change",
    "proposed",
    "notes",
}
JOB = {"ingestion_id", "state", "created_at", "progress", "files"}
FILE = {
    "name",
    "state",
    "outcome",
    "error",
    "detail",
    "chunks",
    "done_chunks",
    "document_id",
    "proposed",
    "notes",
}
ERROR = {"code", "message", "details", "request_id"}
