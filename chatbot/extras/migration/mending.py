"""Rows of an older system. The program reads them as they are; `Mender` stores them in
the present form.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...database import rows as forms
from ...database.changes import PASSAGES
from ...database.core import Database, Json, id_batches, rows_of
from ...database.repositories.documents import DocumentRepository, OlderReports
from ...domain.errors import DatabaseError
from ...domain.scope import NO_VALUE

Report = Callable[[int], None]


@dataclass(slots=True)
class Mended:
    """Numbers of rows by what was mended in them, and of reports that were
    registered.
    """

    years: int = 0
    vectors: int = 0
    unregistered: int = 0
    reports: int = 0
    valueless: int = 0

    def __bool__(self) -> bool:
        return any(asdict(self).values())


class Mender:
    """Writes nothing with ``dry_run``. Repeatable: mended rows are left alone."""

    def __init__(
        self,
        database: Database,
        collections: Sequence[str],
        fields: Sequence[str],
        *,
        dry_run: bool,
    ) -> None:
        self._database = database
        self._collections = [database[name] for name in dict.fromkeys(collections)]
        self._older = OlderReports(
            database, collections=collections, filter_fields=fields
        )
        self._documents = DocumentRepository(database, fields)
        self._fields = tuple(fields)
        self._dry_run = dry_run
        self._mended = Mended()

    def total(self) -> int:
        return sum(collection.count({}) for collection in self._collections)

    def run(self, report: Report) -> Mended:
        """``report`` gets the number of rows of each step."""
        # Registered first: from then on rows belong to their report whether they name
        # it or not.
        for record in self._older.read().values():
            self._mended.reports += 1
            if not self._dry_run and self._documents.registered(record.id) is None:
                self._documents.put(record)
        for collection in self._collections:
            for ids in id_batches(collection):
                rows = rows_of(collection, ids, None, {forms.TEXT_FIELD: 0})
                updates = [
                    (row["_id"], {"$set": fields})
                    for row in rows
                    if (fields := self._changes(row))
                ]
                if updates and not self._dry_run:
                    changed = {forms.document_id_of(row) for row in rows}
                    with self._database.changes.of(
                        changed, PASSAGES, in_place=True
                    ) as change:
                        change[collection.name].update_each(updates)
                report(len(ids))
        if not self._dry_run:
            self._count_passages()
            # Others may have changed rows, too.
            self._database.changes.announce(None, PASSAGES, in_place=True)
        return self._mended

    def _count_passages(self) -> None:
        """Store the number of passages of each report of an older system: a run that
        was interrupted counted only some of the rows.
        """
        for record in self._documents.all():
            if not record.id.startswith(forms.OLDER_PREFIX):
                continue
            chunks = sum(
                collection.count({"document_id": record.id})
                for collection in self._collections
            )
            if chunks != record.chunks:
                self._documents.put(replace(record, chunks=chunks))

    def _changes(self, row: Mapping[str, Any]) -> Json:
        """Return the fields of a row that have to be set, with their values."""
        fields: Json = {
            name: NO_VALUE for name in self._fields if row.get(name) is None
        }
        self._mended.valueless += bool(fields)
        year = forms.filter_value("year", row.get("year"))
        if isinstance(year, int) and year != row["year"]:
            fields["year"] = year
            self._mended.years += 1
        for name in (forms.embedding_field(slot) for slot in forms.SLOTS):
            with suppress(DatabaseError):  # the doctor counts what is no vector
                if isinstance(row.get(name), (list, tuple)):
                    fields[name] = self._database.encode_vector(
                        forms.decode_vector(row[name])
                    )
                    self._mended.vectors += 1
        if not isinstance(row.get("document_id"), str) or not row["document_id"]:
            fields["document_id"] = forms.document_id_of(row)
            self._mended.unregistered += 1
        return fields
