"""The version of what is stored, and the steps from one to the next.

To change the schema: a function over `Database` that may run twice, and a line in `MIGRATIONS`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from ..database import Database
from ..errors import SettingsError
from ..repositories.changes import CorpusFacts

FIRST_VERSION = 1
"""What a database without a version has."""
LEASE = "migration"
LEASE_SECONDS = 60.0
WAIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Migration:
    """A step to ``version``. ``run`` is idempotent: a process may die between it and the note that it ran."""

    version: int
    name: str
    run: Callable[[Database], None]


def name_the_slot(database: Database) -> None:
    """Since version 2 the stored embedder says which field holds its vectors."""
    database["meta"].update_one({"_id": "embedder", "slot": {"$exists": False}}, {"$set": {"slot": ""}})


MIGRATIONS = (Migration(2, "the stored embedder names its slot", name_the_slot),)


def newest(migrations: tuple[Migration, ...] = MIGRATIONS) -> int:
    return migrations[-1].version


def stored_version(database: Database) -> int:
    found = database["meta"].find_one({"_id": "schema"})
    return int(found["version"]) if found else FIRST_VERSION


def set_version(database: Database, version: int) -> None:
    database["meta"].update_one({"_id": "schema"}, {"$set": {"version": version}}, upsert=True)


def require_known(database: Database, migrations: tuple[Migration, ...] = MIGRATIONS) -> int:
    """The stored version.

    Raises:
        SettingsError: a newer program wrote it.
    """
    version = stored_version(database)
    if version > newest(migrations):
        raise SettingsError(
            f"The database has schema version {version}, this program knows versions up to {newest(migrations)}. "
            "Update the program, or use another database (DATA_DIR, MONGODB_DB)."
        )
    return version


def migrate(
    database: Database,
    migrations: tuple[Migration, ...] = MIGRATIONS,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> list[str]:
    """Bring the schema up to date, in one process at a time; returns the names of the steps that ran here.

    Raises:
        SettingsError: a newer program wrote the database.
    """
    if require_known(database, migrations) == newest(migrations):
        return []
    facts, owner = CorpusFacts(database), uuid.uuid4().hex
    while not facts.acquire_lease(LEASE, owner, LEASE_SECONDS):
        sleep(WAIT_SECONDS)
    try:
        done = []
        for step in migrations:
            if step.version > require_known(database, migrations):
                step.run(database)
                set_version(database, step.version)
                done.append(step.name)
        return done
    finally:
        facts.release_lease(LEASE, owner)
