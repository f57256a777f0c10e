"""Reports, their passages, search hits, and the calibration of a model's scores."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from functools import lru_cache
from itertools import chain
from math import log
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, computed_field

from .json import Hidden, Inlines
from .scope import Value
from .tables import Stated, TableRows, Texts

MEGABYTE = 1024 * 1024
"""Bytes; the unit of settings whose names end in `_mb`."""
SECTION_SEPARATOR = " › "
NAMELESS = "Without a name"
"""The name and title of a passage of another program that states none."""
PARAGRAPH = "\n\n"
UNSURE = "[?]"
"""Ends a line that OCR read with little confidence."""
SUMMARY_ORDINAL = 99_999
"""Far from all other ordinals, so that a summary is no neighbour of a passage; ids have
five digits for it.
"""
_NUMBERED = re.compile(r"\W*\b\w*\d\w*\b\W*|\W+")
"""What differs between the titles of two editions: "Kenya: Country Report 2024" and
"Kenya: Country Report (2023)".
"""
OVERVIEW = ": an overview of the report."
"""Ends the first line of a summary that no model wrote."""
AUTHOR_SEPARATOR = "; "
"""Between the authors in the value of a proposal."""
ATTACHMENTS = "attachments"
"""The `Chunk.collection` of attachments, which are in no collection."""


def overview_line(title: str, metadata: Mapping[str, Value]) -> str:
    """Return the first line of a summary that no model writes."""
    about = [
        str(metadata[name]) for name in ("country_name", "year") if name in metadata
    ]
    named = ""
    if about:
        named = f" ({', '.join(about)})"
    return f"{title}{named}{OVERVIEW}"


@dataclass(frozen=True, slots=True)
class Section:
    """A run of text under one heading path, on one page. ``start`` = offset in the
    document's text (`lay_out`). ``metadata`` is of this part alone: a table's row may
    have its own country and year. ``confidence``: from 0 to 1, None = not read by OCR.
    ``rows``: the rows of a table that the text shows, None = it is no table.
    """

    path: Texts
    text: str
    start: int = 0
    page: int | None = None
    metadata: Mapping[str, Value] = field(default_factory=dict)
    confidence: float | None = None
    # Not compared: the text is a view of them.
    rows: TableRows | None = field(default=None, compare=False)


def lay_out(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Return the sections that have text, stripped, with their offsets in
    `document_text`.
    """
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
    """Return the whole text that offsets refer to: sections in order, a new heading on
    a line above its section.
    """
    pairs = zip((None, *sections), sections, strict=False)
    return PARAGRAPH.join(
        _headline(section, before) + section.text for before, section in pairs
    )


def _headline(section: Section, before: Section | None) -> str:
    """Return the line above a section; "" if the heading is that of the section before,
    e.g. on the next page.
    """
    if not section.path or (before is not None and before.path == section.path):
        return ""
    return f"{section.path[-1]}\n"


def _is_empty(value: object) -> bool:
    return not value


@dataclass(frozen=True, slots=True)
class Publication:
    """By whom and when a report was published, and where; empty where nothing says
    so.
    """

    publisher: Annotated[str, Field(exclude_if=_is_empty)] = ""
    authors: Annotated[Texts, Field(exclude_if=_is_empty)] = ()
    publication_date: Annotated[str, Field(exclude_if=_is_empty)] = ""
    """A year, a month or a day: 2024, 2024-03 or 2024-03-15."""
    source_url: Annotated[str, Field(exclude_if=_is_empty)] = ""
    """The address that the report was published at."""

    def described_by(self, stated: Mapping[str, Any]) -> "Publication":
        """Return the publication with the fields that are stated; None empties one."""

        def value(name: str) -> Any:
            if name in stated:
                return stated[name]
            return getattr(self, name)

        return Publication(
            publisher=value("publisher") or "",
            authors=tuple(value("authors") or ()),
            publication_date=value("publication_date") or "",
            source_url=value("source_url") or "",
        )


