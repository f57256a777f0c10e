"""Where documents come from, and how what is said of them is put together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import InvalidRequestError, LoadError
from ..schema import Document, Loaded, Section, Value
from .file_names import metadata_of
from .manifest import MANIFEST, read_manifest
from .overrides import METADATA, check_country, check_year


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
    sources = []
    for name in names:
        source = Source(folder / name, f"{root}/{name}")
        if entry := entries.get(name):
            source = replace(
                source,
                title=entry.title,
                metadata=entry.metadata(),
                labels=entry.labels,
                description=entry.description,
                listed=True,
            )
        sources.append(source)
    return sources


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
    metadata |= _checked(source, {**loaded.metadata, **source.metadata}, countries)
    metadata |= {name: said[name] for name in METADATA if said.get(name) is not None}
    if country := metadata.get("country_name"):
        metadata["country_name"] = check_country("country_name", country, countries)
    title = said.get("title") or source.title or loaded.title
    return Document(
        id=document_id(source.identity),
        name=title,
        title=title,
        source=source.identity,
        metadata={name: value for name, value in metadata.items() if name not in said or said[name] is not None},
        sections=_spelled(loaded.sections, countries),
        pages=loaded.pages,
        labels=tuple(dict.fromkeys((said["labels"] or ()) if "labels" in said else (*loaded.labels, *source.labels))),
        description=(said["description"] or "") if "description" in said else source.description or loaded.description,
    )


def document_id(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:20]


def _checked(source: Source, metadata: Mapping[str, Value], countries: Sequence[Value]) -> dict[str, Value]:
    try:
        return {name: _value(name, value, countries) for name, value in metadata.items()}
    except InvalidRequestError as error:
        raise LoadError(f"{source.path.name}: {error.message}") from error


def _value(name: str, value: Value, countries: Sequence[Value]) -> Value:
    if name == "country_name":
        return check_country(name, value, countries)
    return check_year(name, value) if name == "year" else value


def _spelled(sections: Sequence[Section], countries: Sequence[Value]) -> tuple[Section, ...]:
    """A table's countries, which its loader has checked, as the data spells them."""
    spellings: dict[Value, str] = {}
    spelled = []
    for section in sections:
        country = section.metadata.get("country_name")
        if country is not None:
            if country not in spellings:
                spellings[country] = check_country("country_name", country, countries)
            section = replace(section, metadata={**section.metadata, "country_name": spellings[country]})  # noqa: PLW2901
        spelled.append(section)
    return tuple(spelled)
