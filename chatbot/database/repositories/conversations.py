"""Conversations and their messages: written while questions are answered, and managed
by their owner.
"""

import hashlib
import re
import secrets
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Literal

from pydantic import Field

from ...domain import Message
from ...domain.costs import Sums
from ...domain.errors import DiskFullError, InvalidRequestError, NotFoundError
from ...domain.json import Hidden, to_json
from ..core import BATCH, Database, Json
from ..rows import from_row, now
from .usage import increments, read_sums

MAX_TITLE_CHARACTERS = 80
"""A line of the list of conversations."""
MAX_SEARCHED_AT_ONCE = 100
"""Conversations whose questions are read together."""
MAX_SEARCHED_CONVERSATIONS = 1_000
"""Conversations of which one page of a search looks at the questions; the next page
goes on from there.
"""
CURSOR = re.compile(r"^([0-9T:.+-]{10,40})~([0-9a-f]{32})$")
"""The time of the last write to the last conversation of a page, and its id."""
RUNNING: Literal["running"] = "running"
COMPLETE: Json = {"$in": [None, ""]}
BRIEF: Literal["brief"] = "brief"
ConversationKind = Literal["", "brief"]
State = Literal["", "running", "stopped", "failed"]
"""State of an answer and its question; "" = complete. Only complete messages are shown
to a model later.
"""


