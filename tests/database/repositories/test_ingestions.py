"""Jobs in the database: one owner per file, leases that end, ends that somebody asked
for.
"""

import time
from contextlib import suppress
from dataclasses import replace

import pytest

from chatbot.database.core import Database
from chatbot.database.ordinary_indexes import (
    create_missing,
    indexes_of_repositories,
)
from chatbot.domain.errors import DatabaseError, NotFoundError
from chatbot.jobs import queue as module
from chatbot.jobs.queue import Ingestion, IngestionFile, IngestionQueue
from tests.data import cases
from tests.fakes.hooked_database import HookedDatabase

CASES = cases(__file__)


@pytest.fixture
def jobs(database: Database) -> IngestionQueue:
    create_missing(database, indexes_of_repositories())
    return IngestionQueue(database)


def files(*names: str, **values: object) -> list[IngestionFile]:
    return [
        IngestionFile(name=name, identity=f"uploads/{name}", **values) for name in names
    ]  # type: ignore[arg-type]


def claim(jobs: IngestionQueue, owner: str = "me") -> IngestionFile:
    found = jobs.claim(owner)
    assert found is not None
    return found


def states(job: Ingestion) -> list[str]:
    return [file.state for file in job.files]


def test_a_job_comes_back_as_it_was_made(jobs: IngestionQueue) -> None:
    said = {"country_name": None, "labels": ["a", "b"], "year": 2023}
    about = {"title": "T", "metadata": {"year": 2020}, "listed": True}
    made = jobs.create(files("a", "b", file_id="f", overrides=said, about=about))
    assert jobs.get(made.id) == made
    assert [file.id for file in made.files] == [f"{made.id}-00000", f"{made.id}-00001"]
    assert {file.ingestion_id for file in made.files} == {made.id}
    assert (made.state, made.progress) == ("queued", 0.0)
    assert made.created_at.endswith("+00:00")


def test_a_lease_that_ended_lets_another_go_on(jobs: IngestionQueue) -> None:
    made = jobs.create(files("a"))
    first = claim(jobs, "first")
    assert (first.owner, first.tries) == ("first", 1)
    assert jobs.claim("second") is None
    (before,) = jobs.get(made.id).files
    time.sleep(0.01)
    assert jobs.renew(first) is False
    (renewed,) = jobs.get(made.id).files
    assert renewed.until > before.until
    assert jobs.claim("second") is None, "it was renewed"
    jobs.note(first, until=time.time() - 1)
    second = claim(jobs, "second")
    assert (second.id, second.owner, second.tries) == (first.id, "second", 2)
    assert jobs.renew(first) is None
    jobs.note(first, state="embedding")
    jobs.release(first, state="done")
    (file,) = jobs.get(first.ingestion_id).files
    assert (file.state, file.owner) == ("queued", "second"), (
        "what the first still says is not heard"
    )
    jobs.release(second, state="done", chunks=3)
    (file,) = jobs.get(first.ingestion_id).files
    assert (file.state, file.chunks, file.owner, file.until) == ("done", 3, "", 0.0)
    assert jobs.claim("third") is None


@pytest.mark.parametrize(
    ("of_files", "expected"), CASES["ends"].values(), ids=CASES["ends"]
)
def test_the_state_of_a_job_is_that_of_its_files(
    of_files: list[str], expected: str
) -> None:
    made = [
        IngestionFile(id=str(n), ingestion_id="j", name="n", identity="i", state=state)
        for n, state in enumerate(of_files)
    ]  # type: ignore[arg-type]
    assert Ingestion("j", "", tuple(made)).state == expected


