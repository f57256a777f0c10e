"""Copying between the embedded file and MongoDB (the real driver, over NX-27017)."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from bson import ObjectId

from chatbot.app.location import Location
from chatbot.app.schema import set_version
from chatbot.config.settings import Settings
from chatbot.config.settings_types import OWN_COLLECTIONS
from chatbot.database.core import Database
from chatbot.database.repositories.corpus import (
    CorpusFacts,
    StoredEmbedder,
)
from chatbot.domain import Scope
from chatbot.domain.documents import Calibration
from chatbot.domain.errors import DatabaseError, EmbedderMismatchError, SettingsError
from chatbot.extras.migration.copy import DERIVED, OTHERS, Copier
from chatbot.stores.faiss import FaissStore
from tests.data import cases
from tests.extras.migration.corpora import (
    COLLECTIONS,
    DIMENSIONS,
    contents,
    write_corpus,
)
from tests.fakes.nx_server import NxThread
from tests.rows import outside

EVERYTHING = (*COLLECTIONS, *OTHERS)
PACKAGE = Path(__file__).parents[3] / "chatbot"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NxThread]:
    with NxThread(tmp_path_factory.mktemp("nx")) as running:
        yield running


@pytest.fixture
def mongodb(
    server: NxThread, settings: Settings, request: pytest.FixtureRequest
) -> Iterator[Database]:
    name = re.sub(r"\W", "", request.node.name)[:30]
    database = Location.parse(f"{server.uri}/{name}", settings).open(settings)
    yield database
    database.close()


@pytest.fixture
def embedded(tmp_path: Path, settings: Settings) -> Iterator[Database]:
    database = Location.parse(str(tmp_path / "source"), settings).open(settings)
    yield database
    database.close()


@pytest.fixture
def other(tmp_path: Path, settings: Settings) -> Iterator[Database]:
    database = Location.parse(f"sqlite:{tmp_path / 'other.sqlite'}", settings).open(
        settings
    )
    yield database
    database.close()


def copier(source: Database, target: Database, *, merge: bool = False) -> Copier:
    return Copier(
        source, target, name="the source", chunk_collections=COLLECTIONS, merge=merge
    )


def copy(source: Database, target: Database, *, merge: bool = False) -> int:
    work = copier(source, target, merge=merge)
    work.prepare()
    copied = work.copy(lambda done: None)
    work.verify(lambda done: None)
    return copied


def test_samples_that_were_deleted_and_what_was_measured_go_along(
    embedded: Database, other: Database
) -> None:
    write_corpus(embedded, 3)
    CorpusFacts(embedded).dismiss_sample("peru-2021")
    measured = Calibration(
        "hashing:8", 0.5, 0.7, "measured", "questions.csv", "2026-11-24"
    )
    CorpusFacts(embedded).put_calibration(measured)
    copy(embedded, other)
    assert CorpusFacts(other).dismissed_samples() == {"peru-2021"}
    assert CorpusFacts(other).calibration("hashing:8") == measured


class KilledError(Exception):
    pass


def interrupt(
    source: Database, target: Database, *, batches: int = 2, merge: bool = False
) -> None:
    """Begin a copy and stand for a kill after so many batches."""
    work, left = copier(source, target, merge=merge), iter(range(batches))

    def report(rows: int) -> None:
        if rows and next(left, None) is None:
            raise KilledError

    assert work.prepare() is False
    with pytest.raises(KilledError):
        work.copy(report)


def test_an_interrupted_copy_goes_on_and_its_progress_counts_every_row_once(
    embedded: Database, mongodb: Database
) -> None:
    write_corpus(embedded, 1200)
    interrupt(embedded, mongodb)
    second, seen = copier(embedded, mongodb), list[int]()
    assert second.prepare() is True
    left = second.copy(seen.append)
    assert left < sum(second.counts().values()) - 500
    assert sum(seen) == sum(second.counts().values())
    second.verify(lambda done: None)
    assert contents(mongodb, COLLECTIONS) == contents(embedded, COLLECTIONS)


def test_what_changes_in_the_source_while_a_copy_lies_idle_is_copied_too(
    embedded: Database, other: Database
) -> None:
    write_corpus(embedded, 1200)
    interrupt(embedded, other)
    outside(embedded, "chatbot_data").update_one(
        {"_id": "doc0-v1-00000"}, {"$set": {"data": "corrected"}}
    )
    embedded.changes.announce(["doc0"], "passages")
    copy(embedded, other)
    row = other["chatbot_data"].find_one({"_id": "doc0-v1-00000"})
    assert row is not None
    assert row["data"] == "corrected"


def test_a_difference_is_an_error_and_the_next_run_mends_it(
    embedded: Database, other: Database
) -> None:
    write_corpus(embedded, 100)
    work = copier(embedded, other)
    work.prepare()
    work.copy(lambda done: None)
    outside(other, "chatbot_data").update_one(
        {"_id": "doc0-v1-00001"}, {"$set": {"data": "bent"}}
    )
    outside(other, "report_chatting").delete_many({"_id": "doc1-v1-00003"})
    with pytest.raises(
        DatabaseError,
        match=r"'chatbot_data' is not the same .*1 rows differ .*doc0-v1-00001",
    ):
        work.verify(lambda done: None)
    assert copy(embedded, other) == 2
    assert contents(other, EVERYTHING) == contents(embedded, EVERYTHING)


def test_a_changed_vector_and_a_row_too_many_are_differences(
    embedded: Database, other: Database
) -> None:
    write_corpus(embedded, 10)
    work = copier(embedded, other)
    work.prepare()
    work.copy(lambda done: None)
    other["messages"].insert_one({"_id": "mine", "conversation_id": "x", "ordinal": 0})
    with pytest.raises(DatabaseError, match="1 rows more"):
        work.verify(lambda done: None)
    vector = other.encode_vector(np.ones(DIMENSIONS, dtype=np.float32))
    outside(other, "chatbot_data").update_one(
        {"_id": "doc0-v1-00001"}, {"$set": {"data_embedding": vector}}
    )
    with pytest.raises(DatabaseError, match="doc0-v1-00001"):
        work.verify(lambda done: None)


def test_a_target_that_is_not_empty_is_refused_and_stays_as_it_is(
    embedded: Database, other: Database
) -> None:
    write_corpus(embedded, 10)
    write_corpus(other, 20, prefix="own")
    before = contents(other, (*EVERYTHING, "meta"))
    for _ in range(2):  # the refused attempt must not look like the beginning of a copy
        with pytest.raises(
            DatabaseError, match=r"not empty: chatbot_data \(20\), documents \(1\)"
        ):
            copy(embedded, other)
    assert contents(other, (*EVERYTHING, "meta")) == before


def test_merging_keeps_what_the_target_has(embedded: Database, other: Database) -> None:
    write_corpus(embedded, 60)
    write_corpus(other, 20, prefix="own")
    copy(embedded, other, merge=True)
    assert other["chatbot_data"].count({}) == 50 + 20
    assert copy(embedded, other, merge=True) == 0


def test_an_interrupted_merge_goes_on_only_as_a_merge(
    embedded: Database, other: Database
) -> None:
    write_corpus(embedded, 10)
    write_corpus(other, 20, prefix="own")
    interrupt(embedded, other, batches=0, merge=True)
    with pytest.raises(DatabaseError, match="not empty"):
        copier(embedded, other).prepare()
    assert copier(embedded, other, merge=True).prepare() is True


def test_vectors_of_two_models_are_not_mixed(
    embedded: Database, other: Database
) -> None:
    write_corpus(embedded, 10)
    CorpusFacts(other).remember_embedder(
        StoredEmbedder("hashing", "16", "hashing:16", DIMENSIONS)
    )
    with pytest.raises(EmbedderMismatchError, match=r"openai:.* hashing:16.*reembed"):
        copy(embedded, other, merge=True)


def test_object_ids_survive_to_mongodb_and_become_strings_in_sqlite(
    mongodb: Database, other: Database
) -> None:
    id, when = ObjectId(), datetime(2024, 1, 2, 3, 4, 5, 6000)
    row = {
        "_id": id,
        "data": "x",
        "data_embedding": [0.5] * DIMENSIONS,
        "by": ObjectId(),
        "at": when,
    }
    outside(mongodb, "report_chatting").insert_one({**row})
    outside(mongodb, "report_chatting").insert_one({"_id": "a-string", "data": "y"})
    copy(mongodb, other)
    stored = other["report_chatting"].find_one({"_id": str(id)})
    assert stored is not None
    assert (stored["by"], stored["at"]) == (str(row["by"]), when)
    assert len(bytes(stored["data_embedding"])) == 2 + 4 * DIMENSIONS


def test_a_row_known_by_an_object_id_is_not_doubled_by_its_string(
    mongodb: Database, other: Database
) -> None:
    outside(mongodb, "report_chatting").insert_one(
        {"_id": ObjectId("507f1f77bcf86cd799439011"), "data": "old"}
    )
    outside(other, "report_chatting").insert_one(
        {"_id": "507f1f77bcf86cd799439011", "data": "new"}
    )
    copy(other, mongodb, merge=True)
    assert list(mongodb["report_chatting"].find({})) == [
        {"_id": ObjectId("507f1f77bcf86cd799439011"), "data": "new"}
    ]


def test_only_vectors_in_use_are_copied_into_the_slot_that_serves_there(
    embedded: Database, other: Database
) -> None:
    embedder = StoredEmbedder("hashing", "16", "hashing:16", DIMENSIONS, slot="_b")
    CorpusFacts(embedded).remember_embedder(embedder)
    old, new = (
        embedded.encode_vector(np.full(DIMENSIONS, value, dtype=np.float32))
        for value in (1.0, 2.0)
    )
    row = {
        "_id": "a",
        "document_id": "d",
        "data": "x",
        "data_embedding": old,
        "data_embedding_b": new,
    }
    outside(embedded, "chatbot_data").insert_one(row)
    CorpusFacts(other).remember_embedder(
        StoredEmbedder("hashing", "16", "hashing:16", DIMENSIONS)
    )
    copy(embedded, other, merge=True)
    stored = other["chatbot_data"].find_one({"_id": "a"})
    assert stored is not None
    assert "data_embedding_b" not in stored
    assert bytes(stored["data_embedding"]) == bytes(new)


def test_a_reader_of_the_target_notices(
    embedded: Database, other: Database, tmp_path: Path
) -> None:
    write_corpus(embedded, 100)
    store = FaissStore(
        settings=Settings(data_dir=tmp_path),
        database=other,
        changes=other.changes,
        dimensions=DIMENSIONS,
    )
    assert store.count(Scope()) == 0
    copy(embedded, other)
    assert store.count(Scope()) == 100


def test_a_source_of_a_newer_program_is_refused(
    embedded: Database, other: Database
) -> None:
    write_corpus(embedded, 10)
    set_version(embedded, 99)
    with pytest.raises(SettingsError, match="schema version 99"):
        copy(embedded, other)


def test_collections_that_are_not_the_products_are_named(
    embedded: Database, other: Database
) -> None:
    write_corpus(embedded, 10)
    embedded["accounts"].insert_one({"_id": "a"})
    assert copier(embedded, other).left_out() == ["accounts"]


def test_collections_that_only_the_source_names_are_copied(
    embedded: Database, other: Database
) -> None:
    write_corpus(embedded, 10)
    outside(embedded, "documents").insert_one({"_id": "n", "collection": "news"})
    embedded["news"].insert_one(
        {"_id": "n-v-00000", "document_id": "n", "data": "Elephants came back."}
    )
    made = copier(embedded, other)
    assert made.unnamed == ("news",)
    copy(embedded, other)
    assert other["news"].count({}) == 1


CASES = cases(__file__)


@pytest.mark.parametrize(("uri", "name"), CASES["locations"].items())
def test_a_location_is_named_without_its_password(
    uri: str, name: str, settings: Settings
) -> None:
    assert Location.parse(uri, settings).name == name


def test_every_collection_of_the_program_is_taken_and_copied() -> None:
    """A new collection has to be added to OTHERS, or a copy leaves it behind."""
    sources = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    named = {
        name
        for source in sources
        for name in re.findall(r'database\["(\w+)"\]', source)
    }
    assert named - set(DERIVED) == set(OTHERS)
    assert {*OTHERS, *DERIVED} == OWN_COLLECTIONS
