"""Ingestion that breaks off: by a failing model, or because the process is gone (R-E6)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chatbot.errors import EmbeddingError
from chatbot.ingestion.pipeline import Ingested
from chatbot.ingestion.versions import BATCH
from chatbot.schema import Document, Scope, Section
from chatbot.services import Services
from chatbot.settings import Settings
from tests.ingestion.helpers import Embedding, KilledError, raising

PASSAGES = 2 * BATCH + 10
BreakOff = Callable[[Document, int, BaseException], None]


def report(word: str, passages: int = PASSAGES) -> Document:
    sections = tuple(Section((f"Part {n}",), f"{word} number {n}", n * 100) for n in range(passages))
    return Document("d1", "Report", "Report", "test", {"year": 2023}, sections)


def ingest(settings: Settings, document: Document) -> Ingested:
    with Services(settings) as services:
        return services.ingesting.ingestor.ingest(document)


@pytest.fixture
def break_off(settings: Settings, embedding: Embedding) -> BreakOff:
    """Ingests in a process of its own, as far as the batches go."""

    def broken(document: Document, batches: int, error: BaseException) -> None:
        embedding.before = raising(error, batches)
        with pytest.raises(type(error)):
            ingest(settings, document)
        embedding.plain()

    return broken


def state(settings: Settings) -> tuple[str, int, dict[str, int]]:
    """Status, listed passages, and how many passages really hold each word."""
    with Services(settings) as services:
        (record,) = services.storage.documents.all()
        matches = {
            word: len(services.runtime.store.keyword_search(word, top_k=5000, scope=Scope()))
            for word in ("zebra", "giraffe")
        }
        ids = [row["_id"] for row in services.storage.database[settings.report_collection].find({}, {"_id": 1})]
        assert len(ids) == len(set(ids)) == sum(matches.values())
        return record.status, record.chunks, matches


ERRORS = [EmbeddingError("The model failed."), KilledError()]


@pytest.mark.parametrize("error", ERRORS, ids=["failed", "killed"])
def test_a_broken_off_first_ingest_is_completed_without_duplicates(
    settings: Settings, break_off: BreakOff, error: BaseException
) -> None:
    break_off(report("zebra"), 1, error)
    assert state(settings)[0] != "ready"
    assert ingest(settings, report("zebra")) == Ingested("d1", "added", PASSAGES)
    assert state(settings) == ("ready", PASSAGES, {"zebra": PASSAGES, "giraffe": 0})


@pytest.mark.parametrize("error", ERRORS, ids=["failed", "killed"])
def test_a_broken_off_first_ingest_of_a_file_that_then_changes_leaves_nothing_stale(
    settings: Settings, break_off: BreakOff, error: BaseException
) -> None:
    break_off(report("zebra"), 2, error)
    assert ingest(settings, report("giraffe", 5)).chunks == 5
    assert state(settings) == ("ready", 5, {"zebra": 0, "giraffe": 5})


@pytest.mark.parametrize("batches", [0, 1, 2])
@pytest.mark.parametrize("error", ERRORS, ids=["failed", "killed"])
def test_a_broken_off_replacement_keeps_the_old_version_and_is_completed_later(
    settings: Settings, break_off: BreakOff, batches: int, error: BaseException
) -> None:
    ingest(settings, report("zebra"))
    break_off(report("giraffe"), batches, error)
    status, chunks, matches = state(settings)
    assert (status, chunks, matches["zebra"]) == ("ready", PASSAGES, PASSAGES)
    assert ingest(settings, report("giraffe")).outcome == "replaced"
    assert state(settings) == ("ready", PASSAGES, {"zebra": 0, "giraffe": PASSAGES})


def test_a_failed_replacement_leaves_nothing_half_done(settings: Settings, break_off: BreakOff) -> None:
    """R-E6."""
    ingest(settings, report("zebra"))
    break_off(report("giraffe"), 1, EmbeddingError("The model failed."))
    assert state(settings) == ("ready", PASSAGES, {"zebra": PASSAGES, "giraffe": 0})


@pytest.mark.parametrize("error", ERRORS, ids=["failed", "killed"])
def test_going_back_to_the_old_text_after_a_broken_off_replacement_leaves_nothing_stale(
    settings: Settings, break_off: BreakOff, error: BaseException
) -> None:
    ingest(settings, report("zebra"))
    break_off(report("giraffe"), 1, error)
    ingest(settings, report("zebra"))
    assert state(settings) == ("ready", PASSAGES, {"zebra": PASSAGES, "giraffe": 0})


def test_a_failed_first_ingest_does_not_look_like_one_that_is_still_running(
    settings: Settings, break_off: BreakOff
) -> None:
    """A pending report answers 503 "still being indexed": nobody would ever finish this one."""
    break_off(report("zebra"), 1, EmbeddingError("The model failed."))
    assert state(settings)[0] == "failed"
