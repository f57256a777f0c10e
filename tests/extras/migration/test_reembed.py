"""Another embedding model while the old one serves."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database.core import Database
from chatbot.database.mongo import MongoDatabase
from chatbot.database.repositories.corpus import CorpusFacts, StoredEmbedder
from chatbot.database.rows import decode_vector
from chatbot.domain import Document, Question, Scope, Section
from chatbot.domain.documents import Matrix
from chatbot.domain.errors import (
    ChatbotError,
    DatabaseError,
    EmbedderMismatchError,
    EmbeddingError,
    SearchEngineError,
)
from chatbot.extras.migration.reembed import (
    SIGN_OF_LIFE_SECONDS,
    AtlasSlotIndexes,
    Reembedding,
)
from chatbot.extras.operator.doctor import diagnose
from chatbot.library.control import JobControl
from chatbot.models.embed.hashing import HashingEmbedder
from chatbot.stores.atlas.indexes import Polling
from tests.app.web.live import application
from tests.asking import Finished, by_mode
from tests.fakes.mongomock_search import SearchClient
from tests.rows import outside

PASSAGES = 300
OLD, NEW = (
    StoredEmbedder("hashing", "64", "hashing:64", 64),
    StoredEmbedder("hashing", "128", "hashing:128", 128, "_b"),
)


class WatchedEmbedder(HashingEmbedder):
    """``before(batch)`` runs before each batch is embedded; counts the texts."""

    def __init__(
        self, dimensions: int = 128, before: Callable[[int], None] = lambda batch: None
    ) -> None:
        super().__init__(dimensions)
        self.before = before
        self.batches = 0
        self.texts = 0

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.before(self.batches)
        self.batches += 1
        self.texts += len(texts)
        return super().embed_documents(texts)


def report(name: str, passages: int = PASSAGES, word: str = "zebra") -> Document:
    sections = tuple(
        Section((f"Part {n}",), f"{word} number {n}", n * 100) for n in range(passages)
    )
    return Document(name, name, name, f"test/{name}", {"year": 2023}, sections)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """As in production: no provider set, so that the database's is used."""
    return settings.override(embedding_provider=None)


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    """What serves while the model changes."""
    with build(
        settings.override(embedding_provider="hashing", embedding_model="64")
    ) as first:
        first.ingesting.ingestor.ingest(report("first"))
    with build(settings) as serving:
        yield serving


def change(
    services: Services, embedder: WatchedEmbedder | None = None, **options: Any
) -> Reembedding:
    embedder = embedder or WatchedEmbedder()
    return Reembedding(
        services.storage.database,
        collections=services.settings.chunk_collections,
        provider="hashing",
        model=str(embedder.dimensions),
        embedder=embedder,
        **{"indexes": None, "sleep": lambda seconds: None, **options},
    )


def run(work: Reembedding) -> StoredEmbedder:
    return work.run(lambda done: None)


def ask(services: Services, query: str = "zebra number 7") -> Finished:
    question = Question(
        query, Scope(), top_k=3, retrieval_method="vector", mode="direct"
    )
    *_, last = by_mode(services, question)
    assert isinstance(last, Finished)
    return last


def best_text(services: Services) -> str:
    hits = ask(services).answer.trace.hits
    return hits[0].chunk.text if hits else ""


def fields(database: Database) -> set[str]:
    """The fields that hold a vector anywhere, with their dimensions."""
    rows = [
        row
        for name in ("chatbot_data", "report_chatting")
        for row in database[name].find({})
    ]
    return {
        f"{name}:{len(decode_vector(row[name]))}"
        for row in rows
        for name in row
        if name.startswith("data_embedding")
    }


def test_the_model_changes_and_a_running_process_notices(services: Services) -> None:
    assert best_text(services) == "zebra number 7"
    assert services.runtime.embedder.dimensions == 64
    embedder = WatchedEmbedder()
    assert run(change(services, embedder)) == NEW
    assert embedder.texts == PASSAGES
    assert best_text(services) == "zebra number 7"
    assert services.runtime.embedder.dimensions == 128
    assert fields(services.storage.database) == {"data_embedding_b:128"}
    assert services.storage.database["meta"].find_one({"_id": "reembed"}) is None
    chunk = ask(services).answer.trace.hits[0].chunk
    stored = services.storage.database["report_chatting"].find_one({"_id": chunk.id})
    assert stored is not None
    expected = HashingEmbedder(128).embed_query(chunk.search_text)
    np.testing.assert_array_equal(decode_vector(stored["data_embedding_b"]), expected)


