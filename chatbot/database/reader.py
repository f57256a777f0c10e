"""What a caller may see: the only way to reports, passages, figures and the glossary.

A reader of everything is the repositories and the store themselves. A limited reader
gives the parts of them that are inside of its limit; whatever is derived from it
(words, counts, chapters, suggestions) is derived from these parts alone. Reports are
inside by their parts, passages and figures one by one.
"""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..domain import Chunk, DocumentRecord, Match, Scope
from ..domain.documents import NO_PUBLICATION, Matrix, Meaning, Part
from ..domain.figures import DEFAULT_GLOSSARY, GlossaryEntry
from ..domain.protocols import HybridStore, Passages, TracedStore
from ..domain.scope import CountryGroup, Value
from .repositories.documents import (
    RULES,
    SEVERAL,
    DocumentRepository,
    ReportCatalog,
    ReportIndex,
    parts_inside,
)
from .repositories.figures import FigureReader

__all__ = ["UNKNOWN", "Reader", "Readers", "narrowed"]
UNKNOWN = ""
"""The key of what may change without a new version."""
MAX_KEPT_LIMITS = 64
"""Limits of callers of which the reports inside are kept; so many roles are rare."""
MIN_COMMON_HEADINGS = 20
"""Headings with figures that a library has in common with the shipped glossary, from
which on it has reports of the same kind.
"""
EVERYTHING = Scope()
Entries = Callable[[], Sequence[GlossaryEntry]]


@dataclass(frozen=True, slots=True)
class Reader:
    """What is inside of ``limit``; with an empty one, everything."""

    limit: Scope
    documents: ReportCatalog
    figures: FigureReader
    glossary: Entries
    """Returns the glossary's entries: the same object until they change."""
    store: Callable[[], Passages]
    """Returns the store of all passages, which another one may replace."""
    views: "PassageViews"
    """Gives what may be seen of a store."""

    @property
    def passages(self) -> Passages:
        """The passages that may be seen."""
        return self.of_store(self.store())

    def of_store(self, store: Passages) -> Passages:
        """Return the passages of this store that may be seen."""
        return self.views.passages_of(store)

    def key(self) -> str | None:
        """Return a key that changes with the reports and the glossary inside of a
        limit, and with nothing else; None while one of these reports is being changed,
        UNKNOWN where rows of other programs, which have no versions, are inside.
        """
        if isinstance(self.documents, LimitedDocuments):
            return self.documents.key(self.glossary())
        return UNKNOWN

    def glossary_entries(self) -> Sequence[GlossaryEntry]:
        """Return the entries of everybody and of the reports inside."""
        return self.glossary()


def narrowed(record: DocumentRecord, limit: Scope) -> DocumentRecord | None:
    """Return a report with its parts inside of the limit only; None if there is none.
    What a report says about itself as a whole is left out where some parts are outside.
    """
    if not limit:
        return record
    visible = tuple(part for part, _ in parts_inside(record, limit))
    if not visible:
        return None
    # The parts of a report may be in collections that nobody has noted.
    is_scattered = record.collection == SEVERAL and not record.several
    hides_collections = limit.collections and is_scattered
    if len(visible) == len(record.parts) and not hides_collections:
        return record
    mentions = visible[0].mentions if len(visible) == 1 else None
    several = visible if len(visible) > 1 else ()
    return replace(
        record,
        metadata=_common(visible),
        chunks=sum(part.chunks for part in visible),
        part_of=max(record.chunks, 1),
        several=several,
        mentions=mentions,
        heading_counts=None,
        pages=None,
        error="",
        proposed=(),
        notes=(),
        publication=NO_PUBLICATION,
        row_countries=(),
        overrides={},
        fingerprint="",
        content="",
        file_id="",
    )


def _common(parts: Sequence[Part]) -> dict[str, Value]:
    """Return the metadata that all of these parts have."""
    common = dict(parts[0].metadata)
    for part in parts[1:]:
        for name in list(common):
            if part.metadata.get(name) != common[name]:
                del common[name]
    return common


class PassageViews:
    """What may be seen of a store: all passages but those of hidden reports.
    Thread-safe.
    """

    def __init__(self, whole: DocumentRepository, limit: Scope) -> None:
        self._whole = whole
        self.limit = limit
        self._passages: tuple[Passages, Passages] | None = None
        """A store, and the view of it."""

    def index(self) -> ReportIndex:
        """Return the reports inside, as of now."""
        return self._whole.index()

    def is_inside(self, chunk: Chunk, index: ReportIndex) -> bool:
        """Return whether a passage may be seen while ``index`` is current."""
        return chunk.document_id not in index.hidden

    def passages_of(self, store: Passages) -> Passages:
        """Return the passages of a store that are inside: the same object for it."""
        # The tuple is exchanged as a whole by other threads.
        if self._passages is not None:
            viewed_store, view = self._passages
            if viewed_store is store:
                return view
        view = self._view_of(store)
        self._passages = (store, view)
        return view

    def _view_of(self, store: Passages) -> Passages:
        return ShownPassages(store, self)


