"""Documents to passages.

A strategy chooses the borders that passages are cut at, and `splitting` cuts there. `base` bounds the length of a
passage, keeps it on its page, and makes chunks of the spans.
"""

from ...config.registry import Registry
from ...domain.protocols import Chunker

CHUNKERS: Registry[Chunker] = Registry(
    "chunk strategy",
    {
        "max_length": "chatbot.library.chunkers.base:MaxLengthChunker",
        "paragraph": "chatbot.library.chunkers.base:ParagraphChunker",
        "recursive": "chatbot.library.chunkers.base:RecursiveChunker",
        "rows": "chatbot.library.chunkers.base:RowChunker",
        "sections": "chatbot.library.chunkers.base:SectionChunker",
        "sentence": "chatbot.library.chunkers.base:SentenceChunker",
        "sliding_window": "chatbot.library.chunkers.base:SlidingWindowChunker",
    },
)
