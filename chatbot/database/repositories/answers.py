"""Answers: their events while they are written, and the feedback on them.

Events are stored, so that any process can resume an answer. No clocks of machines are
compared: the writer increments ``beat``, a listener ``heard``, and each observes
whether the other's number changes. Feedback is stored with the question, its scope and
the passages.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import PlainSerializer

from ...domain.errors import NotFoundError
from ...domain.json import Inlines
from ...domain.scope import Scope, Value
from ..core import Database, Json
from ..limits import WITHIN, made_within
from ..rows import from_row, now
from .conversations import RUNNING, Begun, State, own_or_nobodys, question_id, visible

EVERYTHING = Scope()
SHOWN = {
    "conversation_id": 1,
    "state": 1,
    "beat": 1,
    "heard": 1,
    "stop": 1,
    "replaces": 1,
}


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An answer as other processes see it; ``state`` "" = complete."""

    conversation_id: str
    state: State = ""
    beat: int = 0
    heard: int = 0
    stop: bool = False


class UnfinishedRepository:
    """Rows of `messages` with a ``state``; their events are in `message_events`,
    numbered from 1.
    """

    def __init__(self, database: Database) -> None:
        self._messages = database["messages"]
        self._events = database["message_events"]

    def find(self, message_id: str, owner: str) -> Unfinished:
        """Return an answer, complete or not. Raises NotFoundError."""
        mine = {"_id": message_id, "role": "assistant", "owner": own_or_nobodys(owner)}
        row = self._messages.find_one(mine, SHOWN)
        if row is None:
            raise NotFoundError(f"There is no answer {message_id!r}.")
        return from_row(Unfinished, row)

    def keep(self, begun: Begun, first: int, events: Sequence[str]) -> None:
        """Store events of an answer, of which ``first`` is the number of the first.
        After a failure it is called again, with the same ones and perhaps more.
        """
        number = first + len(events) - 1
        # The id of a repetition with more events is another one: what a call that
        # timed out may still write replaces nothing.
        row = {
            "_id": f"{begun.message_id}-{first}-{number}",
            "message_id": begun.message_id,
            "number": number,
            "first": first,
        }
        about = {"conversation_id": begun.conversation_id, "events": list(events)}
        self._events.replace_many([{**row, **about}])

    def events(self, message_id: str, after: int) -> list[tuple[int, str]]:
        """Return the stored events after the number ``after``, each with its number."""
        rows = self._events.find(
            {"message_id": message_id, "number": {"$gt": after}}, sort=[("number", 1)]
        )
        events: list[tuple[int, str]] = []
        for row in rows:
            for number, text in enumerate(row["events"], int(row["first"])):
                if number > after:
                    events.append((number, text))
                    after = number
        return events

    def beat(self, message_ids: Collection[str]) -> dict[str, Unfinished]:
        """Note that these answers are being written; return them as others see them,
        without deleted ones.
        """
        self._messages.update_each([(id, {"$inc": {"beat": 1}}) for id in message_ids])
        rows = self._messages.find({"_id": {"$in": sorted(message_ids)}}, SHOWN)
        return {row["_id"]: from_row(Unfinished, row) for row in rows}

    def listen(self, message_id: str) -> None:
        """Note that a client waits for the events of this answer."""
        self._messages.update_one(
            {"_id": message_id, "state": RUNNING}, {"$inc": {"heard": 1}}
        )

    def stop(self, message_id: str) -> None:
        """Ask the process that writes an answer to end it."""
        self._messages.update_one(
            {"_id": message_id, "state": RUNNING}, {"$set": {"stop": True}}
        )

    def end(self, message_id: str, state: State, text: str | None = None) -> None:
        """Note that an answer has ended; ``state`` "" = it is complete. ``text``: the
        part written, None = unknown. If it was to replace another answer, that one
        stays and this one is deleted.
        """
        self._events.delete_many({"message_id": message_id})
        if not state:
            return
        both = [message_id, question_id(message_id)]
        row = self._messages.find_one({"_id": message_id, "state": RUNNING}, SHOWN)
        replaced = row and row.get("replaces")
        if (
            replaced
            and self._messages.find_one({"_id": replaced}, {"_id": 1}) is not None
        ):
            self._messages.delete_many({"_id": {"$in": both}, "state": RUNNING})
        elif row is not None:
            partial = {} if text is None else {"content": text}
            self._messages.update_each(
                [
                    (message_id, {"$set": {"state": state, **partial}}),
                    (both[1], {"$set": {"state": state}}),
                ]
            )


Rating = Literal["up", "down"]
Reason = Literal["not_true", "wrong_source", "incomplete", "not_asked", "other"]
"""Why an answer is bad. ``not_true``: the reports say something else; ``not_asked``: it
answers another question.
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the passages of its answer. ``at``: ISO (UTC); ``filters``: as
    `Scope.to_json`.
    """

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
        return (
            []
            if chosen is None or isinstance(chosen, dict)
            else chosen
            if isinstance(chosen, list)
            else [chosen]
        )


