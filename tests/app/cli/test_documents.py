"""`ingest`, and `documents list|delete` over what it wrote."""

import io
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from shutil import make_archive

import pytest

from chatbot.app.services import Services, build
from chatbot.app.services.ingesting import Ingesting
from chatbot.config.settings import Settings
from chatbot.domain import DocumentRecord, Scope
from chatbot.domain.documents import Deletion
from tests.app.cli.conftest import Result, Run
from tests.app.cli.processes import started
from tests.conftest import KENYA_2023, write_report
from tests.data import cases
from tests.fakes.openai_server import CHAT, EMBEDDINGS, FakeOpenAI, Reply
from tests.fakes.web_server import Page, WebServer
from tests.library.helpers import end_leases

CASES = cases(__file__)


@pytest.fixture
def services_of(environment: dict[str, str]) -> Callable[[], Services]:
    """Opens what the commands wrote."""
    return lambda: build(
        Settings(data_dir=Path(environment["DATA_DIR"]), embedding_provider="hashing")
    )


def test_a_file_becomes_searchable(run: Run, kenya_file: Path) -> None:
    result = run("ingest", str(kenya_file), "--country", "Kenya", "--year", "2023")
    assert result.status == 0
    assert result.out.splitlines()[-1] == "1 of 1 files are searchable."
    assert re.search(
        (
            r"added +3 passages  Kenya: Country Report 2023  \(Kenya, 2023, "
            r"country_report\)"
        ),
        result.err,
    )
    listed = run("documents", "list").out.splitlines()
    assert re.fullmatch(
        r"[0-9a-f]{20}  ready          3  Kenya: Country Report 2023  \(Kenya, 2023\)",
        listed[0],
    )
    assert listed[-1] == "1 report, 3 passages"
    again = run(
        "ingest", str(kenya_file)
    )  # R-E6; the metadata given before still holds
    assert (again.status, bool(re.search("unchanged +3 passages", again.err))) == (
        0,
        True,
    )
    run("ingest", str(kenya_file), "--year", "2024")
    listed = run("documents", "list", "--country", "Kenya", "--year", "2024")
    assert listed.out.splitlines()[-1] == "1 report, 3 passages"


def test_a_folder_with_its_manifest_and_flags_that_win(
    run: Run, tmp_path: Path
) -> None:
    folder = write_report(tmp_path / "folder", KENYA_2023, "one").parent
    write_report(folder, "# Not listed\n\ntext", "two")
    manifest = [
        {
            "file": "one.md",
            "title": "From the manifest",
            "country_name": "Kenya",
            "year": 2020,
        }
    ]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    result = run("ingest", str(folder), "--year", "2024")
    assert re.search(
        r"added +3 passages  From the manifest  \(Kenya, 2024\)", result.err
    )
    assert (
        run("documents", "list", "--country", "KE", "--year", "2024").out.splitlines()[
            -1
        ]
        == "1 report, 3 passages"
    )
    assert run("documents", "list", "--year", "2020").status == 2


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_taken(
    run: Run, kenya_file: Path
) -> None:
    (kenya_file.parent / "bad.md").write_bytes(b"\xff\xfe\x00")
    (kenya_file.parent / "picture.xyz").write_bytes(b"x")
    result = run("ingest", str(kenya_file.parent))
    assert result.status == 1
    assert "bad.md is damaged" in result.err
    assert "picture.xyz: skipped, this format cannot be read." in result.err
    assert "1 of 2 files are searchable." in result.out
    assert "Error: 1 of 2 files could not be read." in result.err
    assert run("documents", "list").out.splitlines()[-1] == "1 report, 3 passages"


def test_the_chunk_size_is_used(run: Run, tmp_path: Path) -> None:
    path = write_report(tmp_path, "# T\n\n" + "A sentence of some words. " * 20, "long")
    run("ingest", str(path), "--chunk-size", "150")
    assert run("documents", "list").out.splitlines()[-1] == "1 report, 4 passages"


def test_a_collection_that_no_question_searches_is_refused(
    run: Run, kenya_file: Path
) -> None:
    """R-D7: nothing that was ingested is unreachable."""
    result = run("ingest", str(kenya_file), "--collection", "elsewhere")
    assert result.status == 2
    assert (
        "collection: 'elsewhere' is not searched. Valid: chatbot_data, report_chatting."
        in result.err
    )
    assert run("ingest", str(kenya_file), "--collection", "report_chatting").status == 0


