"""Files to text with sections, by suffix."""

from __future__ import annotations

from pathlib import Path

from ..errors import LoadError
from ..protocols import Loader
from ..registry import Registry

LOADERS: Registry[Loader] = Registry(
    "file format",
    {
        "markdown": "chatbot.loaders.markdown",
        "text": "chatbot.loaders.text",
    },
)


def loader_for(path: Path) -> Loader:
    """The loader of the file's format.

    Raises:
        LoadError: no loader reads it; the message lists the suffixes that are read.
    """
    loaders = [LOADERS.builder(name)() for name in LOADERS.names()]
    for loader in loaders:
        if path.suffix.lower() in loader.suffixes:
            return loader
    readable = ", ".join(sorted(suffix for loader in loaders for suffix in loader.suffixes))
    raise LoadError(f"{path.name}: this format is not read. Readable: {readable}.")
