"""A summary is found, and what it is said from is cited."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot.retrieval.summaries import of_whole_report, without_summaries
from chatbot.schema import Scope
from chatbot.services import Services
from chatbot.settings import Settings
from chatbot.text import analyzer
from tests.ingestion.helpers import ingest, write

REPORT = """# Kenya

The country lies on the coast and has a long history of trade. It grew fast in that year.

## People

Most of the people live in the highlands of the west and of the south. Few of them move.

## Land

Dry.
"""


@pytest.mark.parametrize(
    ("query", "sections"),
    [("overview of the report", ["", "People"]), ("overview of the report: where do the people live?", ["People", ""])],
)
def test_its_sentences_lead_to_their_passages(
    settings: Settings, tmp_path: Path, query: str, sections: list[str]
) -> None:
    with Services(settings.override(summaries="extractive")) as services:
        ingest(services, write(tmp_path, REPORT))
        store, retriever = services.runtime.store, services.runtime.retriever
        found = retriever.retrieve("overview of the report", top_k=5, scope=Scope(), method="bm25").hits
        assert [hit.chunk.section for hit in found] == ["Summary"]
        for top_k in (2, 1):
            cited = without_summaries(found, query, store, analyzer("english"), top_k=top_k)
            assert [(hit.chunk.section, hit.rank) for hit in cited] == list(zip(sections, (1, 2), strict=True))[:top_k]


def test_the_report_is_read_once_for_its_summary(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Services(settings.override(summaries="extractive")) as services:
        ingest(services, write(tmp_path, REPORT))
        store, retriever = services.runtime.store, services.runtime.retriever
        found = retriever.retrieve("overview of the report", top_k=5, scope=Scope(), method="bm25").hits
        first = without_summaries(found, "overview", store, analyzer("english"), top_k=2)
        monkeypatch.setattr(store, "stored", None)
        assert without_summaries(found, "overview", store, analyzer("english"), top_k=2) == first


def test_a_table_is_counted_by_its_summary_alone(settings: Settings, tmp_path: Path) -> None:
    with Services(settings.override(summaries="extractive")) as services:
        table = tmp_path / "table.csv"
        table.write_text("country,year,Text\nKenya,2021,It rains.\nMali,2022,It is dry.\n", encoding="utf-8")
        ingest(services, table)
        found = services.runtime.retriever.retrieve("table of rows", top_k=1, scope=Scope(), method="bm25").hits
        store, words = services.runtime.store, analyzer("english")
        assert without_summaries(found, "table of rows", store, words, top_k=1) == found


def test_what_says_most_of_a_report_is_its_beginning_and_what_its_summary_is_said_from(
    settings: Settings, tmp_path: Path
) -> None:
    with Services(settings.override(summaries="extractive")) as services:
        ingest(services, write(tmp_path, REPORT))
        store, (record,) = services.runtime.store, services.storage.documents.all()
        hits, said = of_whole_report(record, store, analyzer("english"), top_k=3)
        assert [(hit.rank, hit.chunk.section, hit.found_by) for hit in hits] == [
            (1, "", ("summary",)),
            (2, "People", ("summary",)),
            (3, "Land", ("beginning",)),
        ]
        assert said[0].text == "The country lies on the coast and has a long history of trade."
        assert {one.chunk_id for one in said} == {hit.chunk.id for hit in hits[:2]}
        assert len(of_whole_report(record, store, analyzer("english"), top_k=1)[0]) == 1


def test_of_a_report_without_a_summary_it_is_the_beginning(settings: Settings, tmp_path: Path) -> None:
    with Services(settings.override(summaries="off")) as services:
        ingest(services, write(tmp_path, REPORT))
        store, (record,) = services.runtime.store, services.storage.documents.all()
        hits, said = of_whole_report(record, store, analyzer("english"), top_k=2)
        assert [hit.chunk.section for hit in hits] == ["", "People"]
        assert said == []


def test_of_a_table_it_is_the_summary_that_counts_its_rows(settings: Settings, tmp_path: Path) -> None:
    with Services(settings.override(summaries="extractive")) as services:
        ingest(services, write(tmp_path, "country_name,year,harvest\nKenya,2021,12\nMali,2022,13\n", "table.csv"))
        store, (record,) = services.runtime.store, services.storage.documents.all()
        hits, said = of_whole_report(record, store, analyzer("english"), top_k=2)
        assert "2 rows" in hits[0].chunk.text
        assert (len(hits), said) == (2, [])
