"""Original files in the database: in pieces, once, and only as long as somebody needs
them.
"""

import hashlib
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from chatbot.database.core import Database
from chatbot.database.repositories.files import PIECE_BYTES, FileRepository
from chatbot.domain.errors import NotFoundError
from tests.fakes.hooked_database import HookedDatabase
from tests.library.helpers import running
from tests.rows import outside

PIECE = 1000


@pytest.fixture
def files(database: Database) -> FileRepository:
    return FileRepository(database, piece_bytes=PIECE)


def keep_only(database: Database, *kept: str) -> int:
    """Remove what is not kept, as when the grace period of all files is over."""
    later = FileRepository(database, grace_seconds=-1.0)
    return later.keep_only(lambda: kept)


def on_disk(tmp_path: Path, size: int, seed: int = 0) -> Path:
    path = tmp_path / f"{size}-{seed}"
    path.write_bytes(random.Random(seed).randbytes(size))
    return path


def rows(database: Database) -> tuple[int, int]:
    return database["files"].count({}), database["file_pieces"].count({})


@pytest.mark.parametrize(
    ("size", "pieces"), [(0, 0), (1, 1), (PIECE, 1), (PIECE + 1, 2), (5 * PIECE, 5)]
)
def test_a_file_comes_back_as_it_was_in_pieces(
    files: FileRepository, database: Database, tmp_path: Path, size: int, pieces: int
) -> None:
    path = on_disk(tmp_path, size)
    file_id = files.put(path)
    assert file_id == hashlib.sha256(path.read_bytes()).hexdigest()
    read = list(files.read(file_id))
    assert b"".join(read) == path.read_bytes()
    assert len(read) == pieces
    assert rows(database) == (1, pieces)
    files.copy_to(file_id, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()


def test_pieces_fit_into_what_mongodb_takes() -> None:
    assert PIECE_BYTES <= 8 << 20


def test_the_same_content_is_stored_once(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    one, two = on_disk(tmp_path, 2500), tmp_path / "another name"
    two.write_bytes(one.read_bytes())
    assert files.put(one) == files.put(two)
    assert rows(database) == (1, 3)
    files.put(on_disk(tmp_path, 2500, seed=1))
    assert rows(database) == (2, 6)


def test_the_same_content_at_once(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    path = on_disk(tmp_path, 20 * PIECE)
    with running(*(lambda: files.put(path) for _ in range(4))) as errors:
        pass
    assert errors == []
    assert rows(database) == (1, 20)
    assert b"".join(files.read(files.put(path))) == path.read_bytes()


def test_an_unknown_file_is_not_found_before_the_first_piece(
    files: FileRepository, tmp_path: Path
) -> None:
    with pytest.raises(NotFoundError, match="is not kept"):
        files.read("unknown")
    with pytest.raises(NotFoundError, match="is not kept"):
        files.copy_to("unknown", tmp_path / "copy")


def test_a_file_removed_while_it_is_read_is_said(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    file_id = files.put(on_disk(tmp_path, 2500))
    pieces = files.read(file_id)
    next(pieces)
    assert keep_only(database) == 1
    with pytest.raises(NotFoundError, match="removed while it was read"):
        list(pieces)


class KilledError(BaseException):
    pass


def test_an_upload_that_was_killed_is_no_file_and_is_completed_or_tidied(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    path = on_disk(tmp_path, 2500)
    killed_after(database, path, pieces=2)
    file_id = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(NotFoundError):
        files.read(file_id)
    assert rows(database)[1] == 2
    assert b"".join(files.read(files.put(path))) == path.read_bytes()
    other = on_disk(tmp_path, 2500, seed=1)
    killed_after(database, other, pieces=2)
    assert keep_only(database, file_id) == 2, "the two that were killed"
    assert rows(database) == (1, 3), "no piece is left that nobody knows of"
    assert b"".join(files.read(file_id)) == path.read_bytes()


def killed_after(database: Database, path: Path, *, pieces: int) -> None:
    """Store so many pieces of a file."""
    written = count()

    def die() -> None:
        if next(written) == pieces:
            raise KilledError

    hooked: Any = HookedDatabase(database, {("file_pieces", "replace_many"): die})
    with pytest.raises(KilledError):
        FileRepository(hooked, piece_bytes=PIECE).put(path)


def test_only_what_is_wanted_is_kept_after_its_grace(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    kept, doomed = (files.put(on_disk(tmp_path, 1500, seed)) for seed in range(2))
    assert files.keep_only(lambda: [kept]) == 0, (
        "both are new: one may be about to be registered"
    )
    assert keep_only(database, kept) == 1
    assert rows(database) == (1, 2)
    assert list(files.read(kept))
    with pytest.raises(NotFoundError):
        files.read(doomed)


def test_what_was_wanted_once_has_no_grace_but_what_is_used_meanwhile_is_kept(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    by_document, by_job = (
        files.put(on_disk(tmp_path, 1500, seed)) for seed in range(2)
    )
    files.copy_to(by_job, tmp_path / "copy")
    assert files.keep_only(lambda: [by_document, by_job]) == 0
    assert files.keep_only(lambda: []) == 2
    assert rows(database) == (0, 0)
    file_id = files.put(on_disk(tmp_path, 1500))

    def wanted() -> list[
        str
    ]:  # asked before there was a job for the file, which then began at once
        files.copy_to(file_id, tmp_path / "copy")
        return []

    assert files.keep_only(wanted) == 0
    assert list(files.read(file_id))


def test_putting_a_file_again_begins_a_new_grace(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    path = on_disk(tmp_path, 1500)
    file_id = files.put(path)
    files.keep_only(lambda: [file_id])
    files.put(path)
    assert files.keep_only(lambda: []) == 0
    assert b"".join(files.read(file_id)) == path.read_bytes()


def once(work: Callable[[], object]) -> Callable[[], None]:
    """Return a function that does the work when it is called first."""
    left = [work]

    def run() -> None:
        if left:
            left.pop()()

    return run


def test_a_file_that_is_stored_again_while_it_is_removed_keeps_all_its_pieces(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    path = on_disk(tmp_path, 2500)
    file_id = files.put(path)
    files.copy_to(file_id, tmp_path / "copy")
    store_again = once(lambda: files.put(path))
    hooked = HookedDatabase(database, {("file_pieces", "delete_many"): store_again})
    assert FileRepository(hooked).keep_only(lambda: []) == 1
    assert b"".join(files.read(file_id)) == path.read_bytes()
    assert rows(database) == (1, 3)


def in_the_form_of_version_0_5(database: Database, path: Path) -> str:
    content = path.read_bytes()
    file_id = hashlib.sha256(content).hexdigest()
    pieces = [content[at : at + PIECE] for at in range(0, len(content), PIECE)]
    row = {"pieces": len(pieces), "bytes": len(content), "stored": 1.0}
    outside(database, "files").replace_many(
        [{"_id": file_id, "complete": True, "used": True, **row}]
    )
    for number, piece in enumerate(pieces):
        outside(database, "file_pieces").replace_many(
            [{"_id": f"{file_id}-{number:06d}", "data": piece}]
        )
    return file_id


def test_files_of_version_0_5_are_read_kept_and_removed(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    path = on_disk(tmp_path, 2500)
    file_id = in_the_form_of_version_0_5(database, path)
    assert b"".join(files.read(file_id)) == path.read_bytes()
    assert files.put(path) == file_id
    assert (files.remove_orphans(), rows(database)) == (0, (1, 3)), "not stored twice"
    files.copy_to(file_id, tmp_path / "copy")
    assert files.keep_only(lambda: [file_id]) == 0
    assert files.keep_only(lambda: []) == 1
    assert rows(database) == (0, 0)


def test_storing_a_file_again_replaces_the_pieces_that_an_older_version_lost(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    path = on_disk(tmp_path, 2500)
    file_id = in_the_form_of_version_0_5(database, path)
    outside(database, "file_pieces").delete_many({"_id": f"{file_id}-000001"})
    assert files.put(path) == file_id
    assert b"".join(files.read(file_id)) == path.read_bytes()
    assert rows(database) == (1, 3)


def test_an_upload_that_was_taken_for_abandoned_begins_anew(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    path = on_disk(tmp_path, 2500)

    def abandon() -> None:
        (row,) = database["files"].find()
        outside(database, "files").update_one(
            {"_id": row["_id"]}, {"$set": {"stored": 1.0}}
        )
        assert files.keep_only(lambda: []) == 1

    hooks = {("files", "update_one"): once(abandon)}
    hooked: Any = HookedDatabase(database, hooks)
    file_id = FileRepository(hooked, piece_bytes=PIECE).put(path)
    assert b"".join(files.read(file_id)) == path.read_bytes()
    assert rows(database) == (1, 3)


def test_pieces_whose_removal_was_killed_are_removed_later(
    files: FileRepository, database: Database, tmp_path: Path
) -> None:
    kept, doomed = on_disk(tmp_path, 2500), on_disk(tmp_path, 1500, seed=1)
    file_id = files.put(kept)
    files.copy_to(files.put(doomed), tmp_path / "copy")

    def kill() -> None:
        raise KilledError

    hooked = HookedDatabase(database, {("file_pieces", "delete_many"): kill})
    with pytest.raises(KilledError):
        FileRepository(hooked).keep_only(lambda: [file_id])
    assert rows(database) == (1, 5)
    assert files.remove_orphans() == 1
    assert rows(database) == (1, 3)
    assert b"".join(files.read(file_id)) == kept.read_bytes()