def test_vectors_are_changed_there_and_back_and_on(services: Services) -> None:
    for dimensions in (128, 32, 64):
        run(change(services, WatchedEmbedder(dimensions)))
        assert best_text(services) == "zebra number 7"
        assert {
            name.partition(":")[2] for name in fields(services.storage.database)
        } == {str(dimensions)}


def test_another_process_answers_all_the_while(
    services: Services, settings: Settings
) -> None:
    """With the old vectors until the switch, with the new ones after it, never with
    none.
    """
    failures: list[str] = []
    used: list[int] = []
    stop = threading.Event()

    def questions() -> None:
        with build(settings) as other:
            while not stop.is_set():
                try:
                    if best_text(other) != "zebra number 7":
                        failures.append("another passage")
                    used.append(other.runtime.embedder.dimensions)
                except ChatbotError as error:
                    failures.append(error.message)

    asking = threading.Thread(target=questions)
    asking.start()
    while len(used) < 3:
        stop.wait(0.01)
    run(
        change(
            services,
            WatchedEmbedder(before=lambda batch: stop.wait(0.1) and None),
            grace=0.3,
            sleep=stop.wait,
        )
    )
    before = len(used)
    while asking.is_alive() and len(used) < before + 3:
        stop.wait(0.01)
    stop.set()
    asking.join()
    assert failures == []
    assert used == sorted(used)
    assert set(used) == {64, 128}


def test_an_answer_under_way_finishes_with_the_old_model(services: Services) -> None:
    question = Question(
        "zebra number 7", Scope(), top_k=3, retrieval_method="vector", mode="direct"
    )
    begun, in_grace = threading.Event(), threading.Event()

    def wait(event: object) -> None:
        begun.set()
        assert in_grace.wait(30)

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(by_mode, services, question, watch=wait)
        assert begun.wait(30)

        def during_the_grace(seconds: float) -> None:
            in_grace.set()
            *_, last = asked.result()
            assert isinstance(last, Finished)
            assert last.answer.trace.hits[0].chunk.text == "zebra number 7"
            assert services.storage.facts.embedder() == NEW

        run(change(services, sleep=during_the_grace))


class TestInterrupted:
    def interrupted(self, services: Services) -> None:
        def fail(batch: int) -> None:
            if batch == 1:
                raise EmbeddingError("the process dies here")

        with pytest.raises(EmbeddingError):
            run(change(services, WatchedEmbedder(before=fail)))

    def test_the_old_model_serves_and_nothing_is_computed_twice(
        self, services: Services
    ) -> None:
        self.interrupted(services)
        assert services.storage.facts.embedder() == OLD
        assert best_text(services) == "zebra number 7"
        embedder = WatchedEmbedder()
        assert run(change(services, embedder)) == NEW
        assert embedder.texts == PASSAGES - 128
        assert best_text(services) == "zebra number 7"

    def test_the_core_says_what_to_run(
        self, services: Services, caplog: pytest.LogCaptureFixture
    ) -> None:
        command = "python -m chatbot reembed --provider hashing --model 128"
        self.interrupted(services)
        findings = {finding.name: finding for finding in diagnose(services)}
        assert findings["reembed_unfinished"].remedy.endswith(command)
        core = services.settings.override(extras="none")
        with application(core):
            assert command in caplog.text
        run(change(services))
        assert "reembed_unfinished" not in {one.name for one in diagnose(services)}

    @pytest.mark.parametrize(
        ("model_id", "dimensions", "texts", "left"),
        [
            ("hashing:32", 32, PASSAGES, "data_embedding_b:32"),
            (
                "other:128",
                128,
                PASSAGES,
                "data_embedding_b:128",
            ),  # only the name tells its vectors from the others
            ("hashing:64", 64, 0, "data_embedding:64"),  # gives the change up
        ],
    )
    def test_another_model_starts_over_and_the_old_one_keeps_its_vectors(
        self, services: Services, model_id: str, dimensions: int, texts: int, left: str
    ) -> None:
        self.interrupted(services)
        embedder = WatchedEmbedder(dimensions)
        embedder.model_id = model_id
        assert run(change(services, embedder)).model_id == model_id
        assert embedder.texts == texts
        assert fields(services.storage.database) == {left}

    def test_after_the_switch_the_next_run_clears_up(self, services: Services) -> None:
        def die(seconds: float) -> None:
            raise DatabaseError("the process dies here")

        with pytest.raises(DatabaseError):
            run(change(services, sleep=die))
        assert services.storage.facts.embedder() == NEW
        assert fields(services.storage.database) == {
            "data_embedding:64",
            "data_embedding_b:128",
        }
        embedder = WatchedEmbedder()
        assert run(change(services, embedder)) == NEW
        assert embedder.texts == 0
        assert fields(services.storage.database) == {"data_embedding_b:128"}