NO_PUBLICATION = Publication()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A value that a document's text gives for one of its fields. ``taken``: it was
    beyond doubt.
    """

    field: str
    """title, country_name, year, type, language, or a field of `Publication`."""
    value: Value
    origin: str
    """The place that says so, such as "title" or "file name"."""
    taken: bool
    words: str = ""
    """The words it comes from; "" for fields whose origin says enough."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file as a loader reads it. ``metadata``, ``labels`` and ``description`` come
    from the file itself.
    """

    title: str
    sections: tuple[Section, ...]
    pages: int | None = None
    metadata: Mapping[str, Value] = field(default_factory=dict)
    labels: Texts = ()
    description: str = ""
    columns: Texts = ()
    """Of a table without a column of text."""
    margins: Texts = ()
    """Running heads and feet, each once."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Of the file: ``title``, ``subject``, ``created``, and what it says about its
    publication: ``authors`` (with semicolons), ``publisher``, ``published``, ``url``.
    """
    notes: Texts = ()
    """Sentences for the reader on what was left out of the file, or read in another way
    than its author expects.
    """


@dataclass(frozen=True, slots=True)
class Document:
    """A report before it is split: identity, metadata, and its sections in reading
    order.
    """

    id: str
    name: str
    title: str
    source: str
    metadata: Mapping[str, Value]
    sections: tuple[Section, ...] = ()
    pages: int | None = None
    labels: Texts = ()
    description: str = ""
    columns: Texts = ()
    """Of a table without a column of text."""
    proposed: tuple[Proposal, ...] = ()
    notes: Texts = ()
    publication: Publication = NO_PUBLICATION


@dataclass(frozen=True, slots=True)
class Chunking:
    """The splitting of a document. ``used`` is smaller than ``size`` if the embedder
    reads less.
    """

    strategy: str
    size: int
    overlap: int = 0
    unit: Literal["characters", "tokens"] = "characters"
    used: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """The passages of a document with the same metadata: all of a report, one country
    and year of a table.
    """

    metadata: Mapping[str, Value]
    chunks: int
    collection: str = ""
    """Where its passages are, if those of the report are in several collections."""
    mentions: Mapping[str, int] | None = None
    """How many of its passages name a country, by its code; None = nobody has looked:
    it is of another program, or was stored before this was counted.
    """


@dataclass(frozen=True, slots=True)
class HeadingCounts:
    """The different headings of a document, and how many of them are indicators: a
    figure stands below that is of the heading itself. ``tables``: its passages with
    figures of the cells of a table; None = an older release did not count them.
    """

    headings: int
    indicators: int
    tables: int | None = None

    @property
    def may_have_tables(self) -> bool:
        """True unless it is known that no passage has figures of a table's cells."""
        return self.tables != 0


def series_of(title: str, metadata: Mapping[str, Value]) -> tuple[Value | None, ...]:
    """Return what the editions of one report share: the country, the type, and the
    title without numbers. Two different reports on a country are no editions.
    """
    return metadata.get("country_name"), metadata.get("type"), _without_numbers(title)


@lru_cache(4096)
def _without_numbers(title: str) -> str:
    """Return a title as all editions have it."""
    return _NUMBERED.sub(" ", title).casefold().strip()


def common_fields(kind: type, *sources: object) -> dict[str, Any]:
    """Return the values of the fields of a dataclass that the sources have under the
    same names; the later wins.
    """
    names = [one.name for one in fields(kind)]
    return {
        name: getattr(source, name)
        for source in sources
        for name in names
        if hasattr(source, name)
    }


