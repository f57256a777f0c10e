"""Conversations and their messages, as they are asked and answered; what its owner sees of them is in `history`."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from ..database.core import BATCH, Database, Json
from ..errors import NotFoundError
from ..schema import Message
from ..schema.costs import Sums
from .usage import increments, read_sums


@dataclass(frozen=True, slots=True)
class Begun:
    """A question that is kept before its answer, and the id that the answer will have."""

    conversation_id: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Added:
    """What was stored of an exchange: the conversation, the last message, and the usage of the conversation in all."""

    conversation_id: str
    message_id: str
    sums: Sums


LONGEST_TITLE = 80


def title_of(text: str) -> str:
    """A title out of a text: on one line, of at most `LONGEST_TITLE` characters."""
    return " ".join(text.split())[:LONGEST_TITLE]


def visible(conversation_id: str, owner: str) -> Json:
    """The filter for a conversation that this owner may go on with."""
    return {"_id": conversation_id, "owner": own_or_nobodys(owner), "deleted_at": None}


def own_or_nobodys(owner: str) -> Json:
    """The condition on the field `owner`: this owner's, or nobody's, of which knowing the id is enough."""
    return {"$in": [None, *sorted({"", owner})]}  # None: rows from before there were owners


RUNNING: Literal["running"] = "running"
State = Literal["", "running", "stopped", "failed"]
"""The state of an answer and its question; "" = complete. Only what is complete is shown to a model later."""


def question_id(message_id: str) -> str:
    """The id of the question that an answer was begun to."""
    return f"{message_id}-question"


class ConversationRepository:
    """Collections `conversations` and `messages`. Ids are unguessable. Another ``owner``'s are as if not there.

    So are those that were deleted, which stay a while for whoever wants them back (`HistoryRepository`).
    """

    def __init__(self, database: Database) -> None:
        self._conversations = database["conversations"]
        self._messages = database["messages"]
        self._events = database["message_events"]
        self._feedback = database["feedback"]

    def ensure_indexes(self) -> None:
        """Idempotent."""
        self._conversations.create_index([("owner", 1), ("updated_at", -1)])
        self._conversations.create_index("share")
        self._messages.create_index([("conversation_id", 1), ("ordinal", 1)])
        self._messages.create_index([("owner", 1), ("role", 1)])
        self._events.create_index([("message_id", 1), ("number", 1)])
        self._events.create_index("conversation_id")

    def exists(self, conversation_id: str, owner: str = "") -> bool:
        """Whether this owner has such a conversation."""
        return self._conversations.find_one(visible(conversation_id, owner), {"_id": 1}) is not None

    def messages(self, conversation_id: str, owner: str = "", before: str | None = None) -> list[Message]:
        """What was said and answered, oldest first; ``before``: up to the question of this answer.

        Raises:
            NotFoundError: there is no such answer in it.
        """
        wanted: Json = {"conversation_id": conversation_id, "owner": own_or_nobodys(owner)}
        if before is not None:
            wanted["ordinal"] = {"$lt": self._ordinal(conversation_id, before) - 1}
        shown = {"role": 1, "content": 1, "state": 1}
        found = self._messages.find(wanted, shown, sort=[("ordinal", 1)])
        return [Message(row["role"], row["content"]) for row in found if not row.get("state")]

    def begin(self, conversation_id: str | None, asked: Json, owner: str, replaces: str | None = None) -> Begun:
        """Keep a question before it is answered; `add` keeps both once more, complete. None begins a conversation.

        ``replaces``: the answer whose place the new one will take (`cut`).

        Raises:
            NotFoundError: there is no such conversation.
        """
        message_id = uuid.uuid4().hex
        updated = self._grown(conversation_id, asked, {"messages": 2}, owner)
        kept = {"conversation_id": updated["_id"], "owner": updated.get("owner", ""), "created_at": now()}
        kept |= {"state": RUNNING, "replaces": replaces}
        last = int(updated["messages"])
        answer = {"_id": message_id, "role": "assistant", "content": "", "ordinal": last, "beat": 0}
        self._messages.replace_many(
            [{**kept, "_id": question_id(message_id), "ordinal": last - 1, **asked}, {**kept, **answer}]
        )
        return Begun(updated["_id"], message_id)

    def cut(self, conversation_id: str, at: str, *, keep: str | None = None) -> None:
        """Remove an answer, its question and what came after, but for the answer ``keep``.

        Raises:
            NotFoundError: there is no such answer in it.
        """
        wanted: Json = {"conversation_id": conversation_id}
        wanted["ordinal"] = {"$gte": self._ordinal(conversation_id, at) - 1}
        if keep is not None:
            wanted["_id"] = {"$nin": [keep, question_id(keep)]}
        self._messages.delete_many(wanted)

    def _ordinal(self, conversation_id: str, message_id: str) -> int:
        wanted = {"_id": message_id, "conversation_id": conversation_id, "role": "assistant"}
        row = self._messages.find_one(wanted, {"ordinal": 1})
        if row is None:
            raise NotFoundError(f"There is no answer {message_id!r} in this conversation.")
        return int(row["ordinal"])

    def _grown(self, conversation_id: str | None, first: Json, counters: Json, owner: str) -> Json:
        began = now()
        update: Json = {"$inc": counters, "$set": {"updated_at": began}}
        if conversation_id is None:
            wanted: Json = {"_id": uuid.uuid4().hex}
            update["$set"] |= {"title": title_of(first["content"]), "created_at": began, "owner": owner}
        else:
            wanted = visible(conversation_id, owner)
        updated = self._conversations.find_one_and_update(wanted, update, upsert=conversation_id is None)
        if updated is None:
            raise NotFoundError(f"There is no conversation {conversation_id!r} any more.")
        return updated

    def add(
        self,
        conversation_id: str | None,
        said: Sequence[Json],
        sums: Sums = Sums(),  # noqa: B008  # frozen and zero
        owner: str = "",
        message_id: str | None = None,
    ) -> Added:
        """Append messages, and what they took to what the conversation has taken, atomically.

        Of each its ``role`` and ``content``, and whatever is kept with it (scope, citations, trace). None begins a
        conversation; its title is the first message, cut at 80 characters. ``message_id``: of an answer that was
        begun, whose place the messages take.

        Raises:
            NotFoundError: it was removed meanwhile; nothing is kept.
        """
        begun = None if message_id is None or conversation_id is None else self._ordinal(conversation_id, message_id)
        counters = increments(sums) if begun else {"messages": len(said), **increments(sums)}
        updated = self._grown(conversation_id, said[0], counters, owner)
        first = (begun or int(updated["messages"])) - len(said) + 1
        answer = message_id or uuid.uuid4().hex
        ids = [*(uuid.uuid4().hex for _ in said[:-1]), answer] if begun is None else [question_id(answer), answer]
        kept = {"conversation_id": updated["_id"], "owner": updated.get("owner", ""), "created_at": now()}
        rows = [{"_id": ids[n], "ordinal": first + n, **kept, **message} for n, message in enumerate(said)]
        rows[-1]["conversation_usage"] = read_sums(updated).to_json()
        self._messages.replace_many(rows)
        return Added(updated["_id"], answer, read_sums(updated))

    def owners(self) -> dict[str, int]:
        """How many conversations each has; "" = nobody."""
        return dict(Counter(row.get("owner", "") for row in self._conversations.find({}, {"owner": 1})))

    def delete(self, *, owner: str | None = None, before: str = "", deleted_before: str = "") -> int:
        """Remove those of an owner (None = of all) for good; returns how many.

        With ``before`` those last written to before, with ``deleted_before`` those that were deleted before.
        """
        wanted: Json = {} if owner is None else {"owner": owner} if owner else {"owner": own_or_nobodys("")}
        wanted |= {"updated_at": {"$lt": before}} if before else {}
        wanted |= {"deleted_at": {"$lt": deleted_before}} if deleted_before else {}
        ids = [row["_id"] for row in self._conversations.find(wanted, {"_id": 1})]
        for start in range(0, len(ids), BATCH):
            batch = {"$in": ids[start : start + BATCH]}
            # Messages first, so that a kill leaves none that nobody knows of; and those that came meanwhile.
            for collection in (self._events, self._feedback, self._messages):
                collection.delete_many({"conversation_id": batch})
            self._conversations.delete_many({"_id": batch})
            for collection in (self._events, self._feedback, self._messages):
                collection.delete_many({"conversation_id": batch})
        return len(ids)

    def book(self, conversation_id: str, sums: Sums) -> None:
        """Add to what the conversation has taken, atomically; nothing where it is gone."""
        self._conversations.update_one({"_id": conversation_id}, {"$inc": increments(sums)})


def now() -> str:
    """To the millisecond, as text that sorts."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
