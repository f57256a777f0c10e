"""Answers as conversations store them: without the text of passages, which is looked up when they are read again.

So what is deleted of the library is not left in everybody's conversations, and an answer takes little room.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from ..conversation.service import Saved
from ..database.core import Json
from ..grounding.citations import snippet_of
from ..schema import Chunk
from ..schema.json import to_json


def without_passages(saved: Saved) -> Json:
    """The `/query` response without the text of its passages."""
    answer: Json = to_json(saved)
    for part in (*answer["citations"], *answer["trace"]["hits"]):
        for name in ("snippet", "text"):
            part.pop(name, None)
    return answer


def with_passages(rows: Sequence[Json], get: Callable[[Sequence[str]], Iterable[Chunk]]) -> list[Json | None]:
    """The `/query` response of each row of a message, None where none was kept.

    ``get`` gives the passages that are still there and may be seen; the text of another one is "".
    """
    answers = [json.loads(row["response"]) if "response" in row else None for row in rows]
    kept = [(row, answer) for row, answer in zip(rows, answers, strict=True) if answer is not None]
    ids = {part["chunk_id"] for _, answer in kept for part in (*answer["citations"], *answer["trace"]["hits"])}
    texts = {chunk.id: chunk.text for chunk in get(sorted(ids))} if ids else {}
    for row, answer in kept:
        for citation in answer["citations"]:
            citation["snippet"] = snippet_of(texts.get(citation["chunk_id"], ""))
        for hit in answer["trace"]["hits"]:
            hit["text"] = texts.get(hit["chunk_id"], "")
        place = {"conversation_id": row["conversation_id"], "message_id": row["_id"]}
        answer.update(place, conversation_usage=row.get("conversation_usage"))
    return answers
