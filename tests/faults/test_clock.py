"""The machine's clock jumps (a resumed laptop, a corrected time) while a report is
taken in and questions are asked.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.answering.conversation import Saved
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Cancellation, Question, Scope
from tests.library.helpers import (
    Embedding,
    assert_consistent,
    ingest,
    passages_of,
    write,
)

DAY = 86_400.0
TIME = time.time


@pytest.fixture
def embedding(monkeypatch: pytest.MonkeyPatch) -> Embedding:
    return Embedding(monkeypatch)


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    settings = Settings(
        data_dir=tmp_path / "data",
        embedding_provider="hashing",
        chat_model="extractive",
        sample_data="off",
    )
    with build(settings) as running:
        running.prepare()
        yield running


def quoted(services: Services, question: str) -> str:
    last = services.chat.answer(
        Question(question, Scope(), 5, "hybrid", "direct"), cancel=Cancellation()
    )
    assert isinstance(last, Saved)
    return last.answer.response


@pytest.mark.parametrize("jump", [DAY, -DAY], ids=["forward", "back"])
def test_a_jump_loses_no_report_no_answer_and_no_lease(
    services: Services,
    embedding: Embedding,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    jump: float,
) -> None:
    ingest(services, write(tmp_path, passages_of("zebra", "lion")))
    assert "zebra" in quoted(services, "Where does the zebra live?")
    embedding.at(
        "giraffe", lambda: monkeypatch.setattr(time, "time", lambda: TIME() + jump)
    )
    ingest(services, write(tmp_path, passages_of("zebra", "giraffe")))
    assert time.time() != pytest.approx(TIME(), abs=DAY / 2), "the clock has not jumped"
    assert_consistent(services)
    assert "giraffe" in quoted(services, "Where does the giraffe live?")
    assert "zebra" in quoted(services, "Where does the zebra live?")
    ingest(services, write(tmp_path, passages_of("lion")))
    assert_consistent(services)
