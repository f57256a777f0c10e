"""The schema's version with its steps, and rows of an older system.

To change the schema, write a function over `Database` that may run twice, and add it to
`MIGRATIONS`. Rows of an older system can be read as they are; `Mender` stores them in
the present form.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..database import rows as forms
from ..database.changes import PASSAGES
from ..database.core import Database, Json, id_batches, rows_of
from ..database.repositories.corpus import CorpusFacts
from ..database.repositories.documents import DocumentRepository, OlderReports
from ..domain.errors import DatabaseError, SettingsError
from ..domain.scope import NO_VALUE
from ..library.control import JobControl, lease

OLD_LOGS = ("corpus", "catalog", "glossary", "figures")
"""The rows of `meta` that announced changes up to version 3."""
FIRST_VERSION = 1
"""The version of a database that has none stored."""


def name_the_slot(database: Database) -> None:
    """Since version 2 the stored embedder says which field holds its vectors."""
    database["meta"].update_one(
        {"_id": "embedder", "slot": {"$exists": False}}, {"$set": {"slot": ""}}
    )


def delete_removed_features(database: Database) -> None:
    """Since version 3 batches and callbacks are gone: their rows hold questions that no
    retention would delete.
    """
    for name in ("batches", "batch_items"):
        database[name].delete_many({})
    called = [
        row["_id"]
        for row in database["ingestions"].find(
            {"callback_url": {"$exists": True}}, {"_id": 1}
        )
    ]
    fields = dict.fromkeys(("callback_url", "call_at", "calls", "call"), "")
    database["ingestions"].update_each([(id, {"$unset": fields}) for id in called])


def take_over_the_logs(database: Database) -> None:
    """Since version 4 one document announces all changes, in place of four logs. Its
    position is above all of theirs.
    """
    rows = [database["meta"].find_one({"_id": name}) for name in OLD_LOGS]
    positions = [int(row["position"]) for row in rows if row is not None]
    if not positions:
        return
    database.changes.raise_to(sum(positions) + 1)
    database["meta"].delete_many({"_id": {"$in": list(OLD_LOGS)}})


Steps = Sequence[Callable[[Database], None]]
MIGRATIONS: Steps = (
    name_the_slot,
    delete_removed_features,
    take_over_the_logs,
)
"""The step to each later version. It may run twice: a process may die before it stores
the version.
"""


def newest(steps: Steps = MIGRATIONS) -> int:
    """Return the schema version that this program writes."""
    return FIRST_VERSION + len(steps)


def set_version(database: Database, version: int) -> None:
    """Store that all steps up to this version have run."""
    database["meta"].update_one(
        {"_id": "schema"}, {"$set": {"version": version}}, upsert=True
    )


def require_known(database: Database, steps: Steps = MIGRATIONS) -> int:
    """Return the schema version of a database. Raises SettingsError: a newer program
    wrote it.
    """
    schema = database["meta"].find_one({"_id": "schema"})
    version = int(schema["version"]) if schema else FIRST_VERSION
    if version > newest(steps):
        raise SettingsError(
            f"The database has schema version {version}, this program knows "
            f"versions up to {newest(steps)}. "
            "Update the program, or use another database (DATA_DIR, MONGODB_DB)."
        )
    return version


def migrate(database: Database, steps: Steps = MIGRATIONS) -> list[int]:
    """Bring the schema up to date, in one process at a time; return the versions whose
    steps ran here. Raises SettingsError: a newer program wrote the database.
    """
    if require_known(database, steps) == newest(steps):
        return []
    with lease(CorpusFacts(database), "migration", JobControl()):
        done = []
        for version, step in enumerate(steps, start=FIRST_VERSION + 1):
            if version > require_known(database, steps):
                step(database)
                set_version(database, version)
                done.append(version)
        return done


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
            if not self._dry_run and self._documents.get(record.id) is None:
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
