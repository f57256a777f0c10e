"""The library as one caller sees it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...answering.tools.read import ReadTool
from ...database.reader import Reader, narrowed
from ...database.repositories.documents import is_inside
from ...domain import Chunk, DocumentRecord
from ...domain.callers import Caller
from ...domain.errors import (
    ForbiddenError,
    NotFoundError,
)
from ...domain.scope import Values
from ...library.pipeline import passages
from ...search.scope import ScopeResolver
from . import Services
from .activity import Activity
from .searching import SearchServices


@dataclass(frozen=True, slots=True)
class Library:
    """Looks up reports and passages for ``who``, and says what they may change."""

    services: Services
    who: Caller

    @property
    def reader(self) -> Reader:
        """What the caller may see: the only way to reports and passages."""
        return self.services.reader(self.who.limit)

    def activity(self, owner: str | None) -> Activity:
        """Return what the caller sees of what this owner does; None = everybody."""
        return Activity(self.services.storage, self.who.limit, owner)

    @property
    def search(self) -> SearchServices:
        """Searches and answers within what the caller may see."""
        return self.services.searches.within(self.who.limit)

    @property
    def scopes(self) -> ScopeResolver:
        """Turns what the caller names into a scope inside of their limit."""
        return self.services.storage.scopes.inside(self.who.limit)

    def record(self, document_id: str) -> DocumentRecord:
        """Return a report with its parts that the caller may see. Raises
        NotFoundError.
        """
        record = self.reader.documents.get(document_id)
        if record is None:
            raise NotFoundError(f"There is no report {document_id[:64]!r}.")
        return record

    def original(self, record: DocumentRecord) -> tuple[str, Iterator[bytes]]:
        """Return the name and the content of a report's original. Raises NotFoundError:
        it is not kept, or parts of it are outside of what the caller may see.
        """
        if record.part_of:
            raise NotFoundError(
                f"This key sees only some parts of {record.title!r}, so it does not "
                "get the original. Read its passages, or use a key that sees all of it."
            )
        return self.services.ingesting.originals.open(record)

    def original_name(self, record: DocumentRecord) -> str:
        """Return the name of the original, "" if the caller does not get it."""
        if record.part_of:
            return ""
        return self.services.ingesting.originals.file_name(record)

    def can_reingest(self, record: DocumentRecord) -> bool:
        """Return whether the original can be read again for the caller."""
        if record.part_of:
            return False
        return self.services.ingesting.originals.job_file(record) is not None

    def own_record(self, document_id: str) -> DocumentRecord:
        """Return a report that the caller may change. Raises NotFoundError,
        ForbiddenError.
        """
        record = self.record(document_id)
        self.services.storage.require_writable()
        if record.part_of:
            raise ForbiddenError(
                "This key sees some parts of this report only. Change it with a key "
                "that sees all of it."
            )
        if not self.may_change(record):
            raise ForbiddenError(
                "Only the person who added this report, or an administrator, may "
                "change it."
            )
        return record

    def deleted(self, q: str = "") -> list[DocumentRecord]:
        """Return the reports in the bin that the caller may restore and whose title or
        source has this text, the newest first.
        """
        text = q.casefold()
        return [
            record
            for record in self.services.storage.documents.hidden()
            if record.status == "deleted"
            and text in f"{record.title}\0{record.source}".casefold()
            and self.may_change(record)
        ]

    def own_deleted(self, document_id: str) -> DocumentRecord | None:
        """Return a report in the bin that the caller may restore, None if there is
        none.
        """
        self.services.storage.require_writable()
        record = self.services.storage.documents.registered(document_id)
        if record is None or record.status != "deleted" or not self.may_change(record):
            return None
        return record

    def may_change(self, record: DocumentRecord) -> bool:
        """Return whether the caller sees all of this report, and added it or is an
        administrator (as all with open access).
        """
        inside = narrowed(record, self.who.limit)
        if inside is None or inside.part_of:
            return False
        is_own = (
            self.who.may("write")
            and bool(self.who.owner)
            and record.owner == self.who.owner
        )
        return is_own or self.who.may("admin")

    def shows(self, record: DocumentRecord) -> bool:
        """Return whether the caller sees some part of the report."""
        return is_inside(record, self.who.limit)

    def inside_limit(
        self, about: dict[str, Any], *, new: bool = False
    ) -> dict[str, Any]:
        """Return the metadata that was sent for a report. Of a ``new`` report, add the
        fields for which the caller's limit allows one value only. Raises
        ForbiddenError: the report would be outside of that limit.
        """
        limit = self.who.limit
        conditions = dict(limit.conditions)
        if limit.collections:
            conditions["collection"] = Values(limit.collections)
        for field, condition in conditions.items():
            values = condition.values if isinstance(condition, Values) else ()
            if new and field not in about and len(values) == 1:
                about = {**about, field: values[0]}
            if not new and field not in about:
                continue
            if condition.matches(about.get(field)):
                continue
            valid = ", ".join(str(value) for value in values)
            raise ForbiddenError(
                f"This key is limited to {field} {valid or condition.to_json()}. State "
                f"that {field} for the report."
            )
        return about

    @property
    def read(self) -> ReadTool:
        """Reads passages and figures that the caller may see."""
        return ReadTool(self.reader.passages, self.reader.figures)

    def passages(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return the passages that exist and that the caller may see, in the order of
        the ids.
        """
        return self.reader.passages.get(chunk_ids)

    def page_of(self, record: DocumentRecord, offset: int, limit: int) -> list[Chunk]:
        """Return passages of a report that the caller may see, in reading order, the
        summary last.
        """
        return passages(self.reader.passages, record, offset=offset, limit=limit)
