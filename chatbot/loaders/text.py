"""Plain text: one section without a heading."""

from __future__ import annotations

from pathlib import Path

from ..errors import LoadError
from ..schema import Loaded, Section, lay_out
from .decoding import decode, unreadable

MAX_TEXT_BYTES = 50 * 1024 * 1024


class TextLoader:
    """Implements `protocols.Loader`."""

    suffixes = (".txt", ".text")

    def load(self, path: Path) -> Loaded:
        return Loaded(path.stem, lay_out([Section((), read_text(path))]))


def read_text(path: Path) -> str:
    """The file's text in its own encoding, line ends normalised.

    Raises:
        LoadError: it cannot be read, is too large, is not text in a known encoding, or has no text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(data) > MAX_TEXT_BYTES:
        limit = MAX_TEXT_BYTES // (1024 * 1024)
        raise LoadError(f"{path.name} is larger than {limit} MB, the most that is read of one text file. Split it.")
    text = decode(data, path.name)
    if not text.strip():
        raise LoadError(f"{path.name} has no text.")
    return text


def build() -> TextLoader:
    return TextLoader()
