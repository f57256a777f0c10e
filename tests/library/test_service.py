"""A file through the one path of uploads, web pages and the command line: 0 work for
the same again, and who wins.
"""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database.changes import PASSAGES
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.isolation import LoaderPool
from chatbot.library.sources import Source
from tests.library.helpers import (
    IDENTITY,
    REPORT_ID,
    Embedding,
    assert_consistent,
    ingest,
    leases,
    passages_of,
    record_of,
    run_together,
    stored,
    write,
)

TABLE = "country,year,value\nKenya,2022,1\nKenya,2023,2\nMali,2023,3\n,,4\n"


class Writes:
    """Notices any commit by any other connection to the database file."""

    def __init__(self, settings: Settings) -> None:
        self._connection = sqlite3.connect(settings.data_dir / "report-chat.sqlite")

    def version(self) -> int:
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read, in order."""
    names: list[str] = []
    load = LoaderPool.load

    def note(loader: LoaderPool, path: Path, **options: Any) -> Any:
        names.append(path.name)
        return load(loader, path, **options)

    monkeypatch.setattr(LoaderPool, "load", note)
    return names


def test_the_same_file_again_is_not_read_not_embedded_and_nothing_is_written(
    services: Services,
    settings: Settings,
    tmp_path: Path,
    embedding: Embedding,
    read: list[str],
) -> None:
    """R-E6."""
    path = write(tmp_path, passages_of("zebra", "giraffe"))
    assert ingest(services, path).outcome == "added"
    assert (len(embedding.taken()), read) == (2, ["report.md"])
    writes = Writes(settings)
    before = writes.version()
    again = ingest(services, path)
    assert (again.outcome, again.chunks, again.document_id) == (
        "unchanged",
        2,
        REPORT_ID,
    )
    assert (embedding.taken(), read, writes.version()) == ([], ["report.md"], before)
    ingest(services, write(tmp_path, passages_of("lion")))
    assert writes.version() != before, "the counter must notice a write"
    writes.close()


def test_a_plan_writes_nothing(
    services: Services, settings: Settings, tmp_path: Path, embedding: Embedding
) -> None:
    path = write(tmp_path, passages_of("zebra"))
    ingest(services, path)
    embedding.taken()
    writes = Writes(settings)
    before = writes.version()
    outcomes = []
    for text in (passages_of("zebra"), passages_of("lion")):
        outcomes.append(
            services.ingesting.service.plan(Source(write(tmp_path, text), IDENTITY))[1]
        )
    outcomes.append(
        services.ingesting.service.plan(Source(path, "uploads/other.md"))[1]
    )
    assert outcomes == ["unchanged", "changed", "new"]
    assert (embedding.taken(), writes.version()) == ([], before)
    writes.close()


@pytest.mark.parametrize(
    ("settings_change", "said"),
    [
        ({"summaries": "extractive"}, {}),
        ({"chunk_size": 120}, {}),
        ({}, {"chunk_size": 120}),
        ({}, {"year": 2020}),
    ],
    ids=["summaries", "CHUNK_SIZE", "chunk_size", "year"],
)
def test_what_shapes_the_passages_makes_the_file_be_read_again(
    settings: Settings,
    tmp_path: Path,
    read: list[str],
    settings_change: dict[str, Any],
    said: dict[str, Any],
) -> None:
    path = write(tmp_path, passages_of("zebra"))
    with build(settings) as services:
        ingest(services, path)
    with build(settings.override(**settings_change)) as other:
        assert ingest(other, path, said).outcome == "replaced"
        assert len(read) == 2
        assert ingest(other, path).outcome == "unchanged"
        assert len(read) == 2


def test_a_change_only_in_how_a_report_is_kept_is_no_new_version(
    services: Services, tmp_path: Path
) -> None:
    path = write(tmp_path, passages_of("zebra"))
    ingest(services, path)
    before = services.storage.changes.state().of(PASSAGES)
    assert ingest(services, path, file_id="abc").outcome == "unchanged"
    after = services.storage.changes.state().of(PASSAGES)
    assert (record_of(services).file_id, after) == ("abc", before)


def test_only_changed_passages_are_embedded(
    services: Services, tmp_path: Path, embedding: Embedding
) -> None:
    ingest(services, write(tmp_path, passages_of("zebra", "giraffe", "lion")))
    embedding.taken()
    again = ingest(
        services, write(tmp_path, passages_of("zebra", "okapi", "lion", "ant"))
    )
    assert (again.outcome, again.chunks) == ("replaced", 4)
    assert embedding.taken() == ["The okapi lives here.", "The ant lives here."]
    assert_consistent(services)
    for chunk, vector in zip(*services.runtime.store.stored(REPORT_ID), strict=True):
        assert vector == pytest.approx(
            services.runtime.embedder.embed_query(chunk.search_text)
        ), chunk.text


def test_the_same_text_twice_in_a_report_is_embedded_once(
    services: Services, tmp_path: Path, embedding: Embedding
) -> None:
    """R-E6: each passage's text once. The two passages stay two."""
    text = (
        "# T\n\n## Note\n\nSee below.\n\n## Other\n\nSomething else.\n\n## Note\n\nSee "
        "below.\n"
    )
    assert ingest(services, write(tmp_path, text)).chunks == 3
    assert sorted(embedding.taken()) == ["See below.", "Something else."]


