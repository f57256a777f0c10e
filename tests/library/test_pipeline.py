"""Ingesting the same again does nothing; a change replaces all of the old (R-E6, R-A4,
R-B1).
"""

from dataclasses import replace
from pathlib import Path

import pytest

from chatbot.app.services import Services
from chatbot.domain import Document, Scope, Section
from chatbot.domain.documents import HeadingCounts, Mentions
from chatbot.domain.errors import LoadError
from chatbot.domain.scope import Values
from chatbot.library.pipeline import Ingested
from chatbot.library.sources import Source
from chatbot.questions.reading import read_names
from chatbot.search.subjects import missing_subject
from tests.conftest import KENYA_2023, AddReport
from tests.library.helpers import record_of

KENYA = {"country_name": "Kenya", "year": 2023, "type": "country_report"}


def stored_ids(services: Services) -> list[str]:
    names = (services.settings.mongodb_collection, services.settings.report_collection)
    return sorted(
        row["_id"]
        for name in names
        for row in services.storage.database[name].find({}, {"_id": 1})
    )


def found(services: Services, words: str) -> list[str]:
    return [
        match.chunk_id
        for match in services.runtime.store.keyword_search(
            words, top_k=50, scope=Scope()
        )
    ]


def test_a_report_is_registered_before_its_passages(services: Services) -> None:
    document = Document("d1", "n", "t", "s", KENYA, (Section((), "text", 0),))
    assert services.ingesting.ingestor.register(document) is True
    record = record_of(services, "d1")
    assert (record.status, record.chunks) == ("pending", 0)
    assert stored_ids(services) == []
    assert services.ingesting.ingestor.ingest(document).outcome == "added"
    assert services.ingesting.ingestor.register(document) is False


def test_a_report_of_no_country_is_asked_about_those_that_its_rows_begin_with(
    services: Services,
) -> None:
    sections = (Section((), "Country: Sweden; Share: 73\nCountry: SGP; Share: 2", 0),)
    for name, metadata in [("d1", {}), ("d2", KENYA)]:
        services.ingesting.ingestor.ingest(
            Document(name, name, name, "s", metadata, sections)
        )
    assert [record_of(services, name).row_countries for name in ("d1", "d2")] == [
        ("SWE",),
        (),
    ]
    documents = services.storage.documents
    subjects = [
        missing_subject(
            read_names(f"Share in {name}", documents, Scope()), Scope(), documents
        )
        for name in ("Sweden", "Peru")
    ]
    assert [subject is None for subject in subjects] == [True, False]


def test_a_report_counts_the_passages_that_name_a_country_by_part(
    services: Services,
) -> None:
    sections = (
        Section(("Trade",), "Most tea goes to Pakistan.", 0),
        Section(("Trade with South Sudan",), "Cattle; and tea for Pakistanis.", 40),
        Section(("Trade",), "Gold goes to India.", 90, metadata={"year": 2021}),
    )
    services.ingesting.ingestor.ingest(Document("d1", "n", "t", "s", KENYA, sections))
    record = record_of(services, "d1")
    mentions = {part.metadata["year"]: part.mentions for part in record.parts}
    assert mentions == {2021: {"IND": 1}, 2023: {"PAK": 2, "SSD": 1}}
    documents = services.storage.documents
    codes = ("IND", "PAK", "DEU")
    everywhere = documents.mentions(codes, Scope())
    assert everywhere == Mentions({"IND": 1, "PAK": 2, "DEU": 0}, is_known=True)
    of_2021 = documents.mentions(codes, Scope.of({"year": Values((2021,))}))
    assert of_2021 == Mentions({"IND": 1, "PAK": 0, "DEU": 0}, is_known=True)


