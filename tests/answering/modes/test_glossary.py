"""A question for the meaning of a term is answered from the glossary; a question for a
figure is not.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from chatbot.answering.answer import assemble
from chatbot.app.services import Services
from chatbot.domain import Answer, Trace
from chatbot.domain.chat import ScopeSummary
from chatbot.library.derived import default_glossary
from chatbot.library.sources import Source
from tests.answering.modes.conftest import question, scope
from tests.asking import on_the_way
from tests.data import cases

CASES = cases(__file__)

pytestmark = pytest.mark.usefixtures("kenya", "mali")
REPORT = """# Development report

## Trade

Trade grew.

## Abbreviations and acronyms

| Abbreviation | Meaning |
|---|---|
| FCS | Food consumption score |

- XDR: Special drawing right of the fund
- **TFP** – total factor productivity
"""


@pytest.fixture(autouse=True)
def sample_terms(services: Services) -> None:
    services.storage.glossary.put("", default_glossary())


def ask(services: Services, text: str, **filters: object) -> Answer:
    """Return the answer from the glossary, an empty one if another stage answers."""
    asked = (
        replace(question(text), scope=scope(**filters)) if filters else question(text)
    )
    flow = services.everything.flow
    events = on_the_way(flow, asked)
    answer: Answer = events[-1].answer
    ended = [stage.name for stage in answer.trace.stages if stage.ended]
    if ended == ["glossary"]:
        return answer
    summary, trace = ScopeSummary(asked.scope, 0, 0), Trace("direct", "hybrid", text)
    return assemble(asked, "", scope=summary, trace=trace)


@pytest.mark.parametrize(
    ("text", "meaning"), CASES["a meaning comes from the glossary"]
)
def test_a_meaning_comes_from_the_glossary(
    services: Services, text: str, meaning: str
) -> None:
    answer = ask(services, text)
    assert answer.response.startswith(("From the glossary:", "Del glosario:"))
    assert meaning in answer.response
    assert (answer.answered, answer.unsupported) == (True, ())


def test_a_question_for_a_figure_is_searched_for(services: Services) -> None:
    for text in (
        "What is the population?",
        "What is the inflation in Kenya?",
        "What is poverty like in Mali?",
        "GDP",
    ):
        assert ask(services, text).response == ""
    assert (
        ask(services, "What is inflation?", country_name="Kenya").response
        == ask(services, "IDPs?").response
        == ""
    )
    assert ask(services, "What is an IDP?", country_name="Kenya").answered


def test_a_report_brings_its_abbreviations_and_takes_them_along(
    services: Services, tmp_path: Path
) -> None:
    path = tmp_path / "development.md"
    path.write_text(REPORT, encoding="utf-8")
    document = services.ingesting.service.ingest(
        Source(path, "development.md")
    ).document_id
    answer = ask(services, "What does FCS mean?")
    assert "**FCS**: Food consumption score [1]" in answer.response
    assert "Fragile and conflict-affected" in answer.response
    assert [citation.chunk.document_id for citation in answer.citations] == [document]
    assert "Special drawing right" in ask(services, "What is an XDR?").response
    assert "total factor productivity [1]" in ask(services, "What is TFP?").response
    assert ask(services, "What is an XDR?", country_name="Kenya").response == "", (
        "the report is outside of the scope"
    )
    record = services.storage.documents.get(document)
    assert record
    services.ingesting.delete_document(record)
    assert ask(services, "What is an XDR?").response == ""
