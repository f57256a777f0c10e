"""Services whose chat model is a real HTTP server that does what it is told, over two
small reports.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot.answering.flow import Flow
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Answer, Message, Question, Scope
from chatbot.domain.scope import Value, Values
from chatbot.library.pipeline import Ingested
from chatbot.library.sources import Source
from tests.asking import on_the_way
from tests.conftest import small_settings
from tests.fakes.openai_server import FakeOpenAI

MALI_2021 = """# Mali: Country Report 2021

## People and Society

### Population

20,137,527 (July 2021 est.)

## Economy

### Gold

Gold is the most important export of Mali
"""


@pytest.fixture
def settings(settings: Settings, server: FakeOpenAI) -> Settings:
    return settings.override(**server.as_settings, model_timeout=60.0)


@pytest.fixture
def mali(add_report: Callable[..., Ingested]) -> Ingested:
    return add_report(
        MALI_2021, "mali-2021", country_name="Mali", year=2021, type="country_report"
    )


@contextmanager
def services_of_sheets(folder: Path, texts: Mapping[str, str]) -> Iterator[Services]:
    """Services without a language model over these sheets, by their file names."""
    settings = small_settings(folder / "data", chat_model="extractive", cache_seconds=0)
    with build(settings) as keyless:
        keyless.prepare()
        for name, text in texts.items():
            path = folder / name
            path.write_text(text, encoding="utf-8")
            keyless.ingesting.service.ingest(Source(path, name))
        yield keyless


def answers_of(flow: Flow) -> Callable[..., Answer]:
    """Return what answers a question by this flow, from five passages at most; behind
    the messages of a conversation, if there are any.
    """

    def answer(query: str, history: tuple[Message, ...] = ()) -> Answer:
        asked = replace(question(query), top_k=5, history=history)
        return on_the_way(flow, asked)[-1].answer

    return answer


def scope(**conditions: Value) -> Scope:
    return Scope.of({name: Values((value,)) for name, value in conditions.items()})


def question(
    query: str = "What is the population growth rate?", **conditions: Value
) -> Question:
    return Question(
        query, scope(**conditions), top_k=3, retrieval_method="hybrid", mode="direct"
    )
