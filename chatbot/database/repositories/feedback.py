"""Feedback on answers, stored with the question, its scope and the passages; and questions without an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import PlainSerializer, TypeAdapter

from ...domain import Value
from ...domain.errors import NotFoundError
from ...domain.json import Inlines
from ..core import Database, Json
from .conversations import now, own_or_nobodys, visible

Rating = Literal["up", "down"]
Reason = Literal["not_true", "wrong_source", "incomplete", "not_asked", "other"]
"""Why an answer is bad. ``not_true``: the reports say something else; ``not_asked``: it answers another question."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the passages of its answer. ``at``: ISO (UTC); ``filters``: as `Scope.to_json`."""

    message_id: str
    at: str
    question: str
    filters: dict[str, Any]
    collections: tuple[str, ...]
    mode: str
    answered: bool
    chunk_ids: tuple[str, ...]

    def values(self, field: str) -> list[Value]:
        """Return the values chosen for a filter field; none where it is a range."""
        chosen = self.filters.get(field)
        return [] if chosen is None or isinstance(chosen, dict) else chosen if isinstance(chosen, list) else [chosen]


_ASKED = TypeAdapter(Asked)


@dataclass(frozen=True, slots=True)
class Feedback(Inlines):
    """A rating of an answer. ``reason`` and ``comment`` may be ""."""

    INLINED: ClassVar = ("asked",)
    rating: Rating
    reason: Annotated[Reason | Literal[""], PlainSerializer(lambda reason: reason or None, return_type=Reason | None)]
    comment: str
    asked: Asked


class FeedbackRepository:
    """Collection `feedback`, one row for each answer, deleted with its conversation."""

    def __init__(self, database: Database) -> None:
        self._feedback = database["feedback"]
        self._messages = database["messages"]
        self._conversations = database["conversations"]

    def ensure_indexes(self) -> None:
        self._feedback.create_index([("rating", 1), ("rated_at", -1)])
        self._feedback.create_index("conversation_id")
        self._messages.create_index([("answered", 1), ("created_at", -1)])

    def put(self, message_id: str, owner: str, rating: Rating, reason: str = "", comment: str = "") -> Feedback:
        """Store this owner's feedback, replacing an earlier one. Raises NotFoundError: no such answer of this owner."""
        row, question = self._answer(message_id, owner)
        stored = {
            "_id": message_id,
            "conversation_id": row["conversation_id"],
            "owner": row.get("owner", ""),
            "rated_at": now(),
            "rating": rating,
            "reason": reason,
            "comment": comment,
            **_asked_json(row, question),
        }
        self._feedback.replace_many([stored])
        return _feedback(stored)

    def remove(self, message_id: str, owner: str) -> None:
        """Remove the feedback. Raises NotFoundError: no such answer of this owner."""
        self._answer(message_id, owner)
        self._feedback.delete_many({"_id": message_id})

    def of(self, message_ids: Sequence[str]) -> dict[str, Feedback]:
        """Return the feedback on these answers, by message id; answers without feedback are left out."""
        rows = self._feedback.find({"_id": {"$in": list(message_ids)}}) if message_ids else []
        return {row["_id"]: _feedback(row) for row in rows}

    def latest(self, rating: Rating | None = None, limit: int = 0, owner: str | None = None) -> Iterator[Feedback]:
        """Yield feedback of this ``owner`` (None = everybody), newest first; ``limit`` 0 = all."""
        condition: Json = {} if rating is None else {"rating": rating}
        condition |= {} if owner is None else {"owner": owner}
        return map(_feedback, self._feedback.find(condition, sort=[("rated_at", -1)], limit=limit))

    def unanswered(self, limit: int, owner: str | None = None) -> list[Asked]:
        """Return the latest questions that the reports did not answer, of this ``owner`` (None = everybody).

        Questions of deleted conversations are left out.
        """
        condition: Json = {"answered": False, **({} if owner is None else {"owner": owner})}
        rows = list(self._messages.find(condition, sort=[("created_at", -1)], limit=limit))
        ids = sorted({row["conversation_id"] for row in rows})
        kept = {row["_id"] for row in self._conversations.find({"_id": {"$in": ids}, "deleted_at": None}, {"_id": 1})}
        return [
            _asked({"_id": row["_id"], "rated_at": row["created_at"], **_asked_json(row, question)})
            for row in rows
            if row["conversation_id"] in kept and (question := self._question(row)) is not None
        ]

    def _answer(self, message_id: str, owner: str) -> tuple[Json, Json]:
        row = self._messages.find_one({"_id": message_id, "role": "assistant", "owner": own_or_nobodys(owner)})
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
    return _ASKED.validate_python({**row, "message_id": row["_id"], "at": row["rated_at"], "filters": row["scope"]})


def _feedback(row: Json) -> Feedback:
    return Feedback(row["rating"], row["reason"], row["comment"], _asked(row))
