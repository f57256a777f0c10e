"""The key of cached answers changes with everything that an answer is made of."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from chatbot.app.services import Services
from chatbot.database.repositories.documents import DocumentRepository
from chatbot.domain import Chunk, DocumentRecord, Scope
from chatbot.domain.chat import Question
from chatbot.domain.documents import Calibration, Deletion
from chatbot.domain.figures import GlossaryEntry
from chatbot.language.reported_figures import stated

RECORD = DocumentRecord(
    "d" * 20, "Kenya", "Kenya", "a.md", "report_chatting", "ready", "v1", {}, writer="w"
)
CHUNK = Chunk(
    Chunk.make_id(RECORD.id, "v1", 0), RECORD.id, "Kenya", "Kenya", "Debt: 40% (2021)"
)


def upsert(services: Services) -> None:
    vectors = np.ones((1, services.runtime.embedder.dimensions), np.float32)
    services.runtime.writable_store.upsert([CHUNK], vectors)


def write_figures(services: Services, version: str = "v1") -> None:
    chunk = replace(CHUNK, section="Debt", metadata={"country_name": "Kenya"})
    services.storage.figures.write(RECORD.id, version, [(chunk, stated(chunk.text))])


def change_figures(services: Services) -> None:
    write_figures(services, "v2")
    services.storage.figures.record_changes(RECORD.id, "v1", "v2")


def calibrate(services: Services) -> None:
    model_id = services.runtime.embedder.model_id
    services.storage.facts.put_calibration(
        Calibration(model_id, 0.6, 0.7, "measured", "mine", "2026-01-02", {}, ())
    )


def documents(services: Services) -> DocumentRepository:
    return services.storage.documents


WRITES: dict[str, Callable[[Services], object]] = {
    "a report is registered": lambda s: documents(s).insert(
        replace(RECORD, id="e" * 20)
    ),
    "a report is put": lambda s: documents(s).put(replace(RECORD, id="e" * 20)),
    "a report is replaced": lambda s: documents(s).replace(
        replace(RECORD, title="Mali"), RECORD
    ),
    "an upload is noted": lambda s: documents(s).note_upload(RECORD, 7),
    "a report is withdrawn": lambda s: documents(s).withdraw(RECORD.id, "x"),
    "a report is put into the bin": lambda s: s.ingesting.service.hide(
        RECORD, Deletion("2026-11-29")
    ),
    "a report is deleted": lambda s: documents(s).delete(RECORD.id),
    "passages are written": upsert,
    "passages are deleted": lambda s: s.runtime.store.delete_document("f" * 20),
    "figures are written": lambda s: write_figures(s, "v2"),
    "figures are removed": lambda s: s.storage.figures.remove(RECORD.id),
    "changes of figures are kept": change_figures,
    "a term is added": lambda s: s.storage.glossary.put(
        "", [GlossaryEntry("GDP", "Economy")]
    ),
    "the glossary is cleared": lambda s: s.storage.glossary.clear(),
    "a calibration is measured": calibrate,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_the_key_of_the_answer_cache_changes_when(
    services: Services, write: Callable[[Services], object]
) -> None:
    services.prepare()
    services.storage.documents.put(RECORD)
    chunk = replace(CHUNK, id=Chunk.make_id("f" * 20, "v1", 0), document_id="f" * 20)
    vectors = np.ones((1, services.runtime.embedder.dimensions), np.float32)
    services.runtime.writable_store.upsert([chunk], vectors)
    write_figures(services)
    services.storage.glossary.put("", [GlossaryEntry("HDI", "People")])
    question = Question("What is the debt of Kenya?", Scope(), 5, "hybrid", "direct")
    before = services.everything.generation(question)
    assert before is not None
    assert services.everything.generation(question) == before
    write(services)
    assert services.everything.generation(question) not in {before, None}
