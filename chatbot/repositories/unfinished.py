"""Events of answers that are being written, kept so that any process can resume them.

Nothing here compares clocks of machines: who writes counts ``beat`` up, who listens counts ``heard`` up, and each looks
whether the other's number changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..database.core import Database, Json
from ..errors import NotFoundError
from .conversations import RUNNING, Begun, State, own_or_nobodys, question_id

SHOWN = {"conversation_id": 1, "state": 1, "beat": 1, "heard": 1, "stop": 1, "replaces": 1}


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An answer as others see it; ``state`` "" = it is complete."""

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
        """An answer, complete or not. Raises NotFoundError."""
        wanted = {"_id": message_id, "role": "assistant", "owner": own_or_nobodys(owner)}
        row = self._messages.find_one(wanted, SHOWN)
        if row is None:
            raise NotFoundError(f"There is no answer {message_id!r}.")
        return Unfinished.of(row)

    def keep(self, begun: Begun, first: int, events: Sequence[str]) -> None:
        """Store events of an answer; the first of them has the number ``first``."""
        number = first + len(events) - 1
        row = {"_id": f"{begun.message_id}-{first}", "message_id": begun.message_id, "number": number, "first": first}
        self._events.insert_one({**row, "conversation_id": begun.conversation_id, "events": list(events)})

    def events(self, message_id: str, after: int) -> list[tuple[int, str]]:
        """The stored events after the number ``after``, each with its number."""
        rows = self._events.find({"message_id": message_id, "number": {"$gt": after}}, sort=[("number", 1)])
        numbered = [pair for row in rows for pair in enumerate(row["events"], int(row["first"]))]
        return [(number, text) for number, text in numbered if number > after]

    def beat(self, message_ids: Collection[str]) -> dict[str, Unfinished]:
        """Say that these are being written; returns what others said of them. Those that are gone are not in it."""
        self._messages.update_each([(id, {"$inc": {"beat": 1}}) for id in message_ids])
        rows = self._messages.find({"_id": {"$in": sorted(message_ids)}}, SHOWN)
        return {row["_id"]: Unfinished.of(row) for row in rows}

    def listen(self, message_id: str) -> None:
        """Note that a client waits for the events of this answer."""
        self._messages.update_one({"_id": message_id, "state": RUNNING}, {"$inc": {"heard": 1}})

    def stop(self, message_id: str) -> None:
        """Have whoever writes it end; one that has ended stays as it is."""
        self._messages.update_one({"_id": message_id, "state": RUNNING}, {"$set": {"stop": True}})

    def end(self, message_id: str, state: State, text: str | None = None) -> None:
        """Note that an answer has ended; with ``state`` "" it was completed. ``text``: what there is of it, None = not
        known.

        An answer that was to take another's place leaves that one where it was, and goes.
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
            said = {} if text is None else {"content": text}
            self._messages.update_each(
                [(message_id, {"$set": {"state": state, **said}}), (both[1], {"$set": {"state": state}})]
            )
