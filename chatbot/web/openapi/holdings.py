"""What the API says of reports, jobs, usage and itself, as types: see `answers`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from ...schema.access import KeyRole
from ...schema.costs import StageSums
from ...schema.documents import Chunking, Status
from ...schema.jobs import FileState
from ...schema.scope import Value
from .answers import Conditions, ConversationUsage, Figure, Hit, Source


class Report(TypedDict):
    """A report and its metadata."""

    document_id: str
    document_name: str
    title: str
    country_name: Value | None
    year: Value | None
    type: Value | None
    pages: int | None
    chunks: int
    status: Status
    updated_at: str


class Document(Report):
    """A report as the knowledge base shows it."""

    source: str
    collection: str
    labels: list[str]
    description: str
    error: str
    sample: bool
    parts: int
    has_file: bool
    can_reingest: bool
    may_change: bool
    chunking: Chunking | None


class Reports(TypedDict):
    """A page of reports; ``total``: how many there are."""

    reports: list[Report]
    total: int
    next: str | None


class Documents(TypedDict):
    """A page of reports as the knowledge base shows them; ``total``: how many there are."""

    documents: list[Document]
    total: int
    next: str | None


class Chunks(TypedDict):
    """A page of a report's passages."""

    chunks: list[Hit]
    total: int
    next: str | None


class TextPart(Source):
    """A part of a report, without what it shares with the part before."""

    text: str


class ReadText(TypedDict):
    """What was read of a report, from ``offset`` on; ``total``: how many parts there are."""

    parts: list[TextPart]
    offset: int
    total: int
    next: str | None


class CoverageCell(TypedDict):
    """The number of reports of a country and an edition; null where they have none."""

    country_name: Value | None
    year: Value | None
    documents: int


class Coverage(TypedDict):
    """The number of reports of each country and edition."""

    cells: list[CoverageCell]


class FurtherQuestion(TypedDict):
    """A suggested question; ``filters``: the scope that answers it."""

    question: str
    filters: Conditions


class FurtherQuestions(TypedDict):
    """At most three suggested questions."""

    questions: list[FurtherQuestion]


class Figures(TypedDict):
    """A page of figures."""

    figures: list[Figure]
    total: int
    next: str | None


class Collection(TypedDict):
    """A knowledge collection, and how much is in it."""

    name: str
    description: str
    documents: int
    chunks: int


class Collections(TypedDict):
    """All knowledge collections that the caller may see."""

    collections: list[Collection]


class Formats(TypedDict):
    """What can be added, and how it can be cut."""

    suffixes: list[str]
    max_bytes: int
    chunk_strategies: list[str]
    chunk_strategy: str
    chunk_size: int
    chunk_overlap: int
    types: list[Value]


class IngestionFile(TypedDict):
    """One file or page of a job."""

    name: str
    state: FileState
    outcome: str
    error: str
    detail: str
    chunks: int
    done_chunks: int
    document_id: str


class Ingestion(TypedDict):
    """A job. ``progress`` from 0 to 1."""

    ingestion_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    created_at: str
    progress: float
    files: list[IngestionFile]


class Ingestions(TypedDict):
    """The latest jobs of the caller."""

    ingestions: list[Ingestion]


class UsageTotal(ConversationUsage):
    """``metered_tokens`` count against the day's budget."""

    metered_tokens: int
    stages: list[StageSums]


class UsageOfDay(UsageTotal):
    """The usage of one day (UTC)."""

    day: str


class UsageReport(TypedDict):
    """Usage by day, the newest first; days without use are left out."""

    days: list[UsageOfDay]
    total: UsageTotal


class Key(TypedDict):
    """The key one has signed in with."""

    id: str
    name: str
    role: KeyRole


class Session(TypedDict):
    """Who sends the request, and what they may do."""

    access: Literal["open", "read", "keys"]
    may: list[KeyRole]
    owner: str
    key: Key | None


class Alive(TypedDict):
    """The process lives; nothing else is checked."""

    status: Literal["ok"]


class Dependency(TypedDict):
    """What the server depends on, and whether it works."""

    name: str
    ok: bool
    detail: str


class SampleReports(TypedDict):
    """How many sample reports are searchable, and how many there are."""

    ready: int
    total: int


class Readiness(TypedDict):
    """Whether everything works that the server depends on."""

    ready: bool
    dependencies: list[Dependency]
    sample_data: SampleReports
    ingesting: bool
