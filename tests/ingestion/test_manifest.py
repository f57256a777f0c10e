"""What a manifest says of the files beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chatbot.errors import LoadError
from chatbot.ingestion.manifest import read_manifest
from chatbot.ingestion.sources import Source, document_id, folder_sources, make_document
from chatbot.loaders import loader_for


def folder(tmp_path: Path, *files: str, manifest: Any = None) -> Path:
    for name in files:
        path = tmp_path / "reports" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Title of {name}\n\ntext", encoding="utf-8")
    if manifest is not None:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        (tmp_path / "reports/manifest.json").write_text(text, encoding="utf-8")
    return tmp_path / "reports"


def test_without_a_manifest_every_file_below_is_taken_in_order(tmp_path: Path) -> None:
    root = folder(tmp_path, "b.md", "a/c.md", ".hidden.md")
    assert [source.path for source in folder_sources(root)] == [root / "a/c.md", root / "b.md"]
    assert [source.metadata for source in folder_sources(root)] == [{}, {}]


def test_a_manifest_gives_title_and_metadata_and_chooses_the_files(tmp_path: Path) -> None:
    entry = {"file": "b.md", "title": "B", "country_name": "Kenya", "year": 2023, "type": "t", "licence": "CC0"}
    root = folder(tmp_path, "a.md", "b.md", manifest=[entry, {"file": "c/d.md"}])
    metadata = {"country_name": "Kenya", "year": 2023, "type": "t"}
    assert folder_sources(root, prefix="shipped") == [
        Source(root / "b.md", "shipped/b.md", "B", metadata, listed=True),
        Source(root / "c/d.md", "shipped/c/d.md", None, {}, listed=True),
    ]


def test_the_identity_depends_on_the_folder_unless_it_is_named(tmp_path: Path) -> None:
    one, two = folder(tmp_path / "1", "a.md"), folder(tmp_path / "2", "a.md")
    assert folder_sources(one)[0].identity == f"{one.resolve()}/a.md"
    assert folder_sources(one)[0].identity != folder_sources(two)[0].identity
    assert folder_sources(one, prefix="x")[0].identity == folder_sources(two, prefix="x")[0].identity == "x/a.md"


def test_a_document_takes_the_manifests_title_or_its_own(tmp_path: Path) -> None:
    root = folder(tmp_path, "a.md", manifest=[{"file": "a.md", "year": "2023"}])
    (source,) = folder_sources(root, prefix="x")
    document = make_document(source, loader_for(source.path).load(source.path))
    assert (document.title, document.name) == ("Title of a.md", "Title of a.md")
    assert document.id == document_id("x/a.md")
    assert document.metadata == {"year": 2023}
    named = make_document(Source(source.path, "x", "Given"), loader_for(source.path).load(source.path))
    assert (named.title, named.name) == ("Given", "Given")


def test_ids_are_stable() -> None:
    """They are stored: another way to make them would double every report."""
    assert document_id("sample_data/country_reports/kenya-2023.md") == "73d71e792634f475d551"


WRONG = {
    "not JSON": ("{", ["not a valid manifest"]),
    "not a list": ({"file": "a.md"}, ["must be a list"]),
    "not a list of objects": ([5], ["entry 1"]),
    "no file": ([{"file": "a.md"}, {"title": "B"}], ["entry 2", "file", "required"]),
    "a year that is none": ([{"file": "a.md", "year": "soon"}], ["entry 1", "year", "integer"]),
    "a year out of range": ([{"file": "a.md", "year": 20233}], ["entry 1", "year", "3000"]),
}


@pytest.mark.parametrize(("manifest", "parts"), WRONG.values(), ids=WRONG)
def test_a_wrong_manifest_is_named_with_its_first_wrong_entry(tmp_path: Path, manifest: Any, parts: list[str]) -> None:
    root = folder(tmp_path, "a.md", manifest=manifest)
    with pytest.raises(LoadError) as raised:
        read_manifest(root)
    assert str(root / "manifest.json") in raised.value.message
    for part in parts:
        assert part in raised.value.message
