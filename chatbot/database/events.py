"""Events for programs that want to be told: fields of the row that changed, so that an
event is written with its cause or not at all. The extra `hooks` delivers them.
"""

import secrets
import time
from typing import Any, Literal

from .core import Json

__all__ = ["EVENTS", "EventKind", "event_fields"]

EventKind = Literal["file.done", "file.failed", "question.unanswered", "source.failed"]
EVENTS = ("ingestion_items", "messages", "sources")
"""Collections whose rows have events."""


def event_fields(kind: EventKind, **data: Any) -> Json:
    """Return the fields of a row whose change is an event. ``data`` is what receivers
    are told; it names rows by their ids, and repeats no text of a report or question.

    ``new_event`` is the id of an event that was not delivered to anybody yet.
    """
    event = {
        "id": f"evt_{secrets.token_hex(16)}",
        "kind": kind,
        "at": time.time(),
        "data": data,
    }
    return {"event": event, "new_event": event["id"]}
