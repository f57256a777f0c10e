"""`sync`: the library is as the places of sources.toml are, whatever fails or is
interrupted.
"""

import json
import re
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.extras.sources.running import follow, synchroniser_of
from tests.app.cli.conftest import Result, Run, opened
from tests.app.cli.processes import started
from tests.conftest import write_report
from tests.data import cases
from tests.library.helpers import end_leases

CASES = cases(__file__)
FOLDER = (
    '[reports]\nkind = "folder"\npath = "{}"\ncountry_name = "KE"\nyear = 2024\nlabels '
    '= ["kept"]\nprune = {}\n'
)


@pytest.fixture
def place(tmp_path: Path, environment: dict[str, str]) -> Path:
    """A folder of ten reports, and a sources.toml that names it."""
    folder = tmp_path / "place"
    for number in range(10):
        write_report(
            folder, f"# Report {number}\n\n## Water\n\nWell {number}.", f"r{number}"
        )
    write(environment, tmp_path, FOLDER.format(folder, "true"))
    return folder


def write(environment: dict[str, str], tmp_path: Path, text: str) -> None:
    (tmp_path / "sources.toml").write_text(text, encoding="utf-8")
    environment["SOURCES"] = str(tmp_path / "sources.toml")


def changes(result: Result) -> list[str]:
    """Outcome and file of each line but the unchanged ones."""
    lines = re.findall(r"^(\w+) +\w+  (\S+)", result.err, re.MULTILINE)
    return [
        f"{outcome} {Path(name).name}"
        for outcome, name in lines
        if outcome != "unchanged"
    ]


def test_one_changed_and_one_gone_are_two_changes(run: Run, place: Path) -> None:
    first = run("sync")
    assert (first.status, first.out) == (0, "reports: 10 added\n")
    assert (again := run("sync")).out == "reports: 10 unchanged\n", again.err
    write_report(place, "# Report 3\n\n## Water\n\nA deeper well.", "r3")
    (place / "r4.md").unlink()
    (place / "r5.md").touch()  # another time, the same content
    second = run("sync")
    assert changes(second) == ["replaced r3.md"]
    assert second.out == "reports: 8 unchanged, 1 replaced, 1 gone\n"
    listed = run("documents", "list", "--country", "Kenya", "--year", "2024").out
    assert "10 reports" in listed
    assert (
        "A deeper well."
        in run("ask", "How deep is the well?", CHAT_MODEL="extractive").out
    )


