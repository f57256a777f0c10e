"""The power goes while the embedded database is written: what is on the disk then is a
whole database. What a cut leaves is played by copies of the files whose write-ahead log
ends anywhere, also within a page.
"""

import random
import shutil
from pathlib import Path

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database

WRITES, CUTS = 40, 12


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The files as they are while the process still has them open. Each write is of two
    rows that belong together.
    """
    live, copied = tmp_path / "live", tmp_path / "copied"
    database = open_database(Settings(data_dir=live))
    for number in range(WRITES):
        database["rows"].replace_many(
            [{"_id": f"{side}{number:02}", "text": "word " * 50} for side in "ab"]
        )
    shutil.copytree(live, copied)
    database.close()
    return copied


def rows_of(folder: Path) -> list[str]:
    database = open_database(Settings(data_dir=folder))
    try:
        database["rows"].replace_many(
            [{"_id": "after", "text": ""}]
        )  # it can be written again
        return sorted(
            row["_id"] for row in database["rows"].find({}) if row["_id"] != "after"
        )
    finally:
        database.close()


def test_nothing_is_half_written_wherever_the_log_ends(
    written: Path, tmp_path: Path
) -> None:
    (log,) = written.glob("*-wal")
    size, rng = log.stat().st_size, random.Random(20261123)
    found = []
    for number, end in enumerate(
        [0, size, *(rng.randrange(size) for _ in range(CUTS))]
    ):
        folder = shutil.copytree(
            written, tmp_path / f"cut{number}", ignore=shutil.ignore_patterns("*-shm")
        )
        with (folder / log.name).open("r+b") as file:
            file.truncate(end)
        rows = rows_of(folder)
        kept = len(rows) // 2
        assert rows == sorted(f"{side}{n:02}" for side in "ab" for n in range(kept)), (
            f"cut at {end} of {size}"
        )
        found.append(kept)
    assert found[1] == WRITES, "what was written and not cut is there"
    assert len(set(found)) > 3, "the cuts met nothing"
