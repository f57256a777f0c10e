"""`groups`: groups of countries are imported, exported and cleared."""

from pathlib import Path

import pytest

from tests.app.cli.conftest import Run

HEADER = "name,other_words,adjectives,members,source,date\n"
ROW = "Our priority countries,priorities,,KEN MLI,board,2026-01-31\n"


def table(folder: Path, text: str) -> str:
    path = folder / "groups.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_what_is_imported_is_exported_until_it_is_cleared(
    run: Run, tmp_path: Path
) -> None:
    usual = run("groups", "export").out
    assert usual.startswith(HEADER)
    assert "Western Africa" in usual
    imported = run("groups", "import", table(tmp_path, HEADER + ROW))
    assert imported.out == "1 groups imported.\n"
    exported = run("groups", "export").out
    assert exported == usual.replace(HEADER, HEADER + ROW)
    assert run("groups", "import", table(tmp_path, exported)).status == 0
    cleared = run("groups", "clear").out
    assert cleared == f"{len(exported.splitlines()) - 1} groups removed.\n"
    assert run("groups", "export").out == usual


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name\nUs\n", "row 1, column members: is missing"),
        ("name,members,colour\nUs,KEN,red\n", "row 1, column colour: is unknown"),
        ("name,members\nUs,Atlantis\n", "row 2, column members: 'ATLANTIS' is no"),
        ("name,members\nUs,\n", "row 2, column members: is empty"),
        ("name,members\n,KEN\n", "row 2, column name: is empty"),
        ("name,members\nUs,KEN\nus,MLI\n", "row 3, column name: 'us' is there twice"),
    ],
)
def test_an_error_names_the_row_and_the_column(
    run: Run, tmp_path: Path, text: str, problem: str
) -> None:
    result = run("groups", "import", table(tmp_path, text))
    assert (result.status, problem in result.err) == (2, True), result.err