class TestTwoAtOnce:
    def test_to_another_model_is_refused_while_one_is_alive(
        self, services: Services
    ) -> None:
        first = change(services)
        first.take_over(NEW)
        waited: list[float] = []

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            first.step()

        with pytest.raises(DatabaseError, match=r"Another process .* hashing:128"):
            run(change(services, WatchedEmbedder(32), sleep=sleep))
        assert waited == [SIGN_OF_LIFE_SECONDS]

    def test_the_later_one_to_the_same_model_takes_over(
        self, services: Services
    ) -> None:
        def second_run(batch: int) -> None:
            if batch == 1:
                run(change(services))

        with pytest.raises(DatabaseError, match="taken over"):
            run(change(services, WatchedEmbedder(before=second_run)))
        assert services.storage.facts.embedder() == NEW
        assert fields(services.storage.database) == {"data_embedding_b:128"}


class TestNewcomers:
    def test_what_is_ingested_meanwhile_is_not_lost(self, services: Services) -> None:
        def ingest(batch: int) -> None:
            if batch == 2:
                services.ingesting.ingestor.ingest(report("second", 10, "giraffe"))

        embedder = WatchedEmbedder(before=ingest)
        assert run(change(services, embedder)) == NEW
        assert embedder.texts == PASSAGES + 10
        assert fields(services.storage.database) == {"data_embedding_b:128"}
        assert (
            ask(services, "giraffe number 3").answer.trace.hits[0].chunk.text
            == "giraffe number 3"
        )

    def test_nor_what_replaces_a_passage_that_was_done(
        self, services: Services
    ) -> None:
        def replace_first(batch: int) -> None:
            if batch == 2:
                services.ingesting.ingestor.ingest(report("first", 5, "giraffe"))

        run(change(services, WatchedEmbedder(before=replace_first)))
        assert fields(services.storage.database) == {"data_embedding_b:128"}
        assert services.runtime.store.count(Scope()) == 5

    def test_what_slips_in_just_before_the_switch_gets_its_vector_after_it(
        self, services: Services
    ) -> None:
        """Written by a process that had checked the model a moment earlier."""

        def write_late(seconds: float) -> None:
            row = services.storage.database["report_chatting"].find_one({"ordinal": 7})
            assert row is not None
            row = {
                name: value for name, value in row.items() if name != "data_embedding_b"
            }
            outside(services.storage.database, "report_chatting").insert_one(
                {**row, "_id": "late-v-00000", "data": "giraffe"}
            )

        run(change(services, sleep=write_late))
        late = services.storage.database["report_chatting"].find_one(
            {"_id": "late-v-00000"}
        )
        assert late is not None
        assert {name for name in late if name.startswith("data_embedding")} == {
            "data_embedding_b"
        }
        assert services.runtime.store.vector_scores(
            services.runtime.embedder.embed_query("giraffe"), ["late-v-00000"]
        )

    def test_an_outdated_ingestor_refuses(self, services: Services) -> None:
        outdated = services.ingesting.ingestor
        run(change(services))
        with pytest.raises(
            EmbedderMismatchError, match=r"hashing:128 now.*hashing:64.*Ingest it again"
        ):
            outdated.ingest(report("second", 3, "giraffe"))
        assert (
            services.storage.database["report_chatting"].find_one(
                {"document_id": "second"}
            )
            is None
        )
        services.ingesting.ingestor.ingest(report("second", 3, "giraffe"))
        assert (
            ask(services, "giraffe number 2").answer.trace.hits[0].chunk.text
            == "giraffe number 2"
        )

    def test_an_ingestor_that_is_overtaken_does_not_call_the_document_ready(
        self, services: Services, settings: Settings
    ) -> None:
        """The switch falls between its check and its write."""

        def change_the_model(done: int, total: int) -> None:
            run(change(services))

        outdated, document = services.ingesting.ingestor, report("second", 3, "giraffe")
        with pytest.raises(EmbedderMismatchError):
            outdated.ingest(document, control=JobControl(change_the_model))
        record = services.storage.documents.get("second")
        assert record is not None
        assert record.status != "ready"
        assert services.ingesting.ingestor.ingest(document).outcome == "added"
        assert fields(services.storage.database) == {"data_embedding_b:128"}

    def test_ingesting_the_same_report_again_does_nothing(
        self, services: Services
    ) -> None:
        """A change of model is no change of the reports."""
        run(change(services))
        assert (
            services.ingesting.ingestor.ingest(report("first")).outcome == "unchanged"
        )


