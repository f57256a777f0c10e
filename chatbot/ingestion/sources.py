"""Where documents come from, and how what is said of them is put together.

A file's name says something of a report (`kenya-2024.pdf`), its folder's `manifest.json` more; a person has the last
word (flags, form fields, edits: `overrides`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ..countries import ISO_CODE_LENGTH, country_code
from ..errors import InvalidRequestError, LoadError
from ..schema import YEAR_IN_REVIEW, Document, Loaded, Section, Value
from ..text import LETTERS_PATTERN
from ..validation import parse
from .overrides import FIRST_YEAR, LAST_YEAR, About, check_country, check_overrides

MANIFEST = "manifest.json"
SAMPLES = "sample_data"
"""The folder in the identities of the sample reports, wherever it lies."""
_YEAR_IN_NAME = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
LONGEST_NAME = 5
"""Words of the longest country names."""
METADATA = ("country_name", "year", "type")


@dataclass(frozen=True, slots=True)
class Source:
    """A file to ingest. ``identity`` names it for good: the same identity again is the same document.

    ``listed``: a manifest speaks for it, so that its name is not asked for a country or a year.
    """

    path: Path
    identity: str
    title: str | None = None
    metadata: Mapping[str, Value] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    description: str = ""
    listed: bool = False


def folder_sources(folder: Path, *, prefix: str | None = None, pattern: str = "**/*") -> list[Source]:
    """The files below a folder that match a glob pattern, sorted, with what its manifest says of them.

    With a manifest only the listed files are taken. ``prefix`` replaces the folder in identities, so that they do
    not depend on where the folder lies.
    """
    entries = read_manifest(folder)
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.glob(pattern)
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }
    every = pattern == "**/*"
    names = sorted(name for name in entries if every or name in there) if entries else sorted(there - {MANIFEST})
    root = prefix if prefix is not None else folder.resolve().as_posix()
    return [_source(folder / name, f"{root}/{name}", entries.get(name)) for name in names]


def _source(path: Path, identity: str, entry: ManifestEntry | None) -> Source:
    if entry is None:
        return Source(path, identity)
    metadata = entry.model_dump(include=set(METADATA), exclude_none=True)
    return Source(path, identity, entry.title, metadata, entry.labels, entry.description, listed=True)


def make_document(
    source: Source, loaded: Loaded, *, overrides: Mapping[str, Any] | None = None, countries: Sequence[Value] = ()
) -> Document:
    """The document: what its file holds, described by (the later wins) its name, itself, the manifest, a person.

    ``overrides`` come from `check_overrides`; ``countries`` are those in the data, whose spelling is kept.

    Raises:
        LoadError: the file or the manifest names something that is no country or no year.
    """
    said = overrides or {}
    of_parts = {name for section in loaded.sections for name in section.metadata}
    guessed = {} if source.listed else metadata_of(source.path.stem)
    metadata = {name: value for name, value in guessed.items() if name not in of_parts}
    metadata |= _metadata_of_file(source, loaded, countries)
    metadata |= {name: said[name] for name in METADATA if said.get(name) is not None}
    if country := metadata.get("country_name"):
        metadata["country_name"] = check_country(str(country), countries)
    metadata = {name: value for name, value in metadata.items() if name not in said or said[name] is not None}
    title = said.get("title") or source.title or loaded.title
    return Document(
        id=document_id(source.identity),
        name=title,
        title=title,
        source=source.identity,
        metadata=typed(metadata, said) if of_parts.isdisjoint(METADATA) else metadata,
        sections=_spelled(loaded.sections, countries),
        pages=loaded.pages,
        labels=tuple(dict.fromkeys((said["labels"] or ()) if "labels" in said else (*loaded.labels, *source.labels))),
        description=(said["description"] or "") if "description" in said else source.description or loaded.description,
        columns=loaded.columns,
    )


def typed(metadata: Mapping[str, Value], said: Mapping[str, Any]) -> dict[str, Value]:
    """A report of a year, no country and no type is a yearly review, unless a person ``said`` that it has no type."""
    review = "year" in metadata and "country_name" not in metadata and "type" not in {*metadata, *said}
    return {**metadata, **({"type": YEAR_IN_REVIEW} if review else {})}


def document_id(identity: str) -> str:
    """20 hexadecimal digits, the same for the same identity."""
    return hashlib.sha256(identity.encode()).hexdigest()[:20]


def _metadata_of_file(source: Source, loaded: Loaded, countries: Sequence[Value]) -> dict[str, Value]:
    metadata = {**loaded.metadata, **source.metadata}
    named = {name: metadata[name] for name in ("country_name", "year") if name in metadata}
    try:
        return metadata | check_overrides(parse(About, named), countries=countries)
    except InvalidRequestError as error:
        raise LoadError(f"{source.path.name}: {error.message}") from error


def _spelled(sections: Sequence[Section], countries: Sequence[Value]) -> tuple[Section, ...]:
    """A table's countries, which its loader has checked, as the data spells them."""
    spellings: dict[Value, str] = {}
    spelled = []
    for section in sections:
        country = section.metadata.get("country_name")
        if country is not None:
            if country not in spellings:
                spellings[country] = check_country(str(country), countries)
            section = replace(section, metadata={**section.metadata, "country_name": spellings[country]})  # noqa: PLW2901
        spelled.append(section)
    return tuple(spelled)


class ManifestEntry(BaseModel):
    """One file of a manifest. Further keys (licence, checksum, ...) may stand beside these."""

    model_config = ConfigDict(extra="ignore")

    file: str = Field(min_length=1)
    title: str | None = None
    country_name: str | None = None
    year: int | None = Field(None, ge=FIRST_YEAR, le=LAST_YEAR)
    type: str | None = None
    labels: tuple[str, ...] = ()
    description: str = ""


_ENTRIES = TypeAdapter(list[ManifestEntry])


def read_manifest(folder: Path) -> dict[str, ManifestEntry]:
    """The entries of ``manifest.json`` in a folder, by file; empty where there is none.

    Raises:
        LoadError: the manifest is not a list of valid entries; the first wrong one is named.
    """
    path = folder / MANIFEST
    if not path.is_file():
        return {}
    try:
        entries = _ENTRIES.validate_json(path.read_bytes())
    except ValidationError as error:
        problem = error.errors()[0]
        number, *fields = problem["loc"] or (None,)
        where = "" if number is None else f"{' '.join([f'entry {int(number) + 1}', *map(str, fields)])}: "
        raise LoadError(f"{path}: not a valid manifest: {where}{problem['msg']}.") from error
    return {entry.file: entry for entry in entries}


def metadata_of(stem: str) -> dict[str, Value]:
    """Country and year, where the name has exactly one of each kind; short codes ("us", "in") are not trusted."""
    found: dict[str, Value] = {}
    years = set(_YEAR_IN_NAME.findall(stem))
    if len(years) == 1:
        found["year"] = int(years.pop())
    countries = _countries(LETTERS_PATTERN.findall(stem))
    if len(countries) == 1:
        found["country_name"] = countries.popitem()[1]
    return found


def _countries(words: list[str]) -> dict[str, str]:
    """Names by code; of overlapping names the longest ("Papua New Guinea", not "Guinea")."""
    found: dict[str, str] = {}
    start = 0
    while start < len(words):
        for end in range(min(len(words), start + LONGEST_NAME), start, -1):
            name = " ".join(words[start:end])
            if len(name) > ISO_CODE_LENGTH and (code := country_code(name)):
                found[code] = name
                start = end - 1
                break
        start += 1
    return found
