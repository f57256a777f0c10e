"""A summary is found, and what it is said from is cited."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot.retrieval.summaries import without_summaries
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
        store, retriever = services.vectors.store, services.answering.retriever()
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
        store, retriever = services.vectors.store, services.answering.retriever()
        found = retriever.retrieve("overview of the report", top_k=5, scope=Scope(), method="bm25").hits
        first = without_summaries(found, "overview", store, analyzer("english"), top_k=2)
        monkeypatch.setattr(store, "stored", None)
        assert without_summaries(found, "overview", store, analyzer("english"), top_k=2) == first


def test_a_table_is_counted_by_its_summary_alone(settings: Settings, tmp_path: Path) -> None:
    with Services(settings.override(summaries="extractive")) as services:
        table = tmp_path / "table.csv"
        table.write_text("country,year,Text\nKenya,2021,It rains.\nMali,2022,It is dry.\n", encoding="utf-8")
        ingest(services, table)
        found = services.answering.retriever().retrieve("table of rows", top_k=1, scope=Scope(), method="bm25").hits
        store, words = services.vectors.store, analyzer("english")
        assert without_summaries(found, "table of rows", store, words, top_k=1) == found