def test_documents_are_listed_by_scope_and_deleted_with_their_passages(
    loaded: Run,
) -> None:
    assert "Mali" not in loaded("documents", "list", "--country", "ke").out
    assert loaded("documents", "list", "--country", "Narnia").status == 2
    first = loaded("documents", "list").out.split()[0]
    result = loaded("documents", "delete", first, "unknown")
    assert result.status == 1
    assert "There is no report unknown; nothing was deleted." in result.err
    assert loaded("documents", "list").out.splitlines()[-1] == "2 reports, 4 passages"
    mali = next(
        line.split()[0]
        for line in loaded("documents", "list").out.splitlines()
        if "Mali" in line
    )
    result = loaded("documents", "delete", mali)
    assert (result.status, result.out) == (0, "1 deleted.\n")
    assert loaded("documents", "list").out.splitlines()[-1] == "1 report, 3 passages"
    assert (
        json.loads(loaded("ask", "desert", "--retrieval-method", "bm25", "--json").out)[
            "trace"
        ]["hits"]
        == []
    )


def test_names_of_files_turn_no_line_of_the_terminal_around(
    run: Run, tmp_path: Path
) -> None:
    for name in ("gnp\u202efdp.md", "tea\u202efdp.xyz"):
        (tmp_path / name).write_text("Tea is grown in the hills.", encoding="utf-8")
    outcomes = (run("ingest", str(tmp_path)), run("documents", "list"))
    shown = "".join(outcome.out + outcome.err for outcome in outcomes)
    assert "gnpfdp.md" in shown
    assert "teafdp.xyz" in shown
    assert "\u202e" not in shown


def test_a_deleted_report_comes_back_by_undelete_or_by_its_own_name_only(
    run: Run, kenya_file: Path
) -> None:
    run("ingest", str(kenya_file))
    document_id = run("documents", "list").out.split()[0]
    run("documents", "delete", document_id)
    assert "in the bin" in run("documents", "list", "--deleted").out
    folder = run("ingest", str(kenya_file.parent))
    assert (folder.status, folder.out.splitlines()[0]) == (
        0,
        "0 of 1 files are searchable.",
    )
    copy = kenya_file.with_name("a copy.md")
    copy.write_bytes(kenya_file.read_bytes())
    assert "0 of 2 files" in run("ingest", str(kenya_file.parent)).out
    assert run("documents", "undelete", document_id).status == 0
    assert run("documents", "list").out.splitlines()[-1] == "1 report, 3 passages"
    assert run("documents", "undelete", document_id).status == 1
    copy.unlink()

    run("documents", "delete", "--permanent", document_id)
    assert "erased" in run("documents", "list", "--deleted").out
    assert run("documents", "delete", "--permanent", document_id).status == 1
    assert "0 of 1 files" in run("ingest", str(kenya_file.parent)).out
    again = run("ingest", str(kenya_file))
    assert "A person had deleted this report on 20" in again.err
    assert run("documents", "list").out.splitlines()[-1] == "1 report, 3 passages"


def test_the_bin_is_emptied_after_bin_days(
    run: Run, kenya_file: Path, services_of: Callable[[], Services]
) -> None:
    run("ingest", str(kenya_file))
    document_id = run("documents", "list").out.split()[0]
    run("documents", "delete", document_id)
    with services_of() as services:
        assert services.ingesting.empty_bin() == 0
        record = services.storage.documents.registered(document_id)
        assert record is not None
        old = replace(record, deletion=Deletion("2020-01-01T00:00:00.000Z"))
        services.storage.documents.put(old)
        assert services.ingesting.empty_bin() == 1
        erased = services.storage.documents.registered(document_id)
        assert erased is not None
        assert erased.is_tombstone
        assert services.runtime.store.stored(document_id)[0] == []
    assert run("ingest", str(kenya_file), BIN_DAYS="0").status == 0
    run("documents", "delete", document_id, BIN_DAYS="0")
    assert "erased" in run("documents", "list", "--deleted").out


