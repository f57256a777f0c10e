"""`copy` as a process of its own: killed on the way, run again, verified."""

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.database.core import Database, Json
from chatbot.extras.migration.copy import OTHERS
from tests.app.cli.conftest import Run
from tests.data import cases
from tests.extras.migration.conftest import opened
from tests.extras.migration.corpora import COLLECTIONS, contents, write_corpus
from tests.fakes.nx_server import NxProcess, NxThread

CASES = cases(__file__)
EVERYTHING = (*COLLECTIONS, *OTHERS)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NxProcess]:
    with NxProcess(tmp_path / "nx") as running:
        yield running


@pytest.fixture
def mongodb(tmp_path: Path) -> Iterator[str]:
    """The address of a server in this process."""
    with NxThread(tmp_path / "thread") as running:
        yield running.uri


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    """No provider set: whoever needs a vector would have to use the stored one, which
    has no key.
    """
    return {
        name: value
        for name, value in environment.items()
        if name != "EMBEDDING_PROVIDER"
    }


def start(
    source: str | Path, target: str | Path, environment: dict[str, str]
) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "chatbot",
        "copy",
        "--from",
        str(source),
        "--to",
        str(target),
    ]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kill_on_the_way(
    source: str | Path, target: str | Path, environment: dict[str, str]
) -> None:
    """SIGKILL as soon as some batches have arrived."""
    database = opened(target)
    with start(source, target, environment) as process:
        try:
            while not any(row.get("reached") for row in progress(database)):
                assert process.poll() is None
                time.sleep(0.005)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    assert [row["state"] for row in progress(database)] == ["copying"]
    database.close()


def progress(database: Database) -> list[Json]:
    return [
        row for row in database["meta"].find({}) if str(row["_id"]).startswith("copy:")
    ]


def finish(
    source: str | Path, target: str | Path, environment: dict[str, str], rows: int
) -> None:
    """The second run copies only what is left."""
    output, _ = start(source, target, environment).communicate(timeout=120)
    assert "Continuing an interrupted copy" in output
    copied = re.search(
        r"(\d+) rows copied from .* both sides are equal. 0 embedding calls", output
    )
    assert copied, output
    assert 0 < int(copied[1]) <= rows - 500


# every day an interrupted copy goes on in tests/extras/migration/test_copy.py, in one
# process
@pytest.mark.nightly
def test_a_copy_there_and_back_that_is_killed_on_both_ways_is_complete(
    tmp_path: Path, server: NxProcess, process_environment: dict[str, str]
) -> None:
    source, back, mongodb = (
        tmp_path / "source",
        tmp_path / "back",
        f"{server.uri}/copied",
    )
    original = opened(source)
    write_corpus(original, 1200)
    before, rows = (
        contents(original, EVERYTHING),
        sum(original[name].count({}) for name in EVERYTHING),
    )
    original.close()
    process_environment.pop("EMBEDDING_PROVIDER", None)

    kill_on_the_way(source, mongodb, process_environment)
    finish(source, mongodb, process_environment, rows)
    kill_on_the_way(mongodb, back, process_environment)
    finish(mongodb, back, process_environment, rows)

    returned = opened(back)
    assert contents(returned, EVERYTHING) == before
    returned.close()


def test_a_small_copy_lists_counts_and_digests(
    run: Run, tmp_path: Path, mongodb: str
) -> None:
    source = opened(tmp_path / "source")
    write_corpus(source, 60)
    source.close()
    copy = ("copy", "--from", str(tmp_path / "source"), "--to", f"{mongodb}/copied")
    result = run(*copy)
    assert result.status == 0
    assert re.search(r"chatbot_data +50  [0-9a-f]{32}\n", result.out)
    again = run(*copy)
    assert again.status == 1
    assert "not empty: chatbot_data (50)" in again.err


def test_a_mistake_of_a_copy_is_named(run: Run, tmp_path: Path, mongodb: str) -> None:
    empty = opened(tmp_path / "empty")
    empty.ping()
    empty.close()
    for source, target, status, message in CASES["mistakes"]:
        uri = source if ":" in source else str(tmp_path / source)
        result = run("copy", "--from", uri, "--to", target.replace("SERVER", mongodb))
        assert (result.status, message in result.err) == (status, True), result.err


@pytest.mark.parametrize(("source", "target", "command"), CASES["equals"])
def test_between_servers_of_one_engine_the_command_of_its_vendor_is_printed(
    run: Run, source: str, target: str, command: str
) -> None:
    result = run("copy", "--from", source, "--to", target)
    assert result.status == 2
    assert result.err.splitlines()[-1] == command
    assert "hunter2" not in result.err


def test_between_two_files_the_printed_command_copies_all_rows(
    run: Run, tmp_path: Path
) -> None:
    source = opened(tmp_path / "a source")
    write_corpus(source, 60)
    before = contents(source, EVERYTHING)
    source.close()
    target = tmp_path / "new" / "tar'g\"et"
    copy = ("copy", "--from", str(tmp_path / "a source"), "--to", str(target))
    result = run(*copy)
    assert result.status == 2
    assert not target.exists()
    if not shutil.which("sqlite3"):
        pytest.skip("the command sqlite3 is not installed")
    subprocess.run(result.err.splitlines()[-1], shell=True, check=True)
    copied = opened(target)
    assert contents(copied, EVERYTHING) == before
    copied.close()
    assert "exists already: a copy would replace it" in run(*copy).err


def test_two_files_are_not_merged(run: Run, tmp_path: Path) -> None:
    for name in ("source", "target"):
        database = opened(tmp_path / name)
        write_corpus(database, 1)
        database.close()
    places = ("--from", str(tmp_path / "source"), "--to", str(tmp_path / "target"))
    result = run("copy", "--merge", *places)
    assert result.status == 2
    assert "--merge adds to a database of another engine only" in result.err


def test_a_password_is_never_shown(run: Run, tmp_path: Path) -> None:
    source = opened(tmp_path / "source")
    write_corpus(source, 1)
    source.close()
    target = "mongodb://user:hunter2@127.0.0.1:1/db?serverSelectionTimeoutMS=100"
    result = run(
        "copy",
        "--from",
        str(tmp_path / "source"),
        "--to",
        target,
        MONGODB_TIMEOUT="0.3",
    )
    assert result.status == 1
    assert "hunter2" not in result.out + result.err


def test_passages_in_postgresql_are_not_silently_left_behind(
    run: Run, tmp_path: Path
) -> None:
    source = tmp_path / "source.sqlite"
    source.touch()
    settings = {"VECTOR_SEARCH": "pgvector", "EXTRAS": "migration,pgvector"}
    result = run("copy", "--from", str(source), "--to", "mongodb://h", **settings)
    assert result.status == 2
    assert "pg_dump" in result.err