def test_what_a_person_did_stays(
    run: Run, place: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    run("sync")
    by_title = {
        line.split("  ")[-2]: line.split()[0]
        for line in run("documents", "list").out.splitlines()[:-1]
    }
    with build(
        Settings(data_dir=Path(environment["DATA_DIR"]), embedding_provider="hashing")
    ) as services:
        services.ingesting.service.edit(by_title["Report 1"], {"country_name": "Mali"})
    run("documents", "delete", by_title["Report 2"])
    assert run("sync").out == "reports: 9 unchanged, 1 deleted\n"
    write(environment, tmp_path, FOLDER.format(place, "false").replace("2024", "2023"))
    assert run("sync").out == "reports: 1 deleted, 9 replaced\n"
    assert (
        "1 report,"
        in run("documents", "list", "--country", "Mali", "--year", "2023").out
    )
    write_report(place, "# Report 2\n\n## Water\n\nNew.", "r2")
    (place / "r2.md").touch()
    text = (tmp_path / "sources.toml").read_text("utf-8")
    write(environment, tmp_path, "")
    run("sync")
    write(environment, tmp_path, text.replace("[reports]", "[renamed]"))
    assert run("sync").out == "renamed: 1 deleted, 9 unchanged\n"
    run("documents", "undelete", by_title["Report 2"])
    assert changes(run("sync")) == ["replaced r2.md"]


def test_an_operator_lists_what_is_gone_and_prunes_it_now(
    run: Run, place: Path
) -> None:
    run("sync")
    for name in ("r1.md", "r2.md", "r3.md"):
        (place / name).unlink()
    refused = run("sync")
    assert (refused.status, refused.out) == (1, "reports: 7 unchanged, 3 gone\n")
    assert (
        "3 of 10 files are gone, more than a fifth, so none was removed." in refused.err
    )
    place.rename(place.with_name("unmounted"))
    absent = run("sync", "--prune")
    assert "is not a folder here" in absent.err
    assert "10 reports" in run("documents", "list").out
    place.with_name("unmounted").rename(place)
    assert run("sync", "--prune-now", "unknown").status == 2
    pruned = run("sync", "--prune-now", "reports", "--yes")
    assert pruned.status == 0
    assert pruned.out.count("gone       reports") == 3
    assert pruned.out.endswith("reports: 3 reports put into the bin.\n")
    assert "7 reports" in run("documents", "list").out
    assert "gone from its source" in run("documents", "list", "--deleted").out
    assert run("sync").out == "reports: 7 unchanged\n"


def test_a_folder_is_left_by_no_link_and_no_manifest(
    run: Run, place: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "env").write_text("# Secret\n\nOPENAI_API_KEY=sk-outside\n")
    (place / "env.md").symlink_to(outside / "env")
    (place / "folder").symlink_to(outside)
    result = run("sync")
    assert (result.status, result.out) == (1, "reports: 1 failed, 10 added\n")
    assert "env.md is a link to a file outside of the folder" in result.err
    assert run("ingest", str(place)).status == 1
    names = ["../outside/env", str(outside / "env"), "folder/env", "r1.md"]
    (place / "manifest.json").write_text(json.dumps([{"file": name} for name in names]))
    listed = run("sync")
    assert listed.status == 1
    assert "3 failed" in listed.out
    assert "sk-outside" not in run("ask", "What is the secret key?").out
    assert "3 failed" not in run("sync", FOLLOW_LINKS="True").out


def test_a_failure_stops_nothing(
    run: Run, place: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (place / "r0.md").write_bytes(b"\xff\xfe\x00")
    absent = '[absent]\nkind = "folder"\npath = "/nowhere"\n'
    write(environment, tmp_path, absent + FOLDER.format(place, "false"))
    result = run("sync")
    assert (result.status, result.out) == (
        1,
        "absent: no files\nreports: 1 failed, 9 added\n",
    )
    assert re.search(r"failed +reports  \S+r0.md  r0.md is damaged", result.err)
    with build(
        Settings(data_dir=Path(environment["DATA_DIR"]), embedding_provider="hashing")
    ) as services:
        first, second = synchroniser_of(services).states()
    assert first.problem.startswith("/nowhere is not a folder here.")
    assert [(one.outcome, Path(one.name).name) for one in second.failures] == [
        ("failed", "r0.md")
    ]
    assert (len(second.changes), bool(second.finished_at)) == (9, True)


@pytest.mark.parametrize(("text", "message"), CASES["a wrong file names what is valid"])
def test_a_wrong_file_names_what_is_valid(
    run: Run, environment: dict[str, str], tmp_path: Path, text: str, message: str
) -> None:
    write(environment, tmp_path, text)
    result = run("sync")
    assert result.status == 1
    assert message in result.err


@pytest.mark.sampled(2)
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_goes_on(
    run: Run,
    place: Path,
    process_environment: dict[str, str],
    environment: dict[str, str],
    end: signal.Signals,
) -> None:
    process_environment |= environment
    with started(process_environment, "-m", "chatbot", "sync") as process:
        assert process.stderr is not None
        seen = [process.stderr.readline() for _ in range(3)]
        process.send_signal(end)
        process.wait(60)
    assert all(line.startswith("added") for line in seen), seen
    with closing(opened(environment["DATA_DIR"])) as database:
        assert bool(end_leases(database)) == (end == signal.SIGKILL)
    result = run("sync")
    unchanged, added = (
        int(re.search(rf"(\d+) {word}", result.out)[1])
        for word in ("unchanged", "added")
    )  # type: ignore[index]
    assert unchanged >= 3
    assert unchanged + added == 10
    assert "10 reports" in run("documents", "list").out


def test_the_server_keeps_the_library_current(
    place: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    settings = Settings.from_env({**environment, "SYNC_EVERY": "1s"})
    stop = threading.Event()
    with build(settings) as services:
        services.prepare()
        thread = threading.Thread(target=follow, args=(services, stop))
        thread.start()
        try:
            until(lambda: len(services.storage.documents.all()) == 10)
            write_report(place, "# Report 10\n\n## Water\n\nWell.", "r10")
            until(lambda: len(services.storage.documents.all()) == 11)
        finally:
            stop.set()
            thread.join(30)
        assert not thread.is_alive()


def until(holds) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)