class TestFolders:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Kenya and Mali on two levels, and what is not to be read."""
        folder = write_report(tmp_path / "all", KENYA_2023, "kenya-2023").parent
        write_report(folder / "deep" / "deeper", "# Mali\n\nA desert.", "mali-2021")
        write_report(folder / ".git", "# Hidden folder\n\ntext", "hidden")
        write_report(folder, "# Hidden file\n\ntext", ".hidden")
        (folder / "picture.png").write_bytes(b"\x89PNG")
        (folder / "table.csv").write_text("Text\nprices rise\n", encoding="utf-8")
        return folder

    @pytest.mark.parametrize("zipped", [False, True])
    def test_all_below_is_taken_but_what_is_hidden(
        self, run: Run, folder: Path, zipped: bool
    ) -> None:
        result = run(
            "ingest",
            make_archive(str(folder), "zip", folder) if zipped else str(folder),
        )
        assert result.status == 0
        assert result.out.splitlines()[-1] == "3 of 3 files are searchable."
        assert "picture.png: skipped, this format cannot be read." in result.err
        assert "idden" not in result.err
        assert "(Mali, 2021)" in result.err

    def test_a_pattern_chooses(self, run: Run, folder: Path) -> None:
        for pattern, found in [
            ("*.md", 1),
            ("**/*.md", 2),
            ("**/mali*", 1),
            ("*.csv", 1),
            ("deep/**/*", 1),
        ]:
            assert run("ingest", str(folder), "--glob", pattern).out.splitlines()[
                -1
            ] == (f"{found} of {found} files are searchable.")

    def test_nothing_to_read_is_said(
        self, run: Run, folder: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "empty").mkdir()
        for arguments in ([str(tmp_path / "empty")], [str(folder), "--glob", "*.pdf"]):
            result = run("ingest", *arguments)
            assert result.status == 2
            assert f"No file to read in {arguments[0]}." in result.err

    def test_each_file_has_a_line(self, run: Run, folder: Path) -> None:
        (folder / "bad.pdf").write_bytes(b"%PDF-1.4 no")
        result = run("ingest", str(folder))
        table = [
            line
            for line in result.err.splitlines()
            if re.match(r"(added|failed) {4}", line)
        ]
        assert sorted(line.split()[0] for line in table) == [
            "added",
            "added",
            "added",
            "failed",
        ]
        assert result.status == 1
        again = run("ingest", str(folder))
        assert len(re.findall(r"(?m)^unchanged ", again.err)) == 3
        assert again.status == 1

    def test_a_dry_run_writes_no_document(self, run: Run, folder: Path) -> None:
        run("ingest", str(folder / "kenya-2023.md"))
        assert re.search(
            r"(?m)^unchanged ",
            run("ingest", str(folder / "kenya-2023.md"), "--dry-run").err,
        )
        listed = run("documents", "list").out
        write_report(folder, KENYA_2023 + "\n\nMore.\n", "kenya-2023")
        (folder / "bad.md").write_bytes(b"\xff\xfe\x00")
        result = run("ingest", str(folder), "--dry-run")
        assert result.status == 1
        assert re.search(r"(?m)^changed .*Kenya", result.err)
        assert len(re.findall(r"(?m)^new ", result.err)) == 2
        assert re.search(r"(?m)^failed .*bad.md", result.err)
        assert "3 of 4 files can be read." in result.out
        assert run("documents", "list").out == listed

    def test_a_dry_run_shows_the_type(self, run: Run, tmp_path: Path) -> None:
        for flags, about in CASES["a dry run shows the type"]:
            (tmp_path / "wells.csv").write_text(
                "depth,place\n3,Kitui\n", encoding="utf-8"
            )
            told = run("ingest", str(tmp_path / "wells.csv"), "--dry-run", *flags).err
            assert f"wells  ({about})" in told
            assert 'No column is called "Text"' in told
            strict = run("ingest", str(tmp_path / "wells.csv"), "--strict-csv", *flags)
            assert (
                'wells.csv has no column "Text". Columns found: depth, place.'
                in strict.err
            )
            assert strict.status == 1

    def test_a_dry_run_shows_what_the_text_says_and_where(
        self, run: Run, tmp_path: Path
    ) -> None:
        path = write_report(
            tmp_path,
            "# Prices in Mali\n\n2019 and 2020 were dry. So was 2019 in the north.\n",
            "note",
        )
        shown = run("ingest", str(path), "--dry-run").err
        assert (
            '    country_name: Mali (title: "Prices in Mali"; not sure, please '
            'confirm)\n    year: 2019 (first pages: "2019 and 2020 were dry. So was '
            '2019 in the north."; not sure, please confirm)\n'
        ) in shown


class TestStandardInput:
    @pytest.fixture
    def piped(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
        def invoke(text: str, *arguments: str) -> Result:
            monkeypatch.setattr(
                "sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()))
            )
            return run("ingest", *arguments)

        return invoke

    def test_standard_input_is_a_document_of_its_name(
        self, piped: Callable[..., Result], run: Run
    ) -> None:
        assert "added" in piped("# From a pipe\n\ntext", "-").err
        assert "unchanged" in piped("# From a pipe\n\ntext", "-").err
        assert "replaced" in piped("# From a pipe\n\nother text", "-").err
        assert (
            "added"
            in piped("Text\nprices rise\n", "-", "--name", "../some/prices.csv").err
        )
        assert run("documents", "list").out.splitlines()[-1] == "2 reports, 2 passages"

    def test_its_name_has_to_say_the_format(self, piped: Callable[..., Result]) -> None:
        for name in ["..", "x", "x.exe", ""]:
            result = piped("text", "-", "--name", name)
            assert result.status == 2
            assert ".md" in result.err

    def test_nothing_in_it_fails(self, piped: Callable[..., Result]) -> None:
        result = piped("", "-")
        assert (result.status, "failed" in result.err) == (1, True)


class TestWebPages:
    @pytest.fixture
    def web(self) -> Iterator[WebServer]:
        with WebServer() as running:
            running.pages["/togo"] = Page(
                b"<html><title>Togo</title><body><p>Phosphate is "
                b"mined.</p></body></html>"
            )
            yield running

    def test_a_page_is_read_where_that_is_allowed(
        self, run: Run, web: WebServer
    ) -> None:
        address = web.url("/togo#part")
        refused = run("ingest", address)
        assert (refused.status, web.requests) == (1, [])
        assert web.url("/togo") in refused.err
        result = run(
            "ingest",
            address,
            "--country",
            "Togo",
            "--year",
            "2022",
            FETCH_PRIVATE_URLS="true",
        )
        assert result.status == 0
        assert re.search(r"added +1 passages  Togo  \(Togo, 2022\)", result.err)
        assert (
            "unchanged"
            in run("ingest", web.url("/togo"), FETCH_PRIVATE_URLS="true").err
        )


class TestFlags:
    def test_what_is_said_is_kept(
        self, run: Run, kenya_file: Path, services_of: Callable[[], Services]
    ) -> None:
        flags = [
            "--title",
            "Mine",
            "--type",
            "review",
            "--label",
            "a",
            "--label",
            "b",
            "--description",
            "Some words.",
        ]
        assert run("ingest", str(kenya_file), *flags).status == 0
        with services_of() as services:
            (record,) = services.storage.documents.all()
        assert (record.title, record.labels, record.description) == (
            "Mine",
            ("a", "b"),
            "Some words.",
        )
        assert record.metadata == {
            "country_name": "Kenya",
            "year": 2023,
            "type": "review",
        }

    def test_a_wrong_one_is_usage_and_lists_the_valid(
        self, run: Run, kenya_file: Path
    ) -> None:
        for flag, value, field, valid in CASES[
            "a wrong one is usage and lists the valid"
        ]:
            result = run("ingest", str(kenya_file), flag, value)
            assert result.status == 2
            assert f"Error: {field}: " in result.err
            assert valid in result.err
            assert (
                run("documents", "list").out.splitlines()[-1] == "0 reports, 0 passages"
            )

    def test_a_title_for_two_files_and_a_path_that_is_not_there(
        self, run: Run, kenya_file: Path
    ) -> None:
        two = run(
            "ingest",
            str(kenya_file),
            str(write_report(kenya_file.parent, "x", "b")),
            "--title",
            "T",
        )
        assert (two.status, "--title is for a single file." in two.err) == (2, True)
        missing = run("ingest", str(kenya_file), "nowhere.md")
        assert (missing.status, "No file or folder 'nowhere.md'." in missing.err) == (
            2,
            True,
        )
        assert run("ingest").status == 2
        assert run("documents", "list").out.splitlines()[-1] == "0 reports, 0 passages"


def test_many_summaries_by_the_chat_model_are_asked_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        write_report(tmp_path / "two", f"# Note {number}\n\nA lake.", f"note-{number}")
    monkeypatch.setattr(Ingesting, "ask_above", 1)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    with FakeOpenAI() as server:
        settings = {**server.as_environment, "SUMMARIES": "auto"}
        asked = run("ingest", str(tmp_path / "two"), **settings)
        assert (
            asked.status,
            "summary of each of these 2 files" in asked.err,
            server.calls(CHAT),
        ) == (1, True, 0)
        assert run("ingest", str(tmp_path / "two"), "--dry-run", **settings).status == 0
        assert run("ingest", str(tmp_path / "two"), "--yes", **settings).status == 0
        assert server.calls(CHAT) == 2


@pytest.mark.nightly
def test_ctrl_c_says_how_to_go_on_and_the_same_command_finishes(
    run: Run,
    process_environment: dict[str, str],
    tmp_path: Path,
    services_of: Callable[[], Services],
) -> None:
    """Sent to the whole process group, as a terminal does it, while the second file is
    embedded.
    """
    folder = write_report(tmp_path / "reports", KENYA_2023, "a-kenya").parent
    with FakeOpenAI() as server:
        settings = {
            "EMBEDDING_PROVIDER": "openai",
            "EMBEDDING_MODEL": "fake",
            "CHAT_MODEL": "echo",
        }
        settings |= server.as_environment
        environment = {**process_environment, **settings}
        command = ("ingest", str(folder), "--chunk-size", "100")
        assert run(*command, **settings).status == 0

        write_report(
            folder,
            "# Mali\n\n" + "\n\n".join(f"## Part {n}\n\nText {n}." for n in range(400)),
            "b-mali",
        )
        server.embed(*[Reply(silent_before=2.0)] * 2)
        calls = server.calls(EMBEDDINGS)
        with started(
            environment, "-m", "chatbot", *command, start_new_session=True
        ) as process:
            server.wait_for(EMBEDDINGS, calls + 2, 30)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=120)
        assert process.returncode == 1, err
        assert "interrupted. Finished files are kept; run the command again." in err
        assert "Traceback" not in err + out

        write_report(folder, "# Chad\n\nA lake.", "c-chad")
        with services_of() as services:
            end_leases(services.storage.database)  # as time does, in half a minute
        finished = run(*command, **settings)
    assert finished.status == 0, finished.err
    assert re.search(r"(?m)^unchanged +3 passages  Kenya", finished.err)
    assert re.search(r"(?m)^added +400 passages  Mali", finished.err)
    assert "3 of 3 files are searchable." in finished.out


class TestReread:
    @pytest.fixture
    def stored(
        self,
        run: Run,
        kenya_file: Path,
        services_of: Callable[[], Services],
        monkeypatch: pytest.MonkeyPatch,
    ) -> DocumentRecord:
        """A report of an older release, which saw no figures in its passages."""
        with monkeypatch.context() as older:
            older.setattr("chatbot.library.pipeline.READING", "0")
            older.setattr("chatbot.library.versions.stated", lambda text: ())
            older.setattr(
                "chatbot.database.repositories.documents.now",
                lambda precision: "2020-01-01T00:00:00+00:00",
            )
            assert run("ingest", str(kenya_file), "--country", "Kenya").status == 0
        with services_of() as services:
            (record,) = services.storage.documents.all()
        return record

    def test_its_passages_and_figures_are_made_anew(
        self, run: Run, stored: DocumentRecord, services_of: Callable[[], Services]
    ) -> None:
        result = run("documents", "reread", "--yes")
        assert (result.status, result.out) == (0, "1 report read again.\n")
        with services_of() as services:
            record = services.storage.documents.get(stored.id)
            figures = services.storage.figures.find(Scope(), document_id=stored.id)
            changes = services.storage.figures.changes(stored.id)
        assert record is not None
        assert record.version != stored.version
        assert (record.title, record.metadata) == (stored.title, stored.metadata)
        assert len(figures) > 0
        # A reading is no change of the report.
        assert (record.updated_at, list(changes)) == (stored.updated_at, [])
        again = run("documents", "reread", "--yes")
        assert again.out == "No report is to be read again.\n"
