"""The sample reports: registered first, loaded once, by one process at a time."""

import json
import time
from pathlib import Path

import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database.changes import PASSAGES
from chatbot.library.derived import NONE
from chatbot.library.samples import SampleReports
from tests.library.helpers import record_of, until

FILES = ("kenya-2021.md", "kenya-2023.md", "mali-2023.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "samples"
    root.mkdir()
    entries = []
    for name in FILES:
        country, year = name.removesuffix(".md").split("-")
        (root / name).write_text(
            f"# {name}\n\n## A\n\none\n\n## B\n\ntwo\n", encoding="utf-8"
        )
        entries.append(
            {"file": name, "country_name": country.title(), "year": int(year)}
        )
    (root / "manifest.json").write_text(json.dumps(entries), encoding="utf-8")
    return root


def samples_of(services: Services, folder: Path) -> SampleReports:
    return SampleReports(
        folder,
        ingestor=lambda: services.ingesting.ingestor,
        leases=services.storage.facts,
        summary=NONE,
    )


def test_all_are_registered_before_the_first_is_indexed(
    services: Services, folder: Path
) -> None:
    seen: list[tuple[int, int, list[str]]] = []

    def note(done: int, total: int) -> None:
        seen.append(
            (
                done,
                total,
                sorted(record.status for record in services.storage.documents.all()),
            )
        )

    assert samples_of(services, folder).load(note) == 3
    assert seen[0] == (0, 3, ["pending"] * 3)
    assert seen[1] == (1, 3, ["pending", "pending", "ready"])
    assert seen[-1] == (3, 3, ["ready"] * 3)
    assert all(record.sample for record in services.storage.documents.all())


def test_a_second_load_does_nothing(services: Services, folder: Path) -> None:
    samples_of(services, folder).load()
    position = services.storage.changes.position()
    seen: list[tuple[int, int]] = []
    assert (
        samples_of(services, folder).load(
            lambda done, total: seen.append((done, total))
        )
        == 0
    )
    assert seen == [(3, 3)]
    assert services.storage.changes.position() == position


def test_of_two_processes_one_loads_and_the_other_waits(
    settings: Settings, folder: Path
) -> None:
    with build(settings) as one, build(settings) as two:
        both = [samples_of(one, folder), samples_of(two, folder)]
        for samples in both:
            samples.start()
        until(lambda: not any(samples.running for samples in both))
        assert [samples.error for samples in both] == ["", ""]
        rows = [
            row["_id"]
            for row in one.storage.database[settings.report_collection].find(
                {}, {"_id": 1}
            )
        ]
        assert len(rows) == len(set(rows)) == 6
        batches = one.storage.changes.state().of(PASSAGES)
        assert batches == 3, "each report was written once"


def test_who_waits_for_the_lease_can_be_stopped(
    services: Services, folder: Path
) -> None:
    services.storage.facts.acquire_lease("sample_data", "another process", 60)
    samples = samples_of(services, folder)
    samples.start()
    time.sleep(0.1)
    assert samples.running
    assert services.storage.documents.all() == []
    started = time.monotonic()
    samples.close()
    assert time.monotonic() - started < 30
    assert not samples.running
    assert services.storage.documents.all() == []


def test_an_interrupted_load_is_resumed(services: Services, folder: Path) -> None:
    """Stopped after the first report: the rest is pending, the next start does only
    that.
    """
    first = samples_of(services, folder)
    first.load(lambda done, total: first.close() if done == 1 else None)
    assert sorted(record.status for record in services.storage.documents.all()) == [
        "pending",
        "pending",
        "ready",
    ]
    assert samples_of(services, folder).load() == 2
    assert [record.status for record in services.storage.documents.all()] == [
        "ready"
    ] * 3


def test_a_broken_sample_is_reported_not_raised(
    services: Services, folder: Path
) -> None:
    (folder / FILES[1]).write_bytes(b"\xff\xfe")
    samples = samples_of(services, folder)
    samples.start()
    until(lambda: not samples.running)
    assert samples.error.startswith("kenya-2023.md ")


def test_what_a_person_says_of_a_sample_outlives_the_next_start(
    services: Services, folder: Path
) -> None:
    samples_of(services, folder).load()
    mali = next(
        record
        for record in services.storage.documents.all()
        if record.metadata["country_name"] == "Mali"
    )
    services.ingesting.service.edit(mali.id, {"title": "Mine", "country_name": "Chad"})
    for _ in range(2):
        samples_of(services, folder).load()
        record = record_of(services, mali.id)
        assert (record.title, record.metadata, record.sample) == (
            "Mine",
            {"country_name": "Chad", "year": 2023},
            True,
        )
    assert samples_of(services, folder).load() == 0
