"""The protocol of change: rows and their announcement, over every kind of database."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from chatbot.database import changes as protocol
from chatbot.database.changes import (
    CATALOG,
    CHANGES,
    FIGURES,
    GLOSSARY,
    IN_PLACE,
    PASSAGES,
    Changes,
)
from chatbot.database.core import Database
from chatbot.domain.errors import DatabaseError, DiskFullError
from tests.database.conftest import embedded, mongomock, nx27017
from tests.rows import outside


class KilledError(BaseException):
    """Stands for a process that is gone: nothing in the product catches it."""


def another_process(database: Database) -> Changes:
    """The changes as another process has them."""
    changes = Changes(database)
    database.reads[protocol.META] = lambda: protocol._read_meta(database)
    return changes


def register(changes: Changes, id: str, **fields: Any) -> None:
    with changes.of([id], CATALOG) as change:
        change["documents"].replace_many([{"_id": id, **fields}])


def fail(changes: Changes, id: str, error: BaseException) -> None:
    """Begin a change, write, and fail."""
    with changes.of([id], CATALOG) as change:
        change["documents"].insert_one({"_id": id})
        raise error


def ids_since(changes: Changes, position: int, *kinds: str) -> set[str] | None:
    ids = changes.since(position, *kinds).ids
    return None if ids is None else set(ids)


class Clock:
    """A clock that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(protocol, "clock", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_who_reads_later_is_told_what_was_changed(database: Database) -> None:
    changes = database.changes
    register(changes, "a")
    position = changes.position()
    register(changes, "b")
    with changes.of(["c"], PASSAGES) as change:
        change["chatbot_data"].replace_many([{"_id": "c-1"}])
    assert ids_since(changes, position) == {"b", "c"}
    assert ids_since(changes, position, CATALOG) == {"b"}
    assert ids_since(changes, position, FIGURES) == set()
    assert ids_since(changes, changes.position()) == set()
    assert another_process(database).state() == changes.state()


def test_only_the_numbers_of_the_changed_kinds_grow(database: Database) -> None:
    changes = database.changes
    before = changes.state()
    register(changes, "a")
    after = changes.state()
    assert after.of(CATALOG) > before.of(CATALOG)
    assert after.of(PASSAGES) == before.of(PASSAGES)
    assert after.position > before.position


def test_a_reader_too_far_behind_is_told_to_read_everything(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "MAX_CLOSED_ENTRIES", 20)
    for number in range(3):
        register(database.changes, str(number))
    behind = database.changes.position()
    for _ in range(20):
        database.changes.announce(["x"], PASSAGES)
    assert ids_since(database.changes, behind) == {"x"}
    assert ids_since(database.changes, behind - 1) is None


def test_a_position_of_another_database_means_to_read_everything(
    database: Database,
) -> None:
    assert ids_since(database.changes, 5) is None
    register(database.changes, "a")
    assert ids_since(database.changes, 50) is None


def test_changes_at_the_same_time_are_all_announced(database: Database) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: register(database.changes, f"d{n}"), range(24)))
    assert ids_since(database.changes, 0) == {f"d{n}" for n in range(24)}
    assert database.state().open == ()


def test_a_change_of_anything_or_in_place_says_so(database: Database) -> None:
    changes = database.changes
    register(changes, "a")
    position, state = changes.position(), changes.state()
    changes.announce(["b"], PASSAGES, in_place=True)
    changed = changes.since(position, PASSAGES)
    assert (changed.ids, changed.in_place) == ({"b"}, {"b"})
    assert changed.state.of(IN_PLACE) == state.of(IN_PLACE) + 1
    changes.announce(None, PASSAGES)
    assert ids_since(changes, position) is None
    assert ids_since(changes, position, CATALOG) == set()


def test_a_nested_change_belongs_to_the_outer_one(database: Database) -> None:
    changes = database.changes
    with changes.of(["a"], CATALOG, GLOSSARY):
        position = changes.position()
        with changes.of((), GLOSSARY) as change:
            change["glossary"].replace_many([{"_id": "term"}])
        register(changes, "a")
        assert changes.position() == position
    assert ids_since(changes, position) == {"a"}