def test_a_file_that_is_gone_or_unreadable_is_named(
    services: Services, tmp_path: Path
) -> None:
    with pytest.raises(LoadError, match=r"gone\.md cannot be read: No such file"):
        ingest(services, tmp_path / "gone.md")
    damaged = tmp_path / "damaged.md"
    damaged.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LoadError, match=r"damaged\.md is damaged"):
        ingest(services, damaged)
    assert services.storage.documents.all() == []
    assert leases(services) == []


def test_what_a_person_says_wins_and_holds_without_being_said_again(
    services: Services, tmp_path: Path
) -> None:
    front = (
        "---\ncountry: Kenya\nyear: 2019\nlabels: [file]\ndescription: From the file\n"
        "---\n"
    )
    path = write(tmp_path, front + passages_of("zebra"))
    ingest(services, path)
    assert record_of(services).metadata == {"country_name": "Kenya", "year": 2019}
    said = {
        "country_name": "Mali",
        "title": "Mine",
        "labels": ["a", "b"],
        "description": "Said",
        "type": "t",
    }
    assert ingest(services, path, said).outcome == "replaced"
    assert ingest(services, path).outcome == "unchanged"
    assert ingest(services, path, {"year": 2020}).outcome == "replaced"
    record = record_of(services)
    assert record.metadata == {"country_name": "Mali", "year": 2020, "type": "t"}
    assert (record.title, record.name, record.labels, record.description) == (
        "Mine",
        "Mine",
        ("a", "b"),
        "Said",
    )
    assert record.overrides == {**said, "year": 2020}
    (passage,) = stored(services)
    assert (passage.metadata, passage.labels, passage.title) == (
        record.metadata,
        record.labels,
        "Mine",
    )
    write(tmp_path, front.replace("Kenya", "Chad") + passages_of("lion"))
    ingest(services, path)
    assert record_of(services).metadata == record.metadata


def test_another_collection_moves_the_passages(
    services: Services, tmp_path: Path
) -> None:
    """R-D7: in one of the two, never in both. What gets a country moves to the
    reports.
    """
    general, reports = services.settings.chunk_collections
    path = write(tmp_path, passages_of("zebra", "lion"))
    ingest(services, path)
    moves = [
        ({"country_name": "Kenya"}, reports),
        ({"collection": general}, general),
        ({"collection": reports}, reports),
    ]
    for said, wanted in moves:
        other = general if wanted == reports else reports
        assert ingest(services, path, said).outcome == "replaced"
        assert {chunk.collection for chunk in stored(services)} == {wanted}
        assert services.storage.database[other].count({}) == 0
        assert record_of(services).collection == wanted
        assert_consistent(services)


def test_what_is_said_of_a_table_is_for_rows_that_do_not_say_it(
    services: Services, tmp_path: Path
) -> None:
    ingest(
        services,
        write(tmp_path, TABLE, "table.csv"),
        {"country_name": "Chad", "year": 2000},
    )
    found = [
        (chunk.metadata["country_name"], chunk.metadata["year"])
        for chunk in stored(services)
    ]
    assert found == [("Kenya", 2022), ("Kenya", 2023), ("Mali", 2023), ("Chad", 2000)]


def test_a_changed_row_is_embedded_alone(
    services: Services, tmp_path: Path, embedding: Embedding
) -> None:
    """R-B1."""
    ingest(services, write(tmp_path, TABLE, "table.csv"))
    embedding.taken()
    ingest(
        services,
        write(tmp_path, TABLE.replace("Mali,2023,3", "Mali,2023,9"), "table.csv"),
    )
    assert embedding.taken() == ["country: Mali; year: 2023; value: 9"]
    assert_consistent(services)


def test_the_same_document_by_many_at_once_is_written_once(
    settings: Settings, tmp_path: Path
) -> None:
    """Two servers and the command line, each with services of its own."""
    path = write(tmp_path, passages_of(*(f"w{n}" for n in range(40))))
    outcomes: list[str] = []

    def work() -> None:
        with build(settings) as other:
            outcomes.append(ingest(other, path).outcome)

    run_together(work, work, work)
    assert sorted(outcomes) == ["added", "unchanged", "unchanged"]
    with build(settings) as services:
        assert_consistent(services)
        batches = services.storage.changes.state().of(PASSAGES)
        assert batches == 1, "one batch, written once"
