"""The glossary's entries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

from pydantic import TypeAdapter

from ...domain.figures import GlossaryEntry
from ..core import Database
from .corpus import GLOSSARY, CorpusChanges

_ENTRY = TypeAdapter(GlossaryEntry)


class GlossaryRepository:
    """Collection `glossary`, kept in memory until any process writes it. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._rows = database["glossary"]
        self._log = CorpusChanges(database, GLOSSARY)
        self._state: tuple[int, Sequence[GlossaryEntry]] = (-1, ())

    def entries(self) -> Sequence[GlossaryEntry]:
        """Return all entries by term: the same object until the next write."""
        # The position before the rows: what is written meanwhile is read the next time.
        position = self._log.position()
        if self._state[0] != position:
            entries = (_ENTRY.validate_python(row) for row in self._rows.find())
            self._state = position, tuple(sorted(entries, key=lambda e: (e.term.casefold(), e.heading, e.label)))
        return self._state[1]

    def put(self, source: str, entries: Iterable[GlossaryEntry], *, replace_all: bool = False) -> None:
        """Add entries of a source; one with the same term, heading and label is replaced.

        ``replace_all``: its other entries are removed.
        """
        new = {_id(entry): entry for entry in (replace(entry, source=source) for entry in entries)}
        old = {_id(entry): entry for entry in self.entries() if entry.source == source}
        changed = [id for id, entry in new.items() if old.get(id) != entry]
        surplus = [id for id in old if id not in new] if replace_all else []
        self._rows.replace_many([{"_id": id, **asdict(new[id])} for id in changed])
        self._rows.delete_many({"_id": {"$in": surplus}})
        if changed or surplus:
            self._log.record(())

    def clear(self) -> int:
        """Remove all entries and return how many there were."""
        removed = self._rows.delete_many({})
        self._log.record(())
        return removed


def _id(entry: GlossaryEntry) -> str:
    parts = (entry.source, entry.heading, entry.label, entry.term.casefold())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
