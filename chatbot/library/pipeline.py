"""From a file to searchable passages: read -> register -> chunk -> embed -> store.
Repeating it changes nothing.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as AnyOf
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal

from ..database.changes import new_token
from ..database.repositories.caches import request_cache
from ..database.repositories.corpus import CorpusFacts
from ..database.repositories.documents import DocumentRepository
from ..domain import (
    Chunk,
    Document,
    DocumentRecord,
    Loaded,
    Scope,
    Section,
    Vector,
    errors,
)
from ..domain.differences import ChangedFigure, TextDifferences
from ..domain.documents import (
    SUMMARY_ORDINAL,
    Chunking,
    Deletion,
    Proposal,
    common_fields,
    lay_out,
)
from ..domain.protocols import Chunker, Passages
from ..domain.scope import Value
from ..domain.tables import Texts
from ..language.countries import country_code
from ..language.reported_figures import figure_years, may_state_years
from .control import JobControl, lease
from .derived import NONE, Summary
from .description import language_notes
from .differences import text_differences
from .loaders.text import opened
from .sources import (
    Source,
    check_collection,
    document_id,
    make_document,
    require_inside,
)
from .versions import (
    SUPERSEDED,
    VersionWriter,
    heading_counts,
    read_figures,
    with_parts,
)
from .zones import with_zones

_ROW_NAME = re.compile(r"^(?:[^:;\n]{1,60}: )?([^:;\n]{4,60})[:;] ", re.MULTILINE)
"""The first cell of a row, without the name of its column. Three letters are as often
an abbreviation as a code.
"""
SUMMARY_HEADING = "Summary"
BROUGHT_BACK_NOTE = (
    "A person had deleted this report on {date}. Adding it brought it back."
)
EVERYTHING = Scope()
READING = "17"
"""Raise it when files are read or passages are made differently: then every known file
is read again, and a passage is embedded only if its text changed.
"""


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of ingesting a document, by the names of an `IngestionFile`;
    ``chunks`` counts all of its passages.
    """

    document_id: str
    outcome: Literal["added", "replaced", "unchanged"]
    chunks: int
    proposed: tuple[Proposal, ...] = ()
    notes: Texts = ()


@dataclass(frozen=True, slots=True)
class Registration:
    """Fields of a `DocumentRecord` that the document does not state, and the way to
    summarise it.
    """

    collection: str | None = None
    sample: bool = False
    file_id: str = ""
    fingerprint: str = ""
    content: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    summary: Summary = NONE
    owner: str = ""
    limit: Scope = EVERYTHING
    """The scope in which the uploader may add passages; empty = everywhere."""
    upload_number: int = 0
    lifts: bool = False
    """True: a person adds it, so that it comes back also if a person has deleted it."""


PLAIN = Registration()


