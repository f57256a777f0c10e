"""Changing what is said of a report, without its file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import InvalidRequestError, NotFoundError
from ..protocols import Store
from ..schema import Chunk, DocumentRecord, Value
from .leases import Leases, held
from .overrides import METADATA
from .versions import Registrations, VersionWriter
from .watch import Watch

LONGEST_WAIT = 3.0
"""Seconds that a request waits for another edit; a report that is being read takes longer."""


class Editor:
    """Rewrites the passages of a report with another title or metadata; vectors are kept where the text is."""

    def __init__(self, *, store: Store, writer: VersionWriter, documents: Registrations, leases: Leases) -> None:
        self._store = store
        self._writer = writer
        self._documents = documents
        self._leases = leases

    def edit(self, document_id: str, said: Mapping[str, Any]) -> DocumentRecord:
        """``said``: checked overrides (`check_overrides`), kept with the report.

        Raises:
            NotFoundError: no such report.
            ConflictError: it is being read or edited by somebody else.
            InvalidRequestError: it is not ready to be edited.
            DependencyError: what was shown before is shown still.
        """
        with held(self._leases, f"document:{document_id}", Watch(), longest=LONGEST_WAIT) as watch:
            known = self._documents.get(document_id)
            if known is None:
                raise NotFoundError(f"There is no report {document_id!r}.")
            if known.status != "ready" or not known.version:
                raise InvalidRequestError.for_field(
                    "document_id", f"this report cannot be edited: it is {known.status}."
                )
            edited = _described(known, said)
            if edited != known:
                self._rewrite(known, edited, watch)
            return edited

    def _rewrite(self, known: DocumentRecord, edited: DocumentRecord, watch: Watch) -> None:
        stored, _ = self._store.stored(known.id)
        chunks = sorted(
            (_rewritten(chunk, known, edited) for chunk in stored if Chunk.version_of(chunk.id)[1] == known.version),
            key=lambda chunk: chunk.ordinal,
        )
        self._writer.write(edited, known, chunks, watch)


def _described(known: DocumentRecord, said: Mapping[str, Any]) -> DocumentRecord:
    metadata: dict[str, Value] = {**known.metadata, **{name: said[name] for name in METADATA if name in said}}
    metadata = {name: value for name, value in metadata.items() if value is not None}
    title = said.get("title", known.title)
    labels = tuple(said["labels"] or ()) if "labels" in said else known.labels
    description = (said["description"] or "") if "description" in said else known.description
    edited = replace(known, title=title, name=title, metadata=metadata, labels=labels, description=description)
    if edited == known:
        return known
    # The passages get a version of their own: questions see all of the old ones or all of these.
    parts = [known.version, title, sorted(metadata.items()), labels, description]
    version = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
    overrides = {**known.overrides, **said}
    return replace(edited, version=version, overrides=overrides, fingerprint="", replacing="")


def _rewritten(chunk: Chunk, known: DocumentRecord, edited: DocumentRecord) -> Chunk:
    """A table's row keeps what it has of its own."""
    own = {name: value for name, value in chunk.metadata.items() if known.metadata.get(name) != value}
    return replace(
        chunk,
        id=Chunk.make_id(chunk.document_id, edited.version, chunk.ordinal),
        document_name=edited.name,
        title=edited.title,
        metadata={**edited.metadata, **own},
        labels=edited.labels,
        description=edited.description,
    )
