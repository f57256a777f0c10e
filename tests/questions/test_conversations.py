"""Whole conversations over the sample reports: what the last answer has to cite, after
two to four turns.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from chatbot.answering.conversation import Place, Saved
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Cancellation, Question, Scope
from tests.data import cases

CONVERSATIONS = cases(__file__)
pytestmark = pytest.mark.timeout(600)
"""It may be the first to need all sample reports."""
LEAST = 0.9
"""Share of conversations whose last answer cites every country with one of the
headings.
"""


@pytest.fixture(scope="module")
def services(sample_settings: Settings) -> Iterator[Services]:
    with build(sample_settings) as opened:
        opened.prepare()
        yield opened


def last_answer(services: Services, turns: list[str]) -> Saved:
    place, saved = Place(), None
    for text in turns:
        question = Question(
            text,
            Scope(),
            services.settings.top_k,
            "hybrid",
            services.modes.default(),
            auto_scope=True,
        )
        saved = services.chat.answer(question, place=place, cancel=Cancellation())
        assert saved is not None
        place = Place(saved.conversation_id)
    assert saved is not None
    return saved


def is_right(services: Services, conversation: dict[str, Any]) -> bool:
    chunks = [
        one.hit.chunk
        for one in last_answer(services, conversation["turns"]).answer.citations
    ]
    cited = {(chunk.metadata.get("country_name"), chunk.heading) for chunk in chunks}
    return all(
        any((name, one) in cited for one in conversation["headings"])
        for name in conversation["countries"]
    )


@pytest.mark.nightly
def test_the_last_answer_is_about_what_the_conversation_is_about(
    services: Services,
) -> None:
    wrong = [one["turns"] for one in CONVERSATIONS if not is_right(services, one)]
    assert len(wrong) <= (1 - LEAST) * len(CONVERSATIONS), wrong
