"""`glossary`: a table of terms is imported, exported and cleared."""

import csv
from pathlib import Path

from tests.app.cli.conftest import Run
from tests.data import cases

CASES = cases(__file__)
LANGUAGES = ",es,fr,pt,ar,de,it,nl,ru,tr,sv,da,no,source"
HEADER = f"term,meaning,other_words,heading,label,formula{LANGUAGES}\n"
NONE = "," * LANGUAGES.count(",")
ROWS = f"""GDP,Value of all goods made in a year.,output | PIB,GDP (official exchange rate),,{NONE}
men's age,"How old men are, on average.",,Median age,male,{NONE}
"""  # noqa: E501
FLIGHT = f"IDP,Someone who had to flee.,,,,{NONE}\n"


def table(folder: Path, text: str) -> str:
    path = folder / "terms.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_what_is_imported_is_exported_until_it_is_cleared(
    run: Run, tmp_path: Path
) -> None:
    assert (
        run("glossary", "import", table(tmp_path, HEADER + ROWS)).out
        == "2 terms imported.\n"
    )
    assert run("glossary", "export").out == HEADER + ROWS
    run(
        "glossary",
        "import",
        table(tmp_path, "term,meaning\nIDP,Someone who had to flee.\n"),
    )
    assert sorted(run("glossary", "export").out.splitlines()) == sorted(
        (HEADER + ROWS + FLIGHT).splitlines()
    )
    run(
        "glossary",
        "import",
        "--replace",
        table(tmp_path, "term,meaning\nIDP,Someone who had to flee.\n"),
    )
    assert run("glossary", "export").out == HEADER + FLIGHT
    assert run("glossary", "clear").out == "1 terms removed.\n"
    assert run("glossary", "export").out == HEADER


def test_an_error_names_the_row_and_the_column(run: Run, tmp_path: Path) -> None:
    for text, problem in CASES["an error names the row and the column"]:
        result = run("glossary", "import", table(tmp_path, text))
        assert (result.status, problem in result.err) == (2, True), result.err
        assert run("glossary", "export").out == HEADER


def test_shipped_terms_for_figures_of_the_library_count(
    loaded: Run, tmp_path: Path
) -> None:
    exported = loaded("glossary", "export").out
    rows = list(csv.DictReader(exported.splitlines()))
    headings = {row["heading"] for row in rows}
    assert headings == {"Population", "Population growth rate"}
    assert {row["source"] for row in rows} == {"default"}
    edited = exported.replace("population growth,", "growing people,", 1)
    changed = loaded("glossary", "import", table(tmp_path, edited))
    assert changed.out == "1 terms imported.\n"
    loaded("glossary", "clear")
    assert loaded("glossary", "export").out == HEADER
