"""Ingesting the same again does nothing; a change replaces all of the old (R-E6, R-A4, R-B1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import Document, Scope, Section, Values
from chatbot.domain.errors import InvalidRequestError, LoadError
from chatbot.library.pipeline import Ingested, Registration
from tests.conftest import KENYA_2023, AddReport
from tests.library.helpers import record_of

KENYA = {"country_name": "Kenya", "year": 2023, "type": "country_report"}


def stored_ids(services: Services) -> list[str]:
    names = (services.settings.mongodb_collection, services.settings.report_collection)
    return sorted(row["_id"] for name in names for row in services.storage.database[name].find({}, {"_id": 1}))


def found(services: Services, words: str) -> list[str]:
    return [match.chunk_id for match in services.runtime.store.keyword_search(words, top_k=50, scope=Scope())]


def test_a_new_report_is_added_and_registered(services: Services, kenya: Ingested) -> None:
    assert (kenya.outcome, kenya.chunks) == ("added", 3)
    record = record_of(services, kenya.document_id)
    assert (record.status, record.chunks, record.title) == ("ready", 3, "Kenya: Country Report 2023")
    assert record.metadata == KENYA
    assert record.updated_at
    assert len(stored_ids(services)) == 3
    scope = Scope.of({"country_name": Values(("Kenya",)), "year": Values((2023,))})
    assert services.runtime.store.count(scope) == 3


def test_a_report_that_gets_a_country_moves_to_the_reports(services: Services, add_report: AddReport) -> None:
    """R-D7: what has a country or a year goes to the reports, and nothing stays behind."""
    general, reports = services.settings.mongodb_collection, services.settings.report_collection
    counts = lambda: [services.storage.database[name].estimated_count() for name in (general, reports)]  # noqa: E731
    add_report(KENYA_2023, "kenya-2023")
    assert counts() == [3, 0]
    add_report(KENYA_2023, "kenya-2023", **KENYA)
    assert counts() == [0, 3]


def test_two_reports_do_not_touch_each_other(services: Services, kenya: Ingested, add_report: AddReport) -> None:
    other = add_report("# Mali\n\n## People\n\nSome text.", "mali", country_name="Mali", year=2023)
    assert other.document_id != kenya.document_id
    assert services.ingesting.ingestor.delete(kenya.document_id) is True
    assert len(stored_ids(services)) == 1
    assert services.storage.documents.get(kenya.document_id) is None
    assert found(services, "Kenya") == []
    assert services.ingesting.ingestor.delete(kenya.document_id) is False


def test_a_report_is_registered_before_its_passages(services: Services) -> None:
    document = Document("d1", "n", "t", "s", KENYA, (Section((), "text", 0),))
    assert services.ingesting.ingestor.register(document) is True
    record = record_of(services, "d1")
    assert (record.status, record.chunks) == ("pending", 0)
    assert stored_ids(services) == []
    assert services.ingesting.ingestor.ingest(document).outcome == "added"
    assert services.ingesting.ingestor.register(document) is False


def test_a_document_without_text_is_an_error_and_is_not_registered(services: Services) -> None:
    with pytest.raises(LoadError, match="Empty: no text was found in it"):
        services.ingesting.ingestor.ingest(Document("d1", "Empty", "Empty", "s", {}))
    assert services.storage.documents.all() == []


def test_a_report_that_lost_its_text_keeps_its_old_version(
    services: Services, kenya: Ingested, add_report: AddReport
) -> None:
    """A failure keeps the old version, in the list and in the search alike."""
    with pytest.raises(LoadError):
        add_report("---\ntitle: Kenya: Country Report 2023\n---\n", "kenya-2023", **KENYA)
    record = record_of(services, kenya.document_id)
    assert (record.status, record.chunks) == ("ready", 3)
    assert len(found(services, "Somalia")) == 1


def test_a_collection_that_is_never_searched_is_refused(services: Services, tmp_path: Path) -> None:
    """R-D7: nothing that was ingested is unreachable."""
    document = Document("d1", "n", "t", "s", {}, (Section((), "zebra", 0),))
    with pytest.raises(InvalidRequestError, match=r"collection.*chatbot_data, report_chatting"):
        services.ingesting.ingestor.ingest(document, Registration("elsewhere"))
    assert services.storage.documents.all() == []
    assert services.ingesting.ingestor.ingest(document, Registration("report_chatting")).outcome == "added"
    assert len(found(services, "zebra")) == 1


def test_a_further_collection_is_written_and_searched(settings: Settings) -> None:
    """R-D7: what has a country goes to the reports all the same, unless it is said otherwise."""
    document = Document("d1", "n", "t", "s", KENYA, (Section((), "zebra", 0),))
    with Services(settings.override(collections={"news": "Daily news."})) as services:
        services.ingesting.ingestor.ingest(document)
        assert services.runtime.store.count(Scope().within(["report_chatting"])) == 1
        assert services.ingesting.ingestor.ingest(document, Registration("news")).outcome == "replaced"
        assert services.runtime.store.count(Scope().within(["report_chatting"])) == 0
        assert services.runtime.store.count(Scope().within(["news"])) == 1
        assert len(found(services, "zebra")) == 1
        with pytest.raises(InvalidRequestError, match="Valid: chatbot_data, report_chatting, news"):
            services.ingesting.ingestor.ingest(document, Registration("elsewhere"))
