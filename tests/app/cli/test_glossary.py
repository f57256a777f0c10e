"""`glossary`: a table of terms is imported, listed, exported and cleared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.cli.conftest import Run

TABLE = """term,meaning,other_words,heading,label
GDP,Value of all goods made in a year.,output | PIB,GDP (official exchange rate),
men's age,"How old men are, on average.",,Median age,male
"""


def table(folder: Path, text: str) -> str:
    path = folder / "terms.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_what_is_imported_is_listed_and_exported(run: Run, tmp_path: Path) -> None:
    assert run("glossary", "import", table(tmp_path, TABLE)).out == "2 terms imported.\n"
    assert "men's age: How old men are, on average.\n2 terms\n" in run("glossary", "list").out
    assert run("glossary", "export").out == TABLE
    run("glossary", "import", table(tmp_path, "term,meaning\nIDP,Someone who had to flee.\n"))
    assert run("glossary", "list").out.endswith("3 terms\n")
    run("glossary", "import", "--replace", table(tmp_path, "term,meaning\nIDP,Someone who had to flee.\n"))
    assert run("glossary", "list").out == "IDP: Someone who had to flee.\n1 terms\n"
    assert run("glossary", "clear").out == "1 terms removed.\n"
    assert run("glossary", "list").out == "0 terms\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("term,heading\nGDP,GDP\n", "row 1, column meaning: is missing"),
        ("term,meaning,words\nGDP,Value,output\n", "row 1, column words: is unknown"),
        ("term,meaning\nGDP,Value\n\nPPP,\n", "row 4, column meaning: is empty"),
        ("term,meaning\nGDP,Value\ngdp,Output\n", "row 3, column term: 'gdp' is in row 2 too"),
    ],
)
def test_an_error_names_the_row_and_the_column(run: Run, tmp_path: Path, text: str, problem: str) -> None:
    result = run("glossary", "import", table(tmp_path, text))
    assert (result.status, problem in result.err) == (2, True), result.err
    assert run("glossary", "list").out == "0 terms\n"