@dataclass(frozen=True, slots=True)
class Begun:
    """A question that is stored before its answer, and the id that the answer will
    have.
    """

    conversation_id: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Added:
    """A stored exchange: its conversation, its last message, and the total usage of the
    conversation.
    """

    conversation_id: str
    message_id: str
    sums: Sums


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation in a list. Times are ISO (UTC); ``share`` is the token of its
    link, None = not shared. Rows from before titles were stored have none.
    """

    id: Annotated[str, Field(serialization_alias="conversation_id")]
    title: str = ""
    created_at: str = ""
    updated_at: str = ""
    share: str | None = None
    kind: ConversationKind = ""
    """"brief": its exchanges are the items of a brief (`briefs.py`)."""
    order: Hidden[tuple[str, ...]] = ()
    """Of a brief: the ids of its items."""
    share_until: Hidden[int | None] = None
    """The last message that its link shows; None = later ones too."""
    share_within: Hidden[str] = ""
    """The limit of its owner when the link was made (`limit_key`): it shows the
    passages inside.
    """


class ConversationRepository:
    """Collections `conversations` and `messages`. Ids are unguessable. Another
    ``owner``'s conversations are invisible. So are deleted ones, which can be restored
    for a while.
    """

    def __init__(self, database: Database) -> None:
        self._conversations = database["conversations"]
        self._messages = database["messages"]
        self._events = database["message_events"]
        self._feedback = database["feedback"]
        self.embedded = database.embedded

    def exists(self, conversation_id: str, owner: str = "") -> bool:
        """Return whether this owner can continue the conversation. Nobody asks in a
        brief.
        """
        condition = {**visible(conversation_id, owner), "kind": None}
        row = self._conversations.find_one(condition, {"_id": 1})
        return row is not None

    def of_client(self, chat_id: str, owner: str) -> tuple[str | None, bool]:
        """Return the id of the conversation that a client calls ``chat_id``, None for
        a new one of nobody; and whether it has to be made.

        The id of a conversation that this owner can continue means that one. Any other
        name means one of this owner's, which may not exist yet: its id is a digest of
        both, so nobody reaches another's by its name. The name of a deleted
        conversation begins the next one.
        """
        if self.exists(chat_id, owner):
            return chat_id, False
        if not owner:
            return None, True
        generation = 0
        while True:
            name = f"{owner}\0{chat_id}\0{generation}"
            conversation_id = hashlib.sha256(name.encode()).hexdigest()[:32]
            row = self._conversations.find_one(
                {"_id": conversation_id}, {"deleted_at": 1}
            )
            if row is None or not row.get("deleted_at"):
                return conversation_id, row is None
            generation += 1

    def messages(
        self,
        conversation_id: str,
        owner: str = "",
        before: str | None = None,
        *,
        limit: int = 0,
    ) -> list[Message]:
        """Return the last ``limit`` complete messages (0 = all), oldest first; with
        ``before`` only those before the question of this answer. Raises NotFoundError:
        the conversation has no such answer.
        """
        condition: Json = {
            "conversation_id": conversation_id,
            "owner": own_or_nobodys(owner),
            "state": COMPLETE,
        }
        if before is not None:
            condition["ordinal"] = {"$lt": self._ordinal(conversation_id, before) - 1}
        fields = dict.fromkeys(("role", "content", "state", "standalone", "cited"), 1)
        rows = self._messages.find(
            condition, fields, sort=[("ordinal", -1)], limit=limit
        )
        messages = [from_row(Message, row) for row in rows]
        return messages[::-1]

    def begin(
        self,
        conversation_id: str | None,
        message: Json,
        owner: str,
        replaces: str | None = None,
        *,
        may_start: bool = False,
    ) -> Begun:
        """Store a question before it is answered; `add` stores both again, complete.
        None starts a conversation. ``replaces``: the answer that the new one will
        replace (`cut`). ``may_start``: a conversation of this id is made where there is
        none. Raises NotFoundError: no such conversation.
        """
        message_id = uuid.uuid4().hex
        conversation = self._extend(
            conversation_id, message, {"messages": 2}, owner, may_start=may_start
        )
        last = int(conversation["messages"])
        common = {
            "conversation_id": conversation["_id"],
            "owner": conversation.get("owner", ""),
            "created_at": now(),
            "state": RUNNING,
            "replaces": replaces,
        }
        question = {
            **common,
            "_id": question_id(message_id),
            "ordinal": last - 1,
            **message,
        }
        answer = {
            **common,
            "_id": message_id,
            "role": "assistant",
            "content": "",
            "ordinal": last,
            "beat": 0,
        }
        self._messages.replace_many([question, answer])
        return Begun(conversation["_id"], message_id)

    def cut(self, conversation_id: str, at: str, *, keep: str | None = None) -> None:
        """Remove an answer, its question and everything after it, except for the answer
        ``keep``. Raises NotFoundError: the conversation has no such answer.
        """
        question_ordinal = self._ordinal(conversation_id, at) - 1
        condition: Json = {
            "conversation_id": conversation_id,
            "ordinal": {"$gte": question_ordinal},
        }
        if keep is not None:
            condition["_id"] = {"$nin": [keep, question_id(keep)]}
        self._messages.delete_many(condition)

    def add(
        self,
        conversation_id: str | None,
        messages: Sequence[Json],
        sums: Sums = Sums(),  # noqa: B008  # frozen and zero
        owner: str = "",
        message_id: str | None = None,
        *,
        may_start: bool = False,
    ) -> Added:
        """Append messages, and add their usage to that of the conversation, atomically.
        None starts a conversation. Each message has ``role``, ``content`` and whatever
        is stored with it. ``message_id``: an answer of `begin`, which the messages
        replace. ``may_start``: as for `begin`. Raises NotFoundError: the conversation
        was removed meanwhile; nothing is stored.
        """
        answer_id = message_id or uuid.uuid4().hex
        counters = increments(sums)
        ordinal = 0
        if message_id is not None and conversation_id is not None:
            # `begin` has counted the two messages, and given them these ids.
            ordinal = self._ordinal(conversation_id, message_id)
            ids = [question_id(answer_id), answer_id]
        else:
            counters["messages"] = len(messages)
            ids = [uuid.uuid4().hex for _ in messages[:-1]]
            ids.append(answer_id)
        conversation = self._extend(
            conversation_id, messages[0], counters, owner, may_start=may_start
        )
        last_ordinal = ordinal or int(conversation["messages"])
        first_ordinal = last_ordinal - len(messages) + 1
        common = {
            "conversation_id": conversation["_id"],
            "owner": conversation.get("owner", ""),
            "created_at": now(),
        }
        rows = []
        for index, message in enumerate(messages):
            place = {"_id": ids[index], "ordinal": first_ordinal + index}
            rows.append({**place, **common, **message})
        sums_so_far = read_sums(conversation)
        rows[-1]["conversation_usage"] = to_json(sums_so_far)
        self._messages.replace_many(rows)
        return Added(conversation["_id"], answer_id, sums_so_far)

    def _extend(
        self,
        conversation_id: str | None,
        first: Json,
        counters: Json,
        owner: str,
        *,
        may_start: bool,
    ) -> Json:
        """Increase the counters of a conversation, a new one for None, and return its
        row.
        """
        time = now()
        update: Json = {"$inc": counters, "$set": {"updated_at": time}}
        new = {
            "title": title_of(first["content"]),
            "created_at": time,
            "owner": owner,
        }
        if conversation_id is None:
            condition: Json = {"_id": uuid.uuid4().hex}
            update["$set"] |= new
        else:
            condition = visible(conversation_id, owner)
            if may_start:  # two first questions at once belong to one conversation
                self._conversations.update_one(
                    {"_id": conversation_id}, {"$setOnInsert": new}, upsert=True
                )
        row = self._conversations.find_one_and_update(
            condition, update, upsert=conversation_id is None
        )
        if row is None:
            raise NotFoundError(
                f"There is no conversation {conversation_id!r} any more."
            )
        return row

    def _ordinal(self, conversation_id: str, message_id: str) -> int:
        condition = {
            "_id": message_id,
            "conversation_id": conversation_id,
            "role": "assistant",
        }
        row = self._messages.find_one(condition, {"ordinal": 1})
        if row is None:
            raise NotFoundError(
                f"There is no answer {message_id!r} in this conversation."
            )
        return int(row["ordinal"])

    def book(self, conversation_id: str, sums: Sums) -> None:
        """Add to the usage of the conversation, atomically; do nothing where it is
        gone.
        """
        self._conversations.update_one(
            {"_id": conversation_id}, {"$inc": increments(sums)}
        )

    def page(
        self, owner: str, *, search: str, after: str, limit: int, shared: bool = False
    ) -> tuple[list[Conversation], str]:
        """Return the owner's conversations, last written first, and the cursor of the
        next page ("" = last page). ``search``: words in the title or a question, in any
        case; ``shared``: only those with a link. Raises InvalidRequestError: ``after``
        is not a cursor.
        """
        condition: Json = {"owner": owner, "deleted_at": None}
        if shared:
            condition["share"] = {"$ne": None}
        if after:
            match = CURSOR.match(after)
            if match is None:
                raise InvalidRequestError.for_field(
                    "cursor", "must be the `next` value of the previous page."
                )
            time, id = match.groups()
            condition["$or"] = [
                {"updated_at": {"$lt": time}},
                {"updated_at": time, "_id": {"$lt": id}},
            ]
        if not owner:  # nobody's conversations are in no list
            return [], ""
        text = search.casefold()
        max_rows = MAX_SEARCHED_CONVERSATIONS if text else limit + 1
        rows = self._conversations.find(
            condition, sort=[("updated_at", -1), ("_id", -1)], limit=max_rows
        )
        records: list[Conversation] = []
        rows_read = 0
        cursor = ""
        batch = list(islice(rows, MAX_SEARCHED_AT_ONCE))
        while batch:
            ids = self._asked_about(text, batch)
            for row in batch:
                if text in row.get("title", "").casefold() or row["_id"] in ids:
                    if len(records) == limit:
                        return records, _cursor(records[-1].updated_at, records[-1].id)
                    records.append(from_row(Conversation, row))
            rows_read += len(batch)
            cursor = _cursor(batch[-1].get("updated_at", ""), batch[-1]["_id"])
            batch = list(islice(rows, MAX_SEARCHED_AT_ONCE))
        if text and rows_read == max_rows:  # the next page searches on from there
            return records, cursor
        return records, ""

    def _asked_about(self, text: str, conversations: Sequence[Json]) -> set[str]:
        """Return the ids of the conversations with a question that contains the
        text.
        """
        if not text:
            return set()
        condition = {
            "conversation_id": {"$in": [row["_id"] for row in conversations]},
            "role": "user",
        }
        questions = self._messages.find(condition, {"conversation_id": 1, "content": 1})
        return {
            row["conversation_id"]
            for row in questions
            if text in row["content"].casefold()
        }

    def get(self, conversation_id: str, owner: str) -> Conversation:
        """Raises NotFoundError."""
        return _record(self._conversations.find_one(visible(conversation_id, owner)))

    def shared(self, token: str) -> Conversation:
        """Return the conversation whose link has this token. Raises NotFoundError."""
        if not token:  # conversations without a link have none
            return _record(None)
        condition = {"share": token, "deleted_at": None}
        return _record(self._conversations.find_one(condition))

    def rows(
        self,
        conversation_id: str,
        *,
        before: str = "",
        limit: int = 0,
        until: int | None = None,
    ) -> tuple[list[Json], bool]:
        """Return the rows of the last ``limit`` messages (0 = all), oldest first, and
        whether there are earlier ones. ``before``: only messages before the question of
        this answer; ``until``: only those up to this one. Raises NotFoundError: there
        is no such answer.
        """
        condition: Json = {"conversation_id": conversation_id}
        bounds: Json = {}
        if until is not None:
            bounds["$lte"] = until
        if before:
            bounds["$lt"] = self._ordinal(conversation_id, before) - 1
        if bounds:
            condition["ordinal"] = bounds
        # One more than the limit says that there are earlier ones.
        rows = list(
            self._messages.find(
                condition, sort=[("ordinal", -1)], limit=limit and limit + 1
            )
        )
        has_earlier = bool(limit) and len(rows) > limit
        if has_earlier:
            rows.pop()
        rows.reverse()
        return rows, has_earlier

    def cited(self, conversation_id: str, limit: int) -> list[Json]:
        """Return what the last ``limit`` messages say and cite, oldest first, without
        the stored responses.
        """
        fields = dict.fromkeys(
            ("role", "content", "scope", "collections", "citations"), 1
        )
        condition = {"conversation_id": conversation_id}
        rows = list(
            self._messages.find(condition, fields, sort=[("ordinal", -1)], limit=limit)
        )
        rows.reverse()
        return rows

    def citations_of(self, conversation_ids: list[str]) -> Iterator[Json]:
        """Yield what the answers of these conversations cite."""
        return self._messages.find(
            {"conversation_id": {"$in": conversation_ids}, "role": "assistant"},
            {"conversation_id": 1, "citations": 1},
        )

    def message(self, message_id: str) -> Json:
        row = self._messages.find_one({"_id": message_id})
        if row is None:
            raise NotFoundError("There is no such message any more.")
        return row

    def rename(self, conversation_id: str, owner: str, title: str) -> Conversation:
        return self._change(
            visible(conversation_id, owner), {"$set": {"title": title_of(title)}}
        )

    def delete(self, conversation_id: str, owner: str) -> None:
        """Hide a conversation until it is restored or purged. Raises NotFoundError."""
        self._change(visible(conversation_id, owner), {"$set": {"deleted_at": now()}})

    def restore(self, conversation_id: str, owner: str) -> Conversation:
        """Undo `delete`; a conversation that is not deleted stays as it is. Raises
        NotFoundError: it was purged.
        """
        condition = {
            "_id": conversation_id,
            "owner": own_or_nobodys(owner),
            "purged_at": None,
        }
        return self._change(condition, {"$unset": {"deleted_at": ""}})

    def share(
        self,
        conversation_id: str,
        owner: str,
        *,
        later: bool | None = None,
        limit: str = "",
    ) -> Conversation:
        """Give a conversation a link, which stays the same until it is revoked. Raises
        NotFoundError.

        ``later``: whether it shows later messages too; None: as it was, or not.
        ``limit``: of its owner, as `limit_key` writes it.
        """
        record = self.get(conversation_id, owner)
        if record.share and later is None:
            return record
        until = None
        if not later:
            last_rows, _ = self.rows(record.id, limit=1)
            until = last_rows[-1]["ordinal"] if last_rows else 0
        values = {
            "share": record.share or secrets.token_urlsafe(24),  # nobody guesses it
            "share_until": until,
            "share_within": limit,
        }
        return self._change(visible(record.id, owner), {"$set": values})

    def revoke(self, conversation_id: str, owner: str) -> None:
        self._change(
            visible(conversation_id, owner),
            {"$unset": {"share": "", "share_until": "", "share_within": ""}},
        )

    def links(self) -> list[tuple[str, Conversation]]:
        """Return the shared conversations, each after its owner."""
        rows = self._conversations.find(
            {"share": {"$gt": ""}, "deleted_at": None}, sort=[("updated_at", -1)]
        )
        return [(row.get("owner", ""), from_row(Conversation, row)) for row in rows]

    def _change(self, condition: Json, update: Json) -> Conversation:
        return _record(self._conversations.find_one_and_update(condition, update))

    def owners(self) -> dict[str, int]:
        """Return the number of conversations of each owner; "" = nobody."""
        rows = self._conversations.find({}, {"owner": 1})
        return dict(Counter(row.get("owner", "") for row in rows))

    def usage_of(self, owners: Sequence[str]) -> dict[str, Sums]:
        """Return the questions and tokens of the conversations of each of these
        owners that are kept.
        """
        names = ("owner", "questions", "prompt_tokens", "completion_tokens")
        usage = dict.fromkeys(owners, Sums())
        condition = {"owner": {"$in": list(owners)}}
        for row in self._conversations.find(condition, dict.fromkeys(names, 1)):
            usage[row["owner"]] += read_sums(row)
        return usage

    def quoting(self, document_ids: Collection[str]) -> Counter[str]:
        """Return for each of these reports the number of conversations with an answer
        that cites it. It reads all answers.
        """
        quoting = set()
        fields = {"conversation_id": 1, "citations": 1}
        for row in self._messages.find({"role": "assistant"}, fields):
            for citation in row.get("citations", ()):
                document_id, *_ = citation["chunk_id"].partition("-")
                if document_id in document_ids:
                    quoting.add((document_id, row["conversation_id"]))
        return Counter(document_id for document_id, _ in quoting)

    def purge(
        self, *, owner: str | None = None, before: str = "", deleted_before: str = ""
    ) -> int:
        """Remove the conversations of an owner (None = everybody's) for good and return
        how many. ``before``: only those last written to before; ``deleted_before``:
        only those deleted before.
        """
        condition: Json = {}
        if owner:
            condition["owner"] = owner
        elif owner is not None:
            condition["owner"] = own_or_nobodys("")
        if before:
            condition["updated_at"] = {"$lt": before}
        if deleted_before:
            condition["deleted_at"] = {"$lt": deleted_before}
        # What a process that died has left is marked for good, whosever it is.
        marked = self._conversations.find({"purged_at": {"$gt": ""}}, {"_id": 1})
        self._remove_marked([row["_id"] for row in marked])
        rows = self._conversations.find(condition, {"_id": 1})
        ids = [row["_id"] for row in rows]
        count = 0
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            marked_ids = [id for id in batch if self._mark(id, condition)]
            self._remove_marked(marked_ids)
            count += len(marked_ids)
        return count

    def _mark(self, conversation_id: str, condition: Json) -> bool:
        """Take a conversation out of its owner's hands, unless it does not meet the
        condition any more, because it was restored or continued meanwhile.
        """
        current = {**condition, "_id": conversation_id, "purged_at": None}
        time = now()
        marks = {"$set": {"deleted_at": time, "purged_at": time}}
        try:
            return self._conversations.update_one(current, marks) > 0
        except DiskFullError:
            # Without space for the mark, its row goes first.
            return self._conversations.delete_many(current) > 0

    def _remove_marked(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), BATCH):
            batch = {"$in": list(ids[start : start + BATCH])}
            # The conversation goes last: until then a client cannot begin another one
            # of its id. Twice, for messages that were being added.
            for _ in range(2):
                for collection in (self._events, self._feedback, self._messages):
                    collection.delete_many({"conversation_id": batch})
            self._conversations.delete_many({"_id": batch})


def _cursor(updated_at: str, conversation_id: str) -> str:
    return f"{updated_at}~{conversation_id}"


def _record(row: Json | None) -> Conversation:
    """Raises NotFoundError: there is no row."""
    if row is None:
        raise NotFoundError("There is no such conversation.")
    return from_row(Conversation, row)


def title_of(text: str) -> str:
    """Return a text on one line, shortened at a word where that leaves most of it."""
    title = " ".join(text.split())
    if len(title) <= MAX_TITLE_CHARACTERS:
        return title
    title = title[: MAX_TITLE_CHARACTERS - 1]
    whole_words = title.rpartition(" ")[0]
    if 2 * len(whole_words) > len(title):
        title = whole_words
    return f"{title}…"


def visible(conversation_id: str, owner: str) -> Json:
    """Return the filter for a conversation that this owner may continue."""
    return {"_id": conversation_id, "owner": own_or_nobodys(owner), "deleted_at": None}


def own_or_nobodys(owner: str) -> Json:
    """Return a condition on `owner`: this owner's rows, and nobody's, for which knowing
    the id is enough.
    """
    # None: rows from before owners were stored.
    return {"$in": [None, *sorted({"", owner})]}


def question_id(message_id: str) -> str:
    """Return the id of the question that `ConversationRepository.begin` stores with an
    answer.
    """
    return f"{message_id}-question"
