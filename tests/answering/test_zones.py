"""What is beside the body of a document comes last, unless a question asks for it. The
documents in data/zones were written for this test.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.app.services import Services, build
from chatbot.domain import Answer, Question, RequestContext, Scope
from tests.conftest import small_settings
from tests.library.helpers import ingest

DOCUMENTS = sorted((Path(__file__).parent / "data" / "zones").iterdir())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("zones")
    with build(small_settings(folder, embedding_provider="minilm")) as services:
        for path in DOCUMENTS:
            ingest(services, path, identity=f"uploads/{path.name}")
        yield services


def asked(services: Services, query: str, top_k: int = 5) -> Answer:
    question = Question(
        query,
        scope=Scope(),
        top_k=top_k,
        retrieval_method="hybrid",
        mode="direct",
        auto_scope=True,
    )
    return services.everything.flow.answer(question, request=RequestContext())


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Who was present at the harbour trust's meeting?", "Tom Weber"),
        ("What was on the agenda of the harbour trust?", "Any other business"),
        ("Who do I contact about the harbour?", "office@lagoon.example"),
        ("Which sources does the review of sand dams cite?", "Drylands 4(2)"),
        ("What does the review of sand dams cite?", "Drylands 4(2)"),
        ("¿Quién asistió a la asamblea?", "Pedro Soto"),
        ("¿Cuál era el orden del día?", "Compra de un tractor"),
        ("Qui dois-je contacter à l'atelier ?", "lucie@atelier.example"),
        ("Com quem devo falar na biblioteca?", "rita@biblioteca.example"),
        ("Que obras cita o relatório da biblioteca?", "Editora Lagoa"),
        ("من حضر الاجتماع؟", "سامي نجار"),
        ("بمن أتصل؟", "laila@bustan.example"),
    ],
)
def test_a_question_that_asks_for_a_zone_gets_it_first(
    library: Services, query: str, words: str
) -> None:
    answer = asked(library, query)
    assert answer.answered
    assert words in answer.response.split("[2]")[0].replace("\\", "")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("What does a sand dam cost?", "14,000 dollars"),
        ("How long does a sand dam last?", "about fifty years"),
        ("What did the trust decide about the north pier?", "48,000 dollars"),
        ("What is the fee for fishing boats?", "35 dollars"),
    ],
)
def test_the_body_is_quoted_before_lists_that_have_the_words_of_the_question(
    library: Services, query: str, words: str
) -> None:
    """A title in a list of references repeats the question, and so does an agenda."""
    answer = asked(library, query, top_k=50)
    zones = [hit.chunk.zone for hit in answer.trace.hits]
    assert answer.answered
    assert words in answer.response.split("[2]")[0]
    assert zones == sorted(zones, key=bool)
    assert any(zones)


def test_a_fact_of_a_zone_that_is_asked_in_its_own_words_stays_first(
    library: Services,
) -> None:
    answer = asked(library, "Which office has the telephone +1 555 0142?")
    assert answer.trace.hits[0].chunk.zone == "contacts"


def test_a_kind_of_passages_that_is_most_of_a_document_is_its_body(
    library: Services, tmp_path: Path
) -> None:
    path = tmp_path / "addresses.md"
    path.write_text(
        "# Address book of the reef wardens\n\n## Contacts\n\nAna Ruiz, north reef: "
        "ana@reef.example\n\n## About\n\nIt is updated in May.\n",
        encoding="utf-8",
    )
    ingested = ingest(library, path, identity="uploads/addresses.md")
    chunks, _ = library.everything.passages.stored(ingested.document_id)
    assert {chunk.zone for chunk in chunks} == {""}
