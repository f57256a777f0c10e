"""Documents to passages."""

from ..protocols import Chunker
from ..registry import Registry

CHUNKERS: Registry[Chunker] = Registry("chunk strategy", {"sections": "chatbot.chunkers.sections"})
