"""What every chat model keeps to (`protocols.ChatModel`): it streams, counts its calls,
stops when nobody waits.
"""

from collections.abc import Iterator

import pytest

from chatbot.config.settings import Settings
from chatbot.domain import Cancellation, ChatModel, RequestContext, Usage
from chatbot.models.chat import CHAT_MODELS
from tests.fakes.openai_server import FakeOpenAI
from tests.models.chat.conftest import passage, prompt

ASKED = prompt(
    "How many people live in Kenya?",
    passage(1, "Population: 52,428,290 people live in Kenya."),
)


@pytest.fixture(params=CHAT_MODELS.names())
def model(request: pytest.FixtureRequest, server: FakeOpenAI) -> Iterator[ChatModel]:
    """Each of the registry; those on a server find one that answers."""
    settings = Settings(
        openai_api_key="sk-test",
        openai_base_url=server.url,
        model_timeout=30.0,
        model_retries=0,
    )
    built = CHAT_MODELS.builder(request.param)(settings, model="")
    yield built
    if close := getattr(built, "close", None):
        close()


def written(model: ChatModel, request: RequestContext) -> str:
    return "".join(delta.text for delta in model.stream(ASKED, request=request))


def test_every_chat_model_has_an_id_and_says_whether_it_writes(
    model: ChatModel,
) -> None:
    assert model.model_id
    assert isinstance(model.is_language_model, bool)


def test_the_answer_comes_in_pieces_and_the_call_is_counted(model: ChatModel) -> None:
    deltas = list(model.stream(ASKED, request=RequestContext()))
    assert "".join(delta.text for delta in deltas).strip()
    calls = sum((delta.usage for delta in deltas if delta.usage), Usage()).calls
    assert calls == 1 if model.is_language_model else calls <= 1


def test_a_question_that_nobody_waits_for_is_not_answered(model: ChatModel) -> None:
    cancel = Cancellation()
    whole = written(model, RequestContext(cancel))
    cancel.cancel()
    assert len(written(model, RequestContext(cancel))) < len(whole)


def test_one_model_answers_again_and_again(model: ChatModel) -> None:
    assert written(model, RequestContext()) == written(model, RequestContext())