Status = Literal["pending", "ready", "failed", "deleting", "deleted", "erased"]
"""``deleted``: in the bin, with all that restores it. ``erased``: only the row is left,
which keeps the report from being added again.
"""
HIDDEN = frozenset({"deleted", "erased"})
"""The statuses of reports that nobody sees."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """Who deleted a report, and when (ISO, UTC). ``is_absence``: it was gone from its
    source, so it may come back; else a person deleted it.
    """

    at: str
    by: str = ""
    is_absence: bool = False


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A registered report. Its chunks may not be stored yet."""

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
    labels: Texts = ()
    description: str = ""
    file_id: str = ""
    """The stored original; "" = not kept."""
    fingerprint: str = ""
    """Of the file and of all that affects its passages: an unchanged file need not be
    read again.
    """
    content: str = ""
    """SHA-256 of the file that its passages were made from; "" = an older release's."""
    reading: str = ""
    """The way of reading files that made its passages; "" = an older release's."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Values set by a person, by field: they win over the file, also at the next
    ingestion.
    """
    chunking: Chunking | None = None
    proposed: tuple[Proposal, ...] = ()
    """Values read from its text; a person's value for a field wins."""
    notes: Texts = ()
    """What was left out of its file."""
    publication: Publication = NO_PUBLICATION
    """Read from its file, or set by a person."""
    row_countries: Texts = ()
    """ISO codes of the countries that rows of its tables begin with, if it is about
    none.
    """
    several: tuple[Part, ...] = ()
    """The parts with different metadata; empty = all passages have the document's."""
    mentions: Mapping[str, int] | None = None
    """See `Part.mentions`, which has them where there are several parts."""
    heading_counts: HeadingCounts | None = None
    """Of all its passages; None = they were not counted, as `Part.mentions`."""
    owner: str = ""
    """The uploader, who may change it besides administrators; "" = nobody."""
    upload_number: int = 0
    """Number of the upload that it shows: one with a lower number never replaces it. 0
    = none, or an older system's.
    """
    replacing: str = ""
    """Another version that may have passages too: the next one, unfinished, or the
    previous one, not yet removed.
    """
    former_versions: Texts = ()
    """Of before its title or metadata were edited: their passages have the same
    texts.
    """
    writer: str = ""
    """Token of the upload, edit or deletion that wrote it last; "" = an older
    release's.
    """
    deletion: Deletion | None = None
    """Set while it is being deleted, and afterwards; also while an upload that brings
    it back is being read.
    """
    part_of: int = 0
    """The passages of the whole report, where the reader sees some of its parts only;
    0 = all parts. A row never has it.
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts with different metadata, at least one."""
        whole = Part(self.metadata, self.chunks, mentions=self.mentions)
        return self.several or (whole,)

    @property
    def has_mentions(self) -> bool:
        """True if it is known which countries its passages name."""
        return all(part.mentions is not None for part in self.parts)

    @property
    def country_most_named(self) -> str:
        """The code of the country that more of its passages name than any other; "" if
        none is, or nobody has counted.
        """
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts.update(part.mentions or {})
        first, second = [*counts.most_common(2), ("", 0), ("", 0)][:2]
        if first[1] > second[1]:
            return first[0]
        return ""

    @property
    def is_counted(self) -> bool:
        """True if all is known that is counted of its passages."""
        counts = self.heading_counts
        return self.has_mentions and counts is not None and counts.tables is not None

    @property
    def may_have_tables(self) -> bool:
        """As of its counts; True without any."""
        return self.heading_counts is None or self.heading_counts.may_have_tables

    @property
    def is_hidden(self) -> bool:
        """True if it is in the bin, or erased."""
        return self.status in HIDDEN

    @property
    def is_tombstone(self) -> bool:
        """True if a person deleted it, so that no source may add it again."""
        deletion = self.deletion
        return self.is_hidden and not (deletion and deletion.is_absence)

    @property
    def visible_version(self) -> str:
        """The version that questions may see; "" = none."""
        if self.status == "ready":
            return self.version
        return ""

    @property
    def digest(self) -> str:
        """The digest of the file; "" = not known."""
        # A stored original has the digest of its content as its id.
        return self.content or self.file_id

    def is_reading_of(self, earlier: "DocumentRecord") -> bool:
        """True if it is the same file under the same title and metadata as ``earlier``,
        which is ready, only read anew: that is no change of the report.
        """
        known = earlier.digest
        before = (known, earlier.title, earlier.metadata)
        return bool(known) and (self.content, self.title, self.metadata) == before

    def chunk_ids(self) -> list[str]:
        """Return the ids of its passages in reading order, and last that of its
        summary. Where the reader sees some parts only, others are among them.
        """
        ordinals = (*range(self.part_of or self.chunks), SUMMARY_ORDINAL)
        return [Chunk.make_id(self.id, self.version, ordinal) for ordinal in ordinals]


@dataclass(frozen=True, slots=True)
class Report:
    """A registered report in lists of the API."""

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
    publisher: str
    authors: Texts
    publication_date: str
    source_url: str

    @classmethod
    def of(cls, record: DocumentRecord) -> "Report":
        publication = record.publication
        return cls(
            document_id=record.id,
            document_name=record.name,
            title=record.title,
            country_name=record.metadata.get("country_name"),
            year=record.metadata.get("year"),
            type=record.metadata.get("type"),
            pages=record.pages,
            chunks=record.chunks,
            status=record.status,
            updated_at=record.updated_at,
            publisher=publication.publisher,
            authors=publication.authors,
            publication_date=publication.publication_date,
            source_url=publication.source_url,
        )


