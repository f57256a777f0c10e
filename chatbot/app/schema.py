"""The schema's version with its steps.

To change the schema, write a function over `Database` that may run twice, and add it to
`MIGRATIONS`.
"""

from collections.abc import Callable, Sequence

from ..database.core import Database
from ..database.repositories.corpus import CorpusFacts
from ..domain.errors import SettingsError
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
