"""The interface of loaders, the sample of a file that they judge, and the checks on every file that is read."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path, PurePath
from typing import Protocol

from ...domain import Loaded, Section, lay_out
from ...domain.errors import LoadError, ReaderFailedError
from ...domain.protocols import Loader
from ...language import visible
from .sections import WidthError


class Fit(IntEnum):
    """How well a file's beginning fits a format. The loader with the best fit reads the file."""

    NO = 0
    ANY_TEXT = 1
    """The file is text, and any text can be read as this format."""
    LOOKS_SO = 2
    """It has marks of the format, which other texts may have too."""
    NAMED = 3
    """The file's name says so. Nothing was checked."""
    WELL_FORMED = 4
    """The file follows the rules of the format."""
    DECLARED = 5
    """The file's name says so, and such a file is always read as this format."""
    CERTAIN = 6
    """The file's first bytes, or the parts of the archive, say so."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a file. ``text``: decoded, None if it is binary; ``parts``: names in a ZIP archive."""

    path: Path
    head: bytes
    text: str | None
    parts: Sequence[str] = ()

    def is_named(self, suffixes: Sequence[str]) -> bool:
        return self.path.suffix.lower() in suffixes


class FileLoader(Loader, Protocol):
    """A loader and the properties of its format.

    ``noun``: the format with its article, for messages. ``suffixes``: the first is proposed to people. ``isolated``:
    the file is only read in a process of its own, because foreign libraries read files that strangers made.
    """

    noun: str
    isolated: bool

    def fit(self, sample: Sample) -> Fit: ...


FAULTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RecursionError, RuntimeError,
    TypeError, ValueError, ImportError,
)  # fmt: skip
"""Exceptions of code that met something it was not written for: a fault of the reader, whatever the file is."""


def read_file(loader: Loader, path: Path) -> Loaded:
    """Read a file with a loader, without invisible characters.

    Raises:
        LoadError: as the loader raises it, or nothing in the file is visible.
        ReaderFailedError: the reader failed on the file, which may be intact.
    """
    try:
        loaded = _visible(loader.load(path))
    except WidthError as error:
        raise LoadError(f"{path.name} {error}.") from error
    except FAULTS as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {PurePath(place.filename).name}, line {place.lineno}"
        raise reader_failed(path, where) from error
    if not loaded.sections:
        raise LoadError(f"{path.name} has no text that can be seen.")
    return loaded


MAX_NAME_CHARACTERS = 300
"""Of a title or heading: it is embedded with every passage below it."""
MAX_HEADINGS = 12
"""Above a passage."""


def _visible(loaded: Loaded) -> Loaded:
    """Drop invisible characters, shorten long headings, and put these in full before the text of their section."""
    sections: list[Section] = []
    before: tuple[str, ...] = ()
    for section in loaded.sections:
        path, text = tuple(map(visible, section.path)), visible(section.text)
        new = [
            name
            for at, name in enumerate(path)
            if path[: at + 1] != before[: at + 1] and len(name) > MAX_NAME_CHARACTERS
        ]
        kept = tuple(map(_shortened, path if len(path) <= MAX_HEADINGS else (*path[: MAX_HEADINGS - 1], path[-1])))
        sections.append(replace(section, path=kept, text="\n\n".join([*new, text])))
        before = path
    return replace(
        loaded,
        title=_shortened(visible(loaded.title)),
        sections=loaded.sections if tuple(sections) == loaded.sections else lay_out(sections),
        description=visible(loaded.description),
        labels=tuple(map(visible, loaded.labels)),
    )


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[:MAX_NAME_CHARACTERS].rstrip()} …"


def reader_failed(path: Path, what: str) -> ReaderFailedError:
    """Return the error for a reader that failed on a file. ``what``: the fault, for whoever fixes the reader."""
    return ReaderFailedError(
        f"{path.name} was not read: the reader failed on it ({what}). That is a fault of this program; the file may be "
        "intact. Please report it. Until then, try saving the file again, or in another format."
    )
