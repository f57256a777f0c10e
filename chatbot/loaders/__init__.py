"""Files to text with sections. The content decides which loader reads a file; the name must not contradict it.

A loader is one file and one line here. What the rest needs to know of a format is asked of it (`formats.FileLoader`);
the libraries that read foreign formats are imported on the first file, not with the loader.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ..registry import Registry
from .detection import format_of
from .formats import FileLoader

LOADERS: Registry[FileLoader] = Registry(
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


@cache
def all_loaders() -> dict[str, FileLoader]:
    """Every loader by its name."""
    return {name: LOADERS.builder(name)() for name in LOADERS.names()}


def detect(path: Path) -> str:
    """The name of the loader that reads the file's content.

    Raises:
        LoadError: it cannot be opened, is empty, of a format that is not read, or not what its name says.
    """
    return format_of(path, all_loaders())


def loader_for(path: Path) -> FileLoader:
    """The loader that reads the file's content. Raises as `detect` does."""
    return all_loaders()[detect(path)]


def suffixes() -> tuple[str, ...]:
    """How readable files are named, sorted, lower case, with the dot. Files without a suffix are read by content."""
    return tuple(sorted(suffix for loader in all_loaders().values() for suffix in loader.suffixes))
