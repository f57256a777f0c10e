"""Documents to passages.

A strategy says at which borders a passage is cut; `splitting` cuts there; `base` says how long a passage may be and
what it never leaves, and makes chunks of the spans.
"""

from ..protocols import Chunker
from ..registry import Registry

CHUNKERS: Registry[Chunker] = Registry(
    "chunk strategy",
    {
        "max_length": "chatbot.chunkers.strategies:MaxLengthChunker",
        "paragraph": "chatbot.chunkers.strategies:ParagraphChunker",
        "recursive": "chatbot.chunkers.strategies:RecursiveChunker",
        "rows": "chatbot.chunkers.strategies:RowChunker",
        "sections": "chatbot.chunkers.strategies:SectionChunker",
        "sentence": "chatbot.chunkers.strategies:SentenceChunker",
        "sliding_window": "chatbot.chunkers.strategies:SlidingWindowChunker",
    },
)
