"""Documents to passages.

How the files fit together: a strategy says which `runs` a passage may not leave and which `borders` it is cut at;
`splitting` cuts there, as the `measure` allows; `base` makes chunks of the spans.
"""

from ..protocols import Chunker
from ..registry import Registry

CHUNKERS: Registry[Chunker] = Registry(
    "chunk strategy",
    {
        "max_length": "chatbot.chunkers.max_length",
        "paragraph": "chatbot.chunkers.paragraph",
        "recursive": "chatbot.chunkers.recursive",
        "sections": "chatbot.chunkers.sections",
        "sentence": "chatbot.chunkers.sentence",
        "sliding_window": "chatbot.chunkers.sliding_window",
    },
)
