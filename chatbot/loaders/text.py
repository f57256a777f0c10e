"""Plain text: one section without a heading."""

from __future__ import annotations

from pathlib import Path

from ..errors import LoadError
from ..schema import Loaded, Section, lay_out


class TextLoader:
    """Implements `protocols.Loader`."""

    suffixes = (".txt", ".text")

    def load(self, path: Path) -> Loaded:
        text = read_text(path)
        return Loaded(path.stem, lay_out([Section((), text)]))


def read_text(path: Path) -> str:
    """The file as UTF-8, line ends normalised.

    Raises:
        LoadError: it cannot be read, is not UTF-8, or has no text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise LoadError(f"{path.name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise LoadError(f"{path.name} is not UTF-8 text. Save it as UTF-8 and try again.") from error
    if not text.strip() or "\0" in text:
        raise LoadError(f"{path.name} has no text." if not text.strip() else f"{path.name} is not a text file.")
    return text.replace("\r\n", "\n")


def build() -> TextLoader:
    return TextLoader()
