"""Files to text with sections. The content decides which loader reads a file; the name must not contradict it."""

from __future__ import annotations

from pathlib import Path

from ..protocols import Loader
from ..registry import Registry
from .detect import FORMATS, detect

LOADERS: Registry[Loader] = Registry(
    "file format",
    {
        "csv": "chatbot.loaders.csv",
        "docx": "chatbot.loaders.docx",
        "html": "chatbot.loaders.html",
        "json": "chatbot.loaders.json",
        "markdown": "chatbot.loaders.markdown",
        "pdf": "chatbot.loaders.pdf",
        "pptx": "chatbot.loaders.pptx",
        "text": "chatbot.loaders.text",
        "xlsx": "chatbot.loaders.xlsx",
    },
)


def loader_for(path: Path) -> Loader:
    """The loader that reads the file's content.

    Raises:
        LoadError: it is empty, of a format that is not read, or not what its name says.
        MissingPackageError: the format needs a package that is not installed.
    """
    return LOADERS.builder(detect(path))()


def suffixes() -> tuple[str, ...]:
    """How readable files are named, sorted, lower case, with the dot. Files without a suffix are read by content."""
    return tuple(sorted(suffix for kind in FORMATS.values() for suffix in kind.suffixes))