@dataclass(frozen=True, slots=True)
class Holdings:
    """Numbers of reports, by whether they can be searched, and of their passages."""

    documents: int = 0
    pending: int = 0
    ready: int = 0
    chunks: int = 0
    ready_chunks: int = 0
    """Counts of ready documents only."""
    with_tables: int = 0
    """Reports that may have figures in the cells of tables."""

    @classmethod
    def of(cls, counted: Iterable[tuple[DocumentRecord, int]]) -> "Holdings":
        """Add up reports, each with the number of its passages that count."""
        rows = list(counted)
        ready = [count for record, count in rows if record.status == "ready"]
        return cls(
            documents=len(rows),
            pending=sum(record.status == "pending" for record, _ in rows),
            ready=len(ready),
            chunks=sum(count for _, count in rows),
            ready_chunks=sum(ready),
            with_tables=sum(record.may_have_tables for record, _ in rows),
        )

    def plus(self, other: "Holdings", sign: int = 1) -> "Holdings":
        """Return the sums of both; with ``sign`` -1 the differences."""
        return Holdings(
            *(
                mine + sign * more
                for mine, more in zip(astuple(self), astuple(other), strict=True)
            )
        )


@dataclass(frozen=True, slots=True)
class Mentions:
    """The countries that the passages of a scope name.

    ``passages``: how many name a country, by its code. ``is_known``: every report in
    the scope was looked through. ``is_older``: no report of the library was, and all
    are registered: it is as an older release of this program left it.
    """

    passages: Mapping[str, int] = field(default_factory=dict)
    is_known: bool = True
    is_older: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a report: the unit that is embedded, searched and cited. ``start``
    and ``end`` are offsets in the document's text. Its JSON is the source of a hit or a
    citation.
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
    labels: Hidden[Texts] = ()
    description: Hidden[str] = ""
    figure_years: Hidden[tuple[int, ...]] = ()
    """The years of its figures, newest first; not the year of its report."""
    url: Hidden[str] = ""
    """Address of its web page; "" = a file."""
    confidence: Annotated[
        float | None, Field(exclude_if=lambda confidence: confidence is None)
    ] = None
    """Mean confidence of the OCR that read its page, from 0 to 1; None = the file has
    the text.
    """
    zone: Annotated[str, Field(exclude_if=lambda zone: not zone)] = ""
    """What it is beside the body of its document, e.g. "references" (`zones.toml`); ""
    = body.
    """
    statements: Hidden[tuple[Stated, ...] | None] = None
    """The figures of its table's cells; None = the passage is no table, and its text
    states them.
    """

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
        """Return a deterministic id: writing the same version of a document again
        replaces its chunks.
        """
        return f"{document_id}-{version}-{ordinal:05d}"

    @staticmethod
    def version_of(chunk_id: str) -> tuple[str, str]:
        """Return the document and the version of a chunk id; two empty strings for ids
        of older systems.
        """
        document_id, _, rest = chunk_id.partition("-")
        version, _, ordinal = rest.partition("-")
        if ordinal.isdigit():
            return (document_id, version)
        return ("", "")

    def sibling_id(self, ordinal: int) -> str:
        return f"{self.id.rpartition('-')[0]}-{ordinal:05d}"

    @property
    def search_text(self) -> str:
        """The text that is embedded and indexed for keywords: title, headings and
        passage.
        """
        return "\n".join(
            part
            for part in (self.title, self.section, self.text)
            if part and part != NAMELESS
        )

    @property
    def is_summary(self) -> bool:
        return self.ordinal == SUMMARY_ORDINAL

    @property
    def is_empty_summary(self) -> bool:
        """True if it names its report and says nothing about it: older releases made
        such summaries.
        """
        line = self.text.strip()
        return self.is_summary and line.endswith(OVERVIEW) and "\n" not in line

    @property
    def chapter(self) -> str:
        return self.section.partition(SECTION_SEPARATOR)[0]

    @property
    def heading(self) -> str:
        return self.section.rpartition(SECTION_SEPARATOR)[2]

    @property
    def series(self) -> tuple[Value | None, ...]:
        """See `series_of`."""
        return series_of(self.title, self.metadata)

    @property
    def about(self) -> dict[str, Value]:
        """The values by field that a scope is compared with."""
        return {**self.metadata, "document_name": self.document_name}


Vector = NDArray[np.float32]
"""Shape (dimensions,), L2-normalised."""
Matrix = NDArray[np.float32]
"""Shape (n, dimensions), rows L2-normalised."""
Meaning = Vector | str
"""What a search by meaning looks for: the vector of a question, or its text where the
store embeds it.
"""
ScoreArray = NDArray[np.float64]