@pytest.mark.parametrize(
    "vector", [{}, {"data_embedding": [0.0] * 64}, {"data_embedding": [1.0]}]
)
def test_the_model_in_use_gives_vectors_to_passages_without_a_usable_one(
    services: Services, vector: Any
) -> None:
    row = {"_id": "late", "document_id": "first", "data": "giraffe", **vector}
    outside(services.storage.database, "report_chatting").insert_one(row)
    outside(services.storage.database, "report_chatting").insert_one(
        {"_id": "empty", "document_id": "first", "data": " "}
    )
    embedder = WatchedEmbedder(64)
    assert run(change(services, embedder)) == OLD
    assert embedder.texts == 1
    assert (
        services.runtime.store.vector_scores(
            services.runtime.embedder.embed_query("giraffe"), ["late"]
        )["late"]
        > 0.9
    )


def test_a_process_that_names_the_old_model_goes_on_with_the_new_one(
    services: Services, settings: Settings
) -> None:
    """Only a start is stopped by the contradiction."""
    named = settings.override(embedding_provider="hashing", embedding_model="64")
    with build(named) as serving:
        assert best_text(serving) == "zebra number 7"
        run(change(services))
        assert best_text(serving) == "zebra number 7"
    with (
        build(named) as starting,
        pytest.raises(EmbedderMismatchError, match="python -m chatbot reembed"),
    ):
        starting.check()


def test_a_database_that_never_said_its_model(services: Services) -> None:
    services.storage.database["meta"].delete_many({"_id": "embedder"})
    run(change(services))
    assert CorpusFacts(services.storage.database).embedder() == NEW
    assert fields(services.storage.database) == {"data_embedding_b:128"}


class TestSearchEngine:
    @pytest.fixture
    def client(self) -> SearchClient:
        return SearchClient()

    @pytest.fixture
    def services(self, settings: Settings, client: SearchClient) -> Iterator[Services]:
        database = MongoDatabase(client, "reembed")
        with build(
            settings.override(embedding_provider="hashing", embedding_model="64"),
            database=database,
        ) as one:
            one.prepare()
            AtlasSlotIndexes(settings, database).build(None, OLD)
            one.ingesting.ingestor.ingest(report("first"))
        with build(settings, database=database) as serving:
            yield serving

    def test_the_index_carries_both_slots_until_the_old_one_is_dropped(
        self, services: Services, settings: Settings, client: SearchClient
    ) -> None:
        def look(seconds: float) -> None:
            definition = client.engine.index("report_chatting", "vector_index").latest
            paths = [
                (field["path"], field["numDimensions"])
                for field in definition["fields"][:2]
            ]
            assert paths == [("data_embedding", 64), ("data_embedding_b", 128)]
            assert best_text(services) == "zebra number 7"

        client.engine.room = 2  # it takes no more room
        assert services.storage.engine.store == "atlas"
        assert best_text(services) == "zebra number 7"
        run(
            change(
                services,
                indexes=AtlasSlotIndexes(settings, services.storage.database),
                sleep=look,
            )
        )
        (definition,) = client.engine.indexes["report_chatting"].values()
        vectors = [
            field for field in definition.latest["fields"] if field["type"] == "vector"
        ]
        assert [(field["path"], field["numDimensions"]) for field in vectors] == [
            ("data_embedding_b", 128)
        ]
        assert best_text(services) == "zebra number 7"

    def test_without_room_it_is_refused_before_the_first_embedding(
        self, services: Services, settings: Settings, client: SearchClient
    ) -> None:
        services.storage.database["report_chatting"].drop_search_index("vector_index")
        client.engine.room = 1
        embedder = WatchedEmbedder()
        with pytest.raises(SearchEngineError, match="no room"):
            run(
                change(
                    services,
                    embedder,
                    indexes=AtlasSlotIndexes(settings, services.storage.database),
                )
            )
        assert (embedder.texts, services.storage.facts.embedder()) == (0, OLD)

    def test_the_switch_waits_for_the_search_engine(
        self, services: Services, settings: Settings, client: SearchClient
    ) -> None:
        client.engine.lag = 0.5
        indexes = AtlasSlotIndexes(
            settings, services.storage.database, Polling(interval=0.05)
        )
        run(
            change(
                services,
                indexes=indexes,
                sleep=lambda seconds: client.engine.states.clear(),
            )
        )
        assert best_text(services) == "zebra number 7"
