"""Backups are restored, also from the file that each release wrote; the drill changes
nothing, and damage is found before it is copied.
"""

import lzma
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chatbot.app.cli import cli
from chatbot.app.services import build
from chatbot.app.web.asking import ChatRequest
from chatbot.config.settings import Settings
from chatbot.database import EMBEDDED_FILE
from chatbot.domain.callers import ANYBODY
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.validation import parse

RELEASES = sorted((Path(__file__).parent / "data" / "releases").glob("*.sqlite.xz"))
NEWEST = RELEASES[-1]
Run = Callable[..., Result]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path / "data",
        embedding_provider="hashing",
        embedding_model="64",
        sample_data="off",
        chat_model="extractive",
    )


@pytest.fixture
def run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("data_dir", "embedding_provider", "embedding_model", "sample_data"):
        monkeypatch.setenv(name.upper(), str(getattr(settings, name)))
    return lambda *words: CliRunner().invoke(cli, ["backup", *map(str, words)])


def unpacked(release: Path, folder: Path) -> Path:
    file = folder / release.stem
    file.write_bytes(lzma.decompress(release.read_bytes()))
    return file


@pytest.mark.parametrize(
    "release",
    [
        pytest.param(each, marks=() if each == NEWEST else pytest.mark.nightly)
        for each in RELEASES
    ],
    ids=lambda release: release.name,
)
def test_the_file_of_each_release_is_restored(
    run: Run, settings: Settings, tmp_path: Path, release: Path
) -> None:
    result = run("restore", unpacked(release, tmp_path))
    assert result.exit_code == 0, result.output
    assert "1 report, " in result.output
    assert "it answers: " in result.output
    with build(settings) as services:
        services.check()
        services.prepare()
        (report,) = services.storage.documents.all()
        assert report.metadata["country_name"] == "Kenya"
        assert services.storage.conversations.owners()
        request = parse(ChatRequest, {"query": "How many people live in Kenya?"})
        question = request.to_question(services, ANYBODY.limit)
        saved = services.chat.answer(question, cancel=Cancellation())
        assert saved is not None
        assert "54 million" in saved.answer.response


def test_a_backup_is_whole_while_others_write(
    run: Run, settings: Settings, tmp_path: Path
) -> None:
    assert run("restore", unpacked(NEWEST, tmp_path)).exit_code == 0
    file = tmp_path / "monday.sqlite"
    with build(settings) as services:
        services.storage.audit.record("last", "before the backup")
        assert run(file).exit_code == 0
        assert "exists" in str(run(file).exception)
        drill = run("restore", file, "--check")
        assert (drill.exit_code, "Nothing was changed" in drill.output) == (0, True)
        refused = run("restore", file)
        assert "Stop the server" in str(refused.exception)
    with closing(sqlite3.connect(file)) as copy:
        (doc,) = copy.execute("SELECT doc FROM audit ORDER BY _id DESC").fetchone()
    assert "before the backup" in doc
    restored = run("restore", file)
    assert "The former database is" in restored.output
    assert (file.stat().st_mode & 0o077) == 0


def test_damage_is_neither_copied_nor_restored(
    run: Run, settings: Settings, tmp_path: Path
) -> None:
    file = unpacked(NEWEST, tmp_path)
    data = bytearray(file.read_bytes())
    data[-16_384 * 4 : -16_384 * 3] = b"\xff" * 16_384
    file.write_bytes(data)
    result = run("restore", file)
    assert "damaged" in str(result.exception)
    assert not (settings.data_dir / EMBEDDED_FILE).exists()
    settings.data_dir.mkdir(exist_ok=True)
    (settings.data_dir / EMBEDDED_FILE).write_bytes(data)
    target = tmp_path / "copy.sqlite"
    assert "damaged" in str(run(target).exception)
    assert not target.exists()