@dataclass(frozen=True, slots=True)
class Feedback(Inlines):
    """A rating of an answer. ``reason`` and ``comment`` may be ""."""

    INLINED: ClassVar = ("asked",)
    rating: Rating
    reason: Annotated[
        Reason | Literal[""],
        PlainSerializer(lambda reason: reason or None, return_type=Reason | None),
    ]
    comment: str
    asked: Asked


class FeedbackRepository:
    """Collection `feedback`, one row for each answer, deleted with its conversation."""

    def __init__(self, database: Database) -> None:
        self._feedback = database["feedback"]
        self._messages = database["messages"]
        self._conversations = database["conversations"]

    def put(
        self,
        message_id: str,
        owner: str,
        rating: Rating,
        reason: str = "",
        comment: str = "",
    ) -> Feedback:
        """Store this owner's feedback, replacing an earlier one. Raises NotFoundError:
        no such answer of this owner.
        """
        row, question = self._answer(message_id, owner)
        given = {
            "rated_at": now(),
            "rating": rating,
            "reason": reason,
            "comment": comment,
        }
        about = {
            "conversation_id": row["conversation_id"],
            "owner": row.get("owner", ""),
        }
        if row.get(WITHIN):
            about[WITHIN] = row[WITHIN]
        stored = {"_id": message_id, **about, **given, **_asked_json(row, question)}
        self._feedback.replace_many([stored])
        return _feedback(stored)

    def remove(self, message_id: str, owner: str) -> None:
        """Remove the feedback. Raises NotFoundError: no such answer of this owner."""
        self._answer(message_id, owner)
        self._feedback.delete_many({"_id": message_id})

    def of(self, message_ids: Sequence[str]) -> dict[str, Feedback]:
        """Return the feedback on these answers, by message id; answers without feedback
        are left out.
        """
        rows = (
            self._feedback.find({"_id": {"$in": list(message_ids)}})
            if message_ids
            else []
        )
        return {row["_id"]: _feedback(row) for row in rows}

    def latest(
        self,
        rating: Rating | None = None,
        limit: int = 0,
        owner: str | None = None,
        within: Scope = EVERYTHING,
    ) -> Iterator[Feedback]:
        """Yield feedback of this ``owner`` (None = everybody) on answers to callers
        ``within`` a limit, newest first; ``limit`` 0 = all.
        """
        condition: Json = {} if rating is None else {"rating": rating}
        condition |= {} if owner is None else {"owner": owner}
        condition |= made_within(self._feedback, within)
        return map(
            _feedback,
            self._feedback.find(condition, sort=[("rated_at", -1)], limit=limit),
        )

    def unanswered(
        self, limit: int, owner: str | None = None, within: Scope = EVERYTHING
    ) -> list[Asked]:
        """Return the latest questions that the reports did not answer, of this
        ``owner`` (None = everybody) and of callers ``within`` a limit. Questions of
        deleted conversations are left out.
        """
        condition: Json = {
            "answered": False,
            **({} if owner is None else {"owner": owner}),
            **made_within(self._messages, within),
        }
        rows = list(
            self._messages.find(condition, sort=[("created_at", -1)], limit=limit)
        )
        ids = sorted({row["conversation_id"] for row in rows})
        kept = {
            row["_id"]
            for row in self._conversations.find(
                {"_id": {"$in": ids}, "deleted_at": None}, {"_id": 1}
            )
        }
        return [
            _asked(
                {
                    "_id": row["_id"],
                    "rated_at": row["created_at"],
                    **_asked_json(row, question),
                }
            )
            for row in rows
            if row["conversation_id"] in kept
            and (question := self._question(row)) is not None
        ]

    def _answer(self, message_id: str, owner: str) -> tuple[Json, Json]:
        row = self._messages.find_one(
            {"_id": message_id, "role": "assistant", "owner": own_or_nobodys(owner)}
        )
        question = (
            self._question(row) if row is not None and not row.get("state") else None
        )
        if (
            row is None
            or question is None
            or not self._conversations.find_one(visible(row["conversation_id"], owner))
        ):
            raise NotFoundError("There is no such answer.")
        return row, question

    def _question(self, row: Json) -> Json | None:
        return self._messages.find_one(
            {"conversation_id": row["conversation_id"], "ordinal": row["ordinal"] - 1}
        )


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
    return from_row(
        Asked,
        {
            **row,
            "message_id": row["_id"],
            "at": row["rated_at"],
            "filters": row["scope"],
        },
    )


def _feedback(row: Json) -> Feedback:
    return Feedback(row["rating"], row["reason"], row["comment"], _asked(row))
