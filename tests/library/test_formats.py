"""Every sample format goes in, and answers lead to the page they stand on. Real
files.
"""

from collections.abc import Iterator

import pypdfium2
import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Answer, Question, RequestContext
from chatbot.library.sources import folder_sources
from tests.asking import Finished, by_mode
from tests.data import cases, data_set, needs

CORPUS = data_set("sample_corpus")
pytestmark = needs(CORPUS)

FILES = 11
CASES = cases(__file__)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """The files of the corpus, ingested. Their questions use words of the passage, so
    no model is needed.
    """
    folder = tmp_path_factory.mktemp("formats")
    settings = Settings(
        data_dir=folder,
        embedding_provider="hashing",
        chat_model="extractive",
        sample_data="off",
    )
    with build(settings) as services:
        for source in folder_sources(CORPUS, pattern="formats/*"):
            services.ingesting.service.ingest(source)
        yield services


def answer(services: Services, query: str, name: str) -> Answer:
    (title,) = [
        record.title
        for record in services.storage.documents.all()
        if record.source.endswith(name)
    ]
    scope = services.storage.scopes.resolve({"document_name": title})
    question = Question(
        query,
        scope,
        services.settings.top_k,
        services.settings.retrieval_method,
        "direct",
    )
    *_, last = by_mode(services, question, request=RequestContext())
    assert isinstance(last, Finished)
    return last.answer


def test_every_file_goes_in(library: Services) -> None:
    records = library.storage.documents.all()
    assert len(records) == FILES
    assert {record.status for record in records} == {"ready"}
    assert {r.title: r.pages for r in records if r.source.endswith(".pdf")} == {
        "CIA World Factbook Archive: Executive Summary 2026": 3,
        "CDC MMWR: Inadequate and Unhealthy Housing, 2007 and 2009": 6,
        "CDC MMWR: Coronary Heart Disease and Stroke Deaths, United States, 2006": 4,
        "NCES projections: reference tables, public high school graduates": 7,
        "Federal Register proposed rule 2020-17221 (three-column, 15 pages)": 15,
        "Kenya: Country Report 2024": 17,
        "Colombia: Country Report 2022": 18,
    }


@pytest.mark.parametrize("name", CASES["pages"])
def test_an_answer_from_a_pdf_cites_its_page(library: Services, name: str) -> None:
    query, pages, words = CASES["pages"][name]
    first = answer(library, query, name).citations[0]
    assert words in first.hit.chunk.text
    assert first.hit.chunk.page in pages
    with pypdfium2.PdfDocument(CORPUS / "formats" / name) as document:
        shown = " ".join(
            document[first.hit.chunk.page - 1].get_textpage().get_text_range().split()
        )
    assert words in shown, (
        "the test itself is wrong: another reader does not find the words on that page"
    )


@pytest.mark.parametrize("name", CASES["cells"])
def test_the_cells_of_tables_can_be_asked_for(library: Services, name: str) -> None:
    query, cell = CASES["cells"][name]
    assert cell in answer(library, query, name).response
