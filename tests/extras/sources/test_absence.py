"""Random days of a source: what is deleted does not return, and what is there is not
lost.
"""

import errno
import os
import random
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Chunk
from chatbot.extras.sources import sync
from chatbot.extras.sources.connectors.folder import FolderConnector
from chatbot.extras.sources.running import synchroniser_of
from chatbot.library.control import JobControl
from chatbot.library.sources import document_id
from tests.campaigns import times

DAYS = times("DAYS", 12)
FILES = 12
ERROR = "# Service temporarily unavailable\n\nPlease try again later."


class Days:
    """A folder of reports, its source, and what has to be true of both."""

    def __init__(self, services: Services, folder: Path, seed: int) -> None:
        self.services = services
        self.folder = folder
        self.chosen = random.Random(seed)
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.deleted: set[str] = set()
        self.away = folder.parent / "away"
        self.away.mkdir()
        self.names = [f"d{number % 3}/r{number}.md" for number in range(FILES)]
        for name in self.names:
            self.write(name)

    def clock(self, timespec: str = "milliseconds", *, days_ago: int = 0) -> str:
        return (self.now - timedelta(days=days_ago)).isoformat(timespec=timespec)

    def write(self, name: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        words = " ".join(f"word{self.chosen.randrange(10**6)}" for _ in range(90))
        path.write_text(f"# {name}\n\n## Text\n\n{words}\n", encoding="utf-8")

    def identity(self, name: str) -> str:
        return f"{self.folder.resolve().as_posix()}/{name}"

    def run(self, source: str = "s", *, prune: bool = True) -> None:
        connector = FolderConnector(kind="folder", path=self.folder, prune=prune)
        synchroniser_of(self.services).run(
            {source: connector}, control=JobControl(), report=lambda *change: None
        )

    def shown(self) -> set[str]:
        records = self.services.storage.documents.all()
        return {record.source.removeprefix(self.identity("")) for record in records}

    def event(self) -> None:
        """Let one thing happen to the source."""
        happening = self.chosen.choice(
            ["away", "back", "soft", "touch", "edit", "delete", "restore", "quiet"]
        )
        there = [name for name in self.names if (self.folder / name).exists()]
        if happening == "away" and there:
            part = self.folder / Path(self.chosen.choice(there)).parent
            if not (self.away / part.name).exists():
                shutil.move(part, self.away / part.name)
        elif happening == "back":
            for part in self.away.iterdir():
                if not (self.folder / part.name).exists():
                    shutil.move(part, self.folder / part.name)
        elif happening == "soft" and len(there) > 3:
            kept = {name: (self.folder / name).read_bytes() for name in there}
            for name in there:
                (self.folder / name).write_text(ERROR, encoding="utf-8")
            self.run()
            for name, content in kept.items():
                (self.folder / name).write_bytes(content)
        elif happening == "touch":
            for name in there:
                (self.folder / name).touch()
        elif happening == "edit" and there:
            self.write(self.chosen.choice(there))
        elif happening == "delete" and self.shown():
            name = self.chosen.choice(sorted(self.shown()))
            record = self.services.storage.documents.get(
                document_id(self.identity(name))
            )
            assert record is not None
            permanent = self.chosen.random() < 0.5
            self.services.ingesting.delete_document(record, permanent=permanent)
            self.deleted.add(name)
        elif happening == "restore" and self.deleted:
            name = self.chosen.choice(sorted(self.deleted))
            self.services.ingesting.undelete(document_id(self.identity(name)))
            self.deleted.discard(name)

    def check(self) -> None:
        shown = self.shown()
        assert not shown & self.deleted, "a deleted report returned"
        there = {name for name in self.names if (self.folder / name).exists()}
        assert there - self.deleted <= shown, "a report that is there was lost"
        texts = {chunk.text for name in shown for chunk in self.chunks(name)}
        assert not any("unavailable" in text for text in texts)

    def chunks(self, name: str) -> list[Chunk]:
        id = document_id(self.identity(name))
        return self.services.runtime.store.stored(id)[0]


@pytest.fixture
def days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Days]:
    settings = Settings(data_dir=tmp_path / "data", embedding_provider="hashing")
    with build(settings) as services:
        services.prepare()
        days = Days(services, tmp_path / "place", seed=getattr(request, "param", 1))
        monkeypatch.setattr(sync, "now", days.clock)
        yield days