def test_old_jobs_are_forgotten_once_they_are_finished(
    jobs: IngestionQueue, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_KEPT_JOBS", 2)
    made = []
    for name in ("unfinished", "old", "newer", "newest"):
        made.append(jobs.create(files(name)))
        time.sleep(0.002)
    for _ in range(4):
        file = claim(jobs)
        if file.name != "unfinished":
            jobs.release(file, state="done")
    jobs.prune()
    assert [job.files[0].name for job in jobs.latest(10)] == [
        "newest",
        "newer",
        "unfinished",
    ]
    assert database["ingestion_items"].count({}) == 3
    with pytest.raises(NotFoundError):
        jobs.get(made[1].id)


def test_jobs_take_turns(jobs: IngestionQueue) -> None:
    """A job of many files holds up nobody else's."""
    jobs.create(files(*(f"many{n}" for n in range(5))))
    first = claim(jobs)
    jobs.create(files("one"))
    assert [first.name, claim(jobs).name, claim(jobs).name] == ["many0", "one", "many1"]
    jobs.release(first, state="done")
    jobs.create(files("two", "three"))
    assert [claim(jobs).name for _ in range(5)] == [
        "two",
        "three",
        "many2",
        "many3",
        "many4",
    ]


@pytest.mark.parametrize("hours", [1, 24 * 400])
def test_a_clock_that_is_set_back_makes_nobody_wait(
    jobs: IngestionQueue, database: Database, hours: int
) -> None:
    jobs.create(files("a"))
    dead = claim(jobs, "dead")
    assert jobs.claim("me") is None
    jobs.note(dead, until=database.now() + 3600.0 * hours)
    assert claim(jobs).name == "a"
    assert jobs.claim("other") is None


def test_an_upload_waits_until_the_older_ones_of_its_identity_are_finished(
    jobs: IngestionQueue,
) -> None:
    first, second = jobs.create(files("a", "b")), jobs.create(files("a"))
    assert [
        file.upload_number for job in (first, second) for file in job.files
    ] == sorted({file.upload_number for job in (first, second) for file in job.files})
    older, other = claim(jobs), claim(jobs)
    assert (older.name, other.name, jobs.claim("me")) == ("a", "b", None)
    jobs.note(older, until=time.time() - 1)
    again = claim(jobs)
    assert again.id == older.id, "whose worker died"
    jobs.release(again, state="failed")
    assert claim(jobs).ingestion_id == second.id


def test_uploads_of_a_deleted_report_are_withdrawn(jobs: IngestionQueue) -> None:
    """All but what is done: none is read again, and their stored files are not needed
    any more.
    """
    made = [jobs.create(files("a", file_id=f"f{n}")) for n in range(4)]
    other = jobs.create(files("b", file_id="other"))
    jobs.release(claim(jobs), state="done")
    jobs.release(claim(jobs), state="failed", error="why")
    in_hand = claim(jobs)
    jobs.withdraw("uploads/a")
    assert [states(jobs.get(job.id)) for job in made] == [
        ["done"],
        ["failed"],
        ["queued"],
        ["cancelled"],
    ]
    assert (jobs.renew(in_hand), jobs.file_ids()) == (True, {"other"})
    jobs.release(in_hand, state="cancelled")
    for job in made:
        assert states(jobs.retry(job.id)) == states(jobs.get(job.id)), (
            "a retry does not read it either"
        )
    assert claim(jobs).ingestion_id == other.id
    assert jobs.get(made[3].id).files[0].error == module.WITHDRAWN


def test_a_job_whose_rows_have_more_fields_than_this_program_knows_is_read(
    jobs: IngestionQueue, database: Database
) -> None:
    made = jobs.create(files("a"))
    database["ingestion_items"].update_one(
        {"_id": made.files[0].id}, {"$set": {"new_field": 1}}
    )
    assert jobs.get(made.id) == made


def test_a_job_that_cannot_be_stored_leaves_no_file_that_is_read(
    jobs: IngestionQueue, database: Database
) -> None:
    """Its client is told that the upload failed."""

    def refuse() -> None:
        raise DatabaseError("The job is not stored.")

    for collection in ("ingestions", "ingestion_items"):
        hooks = {(collection, "replace_many"): refuse}
        with pytest.raises(DatabaseError, match="not stored"):
            IngestionQueue(HookedDatabase(database, hooks)).create(files("a", "b"))
        assert jobs.claim("me") is None
        assert database["ingestions"].count({}) == 0
        assert database["ingestion_items"].count({}) == 0


def test_files_without_a_job_are_pruned(
    jobs: IngestionQueue, database: Database
) -> None:
    """A process of version 0.5 that died may have left some."""
    kept, lost = jobs.create(files("a", "b")), jobs.create(files("c"))
    database["ingestions"].delete_many({"_id": lost.id})
    jobs.prune()
    left = {row["_id"] for row in database["ingestion_items"].find()}
    assert left == {file.id for file in kept.files}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seconds", [60.0, -60.0], ids=["ahead", "behind"])
def test_machines_with_different_clocks_take_no_file_twice(
    jobs: IngestionQueue,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
) -> None:
    jobs.create(files(*(f"f{n}" for n in range(20))))
    now = time.time
    taken = []
    for number in range(21):
        offset = seconds if number % 2 else 0.0
        monkeypatch.setattr(time, "time", lambda offset=offset: now() + offset)
        other = IngestionQueue(database)  # of a process that has just started
        taken.append(other.claim(f"machine {number % 2}"))
    names = [file.name for file in taken if file is not None]
    assert sorted(names) == sorted({f"f{n}" for n in range(20)})


def test_unfinished_files_of_version_0_5_are_read(
    jobs: IngestionQueue, database: Database
) -> None:
    jobs.create(files("waits", "was in progress"))
    later = {"standing", "busy", "position"}
    rows = list(database["ingestion_items"].find(sort=[("_id", 1)]))
    old = [
        {name: value for name, value in row.items() if name not in later}
        for row in rows
    ]
    old[1] |= {"state": "embedding", "owner": "dead", "until": 1.0, "tries": 1}
    database["ingestion_items"].replace_many(old)
    restarted = IngestionQueue(database)
    assert claim(restarted).name == "waits"
    again = claim(restarted)
    assert (again.name, again.tries) == ("was in progress", 2)
    restarted.release(again, state="done")
    assert restarted.claim("me") is None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", ["update_one", "find_one", "count"])
@pytest.mark.parametrize("after", range(4))
def test_a_process_that_dies_while_it_claims_or_releases_holds_up_no_other_file(
    jobs: IngestionQueue,
    database: Database,
    method: str,
    after: int,
) -> None:
    jobs.create(files("a", "b"))
    jobs.create(files("a", "c"))
    calls = iter([False] * after + [True] * 100)

    def kill() -> None:
        if next(calls):
            raise KilledError

    hooked = HookedDatabase(database, {("ingestion_items", method): kill})
    dying = IngestionQueue(hooked)
    with suppress(KilledError):
        while (file := dying.claim("dead")) is not None:
            dying.release(file, state="done")
    for row in list(database["ingestion_items"].find({"owner": "dead"})):
        database["ingestion_items"].update_one(
            {"_id": row["_id"]}, {"$set": {"until": 1.0}}
        )
    while (file := jobs.claim("me")) is not None:
        jobs.release(file, state="done")
    assert {file.name for file in jobs.unfinished()} == set()


class KilledError(BaseException):
    pass


def test_of_unfinished_uploads_of_one_file_the_oldest_is_read_alone(
    jobs: IngestionQueue,
) -> None:
    """Whatever order they are claimed, cancelled and retried in."""
    made = [jobs.create(files("a")) for _ in range(4)]
    first = claim(jobs)
    assert (first.ingestion_id, jobs.claim("me")) == (made[0].id, None)
    jobs.cancel(made[1].id)
    assert jobs.claim("me") is None
    jobs.release(first, state="waiting")
    assert claim(jobs).id == first.id
    jobs.release(replace(first, owner="me"), state="failed")
    assert claim(jobs).ingestion_id == made[2].id
    jobs.retry(made[0].id)
    assert claim(jobs).ingestion_id == made[0].id
    assert jobs.claim("me") is None
    jobs.withdraw("uploads/a")
    assert jobs.claim("me") is None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("jobs_of", [1, 40], ids=["many jobs", "large jobs"])
def test_a_claim_reads_as_little_of_a_long_queue_as_of_a_short_one(
    database: Database, jobs_of: int
) -> None:
    create_missing(database, indexes_of_repositories())
    hooked = HookedDatabase(database)
    jobs = IngestionQueue(hooked)
    for job in range(40 // jobs_of):
        jobs.create(files(*(f"f{job}-{n}" for n in range(jobs_of))))
    for _ in range(8):
        hooked.rows_read.clear()
        file = claim(jobs)
        jobs.release(file, state="done")
        assert hooked.rows_read["ingestion_items"] <= 6
