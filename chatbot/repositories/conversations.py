"""Conversations and their messages."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from ..database import Database
from ..schema import Message, Role
from ..schema.sums import Sums
from .sums import increments, read_sums


class ConversationRepository:
    """Collections `conversations` and `messages`. Ids are unguessable."""

    def __init__(self, database: Database) -> None:
        self._conversations = database["conversations"]
        self._messages = database["messages"]

    def ensure_indexes(self) -> None:
        self._messages.create_index([("conversation_id", 1), ("ordinal", 1)])

    def create(self, title: str) -> str:
        conversation_id = uuid.uuid4().hex
        self._conversations.insert_one(
            {"_id": conversation_id, "title": title[:80], "created_at": _now(), "messages": 0}
        )
        return conversation_id

    def exists(self, conversation_id: str) -> bool:
        return self._conversations.find_one({"_id": conversation_id}, {"_id": 1}) is not None

    def messages(self, conversation_id: str) -> list[Message]:
        """All messages, oldest first."""
        found = self._messages.find({"conversation_id": conversation_id}, sort=[("ordinal", 1)])
        return [Message(row["role"], row["content"]) for row in found]

    def add(self, conversation_id: str, role: Role, content: str, **extra: Any) -> str:
        """Append a message; returns its id. ``extra`` is kept with it (scope, citations, trace)."""
        updated = self._conversations.find_one_and_update(
            {"_id": conversation_id}, {"$inc": {"messages": 1}, "$set": {"updated_at": _now()}}
        )
        ordinal = int(updated["messages"]) if updated else 0
        message_id = uuid.uuid4().hex
        row = {"_id": message_id, "conversation_id": conversation_id, "ordinal": ordinal, "created_at": _now()}
        self._messages.insert_one({**row, "role": role, "content": content, **extra})
        return message_id

    def book(self, conversation_id: str, sums: Sums) -> Sums:
        """Add to what the conversation has taken, atomically; returns all of it."""
        updated = self._conversations.find_one_and_update({"_id": conversation_id}, {"$inc": increments(sums)})
        return read_sums(updated) if updated else sums


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
