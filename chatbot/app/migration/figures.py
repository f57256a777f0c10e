"""The table of figures for reports that an older release, or another program, has written: read from their passages."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ...database.repositories.corpus import CorpusFacts
from ...database.repositories.documents import DocumentRepository
from ...database.repositories.figures import FigureRepository
from ...domain import Chunk
from ...domain.errors import ConflictError
from ...domain.protocols import Store
from ...library.control import JobControl, lease

log = logging.getLogger(__name__)


def no_progress(reports: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class FigureDerivation:
    """Stores missing figures report by report, so that it continues where it was stopped or killed."""

    figures: FigureRepository
    documents: DocumentRepository
    leases: CorpusFacts
    store: Store

    def run(self, stopped: Callable[[], bool] = bool, progress: Callable[[int], None] = no_progress) -> int:
        """Return the number of reports whose figures were stored. ``progress`` gets the reports of each step.

        A report that a worker is writing is left to it; rows of older systems without a registered report are left
        out until `migrate` registers them. Raises DependencyError.
        """
        if missing := self.figures.missing(self.documents.all()):
            log.info("Reading the figures of %d reports.", len(missing))
        derived = 0
        for record in missing:
            if stopped():
                break
            with suppress(ConflictError), lease(self.leases, f"document:{record.id}", JobControl(), longest=0):
                derived += self._derive(record.id)
            progress(1)
        return derived

    def _derive(self, document_id: str) -> bool:
        record = self.documents.get(document_id)
        if record is None or not self.figures.missing([record]):
            return False
        stored, _ = self.store.stored(record.id)
        chunks = [chunk for chunk in stored if Chunk.version_of(chunk.id)[1] == record.version]
        if record.chunks and not chunks:
            return False
        self.figures.write(record.id, record.version, sorted(chunks, key=lambda chunk: (chunk.ordinal, chunk.id)))
        # Undone where the report was deleted or replaced meanwhile: sample reports take no such lease.
        current = self.documents.get(record.id)
        if current is None or record.version not in {current.version, current.replacing}:
            self.figures.remove(record.id, keep=[current.version, current.replacing] if current else ())
        return True