def to_score(cosine: float) -> float:
    """Return a cosine as the Atlas `vectorSearchScore`, (1 + cosine) / 2; rounding
    never takes it outside [0, 1].
    """
    return min(1.0, max(0.0, (1.0 + float(cosine)) / 2.0))


def standard(values: ScoreArray) -> ScoreArray:
    """Return z-scores: distances from the mean in standard deviations; all 0 where the
    values are equal.
    """
    z_scores: ScoreArray = (values - values.mean()) / (values.std() or 1.0)
    return z_scores


def word_scores(
    question_terms: Iterable[str], texts: Sequence[Iterable[str]]
) -> ScoreArray:
    """Return how much each text has of a question, by the terms of both. They weigh by
    how few texts have them, and figures twice: unlike words, they are written in one
    way only.
    """
    terms = frozenset(question_terms)
    matches = [sorted(terms.intersection(text)) for text in texts]
    counts = Counter(chain(*matches))
    weights = {
        term: log(1 + len(texts) / count) * (1 + term[0].isdigit())
        for term, count in counts.items()
    }
    return np.array(
        [sum(map(weights.__getitem__, shared)) for shared in matches], np.float64
    )


@dataclass(frozen=True, slots=True)
class Match:
    """One row of a store's answer. ``chunk`` is set if the store has read it anyway."""

    chunk_id: str
    score: float
    chunk: Chunk | None = None


def best_matches(matches: Iterable[Match], count: int | None = None) -> list[Match]:
    """Return the ``count`` best matches (None = all) of one search or of several, each
    passage once; ties by id.
    """
    by_id = {match.chunk_id: match for match in matches}
    ordered = sorted(by_id.values(), key=lambda match: (-match.score, match.chunk_id))
    return ordered[:count]


@dataclass(frozen=True, slots=True)
class SearchHit(Inlines):
    """A chunk with its scores; None for a search that did not score it.

    ``score`` is always the vector score; ``found_by`` names the searches that found it.
    ``heading_score`` is the similarity of the chunk's heading to the question, on the
    same scale. ``general``: it is about no country, and comes from the general
    collection, which a scope of countries leaves searchable.
    """

    INLINED: ClassVar = ("chunk", "publication")
    chunk: Chunk
    rank: int = 0
    score: float | None = None
    keyword_score: float | None = None
    fused_score: float | None = None
    found_by: Texts = ()
    heading_score: Hidden[float | None] = None
    general: Annotated[bool, Field(exclude_if=lambda general: not general)] = False
    publication: Publication = NO_PUBLICATION
    """Of its report; set where a hit is shown."""

    @computed_field
    @property
    def text(self) -> str:
        return self.chunk.text


def with_publications(
    hits: Iterable[SearchHit], publication: Callable[[str], Publication]
) -> tuple[SearchHit, ...]:
    """Return the hits with the publications of their reports; ``publication`` gives
    that of a report by its id.
    """
    return tuple(
        replace(hit, publication=publication(hit.chunk.document_id)) for hit in hits
    )


@dataclass(frozen=True, slots=True)
class Passage:
    """A numbered source in the prompt: the hit and the wider text shown around it.
    ``more``: where its section goes on, "above" or "below" or both.
    """

    number: int
    hit: SearchHit
    wider_text: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class Quotation:
    """Exact sentences of a passage; ``number`` is the passage's, ``where`` its report,
    section and page. ``answer``: the part of the text that answers the question, "" if
    none stands out. ``general``: see `SearchHit`.
    """

    number: int
    where: str
    text: str
    answer: str = ""
    general: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """The numbered passages that fit the token budget. ``reports``: of how many they
    are a selection, 0 = not known. ``computed``: the tables that the program has
    computed from the figures of the reports, with numbers of passages.
    """

    passages: tuple[Passage, ...] = ()
    reports: int = 0
    computed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """The errors of one value as a floor and as a threshold; each from 0 to 1."""

    value: float
    refused: float
    """Answerable questions whose best passage is below the value."""
    accepted: float
    """Unrelated questions whose best passage is not below it."""
    cut: float
    """Passages with the answer that are not above it."""
    kept: float
    """Passages about something else that are above it."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A relevance floor and a threshold for one embedding model, and the errors they
    imply.
    """

    model_id: str
    floor: float
    threshold: float
    origin: Literal["measured", "published", "assumed"]
    dataset: str
    date: str
    pairs: Mapping[str, int] = field(default_factory=dict)
    """Number of scores of each kind."""
    errors: tuple[ErrorRates, ...] = ()