def test_a_guarded_collection_is_not_written_directly(database: Database) -> None:
    database.guard(["chatbot_data"])
    writes: list[Callable[[str], object]] = [
        lambda name: database[name].insert_one({"_id": "a"}),
        lambda name: database[name].replace_many([{"_id": "a"}]),
        lambda name: database[name].update_each([("a", {"$set": {"b": 1}})]),
        lambda name: database[name].update_one({"_id": "a"}, {"$set": {"b": 1}}),
        lambda name: database[name].delete_many({}),
        lambda name: database[name].ensure("a", {}),
        lambda name: database[name].find_one_and_update({}, {"$set": {"b": 1}}),
    ]
    for name in ("documents", "figures", "glossary", "chatbot_data"):
        for write in writes:
            with pytest.raises(RuntimeError, match=r"through database\.changes"):
                write(name)
        assert database[name].count({}) == 0


def test_a_change_writes_what_it_names_and_nothing_when_it_has_ended(
    database: Database,
) -> None:
    with database.changes.of(["a"], FIGURES) as change:
        with pytest.raises(RuntimeError, match="does not write 'documents'"):
            change["documents"]
        figures = change["figures"]
    with pytest.raises(RuntimeError, match="has ended"):
        figures.insert_one({"_id": "late"})


def test_the_key_of_what_is_derived_changes_with_each_kind(
    database: Database,
) -> None:
    keys = [database.changes.key()]
    for kind, name in (
        (CATALOG, "documents"),
        (PASSAGES, "chatbot_data"),
        (FIGURES, "figures"),
        (GLOSSARY, "glossary"),
    ):
        with database.changes.of(["a"], kind) as change:
            change[name].replace_many([{"_id": "a"}])
        keys.append(database.changes.key())
    assert None not in keys
    assert len(set(keys)) == 5


def test_the_position_is_above_all_that_were_before(database: Database) -> None:
    register(database.changes, "a")
    database.changes.raise_to(700)
    database.changes.raise_to(700)
    assert database.changes.position() > 700
    assert ids_since(database.changes, 1) is None
    position = database.changes.position()
    register(database.changes, "b")
    assert ids_since(database.changes, position) == {"b"}