@pytest.mark.timeout(300 + 5 * DAYS)
@pytest.mark.parametrize("days", [1, 2], indirect=True)
def test_nothing_deleted_returns_and_nothing_present_is_lost(days: Days) -> None:
    days.run()
    for _ in range(DAYS):
        days.event()
        days.run(days.chosen.choice(["s", "s", "renamed"]))
        days.check()
        days.now += timedelta(hours=days.chosen.choice([1, 20, 50]))
    for part in days.away.iterdir():
        shutil.move(part, days.folder / part.name)
    days.run()
    days.check()


def test_a_file_goes_after_three_runs_and_a_day_and_comes_back(days: Days) -> None:
    days.run()
    (days.folder / "d0/r0.md").rename(days.away / "r0.md")
    for hours in (0, 1, 2, 10):
        days.now += timedelta(hours=hours)
        days.run()
        assert "d0/r0.md" in days.shown()
    days.now += timedelta(hours=24)
    days.run()
    assert "d0/r0.md" not in days.shown()
    (in_bin,) = days.services.storage.documents.hidden()
    assert in_bin.status == "deleted"
    assert not in_bin.is_tombstone
    (days.away / "r0.md").rename(days.folder / "d0/r0.md")
    days.run()
    assert "d0/r0.md" in days.shown()


def test_a_subfolder_that_cannot_be_listed_is_no_absence(
    days: Days, monkeypatch: pytest.MonkeyPatch
) -> None:
    days.run()
    list_folder = os.scandir

    def refuse(path: str | Path | int) -> object:
        if not isinstance(path, int) and Path(path).name == "d0":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return list_folder(path)

    monkeypatch.setattr(os, "scandir", refuse)
    (days.folder / "d1/new.md").write_text("# New\n\nA new report.")
    days.run()
    (state,) = synchroniser_of(days.services).states()
    assert "cannot be listed: Permission denied" in state.problem
    assert "gone" not in state.counts
    assert state.counts["added"] == 1


def test_a_fifth_goes_in_a_week_and_nothing_while_more_is_gone(days: Days) -> None:
    days.run()
    gone = iter([name for name in days.names if name.startswith("d1")])
    counts = []
    for _ in range(4):
        (days.folder / next(gone)).unlink()
        for _ in range(4):
            days.now += timedelta(hours=10)
            days.run()
        counts.append(len(days.shown()))
    assert counts == [11, 10, 10, 10]
    days.now += timedelta(days=7)
    days.run()
    assert len(days.shown()) == 8

    shutil.move(days.folder / "d0", days.away / "d0")
    for _ in range(6):
        days.now += timedelta(days=3)
        days.run()
    assert len(days.shown()) == 8
    (state,) = synchroniser_of(days.services).states()
    assert "more than a fifth" in state.problem
    assert "--prune-now s" in state.problem


def test_pages_that_shrink_together_count_as_gone(days: Days) -> None:
    days.run()
    before = {name: days.chunks(name) for name in days.names}
    for number, name in enumerate(days.names[:3]):
        (days.folder / name).write_text(f"# Sorry\n\nError {number}.", "utf-8")
    days.run()
    assert {name: days.chunks(name) for name in days.names} == before
    (state,) = synchroniser_of(days.services).states()
    assert state.counts == {"unchanged": 9, "gone": 3}
    days.write(days.names[0])
    days.run()
    assert days.chunks(days.names[0]) != before[days.names[0]]


def test_a_deletion_of_an_older_release_is_remembered(days: Days) -> None:
    """It is a row of the file without a report, and without the newer fields."""
    days.run()
    database = days.services.storage.database
    name = days.names[0]
    id = document_id(days.identity(name))
    days.services.runtime.store.delete_document(id)
    days.services.storage.documents.delete(id)
    database["source_files"].update_one(
        {"_id": f"s:{id}"},
        {"$unset": dict.fromkeys(("bytes", "absent_since", "absent_runs"), "")},
    )
    days.run()
    assert name not in days.shown()
    days.write(name)
    days.run()
    assert name in days.shown()
