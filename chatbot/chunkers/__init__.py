"""Documents to passages.

A strategy says at which borders a passage is cut; `splitting` cuts there; `base` says how long a passage may be and
what it never leaves, and makes chunks of the spans.
"""

from ..protocols import Chunker
from ..registry import Registry

CHUNKERS: Registry[Chunker] = Registry(
    "chunk strategy",
    {
        "max_length": "chatbot.chunkers.max_length",
        "paragraph": "chatbot.chunkers.paragraph",
        "recursive": "chatbot.chunkers.recursive",
        "rows": "chatbot.chunkers.rows",
        "sections": "chatbot.chunkers.sections",
        "sentence": "chatbot.chunkers.sentence",
        "sliding_window": "chatbot.chunkers.sliding_window",
    },
)