class TestFile:
    """Of the SQLite file: rows and entry are one transaction."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> Iterator[Database]:
        yield from embedded(tmp_path)

    @pytest.mark.parametrize(
        "error", [DatabaseError("refused"), KilledError()], ids=str
    )
    def test_nothing_is_left_of_a_change_that_fails(
        self, file: Database, error: BaseException
    ) -> None:
        register(file.changes, "a")
        before = file.state()
        with pytest.raises(type(error)):
            fail(file.changes, "b", error)
        assert [row["_id"] for row in file["documents"].find()] == ["a"]
        assert file.state() == before

    def test_others_see_rows_and_entry_together(self, file: Database) -> None:
        seen: list[tuple[int, int]] = []

        def look() -> None:
            seen.append((file["documents"].count({}), file.changes.position()))

        def look_in_another_thread() -> None:
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()

        with file.changes.of(["a"], CATALOG) as change:
            change["documents"].insert_one({"_id": "a"})
            assert file["documents"].count({}) == 1, "a thread reads what it writes"
            look_in_another_thread()
        look_in_another_thread()
        assert seen == [(0, 0), (1, 1)]

    def test_a_change_that_writes_nothing_is_not_announced(
        self, file: Database
    ) -> None:
        register(file.changes, "a")
        before = file.state()
        with file.changes.of(["b"], CATALOG) as change:
            assert change["documents"].delete_many({"_id": "b"}) == 0
        assert file.state() == before


class TestServer:
    """Of a server: an entry is open while rows are written."""

    @pytest.fixture(params=[mongomock, nx27017], ids=lambda build: build.__name__)
    def server(
        self, request: pytest.FixtureRequest, tmp_path: Path
    ) -> Iterator[Database]:
        yield from request.param(tmp_path)

    def killed(self, server: Database, id: str) -> None:
        """A process that is gone in the middle of a change."""
        changes = another_process(server)
        with changes.work("t"), changes.of([id], CATALOG) as change:
            change["documents"].replace_many([{"_id": id, "writer": "t"}])
            raise KilledError

    def test_readers_look_again_at_what_is_being_changed(
        self, server: Database
    ) -> None:
        register(server.changes, "a")
        reader = another_process(server)
        with server.changes.of(["b"], CATALOG) as change:
            for _ in range(2):
                position = reader.position()
                assert ids_since(reader, position, CATALOG) == {"b"}
                assert reader.key() is None
                assert reader.state().is_open(CATALOG)
            change["documents"].insert_one({"_id": "b"})
        assert ids_since(reader, position, CATALOG) == {"b"}, "once more at its end"
        assert not reader.state().open

    def test_a_change_that_fails_is_announced(self, server: Database) -> None:
        with pytest.raises(DatabaseError):
            fail(server.changes, "b", DatabaseError("too slow"))
        assert not server.state().open
        assert ids_since(server.changes, 0) == {"b"}

    def test_what_a_dead_process_was_changing_is_looked_at_until_its_lease_ends(
        self, server: Database, clock: Clock
    ) -> None:
        with pytest.raises(KilledError):
            self.killed(server, "b")
        changes = another_process(server)
        assert changes.close_abandoned() == 0
        assert ids_since(changes, changes.position()) == {"b"}
        clock.now += changes.lease_seconds + 1
        assert changes.close_abandoned() == 1
        assert not changes.state().open
        assert ids_since(changes, changes.position() - 1, CATALOG) == {"b"}

    def test_the_next_change_of_another_closes_it_too(
        self, server: Database, clock: Clock
    ) -> None:
        with pytest.raises(KilledError):
            self.killed(server, "b")
        changes = another_process(server)
        assert changes.state().open
        clock.now += changes.lease_seconds + 1
        register(changes, "c")
        assert not changes.state().open

    def test_a_paused_writer_fails_at_its_swap(
        self, server: Database, clock: Clock
    ) -> None:
        """Its entry was closed by another, which has changed its token first."""
        writer, other = another_process(server), another_process(server)
        register(writer, "a", writer="t")
        with writer.work("t"), writer.of(["a"], CATALOG, PASSAGES):
            other.state()
            clock.now += other.lease_seconds + 1
            assert other.close_abandoned() == 1
        with writer.of(["a"], CATALOG) as change:
            rows = change["documents"]
            assert not rows.update_one({"_id": "a", "writer": "t"}, {"$set": {"x": 1}})

    def test_a_writer_that_wakes_up_late_writes_nothing(
        self, server: Database, clock: Clock
    ) -> None:
        def write_late() -> None:
            with server.changes.of(["a"], CATALOG) as change:
                clock.now += server.changes.lease_seconds / 2 + 1
                change["documents"].insert_one({"_id": "a"})

        with pytest.raises(DatabaseError, match="longer than its lease"):
            write_late()
        assert server["documents"].count({}) == 0

    def test_a_change_that_cannot_be_closed_is_done_and_closed_by_the_next(
        self, server: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(**options: Any) -> None:
            raise DatabaseError("too slow")

        with server.changes.of(["a"], CATALOG) as change:
            change["documents"].insert_one({"_id": "a"})
            monkeypatch.setattr(server.changes, "_update", refuse)
        monkeypatch.undo()
        assert server.state().open
        register(server.changes, "b")
        assert not server.state().open

    def test_a_deletion_is_done_where_there_is_no_space_for_its_entry(
        self, server: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        register(server.changes, "a")
        position = server.changes.position()
        with monkeypatch.context() as patch:

            def refuse(**options: Any) -> None:
                raise DiskFullError("over your space quota")

            patch.setattr(server.changes, "_update", refuse)
            with pytest.raises(DiskFullError), server.changes.of(["a"], CATALOG):
                pass
            with server.changes.of(["a"], CATALOG, frees_space=True) as change:
                change["documents"].delete_many({"_id": "a"})
        assert server["documents"].count({}) == 0
        register(server.changes, "b")
        assert ids_since(server.changes, position) == {"a", "b"}


def test_the_document_of_the_changes_stays_small(database: Database) -> None:
    for number in range(3):
        register(database.changes, f"{number:020d}")
    row = outside(database, "meta").find_one({"_id": CHANGES})
    assert row is not None
    assert max(map(len, row["recent"])) < 100
