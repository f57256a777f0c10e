"""`manifest.json`: what a folder says of its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import LoadError
from ..schema import Value

MANIFEST = "manifest.json"


class ManifestEntry(BaseModel):
    """One file of a manifest. Further keys (licence, checksum, ...) may stand beside these."""

    model_config = ConfigDict(extra="ignore")

    file: str = Field(min_length=1)
    title: str | None = None
    country_name: str | None = None
    year: int | None = Field(None, ge=1000, le=3000)
    type: str | None = None
    labels: tuple[str, ...] = ()
    description: str = ""

    def metadata(self) -> dict[str, Value]:
        fields = {"country_name": self.country_name, "year": self.year, "type": self.type}
        return {name: value for name, value in fields.items() if value is not None}


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
