"""`reembed` as a process of its own, killed and run again, and what it says."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.database.core import Database
from tests.app.cli.conftest import Run
from tests.conftest import write_report
from tests.data import cases

CASES = cases(__file__)
PASSAGES = 3000
COMMAND = ("reembed", "--provider", "hashing", "--model", "128", "--grace", "0")


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name != "EMBEDDING_PROVIDER"
    }


@pytest.fixture
def large(run: Run, tmp_path: Path) -> Path:
    """A report that takes a while."""
    sections = (
        f"## Part {number}\n\nZebra number {number}.\n" for number in range(PASSAGES)
    )
    path = write_report(
        tmp_path / "reports", "# Large\n\n" + "\n".join(sections), "large"
    )
    done = run(
        "ingest",
        str(path),
        "--year",
        "2023",
        EMBEDDING_PROVIDER="hashing",
        EMBEDDING_MODEL="64",
    )
    assert done.status == 0, done.err
    return path


def vectors(database: Database, field: str) -> int:
    return database["report_chatting"].count({field: {"$exists": True}})


# every day an interrupted change of the model goes on in
# tests/extras/migration/test_reembed.py
@pytest.mark.nightly
def test_killed_and_run_again(
    run: Run,
    large: Path,
    environment: dict[str, str],
    process_environment: dict[str, str],
) -> None:
    process_environment.pop("EMBEDDING_PROVIDER", None)
    with build(Settings.from_env(environment)) as serving:
        command = [sys.executable, "-m", "chatbot", *COMMAND]
        with subprocess.Popen(
            command, env=process_environment, stderr=subprocess.DEVNULL
        ) as process:
            try:
                while not vectors(serving.storage.database, "data_embedding_b"):
                    assert process.poll() is None
                    time.sleep(0.01)
            finally:
                process.kill()
        assert process.returncode == -signal.SIGKILL
        done = vectors(serving.storage.database, "data_embedding_b")
        assert 0 < done < PASSAGES
        assert serving.runtime.embedder.model_id == "hashing:64"

        result = run(*COMMAND)
        assert result.status == 0, result.err
        assert (
            f"{PASSAGES - done} passages embedded. The database's embedding model "
            "is hashing:128."
        ) in result.out
        assert serving.runtime.embedder.model_id == "hashing:128"
        assert vectors(serving.storage.database, "data_embedding_b") == PASSAGES
        assert vectors(serving.storage.database, "data_embedding") == 0
    assert (
        "Zebra number 77"
        in run("ask", "Zebra number 77", "--retrieval-method", "vector").out
    )
    assert "unchanged" in run("ingest", str(large), "--year", "2023").err


def test_the_key_of_the_old_model_is_not_needed(
    loaded: Run, environment: dict[str, str]
) -> None:
    with build(Settings.from_env(environment)) as services:
        old = {
            "provider": "openai",
            "model": "text-embedding-ada-002",
            "model_id": "openai:text-embedding-ada-002",
        }
        services.storage.database["meta"].update_one({"_id": "embedder"}, {"$set": old})
    result = loaded(*COMMAND)
    assert (result.status, "hashing:128" in result.out) == (0, True), result.err


def test_settings_that_contradict_are_named(loaded: Run) -> None:
    result = loaded(*COMMAND, EMBEDDING_PROVIDER="minilm")
    assert result.status == 0
    assert "EMBEDDING_PROVIDER" in result.err
    assert "unset" in result.err
    assert loaded("ask", "Where is Kenya?").status == 0


def test_a_mistake_of_reembed_is_named(run: Run) -> None:
    for options, status, message in CASES["mistakes"]:
        result = run("reembed", *options)
        assert (result.status, message in result.err) == (status, True), result.err
