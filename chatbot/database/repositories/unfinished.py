"""Events of answers that are being written, stored so that any process can resume them.

No clocks of machines are compared: the writer increments ``beat``, a listener ``heard``, and each observes whether the
other's number changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...domain.errors import NotFoundError
from ..core import Database, Json
from .conversations import RUNNING, Begun, State, own_or_nobodys, question_id

SHOWN = {"conversation_id": 1, "state": 1, "beat": 1, "heard": 1, "stop": 1, "replaces": 1}


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An answer as other processes see it; ``state`` "" = complete."""

    conversation_id: str
    state: State
    beat: int
    heard: int
    stop: bool

    @classmethod
    def of(cls, row: Json) -> Unfinished:
        """Read it from a message's row."""
        beat, heard = int(row.get("beat", 0)), int(row.get("heard", 0))
        return cls(row["conversation_id"], row.get("state", ""), beat, heard, bool(row.get("stop")))


class UnfinishedRepository:
    """Rows of `messages` with a ``state``; their events are in `message_events`, numbered from 1."""

    def __init__(self, database: Database) -> None:
        self._messages = database["messages"]
        self._events = database["message_events"]

    def find(self, message_id: str, owner: str) -> Unfinished:
        """Return an answer, complete or not. Raises NotFoundError."""
        mine = {"_id": message_id, "role": "assistant", "owner": own_or_nobodys(owner)}
        row = self._messages.find_one(mine, SHOWN)
        if row is None:
            raise NotFoundError(f"There is no answer {message_id!r}.")
        return Unfinished.of(row)

    def keep(self, begun: Begun, first: int, events: Sequence[str]) -> None:
        """Store events of an answer, numbered from ``first``."""
        number = first + len(events) - 1
        row = {"_id": f"{begun.message_id}-{first}", "message_id": begun.message_id, "number": number, "first": first}
        self._events.insert_one({**row, "conversation_id": begun.conversation_id, "events": list(events)})

    def events(self, message_id: str, after: int) -> list[tuple[int, str]]:
        """Return the stored events after the number ``after``, each with its number."""
        rows = self._events.find({"message_id": message_id, "number": {"$gt": after}}, sort=[("number", 1)])
        numbered = [pair for row in rows for pair in enumerate(row["events"], int(row["first"]))]
        return [(number, text) for number, text in numbered if number > after]

    def beat(self, message_ids: Collection[str]) -> dict[str, Unfinished]:
        """Note that these answers are being written; return them as others see them, without deleted ones."""
        self._messages.update_each([(id, {"$inc": {"beat": 1}}) for id in message_ids])
        rows = self._messages.find({"_id": {"$in": sorted(message_ids)}}, SHOWN)
        return {row["_id"]: Unfinished.of(row) for row in rows}

    def listen(self, message_id: str) -> None:
        """Note that a client waits for the events of this answer."""
        self._messages.update_one({"_id": message_id, "state": RUNNING}, {"$inc": {"heard": 1}})

    def stop(self, message_id: str) -> None:
        """Ask the process that writes an answer to end it."""
        self._messages.update_one({"_id": message_id, "state": RUNNING}, {"$set": {"stop": True}})

    def end(self, message_id: str, state: State, text: str | None = None) -> None:
        """Note that an answer has ended; ``state`` "" = it is complete. ``text``: the part written, None = unknown.

        If it was to replace another answer, that one stays and this one is deleted.
        """
        self._events.delete_many({"message_id": message_id})
        if not state:
            return
        both = [message_id, question_id(message_id)]
        row = self._messages.find_one({"_id": message_id, "state": RUNNING}, SHOWN)
        replaced = row and row.get("replaces")
        if replaced and self._messages.find_one({"_id": replaced}, {"_id": 1}) is not None:
            self._messages.delete_many({"_id": {"$in": both}, "state": RUNNING})
        elif row is not None:
            partial = {} if text is None else {"content": text}
            self._messages.update_each(
                [(message_id, {"$set": {"state": state, **partial}}), (both[1], {"$set": {"state": state}})]
            )