@dataclass(frozen=True, kw_only=True, eq=False)
class Ingestor(VersionWriter):
    """Writes documents into one store. ``settings_key``: everything besides the
    document that shapes the passages.
    """

    chunker: Chunker
    chunking: Chunking
    settings_key: str

    def register(self, document: Document, about: Registration = PLAIN) -> bool:
        """Announce a document before its passages; False when this version is
        searchable already.
        """
        record = self._record(document, about)
        old = self.documents.registered(document.id)
        return self._register(record, old, JobControl()) is not None

    def _register(
        self,
        record: DocumentRecord,
        old: DocumentRecord | None,
        control: JobControl,
        *,
        lifts: bool = False,
    ) -> DocumentRecord | None:
        """Return what is registered now; None when ``old`` is this very version. Raises
        SupersededError: ``old`` is of a newer upload; CancelledError: the report was
        deleted after the upload; DeletedReportError: a person deleted it, and this does
        not lift the tombstone.
        """
        if not lifts:
            self.require_no_tombstone(record.id, record.content)
        require_newest(old, record.upload_number)
        if old is None or old.status == "deleting" or old.is_hidden:
            # A deletion cancels the uploads before it removes the report, so the
            # cancellation is visible by now.
            control.refresh()
            control.check()
        if old is None:
            if not self.documents.insert(record):
                self._raise_changed(record)
            return record
        if old.is_hidden:
            # The tombstone stays in the row until the report can be searched.
            returning = replace(record, replacing=old.version, deletion=old.deletion)
            return self._swap(returning, old)
        if old.status == "ready":
            if old.version != record.version or old.replacing:
                return old
            same = replace(
                old,
                overrides=record.overrides,
                file_id=record.file_id,
                fingerprint=record.fingerprint,
                content=record.content,
                reading=record.reading,
                notes=record.notes,
                publication=record.publication,
            )
            if same != old:
                number = record.upload_number
                self._swap(
                    replace(same, upload_number=number, writer=record.writer), old
                )
            elif not self.documents.note_upload(old, record.upload_number):
                self._raise_changed(record)
            return None
        if (old.status, old.version) == ("pending", record.version):
            return self._swap(replace(old, writer=record.writer), old)
        return self._swap(replace(record, replacing=old.version), old)

    def ingest(
        self,
        document: Document,
        about: Registration = PLAIN,
        *,
        control: JobControl | None = None,
    ) -> Ingested:
        """Make a document searchable. After an error the previous version, if any, is
        served. Raises LoadError: the document has no text; InvalidRequestError: no
        question searches that collection; DependencyError; EmbedderMismatchError: the
        database has another embedding model by now; CancelledError.
        """
        control = control or JobControl()
        with request_cache():
            old = self.documents.registered(document.id)
        record = self._record(document, about)
        registered = self._register(record, old, control, lifts=about.lifts)
        if registered is None:
            assert old is not None
            if not old.is_counted:
                self._count_passages(document, record, control)
            return Ingested(
                document.id, "unchanged", old.chunks, document.proposed, document.notes
            )
        try:
            summary = self.retries.run(
                lambda: about.summary.make(document, control.cancel), control
            )
            chunks = self.cut(document, summary, record, control)
            _require_inside(about.limit, chunks)
        except errors.ChatbotError as error:
            self.undo(record, old, error)
            raise
        self.write(record, old, chunks, control, registered)
        replaced = old is not None and old.status == "ready"
        outcome: Literal["added", "replaced"] = "replaced" if replaced else "added"
        notes = (*document.notes, *language_notes(document.proposed, self.embedder))
        if old is not None and old.is_tombstone and old.deletion is not None:
            notes = (*notes, BROUGHT_BACK_NOTE.format(date=old.deletion.at[:10]))
        return Ingested(document.id, outcome, len(chunks), document.proposed, notes)

    def _count_passages(
        self, document: Document, record: DocumentRecord, control: JobControl
    ) -> None:
        """Note which countries the passages of this version name, and which of its
        headings are indicators, which an older release did not. Nothing is embedded.
        Raises like `_swap`.
        """
        current = self.documents.get(record.id)
        if current is None or current.version != record.version:
            self._raise_changed(record)
        chunks = self.cut(document, "", record, control)
        named = {
            _key(part.metadata): part.mentions
            for part in self._parts(record, chunks, control)
        }
        # The summary, which is not made again, may be a part of its own.
        parts = tuple(
            replace(part, mentions=named.get(_key(part.metadata), {}))
            for part in current.parts
        )
        figures = self.figures.find(EVERYTHING, document_id=record.id)
        stated = {(figure.chunk_id, figure.heading) for figure in figures}
        counts = heading_counts(chunks, stated)
        noted = replace(with_parts(current, parts), heading_counts=counts)
        self._swap(replace(noted, writer=record.writer), current)

    def store_ready(
        self,
        record: DocumentRecord,
        chunks: Sequence[Chunk],
        vectors: Mapping[str, Vector],
    ) -> bool:
        """Make ready-made passages searchable, with their vectors by
        `Chunk.search_text`; False when this version already is, or a person deleted the
        report. Raises as `ingest`.
        """
        control = JobControl()
        old = self.documents.registered(record.id)
        if old is not None and old.is_tombstone:
            return False
        record = replace(record, writer=new_token())
        registered = self._register(record, old, control)
        if registered is not None:
            self.write(record, old, chunks, control, registered, vectors)
        return registered is not None

    def require_no_tombstone(self, document_id: str, content: str = "") -> None:
        """Raises DeletedReportError: a person deleted this report, or a report of the
        same content (SHA-256) that nobody has added since.
        """
        tombstone = self.documents.tombstone_of(document_id, content)
        if tombstone is None:
            return
        deletion = tombstone.deletion
        when = f" on {deletion.at[:10]}" if deletion else ""
        raise errors.DeletedReportError(
            f"A person deleted this report{when}, so it is not added again. To have it "
            f"back: python -m chatbot documents undelete {tombstone.id}"
        )

    def deleted_ids(self) -> list[str]:
        """Return the reports that no source may add again."""
        hidden = self.documents.hidden()
        return [record.id for record in hidden if record.is_tombstone]

    def overrides(self, document_id: str) -> Mapping[str, Any]:
        """Return what a person has stated about a document."""
        record = self.documents.get(document_id)
        return record.overrides if record else {}

    def version(
        self, document: Document, summary: str, collection: str | None = None
    ) -> str:
        """Return a digest of the text, the metadata, the chunking, the kind of summary,
        a chosen collection and READING.
        """
        parts = {
            "reading": READING,
            "settings": self.settings_key,
            "summary": summary,
            "collection": collection,
            "title": document.title,
            "name": document.name,
            "metadata": dict(document.metadata),
            "labels": list(document.labels),
            "description": document.description,
            "sections": [
                [list(s.path), s.text, s.page, dict(s.metadata)]
                for s in document.sections
            ],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[
            :12
        ]

    def cut(
        self,
        document: Document,
        summary: str,
        record: DocumentRecord | None = None,
        control: JobControl | None = None,
    ) -> list[Chunk]:
        """Return the document's passages, its summary last; without a record their ids
        mean nothing. Raises LoadError: there are none, or too many; CancelledError:
        ``control`` was cancelled.
        """

        def check(made: int) -> None:
            if control is not None:
                control.check()
            if made > SUMMARY_ORDINAL // 2:
                raise errors.LoadError(
                    f"{document.name} has more than {made:,} passages. Split the file."
                )

        version, collection = (
            (record.version, record.collection) if record else ("", "")
        )
        chunks = self.chunker.chunk(
            document, version=version, collection=collection, check=check
        )
        chunks = with_zones(chunks, document.sections)
        # The text of a table's passage is read where its cells leave years to it.
        texts = [
            chunk.text
            for chunk in chunks
            if may_state_years(chunk.text, chunk.statements or ())
        ]
        cancel = control and control.cancel
        read = self.read_texts(figure_years, texts, document.name, cancel)
        years = dict(zip(texts, read, strict=True))
        dated = []
        for chunk in chunks:
            of_cells = (figure.years for figure in chunk.statements or ())
            every_year = {*years.get(chunk.text, ())}.union(*of_cells)
            newest_first = tuple(sorted(every_year, reverse=True))
            dated.append(replace(chunk, figure_years=newest_first))
        chunks = dated
        if not chunks:
            raise errors.LoadError(f"{document.name}: no text was found in it.")
        # One passage at most: what of the summary the embedder reads (R-D7).
        alone = replace(
            document, sections=lay_out([Section((SUMMARY_HEADING,), summary)])
        )
        ends = (
            self.chunker.chunk(alone, version=version, collection=collection)[:1]
            if summary.strip()
            else []
        )
        chunk_id = Chunk.make_id(document.id, version, SUMMARY_ORDINAL)
        return chunks + [
            replace(chunk, id=chunk_id, ordinal=SUMMARY_ORDINAL, start=0, end=0)
            for chunk in ends
        ]

    def _record(self, document: Document, about: Registration) -> DocumentRecord:
        check_collection(about.collection, self.collections)
        described = (document.metadata, *map(attrgetter("metadata"), document.sections))
        rows = set(
            _ROW_NAME.findall("\n".join(map(attrgetter("text"), document.sections)))
        )
        values = common_fields(DocumentRecord, document, about)
        values |= {
            "metadata": dict(document.metadata),
            "overrides": dict(about.overrides),
            "chunking": self.chunking,
            "reading": READING,
        }
        values["collection"] = self.collection_of(described, about.collection)
        values["version"] = self.version(document, about.summary.kind, about.collection)
        values["writer"] = new_token()
        if not document.metadata.get("country_name"):
            values["row_countries"] = tuple(
                sorted(set(filter(None, map(country_code, rows))))
            )
        return DocumentRecord(status="pending", **values)


def _key(metadata: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(metadata.items()))


def require_newest(old: DocumentRecord | None, upload_number: int) -> None:
    """Raise SupersededError when a newer upload is registered that has not failed."""
    if (
        old is not None
        and old.status not in {"failed", "deleting"}
        and old.upload_number > upload_number
    ):
        raise errors.SupersededError(SUPERSEDED)


def _require_inside(limit: Scope, chunks: Sequence[Chunk]) -> None:
    """Raise LoadError with the first rows whose own country, year or type is outside of
    the uploader's limit.
    """
    outside = [
        chunk
        for chunk in chunks
        if not (limit.holds(chunk.collection) and limit.matches(chunk.about))
    ]
    if not outside:
        return
    first = outside[0].about
    field = next(
        (name for name, one in limit.conditions if not one.matches(first.get(name))),
        "collection",
    )
    rows = [
        f"{chunk.section or chunk.text[:40]!r} ({chunk.about.get(field)})"
        for chunk in outside[:5]
    ]
    more = ""
    rest = len(outside) - len(rows)
    if rest > 0:
        more = f" and {rest} more"
    problem = f"This key is limited to another {field} than these rows have"
    raise errors.LoadError(
        f"{problem}: {', '.join(rows)}{more}. Remove them and send the file again."
    )


def passages(
    store: Passages, record: DocumentRecord, *, offset: int, limit: int
) -> list[Chunk]:
    """Return passages of the visible version in reading order, the summary last."""
    if not record.version:  # of an older system, whose ids say nothing
        return sorted(
            store.stored(record.id)[0], key=lambda chunk: (chunk.ordinal, chunk.id)
        )[offset : offset + limit]
    if record.part_of:  # which ids are inside is known of the passages only
        return store.get(record.chunk_ids())[offset : offset + limit]
    if offset >= record.chunks:
        return []
    last = offset + limit >= record.chunks
    return store.get(record.chunk_ids()[offset : None if last else offset + limit])


@dataclass(frozen=True, slots=True)
class Edited:
    """A report before and after an edit; the same where nothing changed."""

    before: DocumentRecord
    after: DocumentRecord


@dataclass(frozen=True, kw_only=True)
class IngestionService:
    """Makes files searchable: one way for uploads, web pages and the command line.
    ``ingestors(overrides)`` returns the ingestor for the chunking that a person or the
    settings ask for.
    """

    documents: DocumentRepository
    ingestors: Callable[[Mapping[str, Any]], Ingestor]
    load: Callable[..., Loaded]
    leases: CorpusFacts
    summary: Summary

    def ingest(
        self,
        source: Source,
        *,
        overrides: Mapping[str, Any] | None = None,
        file_id: str = "",
        owner: str = "",
        limit: Scope = EVERYTHING,
        upload_number: int | None = None,
        lifts: bool = False,
        control: JobControl | None = None,
    ) -> Ingested:
        """Read a file and make it searchable; repeating it changes nothing.

        ``overrides`` (see `check_overrides`) hold until others are given. A new report
        belongs to ``owner``; a known one keeps its owner. ``limit``: where its passages
        must be. ``upload_number``: when it was sent, None = now. ``lifts``: a person
        adds this very file, so that it comes back also if a person has deleted it.
        Raises DeletedReportError: one has, and it does not; SupersededError: a newer
        upload of this file is registered; InvalidRequestError: an invalid chunk size or
        collection; otherwise as `Ingestor.ingest`.
        """
        with request_cache():
            change = self._change(source, overrides or {}, file_id, upload_number)
        if isinstance(change, Ingested):
            return change  # without a lease: no passage is written
        id = document_id(source.identity)
        if not lifts:  # asked before the file is read
            change.ingestor.require_no_tombstone(id, change.content)
        with lease(self.leases, f"document:{id}", control or JobControl()) as leased:
            if self.documents.registered(id) != change.old:
                # Whoever had the lease may have ingested the same file.
                with request_cache():
                    change = self._change(
                        source, overrides or {}, file_id, upload_number
                    )
                if isinstance(change, Ingested):
                    return change
            number = (
                self.leases.next_upload_number()
                if upload_number is None
                else upload_number
            )
            document = self._document(source, change.stated, leased, limit)
            leased.check()
            about = Registration(
                change.stated.get("collection"),
                file_id=file_id,
                fingerprint=change.fingerprint,
                content=change.content,
                overrides=change.stated,
                summary=self.summary,
                owner=_owner_after(change.old, owner),
                limit=limit,
                upload_number=number,
                lifts=lifts,
            )
            return change.ingestor.ingest(document, about, control=leased)

    def _change(
        self,
        source: Source,
        overrides: Mapping[str, Any],
        file_id: str,
        upload_number: int | None,
    ) -> "Ingested | _Change":
        """Return the report when nothing changed."""
        old, stated, ingestor = self._known(source, overrides)
        if upload_number is not None:
            require_newest(old, upload_number)
        content = _content_of(source)
        settings = f"{ingestor.settings_key}:{self.summary.kind}"
        about = [
            source.path.suffix.lower(),
            source.path.stem,
            source.title,
            dict(source.metadata),
            source.listed,
        ]
        parts = [
            READING,
            content,
            settings,
            about,
            list(source.labels),
            source.description,
            asdict(source.publication),
            stated,
        ]
        fingerprint = hashlib.sha256(
            json.dumps(parts, sort_keys=True).encode()
        ).hexdigest()[:24]
        if (
            old is not None
            and _is_complete(old)
            and old.is_counted
            and (old.fingerprint, old.file_id) == (fingerprint, file_id)
            and self.documents.note_upload(old, upload_number or 0)
        ):
            return Ingested(old.id, "unchanged", old.chunks, old.proposed, old.notes)
        return _Change(old, stated, ingestor, fingerprint, content)

    def reading_key(self) -> str:
        """Return what changes when known files have to be read again, as after an
        upgrade.
        """
        return f"{READING}:{self.ingestors({}).settings_key}:{self.summary.kind}"

    def require_no_tombstone(self, source: Source) -> None:
        """Raises DeletedReportError: a person deleted the report of this file."""
        content = _content_of(source)
        id = document_id(source.identity)
        self.ingestors({}).require_no_tombstone(id, content)

    def abandon(self, identity: str) -> None:
        """Undo an ingestion that nobody continues. Raises DependencyError."""
        self._undo(document_id(identity), longest=None)

    def settle(self, document_id: str) -> None:
        """Undo the ingestion of a process that died; does nothing while a worker has
        the report.
        """
        with suppress(errors.ConflictError):
            self._undo(document_id, longest=0)

    def _undo(self, document_id: str, *, longest: float | None) -> None:
        with lease(
            self.leases, f"document:{document_id}", JobControl(), longest=longest
        ):
            record = self.documents.registered(document_id)
            if record is None:
                self.ingestors({}).delete(
                    document_id
                )  # passages that a worker wrote after the deletion
            elif record.is_hidden:
                self.ingestors({}).keep_hidden(record)
            elif record.status == "pending" or record.replacing:
                self.ingestors({}).undo(
                    record, record, errors.CancelledError("Given up.")
                )

    def hide(self, record: DocumentRecord, deletion: Deletion) -> None:
        """Put a report into the bin, as `VersionWriter.hide`."""
        self.ingestors({}).hide(record, deletion)

    def restore(self, document_id: str) -> DocumentRecord | None:
        """Take a report out of the bin, or lift its tombstone, so that its source may
        add it again (None). Raises NotFoundError: it was not deleted; ConflictError:
        another worker reads it; otherwise as `VersionWriter.restore`.
        """
        with lease(self.leases, f"document:{document_id}", JobControl(), longest=3.0):
            record = self.documents.registered(document_id)
            if record is None or not record.is_hidden:
                raise errors.NotFoundError(
                    f"There is no deleted report {document_id[:64]!r}."
                )
            if record.status == "deleted":
                return self.ingestors({}).restore(record)
            self.documents.delete(document_id)
            return None

    def edit(
        self,
        document_id: str,
        stated: Mapping[str, Any],
        *,
        unconfirmed: AnyOf[str] = (),
        limit: Scope = EVERYTHING,
    ) -> Edited:
        """Apply checked overrides to a report, and store them with it. ``unconfirmed``:
        fields whose value counts as its file's again. ``limit``: where the report must
        stay. Raises NotFoundError; ConflictError: another worker reads or edits it;
        ForbiddenError: it would leave the limit; InvalidRequestError: it is not ready
        to be edited; DependencyError.
        """
        # Seconds that a request waits for the searches to follow, and for another edit.
        patient = JobControl(patience=60.0)
        with lease(
            self.leases, f"document:{document_id}", patient, longest=3.0
        ) as control:
            record = self.documents.get(document_id)
            if record is None:
                raise errors.NotFoundError(f"There is no report {document_id!r}.")
            planned = self.plan_edit(record, stated, unconfirmed, limit)
            self.ingestors({}).edit(record, planned, control)
            return Edited(record, self.documents.get(document_id) or record)

    def plan_edit(
        self,
        record: DocumentRecord,
        stated: Mapping[str, Any],
        unconfirmed: AnyOf[str],
        limit: Scope,
    ) -> DocumentRecord:
        """Return what `edit` would make of a report. Raises ForbiddenError,
        InvalidRequestError.
        """
        if record.status != "ready" or not record.version:
            problem = f"this report cannot be edited: it is {record.status}."
            raise errors.InvalidRequestError.for_field("document_id", problem)
        return self.ingestors({}).plan_edit(record, stated, unconfirmed, limit)

    def plan(
        self,
        source: Source,
        *,
        overrides: Mapping[str, Any] | None = None,
        limit: Scope = EVERYTHING,
        control: JobControl | None = None,
    ) -> tuple[Document, str]:
        """Return the document and what `ingest` would do with it: "new", "changed",
        "unchanged". Raises as it does.
        """
        old, stated, ingestor = self._known(source, overrides or {})
        document = self._document(source, stated, control or JobControl(), limit)
        outcome = "new"
        if old is not None and _is_complete(old):
            version = ingestor.version(
                document, self.summary.kind, stated.get("collection")
            )
            outcome = "unchanged" if old.version == version else "changed"
        return document, outcome

    def differences(
        self, record: DocumentRecord, document: Document, control: JobControl
    ) -> tuple[Sequence[ChangedFigure], TextDifferences]:
        """Return what a document would change of a report that it replaces: its figures
        and its text. The report's title and metadata count for both. Raises LoadError:
        the document has no text; CancelledError.
        """
        ingestor = self.ingestors(record.overrides)
        document = replace(
            document, title=record.title, name=record.name, metadata=record.metadata
        )
        chunks = ingestor.cut(document, "", None, control)
        stored = ingestor.store.get(record.chunk_ids())
        text = text_differences(stored, chunks, control.check)
        read_chunks = read_figures(
            chunks, ingestor.read_texts, record.name, control.cancel
        )
        new = ingestor.figures.of_version(record.id, "", read_chunks)
        figures = ingestor.figures.differences(record.id, record.version, new)
        return figures, text

    def _known(
        self, source: Source, overrides: Mapping[str, Any]
    ) -> tuple[DocumentRecord | None, dict[str, Any], Ingestor]:
        require_inside(source)
        old = self.documents.registered(document_id(source.identity))
        stated = {**(old.overrides if old else {}), **overrides}
        return old, stated, self.ingestors(stated)

    def _document(
        self,
        source: Source,
        stated: Mapping[str, Any],
        control: JobControl,
        limit: Scope = EVERYTHING,
    ) -> Document:
        """Read a file. What the library says of it comes from reports inside of
        ``limit``: its uploader sees no others.
        """
        loaded = self.load(source.path, cancel=control.cancel, on_page=control.reading)
        with request_cache():
            countries = self.documents.values("country_name", limit)
            titles = [record.title for record in self.documents.all(limit)]
        return make_document(
            source, loaded, overrides=stated, countries=countries, titles=titles
        )


@dataclass(frozen=True, slots=True)
class _Change:
    """What is registered, the overrides, the ingestor, and the digests of the file
    with what is stated about it and the settings, and of the file alone.
    """

    old: DocumentRecord | None
    stated: dict[str, Any]
    ingestor: Ingestor
    fingerprint: str
    content: str


def _content_of(source: Source) -> str:
    """Return the SHA-256 of a file. Raises LoadError."""
    with opened(source.path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _owner_after(old: DocumentRecord | None, uploader: str) -> str:
    """Return the owner of a report after an upload: a known report keeps its own."""
    if old is None or old.is_tombstone:
        return uploader
    return old.owner


def _is_complete(record: DocumentRecord) -> bool:
    return record.status == "ready" and not record.replacing
