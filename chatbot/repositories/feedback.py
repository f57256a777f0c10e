"""What people think of answers, kept beside the question, its scope and the passages; and the questions without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..database.core import Database, Json
from ..errors import NotFoundError
from ..schema import Value
from .conversations import now, own_or_nobodys, visible

Rating = Literal["up", "down"]
Reason = Literal["not_true", "wrong_source", "incomplete", "not_asked", "other"]
"""Why an answer is no good: not what the reports say, a passage of another thing, a part, another question's, else."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it was asked, and what its answer rests on. ``at``: ISO (UTC); ``filters``: as `Scope.to_json`."""

    message_id: str
    at: str
    question: str
    filters: dict[str, Any]
    collections: tuple[str, ...]
    mode: str
    answered: bool
    chunk_ids: tuple[str, ...]

    def values(self, field: str) -> list[Value]:
        """The values chosen for a filter field; none where it is a range."""
        chosen = self.filters.get(field)
        return [] if chosen is None or isinstance(chosen, dict) else chosen if isinstance(chosen, list) else [chosen]


@dataclass(frozen=True, slots=True)
class Feedback:
    """What somebody thinks of an answer. ``reason`` and ``comment`` may be ""."""

    rating: Rating
    reason: Reason | Literal[""]
    comment: str
    asked: Asked

    def to_json(self) -> Json:
        """The feedback as the page shows it."""
        return {"rating": self.rating, "reason": self.reason or None, "comment": self.comment}


class FeedbackRepository:
    """Collection `feedback`, a row for each answer, which goes with its conversation."""

    def __init__(self, database: Database) -> None:
        self._feedback = database["feedback"]
        self._messages = database["messages"]
        self._conversations = database["conversations"]

    def ensure_indexes(self) -> None:
        """Idempotent."""
        self._feedback.create_index([("rating", 1), ("rated_at", -1)])
        self._feedback.create_index("conversation_id")
        self._messages.create_index([("answered", 1), ("created_at", -1)])

    def put(self, message_id: str, owner: str, rating: Rating, reason: str = "", comment: str = "") -> Feedback:
        """Store this owner's feedback, in place of an earlier one.

        Raises NotFoundError: no such answer, or another's.
        """
        row, question = self._found(message_id, owner)
        kept = {
            "_id": message_id,
            "conversation_id": row["conversation_id"],
            "owner": row.get("owner", ""),
            "rated_at": now(),
            "rating": rating,
            "reason": reason,
            "comment": comment,
            **_asked_json(row, question),
        }
        self._feedback.replace_many([kept])
        return _feedback(kept)

    def remove(self, message_id: str, owner: str) -> None:
        """Raises NotFoundError: no such answer, or another's."""
        self._found(message_id, owner)
        self._feedback.delete_many({"_id": message_id})

    def of(self, message_ids: Sequence[str]) -> dict[str, Feedback]:
        """The feedback on these answers, by message id; an answer without any is left out."""
        rows = self._feedback.find({"_id": {"$in": list(message_ids)}}) if message_ids else []
        return {row["_id"]: _feedback(row) for row in rows}

    def latest(self, rating: Rating | None = None, limit: int = 0, owner: str | None = None) -> Iterator[Feedback]:
        """The newest first; 0 = all, of this ``owner`` or of everybody."""
        wanted: Json = {} if rating is None else {"rating": rating}
        wanted |= {} if owner is None else {"owner": owner}
        return map(_feedback, self._feedback.find(wanted, sort=[("rated_at", -1)], limit=limit))

    def unanswered(self, limit: int, owner: str | None = None) -> list[Asked]:
        """The latest questions that the reports did not answer, of this ``owner`` or of everybody.

        Not those of conversations that were deleted.
        """
        wanted: Json = {"answered": False, **({} if owner is None else {"owner": owner})}
        rows = list(self._messages.find(wanted, sort=[("created_at", -1)], limit=limit))
        ids = sorted({row["conversation_id"] for row in rows})
        there = {row["_id"] for row in self._conversations.find({"_id": {"$in": ids}, "deleted_at": None}, {"_id": 1})}
        return list(self._with_questions(row for row in rows if row["conversation_id"] in there))

    def _with_questions(self, rows: Iterable[Json]) -> Iterator[Asked]:
        for row in rows:
            if (question := self._question(row)) is not None:
                yield _asked({"_id": row["_id"], "rated_at": row["created_at"], **_asked_json(row, question)})

    def _found(self, message_id: str, owner: str) -> tuple[Json, Json]:
        wanted: Json = {"_id": message_id, "role": "assistant", "owner": own_or_nobodys(owner)}
        row = self._messages.find_one(wanted)
        question = self._question(row) if row is not None and not row.get("state") else None
        if row is None or question is None or not self._conversations.find_one(visible(row["conversation_id"], owner)):
            raise NotFoundError("There is no such answer.")
        return row, question

    def _question(self, row: Json) -> Json | None:
        return self._messages.find_one({"conversation_id": row["conversation_id"], "ordinal": row["ordinal"] - 1})


def _asked_json(row: Json, question: Json) -> Json:
    return {
        "question": question["content"],
        "scope": question.get("scope", {}),
        "collections": question.get("collections", []),
        "mode": question.get("preset") or question.get("mode") or "",
        "answered": bool(row.get("answered", True)),
        "chunk_ids": [citation["chunk_id"] for citation in row.get("citations", [])],
    }


def _asked(row: Json) -> Asked:
    scope, collections, chunk_ids = dict(row["scope"]), tuple(row["collections"]), tuple(row["chunk_ids"])
    about = (row["question"], scope, collections, row["mode"], row["answered"], chunk_ids)
    return Asked(row["_id"], row["rated_at"], *about)


def _feedback(row: Json) -> Feedback:
    return Feedback(row["rating"], row["reason"], row["comment"], _asked(row))
