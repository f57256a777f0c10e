"""The interface of loaders: what each says of its format, and the sample of a file that they judge by."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path, PurePath
from typing import Protocol

from ..errors import LoadError, ReaderFailedError
from ..invisible import visible
from ..protocols import Loader
from ..schema import Loaded, Section, lay_out
from .sections import WidthError


class Fit(IntEnum):
    """How well a file's beginning fits a format; the better one reads it."""

    NO = 0
    ANY_TEXT = 1
    """The file is text, and any text can be read as this format."""
    LOOKS_SO = 2
    """Marks of the format, which other texts may have."""
    NAMED = 3
    """The file's name says so, and nothing was checked."""
    WELL_FORMED = 4
    """The file follows the rules of the format."""
    DECLARED = 5
    """The file's name says so, and a file of that name is always read as this format."""
    CERTAIN = 6
    """The file's first bytes, or the parts of the archive, say so."""


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
        """How well an Office file fits, by its main folder, which tells the program that it belongs to."""
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
        loaded = _shown(loader.load(path))
    except WidthError as error:
        raise LoadError(f"{path.name} {error}.") from error
    except FAULTS as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {PurePath(place.filename).name}, line {place.lineno}"
        raise reader_failed(path, where) from error
    if not loaded.sections:
        raise LoadError(f"{path.name} has no text that can be seen.")
    return loaded


LONGEST_NAME = 300
"""Characters of a title or heading: each stands above every passage below it, and is embedded with all of them."""
DEEPEST = 12
"""Headings above a passage."""


def _shown(loaded: Loaded) -> Loaded:
    """What is not seen is left out; a heading that is too long for one is the beginning of its section's text."""
    sections: list[Section] = []
    before: tuple[str, ...] = ()
    for section in loaded.sections:
        path, text = tuple(map(visible, section.path)), visible(section.text)
        # Where it is new, all of it is kept.
        new = [name for at, name in enumerate(path) if path[: at + 1] != before[: at + 1] and len(name) > LONGEST_NAME]
        kept = tuple(map(_shortened, path if len(path) <= DEEPEST else (*path[: DEEPEST - 1], path[-1])))
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
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME].rstrip()} …"


def reader_failed(path: Path, what: str) -> ReaderFailedError:
    """The error for a reader that ended on a file; ``what`` happened, for the one who mends the reader."""
    return ReaderFailedError(
        f"{path.name} was not read: the reader failed on it ({what}). That is a fault of this program; the file may be "
        "sound. Please report it. Saving the file anew, or in another format, may help meanwhile."
    )