def test_a_limited_reader_counts_only_the_passages_inside(services: Services) -> None:
    sections = (
        Section(("Trade",), "Most tea goes to Pakistan.", 0),
        Section(
            ("Trade",), "Tea and gold go to Pakistan.", 40, metadata={"year": 2021}
        ),
        Section(("Trade",), "Gold goes to India.", 90, metadata={"year": 2021}),
    )
    services.ingesting.ingestor.ingest(Document("d1", "n", "t", "s", KENYA, sections))
    codes = ("IND", "PAK")
    for year, counted in ((2021, {"IND": 1, "PAK": 1}), (2023, {"IND": 0, "PAK": 1})):
        reader = services.readers.within(Scope.of({"year": Values((year,))}))
        seen = reader.documents.mentions(codes, reader.limit)
        assert seen == Mentions(counted, is_known=True)
        # A wider scope than the limit shows no more.
        assert reader.documents.mentions(codes, Scope()) == seen


def test_a_report_counts_its_headings_and_those_that_are_indicators(
    services: Services,
) -> None:
    sections = (
        Section(("Economy", "Inflation"), "4.5% (2024 est.)", 0),
        Section(("Economy", "Inflation"), "It fell again.", 40),
        Section(("Economy", "Overview"), "Most people farm.", 80),
    )
    services.ingesting.ingestor.ingest(Document("d1", "n", "t", "s", KENYA, sections))
    counts = services.storage.documents.heading_counts("d1")
    assert counts == HeadingCounts(headings=2, indicators=1, tables=0)
    assert services.storage.documents.heading_counts("unknown") is None


def test_reports_that_may_have_tables_are_counted(
    services: Services, kenya: Ingested, tmp_path: Path
) -> None:
    documents = services.storage.documents
    assert documents.holdings(Scope()).with_tables == 0
    path = tmp_path / "mills.md"
    table = "| Mill | Flour (tonnes) |\n|---|---|\n| Alder | 120 |\n"
    path.write_text(f"# Mills\n\n{table}", encoding="utf-8")
    added = services.ingesting.service.ingest(Source(path, "mills.md"))
    counts = documents.heading_counts(added.document_id)
    assert counts is not None
    assert counts.tables == 1
    assert documents.holdings(Scope()).with_tables == 1
    # An older release did not count them: it may have some.
    record = record_of(services, kenya.document_id)
    documents.put(replace(record, heading_counts=HeadingCounts(3, 1)))
    assert documents.holdings(Scope()).with_tables == 2


def test_a_reader_of_a_part_does_not_see_the_headings_of_the_others(
    services: Services,
) -> None:
    sections = (
        Section(("Inflation",), "4.5% (2024 est.)", 0),
        Section(("Trade",), "Tea.", 40, metadata={"year": 2021}),
    )
    services.ingesting.ingestor.ingest(Document("d1", "n", "t", "s", KENYA, sections))
    reader = services.readers.within(Scope.of({"year": Values((2021,))}))
    assert reader.documents.heading_counts("d1") is None


def test_an_unchanged_file_that_nobody_has_looked_through_is_looked_through(
    services: Services, kenya: Ingested, add_report: AddReport
) -> None:
    documents = services.storage.documents
    record = record_of(services, kenya.document_id)
    assert record.mentions is not None
    assert record.heading_counts is not None
    documents.put(replace(record, mentions=None, heading_counts=None))
    ids = stored_ids(services)
    assert documents.mentions(["DEU"], Scope()).is_older
    again = add_report(KENYA_2023, "kenya-2023", **KENYA)
    assert (again.outcome, stored_ids(services)) == ("unchanged", ids)
    counted = record_of(services, kenya.document_id)
    assert counted.mentions == record.mentions
    assert counted.heading_counts == record.heading_counts


def test_a_document_without_text_is_an_error_and_is_not_registered(
    services: Services,
) -> None:
    with pytest.raises(LoadError, match="Empty: no text was found in it"):
        services.ingesting.ingestor.ingest(Document("d1", "Empty", "Empty", "s", {}))
    assert services.storage.documents.all() == []


def test_a_report_that_lost_its_text_keeps_its_old_version(
    services: Services, kenya: Ingested, add_report: AddReport
) -> None:
    """A failure keeps the old version, in the list and in the search alike."""
    with pytest.raises(LoadError):
        add_report(
            "---\ntitle: Kenya: Country Report 2023\n---\n", "kenya-2023", **KENYA
        )
    record = record_of(services, kenya.document_id)
    assert (record.status, record.chunks) == ("ready", 3)
    assert len(found(services, "Somalia")) == 1
