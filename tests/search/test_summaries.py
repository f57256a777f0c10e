"""A summary is found, and the passages that are its sources are cited."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Scope, SearchHit
from chatbot.domain.documents import SUMMARY_ORDINAL
from chatbot.language.analysis import analyzer
from chatbot.search.pipeline import of_whole_report, without_summaries
from tests.library.helpers import ingest, write

REPORT = """# Kenya

The country lies on the coast and has a long history of trade. It grew fast in that year.

## People

Most of the people live in the highlands of the west and of the south. Few of them move.

## Land

Dry.
"""  # noqa: E501
TABLE = "country_name,year,harvest\nKenya,2021,12\nMali,2022,13\n"
WORDS = analyzer("english")
Add = Callable[..., tuple[SearchHit, ...]]


@pytest.fixture
def services(settings: Settings, request: pytest.FixtureRequest) -> Iterator[Services]:
    with build(
        settings.override(summaries=getattr(request, "param", "extractive"))
    ) as opened:
        yield opened


@pytest.fixture
def add(services: Services, tmp_path: Path) -> Add:
    """Ingest a text and return what the keyword search finds."""

    def added(
        text: str, name: str = "report.md", query: str = "overview of the report"
    ) -> tuple[SearchHit, ...]:
        ingest(services, write(tmp_path, text, name))
        return services.everything.retriever.retrieve(
            query, top_k=5, scope=Scope(), method="bm25"
        ).hits

    return added


@pytest.mark.parametrize(
    ("query", "sections"),
    [
        ("overview of the report", ["", "People"]),
        ("overview of the report: where do the people live?", ["People", ""]),
    ],
)
def test_its_sentences_lead_to_their_passages(
    services: Services, add: Add, query: str, sections: list[str]
) -> None:
    hits = add(REPORT)
    assert [hit.chunk.section for hit in hits] == ["Summary"]
    for top_k in (2, 1):
        cited = without_summaries(
            hits, query, services.runtime.store, WORDS, top_k=top_k
        )
        assert [(hit.chunk.section, hit.rank) for hit in cited] == list(
            zip(sections, (1, 2), strict=True)
        )[:top_k]


def test_the_report_is_read_once_for_its_summary(
    services: Services, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    hits, store = add(REPORT), services.runtime.store
    first = without_summaries(hits, "overview", store, WORDS, top_k=2)
    monkeypatch.setattr(store, "stored", None)
    assert without_summaries(hits, "overview", store, WORDS, top_k=2) == first


def test_a_table_is_counted_by_its_summary_alone(services: Services, add: Add) -> None:
    hits = add(TABLE, "table.csv", "table of rows")[:1]
    assert hits[0].chunk.is_summary
    assert (
        without_summaries(hits, "table of rows", services.runtime.store, WORDS, top_k=1)
        == hits
    )


def test_a_summary_that_says_nothing_is_no_source(services: Services, add: Add) -> None:
    add("# Chandel\n\n| Key | Value |\n|---|---|\n| Wells | 12 |\n")
    store = services.runtime.store
    (record,) = services.storage.documents.all()
    (passage,) = store.get(record.chunk_ids())
    *_, last = record.chunk_ids()
    text = "Chandel: an overview of the report."
    empty = replace(passage, id=last, text=text, ordinal=SUMMARY_ORDINAL)
    store.upsert([empty], store.stored(record.id)[1][:1])
    hits = (SearchHit(empty, 1), SearchHit(passage, 2))
    kept = without_summaries(hits, "What is it about?", store, WORDS, top_k=5)
    assert [hit.chunk.id for hit in kept] == [passage.id]
    whole, _ = of_whole_report(record, store, WORDS, top_k=5)
    assert [hit.chunk.id for hit in whole] == [passage.id]


def test_a_whole_report_is_its_beginning_and_the_sources_of_its_summary(
    services: Services, add: Add
) -> None:
    add(REPORT)
    store, (record,) = services.runtime.store, services.storage.documents.all()
    hits, sentences = of_whole_report(record, store, WORDS, top_k=3)
    assert [(hit.rank, hit.chunk.section, hit.found_by) for hit in hits] == [
        (1, "", ("summary",)),
        (2, "People", ("summary",)),
        (3, "Land", ("beginning",)),
    ]
    assert (
        sentences[0].text
        == "The country lies on the coast and has a long history of trade."
    )
    assert {one.chunk_id for one in sentences} == {hit.chunk.id for hit in hits[:2]}
    assert len(of_whole_report(record, store, WORDS, top_k=1)[0]) == 1


@pytest.mark.parametrize("services", ["off"], indirect=True)
def test_a_whole_report_without_a_summary_is_its_beginning(
    services: Services, add: Add
) -> None:
    add(REPORT)
    (record,) = services.storage.documents.all()
    hits, sentences = of_whole_report(record, services.runtime.store, WORDS, top_k=2)
    assert ([hit.chunk.section for hit in hits], sentences) == (["", "People"], [])


def test_a_whole_table_is_the_summary_that_counts_its_rows(
    services: Services, add: Add
) -> None:
    add(TABLE, "table.csv")
    (record,) = services.storage.documents.all()
    hits, sentences = of_whole_report(record, services.runtime.store, WORDS, top_k=2)
    assert "2 rows" in hits[0].chunk.text
    assert (len(hits), sentences) == (2, [])


def test_an_edit_changes_what_the_summary_calls_its_report(
    services: Services, add: Add
) -> None:
    add(f"# Survey of 2000\n{REPORT}")
    (record,) = services.storage.documents.all()
    service = services.ingesting.service
    service.edit(record.id, {"title": "Survey", "year": 2024})
    (record,) = services.storage.documents.all()
    last = services.runtime.store.get(record.chunk_ids())[-1]
    assert last.is_summary
    assert last.text.startswith("Survey (2024): an overview of the report.\n")
