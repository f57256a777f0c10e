"""Whether an answer answers is the model's word, in every language."""

from collections.abc import Iterator

import pytest
from flask import Flask

from chatbot.app.services import Services
from tests.app.web.conftest import QUESTION
from tests.app.web.live import application, ask, served
from tests.conftest import KENYA_2023, ingest_file, small_settings, write_report
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

DENIALS = {
    "en": "The passages do not say this.",
    "de": "Die Textstellen nennen das nicht.",
    "ru": "В отрывках нет данных об этом.",
    "ar": "لا تذكر المقاطع ذلك.",
    "zh": "这些段落没有给出。",
    "es": "Los pasajes no lo dicen.",
    "it": "I passaggi non lo indicano.",
    "pt": "As passagens não o dizem.",
    "fr": "Les passages n'en parlent pas.",
}
SILENT = '\n{"answered": false, "missing": ["What is the capital of Kenya?"]}'


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture(scope="module")
def app(
    tmp_path_factory: pytest.TempPathFactory, server: FakeOpenAI
) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("ending")
    settings = small_settings(folder / "data", **server.as_settings, cache_seconds=0)
    with application(settings) as created:
        services: Services = created.extensions["services"]
        path = write_report(folder / "reports", KENYA_2023, "kenya-2023")
        ingest_file(services, path, "test/kenya", country_name="Kenya", year=2023)
        yield created


@pytest.mark.parametrize("denial", DENIALS.values(), ids=list(DENIALS))
@pytest.mark.parametrize("cited", ["", " [1]"])
def test_a_denial_is_no_answer_in_any_language(
    app: Flask, server: FakeOpenAI, denial: str, cited: str
) -> None:
    server.always(CHAT, Reply([denial, cited, SILENT]))
    answer = app.test_client().post("/query", json={"query": QUESTION}).get_json()
    assert not answer["answered"]
    assert answer["missing"] == ["What is the capital of Kenya?"]
    assert answer["response"].startswith(f"{denial}{cited}")
    assert "answered" not in answer["response"]
    assert ("The closest passages:" in answer["response"]) == (not cited)


def test_it_is_in_the_list_of_unanswered_questions(
    app: Flask, server: FakeOpenAI
) -> None:
    services: Services = app.extensions["services"]
    server.always(CHAT, Reply(["Nobody knows [1].", SILENT]))
    app.test_client().post("/query", json={"query": QUESTION})
    newest = services.storage.feedback.unanswered(1)
    assert newest[0].missing == ("What is the capital of Kenya?",)


def test_a_word_without_a_passage_is_not_believed(
    app: Flask, server: FakeOpenAI
) -> None:
    said = 'Bananas are blue.\n{"answered": true, "missing": []}'
    server.always(CHAT, Reply([said]))
    answer = app.test_client().post("/query", json={"query": QUESTION}).get_json()
    assert not answer["answered"]


def test_a_stream_never_shows_it(app: Flask, server: FakeOpenAI) -> None:
    line = '\n\n{"answered": true, "missing": []}'
    server.always(CHAT, Reply(["It is 2.09% [1].", *line]))
    with served(app) as port:
        events = ask(port, query=QUESTION)
    sent = "".join(event.data["text"] for event in events if event.name == "token")
    assert sent == events[-1].data["response"] == "It is 2.09% [1]."
    assert events[-1].data["answered"]
