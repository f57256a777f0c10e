"""What a loader tells of its format, and what a file shows of itself before it is read."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path, PurePath
from typing import Protocol

from ..errors import LoadError, ReaderFailedError
from ..protocols import Loader
from ..schema import Loaded, lay_out
from ..unseen import visible


class Fit(IntEnum):
    """How well a file's beginning fits a format; the better one reads it."""

    NO = 0
    ANY_TEXT = 1
    """It is text, and any text can be read so."""
    LOOKS_SO = 2
    """Marks of the format, which other texts may have."""
    NAMED = 3
    """It is called so, and nothing was checked."""
    WELL_FORMED = 4
    """It follows the rules of the format."""
    DECLARED = 5
    """It is called so, and whatever is called so is read so."""
    CERTAIN = 6
    """Its first bytes, or the parts of the archive, say so."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a file. ``text``: decoded, None where it is binary; ``parts``: names in a ZIP archive."""

    path: Path
    head: bytes
    text: str | None
    parts: Sequence[str] = ()

    def is_named(self, suffixes: Sequence[str]) -> bool:
        return self.path.suffix.lower() in suffixes

    def fit_by_folder(self, folder: str) -> Fit:
        """Of an Office file: its main folder tells the program that it belongs to."""
        return Fit.CERTAIN if any(part.startswith(folder) for part in self.parts) else Fit.NO


class FileLoader(Loader, Protocol):
    """A loader with what the rest asks of it.

    ``noun``: the format with its article, as a sentence about a file needs it. ``suffixes``: the first is the proposed
    one. ``isolated``: foreign libraries read what strangers made, so that it is only read in a process of its own.
    """

    noun: str
    isolated: bool

    def fit(self, sample: Sample) -> Fit: ...


FAULTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RecursionError, RuntimeError,
    TypeError, ValueError, ImportError,
)  # fmt: skip
"""What code raises that met something it was not written for: a reader's fault, whatever the file is."""


def read_file(loader: Loader, path: Path) -> Loaded:
    """What the loader makes of the file, without characters that are not seen.

    Raises:
        LoadError: as the loader says it.
        ReaderFailedError: the reader did not expect what it met. The file may be sound.
    """
    try:
        loaded = _visible(loader.load(path))
    except FAULTS as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {PurePath(place.filename).name}, line {place.lineno}"
        raise reader_failed(path, where) from error
    if not loaded.sections:
        raise LoadError(f"{path.name} has no text that can be seen.")
    return loaded


def _visible(loaded: Loaded) -> Loaded:
    sections = tuple(
        replace(section, path=tuple(map(visible, section.path)), text=visible(section.text))
        for section in loaded.sections
    )
    return replace(
        loaded,
        title=visible(loaded.title),
        sections=loaded.sections if sections == loaded.sections else lay_out(sections),
        description=visible(loaded.description),
        labels=tuple(map(visible, loaded.labels)),
    )


def reader_failed(path: Path, what: str) -> ReaderFailedError:
    """The error for a reader that ended on a file; ``what`` happened, for the one who mends the reader."""
    return ReaderFailedError(
        f"{path.name} was not read: the reader failed on it ({what}). That is a fault of this program; the file may be "
        "sound. Please report it. Saving the file anew, or in another format, may help meanwhile."
    )
