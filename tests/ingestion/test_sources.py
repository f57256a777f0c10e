"""How what is said of a document is put together. Folders and manifests: test_manifest.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chatbot.errors import LoadError
from chatbot.ingestion.sources import Source, document_id, folder_sources, make_document
from chatbot.schema import Document, Loaded, Section, Value, lay_out

TEXT = lay_out([Section(("A",), "one")])


def make(
    name: str = "mali-2010.md",
    *,
    file: Mapping[str, Value] | None = None,
    manifest: Mapping[str, Value] | None = None,
    person: Mapping[str, Any] | None = None,
    sections: tuple[Section, ...] = TEXT,
    countries: tuple[str, ...] = (),
) -> Document:
    source = Source(Path(name), "x", metadata=manifest or {}, listed=manifest is not None)
    loaded = Loaded("Title", sections, metadata=file or {})
    return make_document(source, loaded, overrides=person or {}, countries=countries)


WINNERS: dict[str, tuple[dict[str, Any], dict[str, Value]]] = {
    "the name alone": ({}, {"country_name": "Mali", "year": 2010}),
    "the file over the name": ({"file": {"year": 2011}}, {"country_name": "Mali", "year": 2011}),
    "the manifest instead of the name": ({"manifest": {}}, {}),
    "the manifest over the file": (
        {"file": {"year": 2011, "country_name": "Kenya"}, "manifest": {"year": 2012}},
        {"country_name": "Kenya", "year": 2012},
    ),
    "a person over all": (
        {"file": {"year": 2011}, "manifest": {"year": 2012, "type": "t"}, "person": {"year": 2013}},
        {"year": 2013, "type": "t"},
    ),
    "a person over the name": ({"person": {"country_name": "Chad"}}, {"country_name": "Chad", "year": 2010}),
    "none from a person": ({"person": {"country_name": None}, "file": {"type": "t"}}, {"year": 2010, "type": "t"}),
    "a year as text in the file": ({"file": {"year": "2011"}}, {"country_name": "Mali", "year": 2011}),
    "a code in the file": ({"file": {"country_name": "KEN"}}, {"country_name": "Kenya", "year": 2010}),
}


@pytest.mark.parametrize(("said", "expected"), WINNERS.values(), ids=WINNERS)
def test_the_later_wins(said: dict[str, Any], expected: dict[str, Value]) -> None:
    assert make(**said).metadata == expected


def test_countries_are_spelled_as_the_data_does_from_wherever_they_come() -> None:
    known = ("Turkey (Turkiye)", "Mali, Republic of")
    rows = lay_out([Section(("1",), "a", metadata={"country_name": "TR"}), Section(("2",), "b")])
    for said in ({"name": "turkey.md"}, {"file": {"country_name": "Türkiye"}}, {"manifest": {"country_name": "tur"}}):
        assert make(**said, countries=known).metadata["country_name"] == "Turkey (Turkiye)"  # type: ignore[arg-type]
    assert make("x.csv", sections=rows, countries=known).sections[0].metadata == {"country_name": "Turkey (Turkiye)"}


def test_the_name_is_not_asked_for_what_the_rows_say() -> None:
    rows = lay_out([Section(("1",), "a", metadata={"country_name": "Kenya"}), Section(("2",), "b")])
    assert make(sections=rows).metadata == {"year": 2010}


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ({"file": {"country_name": "Kenia"}}, "mali-2010.md: country_name: 'Kenia' .* Did you mean Kenya?"),
        ({"file": {"year": 12}}, "mali-2010.md: year: must be a year"),
        ({"manifest": {"country_name": "Sahel"}}, "mali-2010.md: country_name: 'Sahel'"),
    ],
)
def test_a_file_that_names_no_country_or_year_is_an_error(said: dict[str, Any], part: str) -> None:
    with pytest.raises(LoadError, match=part):
        make(**said)


def test_title_labels_and_description() -> None:
    loaded = Loaded("Of the file", TEXT, labels=("a", "b"), description="File.")
    source = Source(Path("x.md"), "x")
    listed = Source(Path("x.md"), "x", "Of the manifest", labels=("b", "c"), description="Manifest.", listed=True)

    def said_of(source: Source, **person: Any) -> tuple[str, tuple[str, ...], str]:
        made = make_document(source, loaded, overrides=person)
        assert made.name == made.title
        return made.title, made.labels, made.description

    assert said_of(source) == ("Of the file", ("a", "b"), "File.")
    assert said_of(listed) == ("Of the manifest", ("a", "b", "c"), "Manifest.")
    assert said_of(listed, title="Mine", labels=["z"], description="Me.") == ("Mine", ("z",), "Me.")
    assert said_of(listed, labels=[], description=None) == ("Of the manifest", (), "")


def test_identity_is_all_that_names_a_document() -> None:
    one, two = Source(Path("a/x.md"), "x", "T"), Source(Path("b/y.md"), "x")
    assert make_document(one, Loaded("1", TEXT)).id == make_document(two, Loaded("2", TEXT)).id == document_id("x")
    assert document_id("x") != document_id("X")


def test_a_pattern_narrows_a_folder_with_and_without_a_manifest(tmp_path: Path) -> None:
    for name in ("a.md", "b.txt", "sub/c.md", ".git/d.md", "sub/.e.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text", encoding="utf-8")

    def names(pattern: str) -> list[str]:
        return [source.path.relative_to(tmp_path).as_posix() for source in folder_sources(tmp_path, pattern=pattern)]

    assert names("**/*") == ["a.md", "b.txt", "sub/c.md"]
    assert names("**/*.md") == ["a.md", "sub/c.md"]
    assert names("*.md") == ["a.md"]
    (tmp_path / "manifest.json").write_text('[{"file": "sub/c.md"}, {"file": "b.txt"}]', encoding="utf-8")
    assert names("**/*.md") == ["sub/c.md"]
    assert names("**/*") == ["b.txt", "sub/c.md"]