class LimitedDocuments(PassageViews, ReportCatalog):
    """The reports with parts inside of a limit. Thread-safe."""

    def __init__(self, documents: DocumentRepository, limit: Scope) -> None:
        super().__init__(documents, limit)
        self._fields = documents.fields
        empty = ReportIndex((*self._fields, *RULES))
        self._state = (empty, empty)
        """An index of all reports, and the one that was made of it."""
        self._key: tuple[ReportIndex, Sequence[GlossaryEntry], str | None] | None = None
        """A key, and what it was made of."""

    # What is remembered is a tuple, which other threads exchange as a whole.

    def key(self, entries: Sequence[GlossaryEntry]) -> str | None:
        """See `Reader.key`; ``entries``: the glossary inside."""
        index = self.index()
        if self._key is not None:
            key_index, key_entries, key = self._key
            if key_index is index and key_entries is entries:
                return key
        key = _key(index, entries)
        self._key = (index, entries, key)
        return key

    def _view_of(self, store: Passages) -> Passages:
        return _limited(store, self)

    def is_inside(self, chunk: Chunk, index: ReportIndex) -> bool:
        if not self.limit.holds(chunk.collection):
            return False
        if not self.limit.matches(chunk.about):
            return False
        return chunk.document_id in index.records and index.shows(chunk.id)

    def index(self) -> ReportIndex:
        """Return what is inside, made from the last index and what changed."""
        whole = self._whole.index()
        last_whole, limited = self._state
        if last_whole is whole:
            return limited
        changes: dict[str, DocumentRecord | None] = {}
        for id, record in whole.records.items():
            if last_whole.records.get(id) is record:
                continue
            visible = narrowed(record, self.limit)
            if visible is not None or id in limited.records:
                changes[id] = visible
        for id in limited.records.keys() - whole.records.keys():
            changes[id] = None
        if changes:
            limited = limited.changed(changes)
        self._state = (whole, limited)
        return limited

    def groups(self) -> Sequence[CountryGroup]:
        return self._whole.groups()

    def get(self, document_id: str) -> DocumentRecord | None:
        record = self._whole.get(document_id)
        if record is None:
            return None
        return narrowed(record, self.limit)

    def is_whole(self, document_id: str) -> bool:
        """Return whether a report is inside with all of its parts."""
        record = self.index().records.get(document_id)
        return record is not None and not record.part_of


def _key(index: ReportIndex, entries: Sequence[GlossaryEntry]) -> str | None:
    lines = [str(entry) for entry in entries]
    for record in index.records.values():
        if not record.version:
            return UNKNOWN
        if record.status != "ready" or record.replacing:
            return None
        lines.append(
            f"{record.id} {record.version} {record.updated_at} {record.title} "
            f"{record.part_of} {record.chunks}"
        )
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


class VisibleGlossary:
    """The entries that a caller may see, and that fit the figures which he may see.
    Thread-safe.

    ``documents``: the reports inside of a limit; None = all.
    """

    def __init__(
        self,
        entries: Entries,
        figures: FigureReader,
        documents: LimitedDocuments | None,
        store: Callable[[], Passages],
    ) -> None:
        self._entries = entries
        self._figures = figures
        self._documents = documents
        self._store = store
        self._kept: tuple[object, Sequence[GlossaryEntry]] = (None, ())
        """What the last entries were made of, and these."""

    def entries(self) -> Sequence[GlossaryEntry]:
        """Return the imported entries, those of reports inside, and the shipped ones
        that fit: the same object until they change.

        A shipped entry fits where its heading has figures. All do in a library of
        reports like those that they were written for, which has many of their headings.
        """
        entries = self._entries()
        index = self._documents.index() if self._documents else None
        made_of = (entries, index, self._figures.change_numbers())
        last_made_of, visible = self._kept
        if last_made_of == made_of:
            return visible
        shipped = {one.heading for one in entries if one.source == DEFAULT_GLOSSARY}
        fitting = shipped & self._figures.indicators().keys()
        if len(fitting) >= MIN_COMMON_HEADINGS:
            fitting = shipped
        seen = []
        for entry in entries:
            if entry.source == DEFAULT_GLOSSARY:
                is_seen = entry.heading in fitting
            else:
                is_seen = index is None or self._is_inside(entry, index)
            if is_seen:
                seen.append(entry)
        visible_now = tuple(seen)
        if visible_now != visible:
            visible = visible_now
        self._kept = (made_of, visible)
        return visible

    def _is_inside(self, entry: GlossaryEntry, index: ReportIndex) -> bool:
        """Return whether an entry is of nobody's report, or of one inside. Of a report
        in parts it is inside if its passage is.
        """
        if not entry.source:
            return True
        record = index.records.get(entry.source)
        if record is None or not record.visible_version:
            return False
        return not record.part_of or self._has_passage(record, entry)

    def _has_passage(self, record: DocumentRecord, entry: GlossaryEntry) -> bool:
        if self._documents is None or entry.passage is None:
            return False
        id = Chunk.make_id(record.id, record.visible_version, entry.passage)
        return bool(self._documents.passages_of(self._store()).get([id]))


