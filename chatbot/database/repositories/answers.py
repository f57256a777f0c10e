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
from ...domain.tables import Texts
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
        last = first + len(events) - 1
        row = {
            # The id of a repetition with more events is another one: what a call that
            # timed out may still write replaces nothing.
            "_id": f"{begun.message_id}-{first}-{last}",
            "message_id": begun.message_id,
            "number": last,
            "first": first,
            "conversation_id": begun.conversation_id,
            "events": list(events),
        }
        self._events.replace_many([row])

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
        row = self._messages.find_one({"_id": message_id, "state": RUNNING}, SHOWN)
        if row is None:
            return
        question = question_id(message_id)
        replaced = row.get("replaces")
        if replaced and self._messages.find_one({"_id": replaced}, {"_id": 1}):
            ids = {"$in": [message_id, question]}
            self._messages.delete_many({"_id": ids, "state": RUNNING})
            return
        of_answer: Json = {"state": state}
        if text is not None:
            of_answer["content"] = text
        self._messages.update_each(
            [
                (message_id, {"$set": of_answer}),
                (question, {"$set": {"state": state}}),
            ]
        )


Rating = Literal["up", "down"]
Reason = Literal[
    "not_true", "wrong_source", "incomplete", "not_asked", "no_answer", "other"
]
"""Why an answer is bad. ``not_true``: the reports say something else; ``not_asked``: it
answers another question; ``no_answer``: a question without one, which a person asked to
be told of.
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
    collections: Texts
    mode: str
    answered: bool
    chunk_ids: Texts
    missing: Texts = ()
    """What the passages do not say, by the word of the model."""

    def values(self, field: str) -> list[Value]:
        """Return the values chosen for a filter field; none where it is a range."""
        chosen = self.filters.get(field)
        if chosen is None or isinstance(chosen, dict):
            return []
        if isinstance(chosen, list):
            return chosen
        return [chosen]


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
        answer, question = self.exchange(message_id, owner)
        row = {
            "_id": message_id,
            "conversation_id": answer["conversation_id"],
            "owner": answer.get("owner", ""),
            "rated_at": now(),
            "rating": rating,
            "reason": reason,
            "comment": comment,
            **_asked_json(answer, question),
        }
        if answer.get(WITHIN):
            row[WITHIN] = answer[WITHIN]
        self._feedback.replace_many([row])
        return _feedback(row)

    def remove(self, message_id: str, owner: str) -> None:
        """Remove the feedback. Raises NotFoundError: no such answer of this owner."""
        self.exchange(message_id, owner)
        self._feedback.delete_many({"_id": message_id})

    def of(self, message_ids: Sequence[str]) -> dict[str, Feedback]:
        """Return the feedback on these answers, by message id; answers without feedback
        are left out.
        """
        if not message_ids:
            return {}
        rows = self._feedback.find({"_id": {"$in": list(message_ids)}})
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
        condition = made_within(self._feedback, within)
        if rating is not None:
            condition["rating"] = rating
        if owner is not None:
            condition["owner"] = owner
        rows = self._feedback.find(condition, sort=[("rated_at", -1)], limit=limit)
        return (_feedback(row) for row in rows)

    def unanswered(
        self, limit: int, owner: str | None = None, within: Scope = EVERYTHING
    ) -> list[Asked]:
        """Return the latest questions that the reports did not answer, of this
        ``owner`` (None = everybody) and of callers ``within`` a limit. Questions of
        deleted conversations are left out.
        """
        condition = {"answered": False, **made_within(self._messages, within)}
        if owner is not None:
            condition["owner"] = owner
        newest_first = [("created_at", -1)]
        answers = list(self._messages.find(condition, sort=newest_first, limit=limit))
        ids = {"$in": sorted({answer["conversation_id"] for answer in answers})}
        present = self._conversations.find({"_id": ids, "deleted_at": None}, {"_id": 1})
        conversations = {conversation["_id"] for conversation in present}
        questions = []
        for answer in answers:
            if answer["conversation_id"] not in conversations:
                continue
            question = self._question(answer)
            if question is not None:
                row = _asked_json(answer, question)
                row["_id"] = answer["_id"]
                row["rated_at"] = answer["created_at"]
                questions.append(_asked(row))
        return questions

    def exchange(self, message_id: str, owner: str) -> tuple[Json, Json]:
        """Return the rows of a complete answer of this owner and of its question.
        Raises NotFoundError.
        """
        answer = self._messages.find_one(
            {"_id": message_id, "role": "assistant", "owner": own_or_nobodys(owner)}
        )
        if answer is not None and not answer.get("state"):
            question = self._question(answer)
            conversation = visible(answer["conversation_id"], owner)
            if question is not None and self._conversations.find_one(conversation):
                return answer, question
        raise NotFoundError("There is no such answer.")

    def _question(self, answer: Json) -> Json | None:
        return self._messages.find_one(
            {
                "conversation_id": answer["conversation_id"],
                "ordinal": answer["ordinal"] - 1,
            }
        )


def _asked_json(answer: Json, question: Json) -> Json:
    return {
        "question": question["content"],
        "scope": question.get("scope", {}),
        "collections": question.get("collections", []),
        "mode": question.get("preset") or question.get("mode") or "",
        "answered": bool(answer.get("answered", True)),
        "chunk_ids": [citation["chunk_id"] for citation in answer.get("citations", [])],
        "missing": answer.get("missing", []),
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
