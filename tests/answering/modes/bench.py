"""Agents over a real HTTP server, for many questions in a row: asked as the web layer
asks, all that comes is kept.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chatbot.answering.conversation import Saved
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import (
    Answer,
    Event,
    Message,
    Question,
    Scope,
    SourcesEvent,
    StepEvent,
    TokenEvent,
)
from tests.answering.modes.conftest import MALI_2021
from tests.asking import in_conversation
from tests.conftest import KENYA_2023, ingest_file, write_report
from tests.fakes.openai_replies import Recorded, Reply
from tests.fakes.openai_server import CHAT, FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel

QUESTION = "Compare the population of Kenya and Mali."
COLLECTIONS = "report_chatting: Country reports; archive: Older papers"
REPORTS = (
    (KENYA_2023, "kenya-2023", "Kenya", 2023),
    (MALI_2021, "mali-2021", "Mali", 2021),
)


@dataclass(frozen=True)
class Told:
    """One question: every event, the answer, and what reached the server for it."""

    events: list[Event | Saved]
    answer: Answer
    stages: list[str]
    requests: list[Recorded]

    @property
    def tokens(self) -> str:
        return "".join(
            event.text for event in self.events if isinstance(event, TokenEvent)
        )

    @property
    def path(self) -> tuple[StepEvent, ...]:
        return self.answer.trace.path

    @property
    def failed(self) -> list[StepEvent]:
        return [step for step in self.path if step.failed]

    def details(self, name: str) -> list[str]:
        return [
            step.detail for step in self.path if step.name == name and not step.failed
        ]

    def items(self, name: str) -> list[str]:
        return [
            item
            for step in self.path
            if step.name == name and not step.failed
            for item in step.items
        ]

    @property
    def shown(self) -> int:
        """Passages that the answer stood on."""
        return next(
            len(event.hits) for event in self.events if isinstance(event, SourcesEvent)
        )

    def timed(self, name: str) -> int:
        return sum(step.name == name for step in self.answer.trace.steps)


class Bench:
    def __init__(self, server: FakeOpenAI, services: Services) -> None:
        self.server = server
        self.services = services
        self._ideal: dict[str, Told] = {}

    def ideal(self, mode: str) -> Told:
        """What comes of ideal replies."""
        if mode not in self._ideal:
            self._ideal[mode] = self.ask(mode)
        return self._ideal[mode]

    def ask(
        self,
        mode: str,
        model: Callable[[Recorded], Reply] | None = None,
        query: str = QUESTION,
        previous: Sequence[Message] = (),
        **fields: Any,
    ) -> Told:
        model = model or ScriptedModel()
        self.server.always(CHAT, model)
        before = self.server.calls(CHAT)
        budget = self.services.modes.budget({})
        question = Question(
            query,
            **{
                "scope": Scope(),
                "top_k": 5,
                "retrieval_method": "hybrid",
                **fields,
                "mode": mode,
                "budget": budget,
            },
        )
        events = in_conversation(
            self.services.chat, question, previous_messages=previous
        )
        assert isinstance(events[-1], Saved)
        requests = self.server.received(CHAT)[before:]
        told = Told(
            events, events[-1].answer, list(getattr(model, "stages", [])), requests
        )
        assert_sound(told)
        return told


def assert_sound(told: Told) -> None:
    """What holds for every answer, whatever the model said."""
    answer, shown = told.answer, {hit.chunk.id for hit in told.answer.trace.hits}
    assert answer.response.strip()
    assert [citation.number for citation in answer.citations] == list(
        range(1, len(answer.citations) + 1)
    )
    assert all(
        citation.hit.chunk.id in shown and citation.number >= 1
        for citation in answer.citations
    )
    steps = [event for event in told.events if isinstance(event, StepEvent)]
    assert [step for step in steps if step.name != "condense"] == list(told.path)
    calls, ledger = answer.trace.usage.calls, answer.trace.ledger
    assert (
        calls
        == sum(row.usage.calls for row in ledger)
        == len(
            [
                r
                for r in told.requests
                if r.headers.get("x-stainless-retry-count") == "0"
            ]
        )
    )


@contextmanager
def bench(folder: Path, **overrides: Any) -> Iterator[Bench]:
    """Two small reports, and a chat model that says what each question's
    `ScriptedModel` says.
    """
    with FakeOpenAI() as server:
        settings = Settings(
            data_dir=folder / "data",
            cache_seconds=0,
            embedding_provider="hashing",
            sample_data="off",
            summaries="off",
            **server.as_settings,
            model_timeout=60.0,
        ).override(**overrides)
        with build(settings) as services:
            for markdown, name, country, year in REPORTS:
                add(
                    services,
                    folder,
                    markdown,
                    name,
                    country_name=country,
                    year=year,
                    type="country_report",
                )
            yield Bench(server, services)


def add(
    services: Services, folder: Path, markdown: str, name: str, **metadata: Any
) -> None:
    path = write_report(folder / "reports", markdown, name)
    ingest_file(services, path, f"test/{name}", **metadata)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """With a language model. For the modules that import it."""
    with bench(tmp_path_factory.mktemp("model")) as opened:
        yield opened


@pytest.fixture(scope="module")
def keyless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Without one. For the modules that import it."""
    with bench(tmp_path_factory.mktemp("keyless"), chat_model="extractive") as opened:
        yield opened
