"""Briefs: what somebody collects from answers and reports, in an order of their own.

A brief is a conversation of the kind "brief". Each item is stored as an exchange: its
title as the question, what was pinned as the answer. So briefs are listed, exported,
shared, deleted and purged as conversations are; only their order is their own.
"""

import uuid
from collections.abc import Sequence
from typing import Literal

from ...domain.errors import NotFoundError
from ..core import Database, Json
from ..rows import now
from .conversations import (
    BRIEF,
    Conversation,
    ConversationRepository,
    question_id,
    title_of,
    visible,
)

ItemKind = Literal["answer", "chart", "passage", "text"]
"""What an item of a brief was made from."""


class BriefRepository:
    """Conversations of the kind "brief", and their items. An item has the id of its
    answer.
    """

    def __init__(
        self, database: Database, conversations: ConversationRepository
    ) -> None:
        self._briefs = database["conversations"]
        self._messages = database["messages"]
        self._conversations = conversations

    def begin(self, title: str, owner: str) -> Conversation:
        """Store a brief without items."""
        time = now()
        row = {
            "_id": uuid.uuid4().hex,
            "kind": BRIEF,
            "title": title_of(title),
            "owner": owner,
            "created_at": time,
            "updated_at": time,
        }
        self._briefs.replace_many([row])
        return self._conversations.get(row["_id"], owner)

    def get(self, brief_id: str, owner: str) -> Conversation:
        """Raises NotFoundError: there is no such brief, or it is another's."""
        record = self._conversations.get(brief_id, owner)
        if record.kind != BRIEF:
            raise NotFoundError("There is no such brief.")
        return record

    def rows(self, record: Conversation, until: int | None = None) -> list[Json]:
        """Return the messages of a brief, each title before its item, in the order of
        the brief. ``until``: only those that a link shows.
        """
        stored, _ = self._conversations.rows(record.id, until=until)
        by_id = {row["_id"]: row for row in stored}
        items = [row for row in stored if question_id(row["_id"]) in by_id]
        places = {item_id: place for place, item_id in enumerate(record.order)}
        # The newest items are not in the order yet: they come last.
        items.sort(key=lambda row: places.get(row["_id"], len(places)))
        rows = []
        for item in items:
            rows += [by_id[question_id(item["_id"])], item]
        return rows

    def add(self, record: Conversation, owner: str, title: Json, item: Json) -> str:
        """Append an item with its title, both as rows of messages; return its id.
        Raises NotFoundError: the brief is gone.
        """
        begun = self._conversations.begin(record.id, title, owner)
        self._conversations.add(
            record.id, [title, item], owner=owner, message_id=begun.message_id
        )
        return begun.message_id

    def remove(self, record: Conversation, item_id: str) -> None:
        """Raises NotFoundError."""
        ids = [item_id, question_id(item_id)]
        condition = {"_id": {"$in": ids}, "conversation_id": record.id}
        if not self._messages.delete_many(condition):
            raise NotFoundError(f"There is no item {item_id!r} in this brief.")

    def is_text(self, record: Conversation, item_id: str) -> bool:
        """Return whether an item is somebody's own words."""
        title = {"_id": question_id(item_id), "conversation_id": record.id}
        return self._messages.find_one({**title, "item": "text"}) is not None

    def write(self, record: Conversation, item_id: str, changes: Json) -> None:
        """Change the `title` of an item or its `text`. Raises NotFoundError: the brief
        has no such item.
        """
        self._place(record, item_id)
        updates = []
        if "title" in changes:
            change = {"$set": {"content": changes["title"]}}
            updates.append((question_id(item_id), change))
        if "text" in changes:
            updates.append((item_id, {"$set": {"content": changes["text"]}}))
        self._messages.update_each(updates)

    def move(self, record: Conversation, owner: str, item_id: str, place: int) -> None:
        """Move an item to a place among the others, 0 = the first. Raises
        NotFoundError: the brief has no such item.
        """
        order = self._order(record)
        order.pop(self._place(record, item_id))
        order.insert(place, item_id)
        # One row has the whole order: no interruption leaves half of it.
        self._briefs.update_one(visible(record.id, owner), {"$set": {"order": order}})

    def _place(self, record: Conversation, item_id: str) -> int:
        order = self._order(record)
        if item_id not in order:
            raise NotFoundError(f"There is no item {item_id!r} in this brief.")
        return order.index(item_id)

    def _order(self, record: Conversation) -> list[str]:
        return item_ids(self.rows(record))


def item_ids(rows: Sequence[Json]) -> list[str]:
    """Return the ids of the items among the messages of a brief."""
    return [row["_id"] for row in rows if row["role"] == "assistant"]
