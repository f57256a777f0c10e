"""Files to documents: what a file's name, the file, its folder's manifest and a person
say of it.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from chatbot.domain import Document, Loaded, Section
from chatbot.domain.documents import lay_out
from chatbot.domain.errors import LoadError
from chatbot.domain.scope import Value
from chatbot.library.description import propose
from chatbot.library.loaders import loader_for, read_file
from chatbot.library.sources import (
    Source,
    document_id,
    folder_sources,
    make_document,
    read_manifest,
)
from tests.data import cases, data_set, needs

CASES = cases(__file__)

TEXT = lay_out([Section(("A",), "one")])


def make(
    name: str = "mali-2010.md",
    *,
    file: Any = None,
    manifest: Any = None,
    person: Any = None,
    sections: tuple[Section, ...] = TEXT,
    countries: tuple[str, ...] = (),
) -> Document:
    source = Source(
        Path(name), "x", metadata=manifest or {}, listed=manifest is not None
    )
    loaded = Loaded("Title", sections, metadata=file or {})
    return make_document(source, loaded, overrides=person or {}, countries=countries)


@pytest.mark.parametrize(
    ("said", "expected"), CASES["winners"].values(), ids=CASES["winners"]
)
def test_the_later_wins(said: dict[str, Any], expected: dict[str, Value]) -> None:
    assert make(**said).metadata == expected


def test_countries_are_spelled_as_the_data_does_from_wherever_they_come() -> None:
    known = ("Turkey (Turkiye)", "Czech Republic")
    rows = lay_out(
        [Section(("1",), "a", metadata={"country_name": "TR"}), Section(("2",), "b")]
    )
    for said in (
        {"file": {"country_name": "Türkiye"}},
        {"manifest": {"country_name": "tur"}},
    ):
        assert (
            make(**said, countries=known).metadata["country_name"] == "Turkey (Turkiye)"
        )  # type: ignore[arg-type]
    named = make("czechia-2010.md", countries=known)
    assert named.metadata["country_name"] == "Czech Republic"
    assert make("x.csv", sections=rows, countries=known).sections[0].metadata == {
        "country_name": "Turkey (Turkiye)"
    }


def test_the_name_is_not_asked_for_what_the_rows_say() -> None:
    rows = lay_out(
        [Section(("1",), "a", metadata={"country_name": "Kenya"}), Section(("2",), "b")]
    )
    assert make(sections=rows).metadata == {"year": 2010}


def test_a_country_of_all_rows_is_that_of_the_file() -> None:
    rows = [
        Section(("1",), "kits: 4", metadata={"country_name": "Mali"}),
        Section(("2",), "kits: 5", metadata={"country_name": "Mali"}),
    ]
    made = make(sections=lay_out(rows))
    assert made.metadata == {"country_name": "Mali", "year": 2010}
    other = Section(("3",), "kits: 6", metadata={"country_name": "Kenya"})
    made = make(sections=lay_out([*rows, other]))
    assert made.metadata == {"year": 2010}
    assert "country_name" not in {one.field for one in made.proposed}


@pytest.mark.parametrize(
    ("said", "part"), CASES["a_file_that_names_no_country_or_year_is_an_error"]
)
def test_a_file_that_names_no_country_or_year_is_an_error(
    said: dict[str, Any], part: str
) -> None:
    with pytest.raises(LoadError, match=part):
        make(**said)


def test_title_labels_and_description() -> None:
    loaded = Loaded("Of the file", TEXT, labels=("a", "b"), description="File.")
    source = Source(Path("x.md"), "x")
    listed = Source(
        Path("x.md"),
        "x",
        "Of the manifest",
        labels=("b", "c"),
        description="Manifest.",
        listed=True,
    )

    def said_of(source: Source, **person: Any) -> tuple[str, tuple[str, ...], str]:
        made = make_document(source, loaded, overrides=person)
        assert made.name == made.title
        return made.title, made.labels, made.description

    assert said_of(source) == ("Of the file", ("a", "b"), "File.")
    assert said_of(listed) == ("Of the manifest", ("a", "b", "c"), "Manifest.")
    assert said_of(listed, title="Mine", labels=["z"], description="Me.") == (
        "Mine",
        ("z",),
        "Me.",
    )
    assert said_of(listed, labels=[], description=None) == ("Of the manifest", (), "")


def test_identity_is_all_that_names_a_document() -> None:
    one, two = Source(Path("a/x.md"), "x", "T"), Source(Path("b/y.md"), "x")
    assert (
        make_document(one, Loaded("1", TEXT)).id
        == make_document(two, Loaded("2", TEXT)).id
        == document_id("x")
    )
    assert document_id("x") != document_id("X")
    # Ids are stored: another way to make them would double every report.
    assert (
        document_id("sample_data/country_reports/kenya-2023.md")
        == "73d71e792634f475d551"
    )


def test_a_pattern_narrows_a_folder_with_and_without_a_manifest(tmp_path: Path) -> None:
    for name in ("a.md", "b.txt", "sub/c.md", ".git/d.md", "sub/.e.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text", encoding="utf-8")

    def names(pattern: str) -> list[str]:
        return [
            source.path.relative_to(tmp_path).as_posix()
            for source in folder_sources(tmp_path, pattern=pattern)
        ]

    assert (names("**/*"), names("*.md")) == (["a.md", "b.txt", "sub/c.md"], ["a.md"])
    assert names("**/*.md") == ["a.md", "sub/c.md"]
    (tmp_path / "manifest.json").write_text(
        '[{"file": "sub/c.md"}, {"file": "b.txt"}]', encoding="utf-8"
    )
    assert names("**/*.md") == ["sub/c.md"]
    assert names("**/*") == ["b.txt", "sub/c.md"]


def folder(tmp_path: Path, *files: str, manifest: Any = None) -> Path:
    for name in files:
        path = tmp_path / "reports" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Title of {name}\n\ntext", encoding="utf-8")
    if manifest is not None:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        (tmp_path / "reports/manifest.json").write_text(text, encoding="utf-8")
    return tmp_path / "reports"


def test_a_manifest_gives_title_and_metadata_and_chooses_the_files(
    tmp_path: Path,
) -> None:
    entry = {
        "file": "b.md",
        "title": "B",
        "country_name": "Kenya",
        "year": 2023,
        "type": "t",
        "licence": "CC0",
    }
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
    assert (
        folder_sources(one, prefix="x")[0].identity
        == folder_sources(two, prefix="x")[0].identity
        == "x/a.md"
    )


@pytest.mark.parametrize(
    ("manifest", "parts"), CASES["wrong"].values(), ids=CASES["wrong"]
)
def test_a_wrong_manifest_is_named_with_its_first_wrong_entry(
    tmp_path: Path, manifest: Any, parts: list[str]
) -> None:
    root = folder(tmp_path, "a.md", manifest=manifest)
    with pytest.raises(LoadError) as raised:
        read_manifest(root)
    assert str(root / "manifest.json") in raised.value.message
    for part in parts:
        assert part in raised.value.message


@pytest.mark.parametrize(
    ("stem", "expected"), CASES["names"].items(), ids=CASES["names"]
)
def test_a_file_name_gives_country_year_and_type(
    stem: str, expected: dict[str, Any]
) -> None:
    assert {
        one.field: one.value
        for one in propose(Loaded(stem, ()), Path(stem))
        if one.taken
    } == expected


FIRST_PAGES = json.loads(
    Path(__file__).with_name("data").joinpath("first_pages.json").read_text("utf-8")
)["documents"]
FOREIGN = data_set("foreign_reports")


def described(path: Path) -> dict[str, Any]:
    document = make_document(Source(path, path.name), read_file(loader_for(path), path))
    return {
        one.field: one.value for one in document.proposed if one.taken
    } | document.metadata


@pytest.mark.parametrize("wanted", FIRST_PAGES, ids=lambda wanted: wanted["file"])
def test_a_first_page_gives_title_country_and_year(
    tmp_path: Path, wanted: dict[str, Any]
) -> None:
    (path := tmp_path / wanted.pop("file")).write_text(
        wanted.pop("text"), encoding="utf-8"
    )
    found = described(path)
    assert re.search(wanted.pop("title"), found.pop("title"))
    assert found == {name: value for name, value in wanted.items() if value is not None}


# Every day: test_a_first_page_gives_title_country_and_year.
@pytest.mark.nightly
@needs(FOREIGN)
def test_of_the_real_reports_half_the_countries_and_all_years_are_found_and_none_is_wrong() -> (  # noqa: E501
    None
):
    wanted = json.loads((FOREIGN / "questions.json").read_text("utf-8"))[
        "country_and_year_a_reader_would_give"
    ]
    found = {
        name: [
            described(FOREIGN / name).get(field) for field in ("country_name", "year")
        ]
        for name in wanted
    }
    pairs = [
        pair for name in wanted for pair in zip(wanted[name], found[name], strict=True)
    ]
    assert not [pair for pair in pairs if pair[1] not in {None, pair[0]}]
    assert sum(value is not None for _, value in pairs) == 6, "of 8"
