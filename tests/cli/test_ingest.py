"""`ingest`, and `documents list|delete` over what it wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.conftest import Run
from tests.conftest import KENYA_2023, write_report


def test_a_file_becomes_searchable(run: Run, kenya_file: Path) -> None:
    result = run("ingest", str(kenya_file), "--country", "Kenya", "--year", "2023")
    assert result.status == 0
    assert result.out.splitlines()[-1] == "1 of 1 files are searchable."
    assert re.search(r"added +3 passages  Kenya: Country Report 2023  \(Kenya, 2023\)", result.err)
    listed = run("documents", "list").out.splitlines()
    assert re.fullmatch(r"[0-9a-f]{20}  ready          3  Kenya: Country Report 2023  \(Kenya, 2023\)", listed[0])
    assert listed[-1] == "1 reports, 3 passages"


def test_the_same_again_is_unchanged(run: Run, kenya_file: Path) -> None:
    """R-E6."""
    run("ingest", str(kenya_file))
    again = run("ingest", str(kenya_file))
    assert (again.status, bool(re.search("unchanged +3 passages", again.err))) == (0, True)
    assert run("documents", "list").out.splitlines()[-1] == "1 reports, 3 passages"


def test_what_was_said_of_a_report_holds_without_its_flags(run: Run, kenya_file: Path) -> None:
    run("ingest", str(kenya_file), "--country", "Kenya", "--year", "2023")
    again = run("ingest", str(kenya_file))
    assert bool(re.search("unchanged +3 passages", again.err))
    run("ingest", str(kenya_file), "--year", "2024")
    listed = run("documents", "list", "--country", "Kenya", "--year", "2024")
    assert listed.out.splitlines()[-1] == "1 reports, 3 passages"


def test_a_folder_with_its_manifest_and_flags_that_win(run: Run, tmp_path: Path) -> None:
    folder = write_report(tmp_path / "folder", KENYA_2023, "one").parent
    write_report(folder, "# Not listed\n\ntext", "two")
    manifest = [{"file": "one.md", "title": "From the manifest", "country_name": "Kenya", "year": 2020}]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    result = run("ingest", str(folder), "--year", "2024")
    assert re.search(r"added +3 passages  From the manifest  \(Kenya, 2024\)", result.err)
    assert run("documents", "list", "--country", "KE", "--year", "2024").out.splitlines()[-1] == "1 reports, 3 passages"
    assert run("documents", "list", "--year", "2020").status == 2


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_taken(run: Run, kenya_file: Path) -> None:
    (kenya_file.parent / "bad.md").write_bytes(b"\xff\xfe\x00")
    (kenya_file.parent / "picture.xyz").write_bytes(b"x")
    result = run("ingest", str(kenya_file.parent))
    assert result.status == 1
    assert "bad.md is damaged" in result.err
    assert "picture.xyz: skipped, this format is not read." in result.err
    assert "1 of 2 files are searchable." in result.out
    assert "Error: 1 of 2 files could not be read." in result.err
    assert run("documents", "list").out.splitlines()[-1] == "1 reports, 3 passages"


def test_the_chunk_size_is_used(run: Run, tmp_path: Path) -> None:
    path = write_report(tmp_path, "# T\n\n" + "A sentence of some words. " * 20, "long")
    run("ingest", str(path), "--chunk-size", "150")
    assert run("documents", "list").out.splitlines()[-1] == "1 reports, 4 passages"


def test_a_collection_that_no_question_searches_is_refused(run: Run, kenya_file: Path) -> None:
    """R-D7: nothing that was ingested is unreachable."""
    result = run("ingest", str(kenya_file), "--collection", "elsewhere")
    assert result.status == 2
    assert "collection: 'elsewhere' is not searched. Valid: chatbot_data, report_chatting." in result.err
    assert run("ingest", str(kenya_file), "--collection", "report_chatting").status == 0


def test_documents_are_listed_by_scope(loaded: Run) -> None:
    assert loaded("documents", "list").out.splitlines()[-1] == "2 reports, 4 passages"
    assert "Mali" not in loaded("documents", "list", "--country", "ke").out
    assert loaded("documents", "list", "--country", "Narnia").status == 2


def test_documents_are_deleted_with_their_passages(loaded: Run) -> None:
    mali = next(line.split()[0] for line in loaded("documents", "list").out.splitlines() if "Mali" in line)
    result = loaded("documents", "delete", mali)
    assert (result.status, result.out) == (0, "1 deleted.\n")
    assert loaded("documents", "list").out.splitlines()[-1] == "1 reports, 3 passages"
    assert json.loads(loaded("ask", "desert", "--retrieval-method", "bm25", "--json").out)["trace"]["hits"] == []


def test_an_unknown_document_deletes_nothing(loaded: Run) -> None:
    first = loaded("documents", "list").out.split()[0]
    result = loaded("documents", "delete", first, "unknown")
    assert result.status == 1
    assert "There is no report unknown; nothing was deleted." in result.err
    assert loaded("documents", "list").out.splitlines()[-1] == "2 reports, 4 passages"
