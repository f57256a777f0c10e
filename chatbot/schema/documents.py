"""Reports, the passages they are cut into, what a search finds of them, and what the scores of a model mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, computed_field

from .json import Hidden, Inlines
from .scope import Value

SECTION_SEPARATOR = " › "


PARAGRAPH = "\n\n"
SUMMARY_ORDINAL = 99_999
"""Far from every other passage: a summary is nobody's neighbour. Five digits are what an id has for it."""
ATTACHMENTS = "attachments"
"""The `Chunk.collection` of what is attached to one question, and in no collection."""


@dataclass(frozen=True, slots=True)
class Section:
    """A run of text under one heading path, on one page. ``start`` = offset in the document's text (`lay_out`).

    ``metadata`` is what only this part is about: a table's row may have a country and a year of its own.
    """

    path: tuple[str, ...]
    text: str
    start: int = 0
    page: int | None = None
    metadata: Mapping[str, Value] = field(default_factory=dict)


def lay_out(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections that have text, stripped, with their offsets in `document_text`."""
    placed: list[Section] = []
    offset = 0
    for section in sections:
        if not (text := section.text.strip()):
            continue
        offset += len(PARAGRAPH) if placed else 0
        offset += len(_headline(section, placed[-1] if placed else None))
        placed.append(replace(section, text=text, start=offset))
        offset += len(text)
    return tuple(placed)


def document_text(sections: Sequence[Section]) -> str:
    """The whole text that offsets refer to: sections in order, a new heading on a line above its section."""
    parts = []
    for before, section in zip((None, *sections), sections, strict=False):
        parts.append(_headline(section, before) + section.text)
    return PARAGRAPH.join(parts)


def _headline(section: Section, before: Section | None) -> str:
    """The heading above a section; none where it goes on under the same one, e.g. on the next page."""
    if not section.path or (before is not None and before.path == section.path):
        return ""
    return f"{section.path[-1]}\n"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file as a loader reads it. ``metadata``, ``labels`` and ``description`` are what the file says of itself."""

    title: str
    sections: tuple[Section, ...]
    pages: int | None = None
    metadata: Mapping[str, Value] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    description: str = ""
    columns: tuple[str, ...] = ()
    """Of a table without a column of text."""


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
    columns: tuple[str, ...] = ()
    """Of a table without a column of text."""


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a document is cut. ``size`` and ``overlap`` in ``unit``; ``used`` is smaller than ``size`` where the
    embedder reads less."""

    strategy: str
    size: int
    overlap: int = 0
    unit: Literal["characters", "tokens"] = "characters"
    used: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """The passages of a document that share their metadata: all of a report, one country and year of a table."""

    metadata: Mapping[str, Value]
    chunks: int


Status = Literal["pending", "ready", "failed", "deleting"]


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A registered report: what the list of reports and the facets show. Its chunks may still be on their way."""

    id: str
    name: str
    title: str
    source: str
    collection: str
    status: Status
    version: str
    metadata: Mapping[str, Value]
    chunks: int = 0
    pages: int | None = None
    updated_at: str = ""
    error: str = ""
    sample: bool = False
    labels: tuple[str, ...] = ()
    description: str = ""
    file_id: str = ""
    """The stored original; "" where none is kept."""
    fingerprint: str = ""
    """Of the file and of all that shapes its passages: the same again need not even be read."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """What a person said of the report, by field: it wins over what its file says, also the next time."""
    chunking: Chunking | None = None
    several: tuple[Part, ...] = ()
    """Where the passages differ in their metadata: the parts. Empty = all have the document's."""
    owner: str = ""
    """Who uploaded it, and may change it besides administrators; "" = nobody."""
    upload_number: int = 0
    """The upload that it shows: an upload with a lower number never replaces it. 0 = none, or an older system's."""
    replacing: str = ""
    """Another version whose passages may be there too: the next one, not finished, or the last one, not removed."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the report that differ in their metadata; a single one for all passages where they do not."""
        return self.several or (Part(self.metadata, self.chunks),)

    @property
    def visible_version(self) -> str:
        """The version that questions may see; "" = none of it."""
        return self.version if self.status == "ready" else ""

    def chunk_ids(self) -> list[str]:
        """The ids of its passages in reading order, the summary last: one id more than there are passages."""
        ordinals = (*range(self.chunks), SUMMARY_ORDINAL)
        return [Chunk.make_id(self.id, self.version, ordinal) for ordinal in ordinals]


@dataclass(frozen=True, slots=True)
class Report:
    """A registered report as lists of the API show it."""

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

    @classmethod
    def of(cls, record: DocumentRecord) -> Report:
        country_name, year, kind = (record.metadata.get(name) for name in ("country_name", "year", "type"))
        about = (record.pages, record.chunks, record.status, record.updated_at)
        return cls(record.id, record.name, record.title, country_name, year, kind, *about)


@dataclass(frozen=True, slots=True)
class Holdings:
    """How many reports there are, by whether they can be searched, and their passages."""

    documents: int = 0
    pending: int = 0
    ready: int = 0
    chunks: int = 0
    ready_chunks: int = 0
    """Of the ready ones."""

    @classmethod
    def of(cls, counted: Iterable[tuple[DocumentRecord, int]]) -> Holdings:
        """The sums of reports, each given with the number of its passages that count."""
        documents = pending = ready = chunks = ready_chunks = 0
        for record, count in counted:
            documents += 1
            chunks += count
            pending += record.status == "pending"
            if record.status == "ready":
                ready += 1
                ready_chunks += count
        return cls(documents, pending, ready, chunks, ready_chunks)

    def plus(self, other: Holdings, sign: int = 1) -> Holdings:
        """The sums of both; with ``sign`` -1 those without the others."""
        return Holdings(*(mine + sign * more for mine, more in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a report: the unit that is embedded, searched and cited.

    ``start`` and ``end`` are offsets in the document's text. Its JSON is the source of a hit or a citation.
    """

    id: Annotated[str, Field(serialization_alias="chunk_id")]
    document_id: str
    document_name: str
    title: str
    text: Hidden[str]
    section: str = ""
    page: int | None = None
    ordinal: Hidden[int] = 0
    start: Hidden[int] = 0
    end: Hidden[int] = 0
    metadata: Hidden[Mapping[str, Value]] = field(default_factory=dict)
    collection: Hidden[str] = ""
    labels: Hidden[tuple[str, ...]] = ()
    description: Hidden[str] = ""
    figure_years: Hidden[tuple[int, ...]] = ()
    """The years of its figures, newest first; not the year of its report."""
    url: Hidden[str] = ""
    """The address of its web page; "" = a file."""

    @computed_field
    @property
    def country_name(self) -> Value | None:
        return self.metadata.get("country_name")

    @computed_field
    @property
    def year(self) -> Value | None:
        """The edition of its report."""
        return self.metadata.get("year")

    @staticmethod
    def make_id(document_id: str, version: str, ordinal: int) -> str:
        """Deterministic: writing the same version of a document again replaces its chunks."""
        return f"{document_id}-{version}-{ordinal:05d}"

    @staticmethod
    def version_of(chunk_id: str) -> tuple[str, str]:
        """The document and the version that a chunk id speaks of; two empty strings for ids of older systems."""
        document_id, _, rest = chunk_id.partition("-")
        version, _, ordinal = rest.partition("-")
        return (document_id, version) if ordinal.isdigit() else ("", "")

    def sibling_id(self, ordinal: int) -> str:
        """The id of the chunk at ``ordinal`` in the same version of the document."""
        return f"{self.id.rpartition('-')[0]}-{ordinal:05d}"

    @property
    def search_text(self) -> str:
        """The text that is embedded and indexed for keywords: the passage with its report's title and its headings."""
        return "\n".join(part for part in (self.title, self.section, self.text) if part)

    @property
    def is_summary(self) -> bool:
        """Whether it is a summary made of the report, and no passage of it."""
        return self.ordinal == SUMMARY_ORDINAL

    @property
    def heading(self) -> str:
        """The innermost of its section; "" without any."""
        return self.section.rpartition(SECTION_SEPARATOR)[2]

    @property
    def about(self) -> dict[str, Value]:
        """The values that a scope's conditions are compared with, by field."""
        return {**self.metadata, "document_name": self.document_name}


Vector = NDArray[np.float32]
"""Shape (dimensions,), L2-normalised."""
Matrix = NDArray[np.float32]
"""Shape (n, dimensions), rows L2-normalised."""


@dataclass(frozen=True, slots=True)
class Match:
    """One row of a store's answer, best first. ``chunk`` is set where the store had it at hand anyway."""

    chunk_id: str
    score: float
    chunk: Chunk | None = None


@dataclass(frozen=True, slots=True)
class SearchHit(Inlines):
    """A chunk with its scores; None for a search that did not score it.

    ``score`` is always the vector score; ``found_by`` names the searches that found it. ``heading_score`` is the
    similarity of the chunk's heading to the question, on the same scale.
    """

    INLINED: ClassVar = ("chunk",)
    chunk: Chunk
    rank: int = 0
    score: float | None = None
    keyword_score: float | None = None
    fused_score: float | None = None
    found_by: tuple[str, ...] = ()
    heading_score: Hidden[float | None] = None

    @computed_field
    @property
    def text(self) -> str:
        return self.chunk.text


@dataclass(frozen=True, slots=True)
class Passage:
    """A numbered source in the prompt: the hit and the wider text shown around it."""

    number: int
    hit: SearchHit
    wider_text: str


@dataclass(frozen=True, slots=True)
class Quotation:
    """Sentences of a passage, word for word; ``number`` is the passage's, ``where`` its report, section and page."""

    number: int
    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """The numbered passages that fit the token budget, by number. ``order``: how a prompt shows them, () = so, too."""

    passages: tuple[Passage, ...] = ()
    order: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """What goes wrong with one value, as a floor and as a threshold; each from 0 to 1."""

    value: float
    refused: float
    """Questions the reports answer whose best passage is below it."""
    accepted: float
    """Questions about something else whose best passage is not below it."""
    cut: float
    """Passages with the answer that are not above it."""
    kept: float
    """Passages about something else that are above it."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A relevance floor and a threshold for one embedding model, and the errors they imply."""

    model_id: str
    floor: float
    threshold: float
    origin: Literal["measured", "published"]
    dataset: str
    date: str
    pairs: Mapping[str, int] = field(default_factory=dict)
    """How many scores of each kind it stands on."""
    errors: tuple[ErrorRates, ...] = ()
