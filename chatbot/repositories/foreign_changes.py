"""What other programs change in the passages, in place: from the server's change stream into the change log.

Our own writes are logged when they are made, and the number of rows betrays what others insert or delete; of a row
that is changed in place only the server tells. Once it is in the log, every process reads the row again, and no answer
from before is given again. Every process that serves follows the stream; that a change is logged twice does no harm.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..database.core import NO_CHANGE_STREAMS, TOKEN_LOST, ChangeStream, CommandError, Database, Json
from ..database.rows import NAMING, document_id_of
from ..errors import DatabaseError
from .corpus import CorpusChanges

log = logging.getLogger(__name__)
STATE = "change_stream"
BATCH = 1_000
IDLE_SECONDS, RETRY_SECONDS, KEEP_SECONDS = 0.4, 5.0, 60.0
"""Between two looks at a stream that has nothing, after a failure, and until the place in it is noted again."""


class ForeignChanges:
    """Follows one database's stream. The place in it is kept: what changes while nobody serves is noticed then."""

    def __init__(self, database: Database, collections: Sequence[str]) -> None:
        self._database = database
        self._collections = list(dict.fromkeys(collections))
        self._changes = CorpusChanges(database)
        self._meta = database["meta"]

    def supported(self) -> bool:
        """Whether the server has change streams. Raises DatabaseError."""
        try:
            with self._database.watch(self._collections):
                return True
        except CommandError as error:
            if error.server_code == NO_CHANGE_STREAMS:
                return False
            raise

    def follow(self, stop: threading.Event) -> None:
        """Follow the changes until ``stop`` is set; ends at once where there is nothing to follow."""
        pause, said, lost = 0.0, "", False
        while not stop.wait(pause):
            pause = IDLE_SECONDS
            try:
                self._read(stop, anew=lost)
            except CommandError as error:
                if error.server_code not in TOKEN_LOST:
                    log.warning("Changes in place by other programs are not seen: %s", error.server_message)
                    return
                lost = True
            except DatabaseError as error:
                # A thread has nobody to raise to: questions and /ready say the same.
                if error.message != said:
                    log.warning("Changes by other programs are not seen for now: %s", error.message)
                pause, said, lost = RETRY_SECONDS, error.message, False

    def _read(self, stop: threading.Event, *, anew: bool) -> None:
        known = None if anew else self._meta.find_one({"_id": STATE})
        with self._database.watch(self._collections, known["token"] if known else None) as stream:
            if known is None:
                self._changes.record_everything()  # what changed before is unknown
            self._keep(stream)
            kept = time.monotonic()
            while stream.alive and not stop.is_set():
                events = _batch(stream)
                self._record(events)
                if events or time.monotonic() - kept > KEEP_SECONDS:
                    self._keep(stream)
                    kept = time.monotonic()
                if not events:
                    stop.wait(IDLE_SECONDS)

    def _record(self, events: Iterable[Json]) -> None:
        rows = defaultdict(list)
        for event in events:
            rows[event["ns"]["coll"]].append(event["documentKey"]["_id"])
        changed = {
            document_id_of(row)
            for name, ids in rows.items()
            for row in self._database[name].find({"_id": {"$in": ids}}, NAMING)
        }
        if changed:
            self._changes.record(changed, in_place=True)

    def _keep(self, stream: ChangeStream) -> None:
        if stream.resume_token is not None:
            self._meta.replace_many([{"_id": STATE, "token": stream.resume_token}])


def _batch(stream: ChangeStream) -> list[Json]:
    found: list[Json] = []
    while len(found) < BATCH and (event := stream.try_next()) is not None:
        found.append(event)
    return found
