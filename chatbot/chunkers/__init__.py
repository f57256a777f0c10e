"""Documents to passages.

A strategy chooses the borders that passages are cut at, and `splitting` cuts there. `base` bounds the length of a
passage, keeps it on its page, and makes chunks of the spans.
"""

from ..protocols import Chunker
from ..registry import Registry

CHUNKERS: Registry[Chunker] = Registry(
    "chunk strategy",
    {
        "max_length": "chatbot.chunkers.base:MaxLengthChunker",
        "paragraph": "chatbot.chunkers.base:ParagraphChunker",
        "recursive": "chatbot.chunkers.base:RecursiveChunker",
        "rows": "chatbot.chunkers.base:RowChunker",
        "sections": "chatbot.chunkers.base:SectionChunker",
        "sentence": "chatbot.chunkers.base:SentenceChunker",
        "sliding_window": "chatbot.chunkers.base:SlidingWindowChunker",
    },
)
