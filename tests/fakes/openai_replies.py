"""What the fake OpenAI server says, and what it remembers of a request."""

import base64
import json
import re
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

CHAT, EMBEDDINGS, MODELS = "/v1/chat/completions", "/v1/embeddings", "/v1/models"
PROMPT_TOKENS = 11


@dataclass(frozen=True)
class Reply:
    """What happens to one request. ``ending``: a regular end, a broken connection, an
    error event, or no end at all (the body stops where it is, as if it were complete).
    """

    pieces: Sequence[str] = ("Hello", " world.")
    status: int = 200
    error: Mapping[str, Any] = field(
        default_factory=lambda: {"message": "scripted failure", "type": "scripted"}
    )
    headers: Mapping[str, str] = field(default_factory=dict)
    silent_before: float = 0.0
    """Seconds before the first byte, also of the status line."""
    silent_after: float = 0.0
    """Seconds after the last piece."""
    pause: float = 0.0
    """Seconds between two pieces."""
    ending: Literal["done", "drop", "error", "cut"] = "done"
    finish_reason: str = "stop"
    tool_calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    """Tools that are called, each with its arguments; they come in pieces."""
    body: Any = None
    """A whole JSON body instead of the usual one."""
    raw: bytes = b""
    """A whole event stream instead of the usual one, byte for byte."""
    prompt_tokens: int = PROMPT_TOKENS
    cached_tokens: int = 0
    completion_tokens: int | None = None
    """None: as many as there are pieces."""


def call_events(reply: Reply) -> Iterator[dict[str, Any]]:
    """Yield the deltas of a reply's calls: each name, then its arguments in halves."""
    for index, (name, arguments) in enumerate(reply.tool_calls):
        text = json.dumps(arguments)
        middle = len(text) // 2
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": f"call-{index}", "type": "function"}
        yield {"tool_calls": [{**call, "function": function}]}
        for piece in (text[:middle], text[middle:]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


@dataclass
class Recorded:
    """A request, and when (time.monotonic) its client went away, if it did while the
    server was still at it.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float
    disconnected_at: float | None = None
    finished: threading.Event = field(default_factory=threading.Event)


def word_hashes(text: str, dimensions: int) -> list[float]:
    """A vector, not normalised: a count for each word, at a place that the word
    decides.
    """
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()):
        vector[zlib.crc32(word.encode()) % dimensions] += 1.0
    return vector if any(vector) else [1.0] + [0.0] * (dimensions - 1)


def embedding_row(
    index: int, vector: Sequence[float], *, encoded: bool = False
) -> dict[str, Any]:
    packed = (
        base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
        if encoded
        else None
    )
    return {
        "object": "embedding",
        "index": index,
        "embedding": packed if encoded else list(vector),
    }
