"""What is known about a file besides its text: from a manifest beside it, or from flags."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import LoadError
from ..protocols import Loader
from ..schema import Document, Value

MANIFEST = "manifest.json"


class ManifestEntry(BaseModel):
    """One file of a manifest. Further keys (licence, checksum, ...) may stand beside these."""

    model_config = ConfigDict(extra="ignore")

    file: str = Field(min_length=1)
    title: str | None = None
    country_name: str | None = None
    year: int | None = Field(None, ge=1000, le=3000)
    type: str | None = None

    def metadata(self) -> dict[str, Value]:
        fields = {"country_name": self.country_name, "year": self.year, "type": self.type}
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Source:
    """A file to ingest. ``identity`` names it for good: the same identity again is the same document."""

    path: Path
    identity: str
    title: str | None = None
    metadata: Mapping[str, Value] = field(default_factory=dict)


def read_manifest(folder: Path) -> dict[str, ManifestEntry]:
    """The entries of ``manifest.json`` in a folder, by file; empty where there is none.

    Raises:
        LoadError: the manifest is not a list of valid entries; the first wrong one is named.
    """
    path = folder / MANIFEST
    if not path.is_file():
        return {}
    try:
        rows: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LoadError(f"{path}: not a valid manifest: {error}.") from error
    if not isinstance(rows, list):
        raise LoadError(f"{path}: not a valid manifest: it must be a list of entries.")
    entries = [_entry(path, number, row) for number, row in enumerate(rows, start=1)]
    return {entry.file: entry for entry in entries}


def _entry(path: Path, number: int, row: Any) -> ManifestEntry:
    try:
        return ManifestEntry.model_validate(row)
    except ValidationError as error:
        problem = error.errors()[0]
        where = " ".join([f"entry {number}", *(str(part) for part in problem["loc"])])
        raise LoadError(f"{path}: not a valid manifest: {where}: {problem['msg']}.") from error


def folder_sources(folder: Path, *, prefix: str | None = None) -> list[Source]:
    """The readable files below a folder, sorted, with what its manifest says of them.

    With a manifest only the listed files are taken. ``prefix`` replaces the folder in identities, so that they do
    not depend on where the folder lies.
    """
    entries = read_manifest(folder)
    names = (
        sorted(entries)
        if entries
        else sorted(
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_file() and not path.name.startswith(".")
        )
    )
    root = prefix if prefix is not None else str(folder.resolve())
    sources = []
    for name in names:
        entry = entries.get(name)
        metadata = entry.metadata() if entry else {}
        sources.append(Source(folder / name, f"{root}/{name}", entry.title if entry else None, metadata))
    return sources


def load_document(source: Source, loader: Loader) -> Document:
    """Read one file. Raises LoadError."""
    loaded = loader.load(source.path)
    title = source.title or loaded.title
    return Document(
        id=document_id(source.identity),
        name=title,
        title=title,
        source=source.identity,
        metadata={**loaded.metadata, **source.metadata},
        sections=loaded.sections,
        pages=loaded.pages,
        labels=loaded.labels,
        description=loaded.description,
    )


def document_id(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:20]
