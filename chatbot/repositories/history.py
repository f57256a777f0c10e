"""Conversations as their owner sees them: listed, found, opened, renamed, deleted and taken back, shared."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from ..database.core import Database, Json
from ..errors import InvalidRequestError, NotFoundError
from .conversations import now, own_or_nobodys, title_of, visible

CURSOR = re.compile(r"^([0-9T:.+-]{10,40})~([0-9a-f]{32})$")
"""When the last conversation of a page was written to, and its id."""
TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """Times are ISO (UTC). ``share``: the token of its link, "" = it is not shared."""

    id: str
    title: str
    created_at: str
    updated_at: str
    share: str = ""

    @classmethod
    def of(cls, row: Json) -> ConversationRecord:
        """Read it from its row; rows from before there were titles have none."""
        created, updated = row.get("created_at", ""), row.get("updated_at", "")
        return cls(row["_id"], row.get("title", ""), created, updated, row.get("share", ""))


class HistoryRepository:
    """The stored conversations of an ``owner``. What is deleted, or another owner's, is as if it were not there;
    lists leave out what is nobody's.
    """

    def __init__(self, database: Database) -> None:
        self._conversations = database["conversations"]
        self._messages = database["messages"]

    def page(self, owner: str, *, search: str, after: str, limit: int) -> tuple[list[ConversationRecord], str]:
        """The owner's, the last written to first, and the cursor of the next page, "" = this is the last one.

        ``search``: words that the title or a question has, in any case; ``after``: the cursor of the page before.

        Raises:
            InvalidRequestError: the cursor is none.
        """
        if not owner:
            return [], ""
        wanted: Json = {"owner": owner, "deleted_at": None, **_after(after)}
        found: list[ConversationRecord] = []
        for record in self._matching(wanted, owner, search):
            if len(found) == limit:
                return found, f"{found[-1].updated_at}~{found[-1].id}"
            found.append(record)
        return found, ""

    def _matching(self, wanted: Json, owner: str, search: str) -> Iterator[ConversationRecord]:
        text, asked = search.casefold(), set[str]()
        if text:
            questions = self._messages.find({"owner": owner, "role": "user"}, {"conversation_id": 1, "content": 1})
            asked = {row["conversation_id"] for row in questions if text in row["content"].casefold()}
        for row in self._conversations.find(wanted, sort=[("updated_at", -1), ("_id", -1)]):
            if text in row.get("title", "").casefold() or row["_id"] in asked:
                yield ConversationRecord.of(row)

    def get(self, conversation_id: str, owner: str) -> ConversationRecord:
        """A conversation of this owner. Raises NotFoundError."""
        return self._found(self._conversations.find_one(visible(conversation_id, owner)))

    def shared(self, token: str) -> ConversationRecord:
        """The one whose link has this token. Raises NotFoundError."""
        return self._found(self._conversations.find_one({"share": token, "deleted_at": None}) if token else None)

    def messages(self, conversation_id: str, *, before: str = "", limit: int = 0) -> tuple[list[Json], bool]:
        """The rows of the last ``limit`` messages (0 = of all), oldest first, and whether there are earlier ones.

        ``before``: of those up to the question of this answer.

        Raises:
            NotFoundError: there is no such answer in it.
        """
        wanted: Json = {"conversation_id": conversation_id}
        if before:
            at = self._messages.find_one({**wanted, "_id": before, "role": "assistant"}, {"ordinal": 1})
            if at is None:
                raise NotFoundError("There is no such answer in this conversation.")
            wanted["ordinal"] = {"$lt": at["ordinal"] - 1}
        rows = list(self._messages.find(wanted, sort=[("ordinal", -1)], limit=limit and limit + 1))
        more = bool(limit) and len(rows) > limit
        return rows[:limit][::-1] if more else rows[::-1], more

    def message(self, message_id: str) -> Json:
        """The row of a message. Raises NotFoundError."""
        row = self._messages.find_one({"_id": message_id})
        if row is None:
            raise NotFoundError("There is no such message any more.")
        return row

    def rename(self, conversation_id: str, owner: str, title: str) -> ConversationRecord:
        """Give a conversation another title. Raises NotFoundError."""
        return self._changed(visible(conversation_id, owner), {"$set": {"title": title_of(title)}})

    def delete(self, conversation_id: str, owner: str) -> None:
        """Delete a conversation: it is nowhere from now on, and can be taken back for a while. Raises NotFoundError."""
        self._changed(visible(conversation_id, owner), {"$set": {"deleted_at": now()}})

    def restore(self, conversation_id: str, owner: str) -> ConversationRecord:
        """Take back a deletion; one that is not deleted stays as it is. Raises NotFoundError: it went for good."""
        wanted = {"_id": conversation_id, "owner": own_or_nobodys(owner)}
        return self._changed(wanted, {"$unset": {"deleted_at": ""}})

    def share(self, conversation_id: str, owner: str) -> ConversationRecord:
        """Give a conversation a link, which stays the same until it is revoked. Raises NotFoundError."""
        record = self.get(conversation_id, owner)
        if record.share:
            return record
        return self._changed(visible(record.id, owner), {"$set": {"share": secrets.token_urlsafe(TOKEN_BYTES)}})

    def revoke(self, conversation_id: str, owner: str) -> None:
        """Revoke a conversation's link. Raises NotFoundError."""
        self._changed(visible(conversation_id, owner), {"$unset": {"share": ""}})

    def _changed(self, wanted: Json, update: Json) -> ConversationRecord:
        return self._found(self._conversations.find_one_and_update(wanted, update))

    def _found(self, row: Json | None) -> ConversationRecord:
        if row is None:
            raise NotFoundError("There is no such conversation.")
        return ConversationRecord.of(row)


def _after(cursor: str) -> Json:
    if not cursor:
        return {}
    match = CURSOR.match(cursor)
    if match is None:
        raise InvalidRequestError.for_field("cursor", "send the `next` of the previous page.")
    updated_at, id = match.groups()
    return {"$or": [{"updated_at": {"$lt": updated_at}}, {"updated_at": updated_at, "_id": {"$lt": id}}]}