class Readers:
    """Gives the reader of each limit. Thread-safe.

    ``passages`` returns the store of the passages, which may change while this process
    serves.
    """

    def __init__(
        self,
        documents: DocumentRepository,
        figures: FigureReader,
        glossary: Entries,
        passages: Callable[[], Passages],
    ) -> None:
        self._documents = documents
        self._figures = figures
        self._glossary = glossary
        self._passages = passages
        views = PassageViews(documents, EVERYTHING)
        self._everything = Reader(
            EVERYTHING,
            documents,
            figures,
            VisibleGlossary(glossary, figures, None, passages).entries,
            passages,
            views,
        )
        self._reader_within = lru_cache(MAX_KEPT_LIMITS)(self._build_reader)

    def everything(self) -> Reader:
        """Return the reader of callers without a limit, of the command line, and of
        work in the background, such as ingestion and purges.
        """
        return self._everything

    def within(self, limit: Scope) -> Reader:
        """Return what callers with this limit may see; with an empty one everything."""
        if not limit:
            return self._everything
        return self._reader_within(Scope(limit.conditions, limit.collections))

    def _build_reader(self, limit: Scope) -> Reader:
        documents = LimitedDocuments(self._documents, limit)
        figures = self._figures.inside_of(limit, documents.is_whole)
        glossary = VisibleGlossary(self._glossary, figures, documents, self._passages)
        return Reader(
            limit, documents, figures, glossary.entries, self._passages, documents
        )


def _limited(whole: Passages, documents: PassageViews) -> "LimitedPassages":
    if isinstance(whole, HybridStore) and isinstance(whole, TracedStore):
        return LimitedEngine(whole, documents)
    return LimitedPassages(whole, documents)


class LimitedPassages:
    """The passages inside of a limit, one by one, of the visible versions of their
    reports. Implements `protocols.Passages`.
    """

    def __init__(self, whole: Passages, documents: PassageViews) -> None:
        self._whole = whole
        self._documents = documents
        self._shows = documents.is_inside
        self._limit = documents.limit

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        if not chunk_ids:
            return []
        index = self._documents.index()
        chunks = self._whole.get(chunk_ids)
        return [chunk for chunk in chunks if self._shows(chunk, index)]

    def stored(self, document_id: str) -> tuple[list[Chunk], Matrix]:
        index = self._documents.index()
        chunks, vectors = self._whole.stored(document_id)
        rows = [row for row, chunk in enumerate(chunks) if self._shows(chunk, index)]
        if not rows:
            return [], np.empty((0, 0), np.float32)
        return [chunks[row] for row in rows], vectors[rows]

    def surroundings(
        self, chunks: Sequence[Chunk], *, margin: int
    ) -> list[list[Chunk]]:
        index = self._documents.index()
        return [
            [sibling for sibling in siblings if self._shows(sibling, index)]
            for siblings in self._whole.surroundings(chunks, margin=margin)
        ]

    def vector_search(
        self,
        meaning: Meaning,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> list[Match]:
        allowed = scope.limited_to(self._limit)
        if allowed is None:
            return []
        return self._whole.vector_search(
            meaning, top_k=top_k, scope=allowed, num_candidates=num_candidates
        )

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        allowed = scope.limited_to(self._limit)
        if allowed is None:
            return []
        return self._whole.keyword_search(query, top_k=top_k, scope=allowed)

    def vector_scores(
        self, meaning: Meaning, chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        """Return the scores of chunks, which a search inside has found."""
        return self._whole.vector_scores(meaning, chunk_ids)

    def count(self, scope: Scope) -> int:
        allowed = scope.limited_to(self._limit)
        if allowed is None:
            return 0
        return self._whole.count(allowed)


class ShownPassages(LimitedPassages):
    """The passages of a store but those of hidden reports, whose matches a search drops
    by itself. It can do what the store can.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


class LimitedEngine(LimitedPassages):
    """The same of a search engine. Implements `HybridStore` and `TracedStore`."""

    def __init__(self, whole: Any, documents: PassageViews) -> None:
        super().__init__(whole, documents)
        self._engine = whole

    def hybrid_search(
        self,
        query: str,
        meaning: Meaning,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> tuple[list[Match], list[Match]]:
        allowed = scope.limited_to(self._limit)
        if allowed is None:
            return [], []
        matches: tuple[list[Match], list[Match]] = self._engine.hybrid_search(
            query, meaning, top_k=top_k, scope=allowed, num_candidates=num_candidates
        )
        return matches

    def without_keywords(self, scope: Scope) -> list[str]:
        allowed = scope.limited_to(self._limit)
        names: list[str] = []
        if allowed is not None:
            names = self._engine.without_keywords(allowed)
        return names

    def traced(
        self,
    ) -> AbstractContextManager[list[tuple[str, list[dict[str, Any]]]]]:
        traced: AbstractContextManager[list[tuple[str, list[dict[str, Any]]]]]
        traced = self._engine.traced()
        return traced
