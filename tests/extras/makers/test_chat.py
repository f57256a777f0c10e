"""Chat models of other makers, over a server that speaks their APIs."""

import threading
import time
from collections.abc import Iterator

import pytest

from chatbot.config.settings import Settings
from chatbot.domain import Usage
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.errors import ChatModelError, MissingPackageError, SettingsError
from chatbot.domain.protocols import ChatModel
from chatbot.domain.request import RequestContext
from chatbot.extras import makers as extra
from chatbot.extras.makers.client import EventLoop
from chatbot.models.replies.stream import complete
from tests.extras.makers.conftest import CHAT_MODELS, INSTALLED, needs_library
from tests.extras.makers.makers_server import MakersServer
from tests.models.chat.conftest import prompt

KEY = "sk-secret-4711"
MAKERS = sorted(extra.CHAT_MODELS)
# any-llm has no way to close its SDKs' connections; they go with the process.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def makers() -> Iterator[MakersServer]:
    with MakersServer() as running:
        yield running


@pytest.fixture(params=MAKERS)
def model(
    request: pytest.FixtureRequest,
    makers: MakersServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[ChatModel]:
    for name, value in (
        ("ACCESS_KEY_ID", "AKIATEST"),
        ("SECRET_ACCESS_KEY", KEY),
        ("DEFAULT_REGION", "eu-central-1"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    # boto sends a bearer token over https only, so here it signs with an account's key.
    key = None if request.param == "bedrock" else KEY
    settings = Settings(
        chat_api_key=key, chat_base_url=makers.root, model_timeout=30.0, model_retries=0
    )
    built = CHAT_MODELS.builder(request.param)(settings, model="mine")
    yield built
    built.close()


@needs_library
class TestOnTheWire:
    def test_the_answer_and_its_usage(
        self, model: ChatModel, makers: MakersServer
    ) -> None:
        reply = complete(model, prompt(), RequestContext())
        assert (reply.text, reply.truncated) == (
            "Kenya has 52,428,290 people [1].",
            False,
        )
        assert reply.usage == Usage(7, 9, calls=1)
        (asked,) = makers.requests
        assert "Use only the passages." in str(asked.body)
        assert "mine" in asked.path + str(asked.body)

    def test_an_answer_that_reached_its_limit_is_truncated(
        self, model: ChatModel, makers: MakersServer
    ) -> None:
        makers.stop = "limit"
        assert complete(model, prompt(), RequestContext()).truncated

    @pytest.mark.parametrize(
        ("status", "says"),
        [
            (400, "refused the key"),
            (401, "refused the key"),
            (429, "limits"),
            (500, "failed"),
        ],
    )
    def test_a_status_is_a_typed_error(
        self, model: ChatModel, makers: MakersServer, status: int, says: str
    ) -> None:
        """Google sends a 400 for a wrong key."""
        makers.status = status
        with pytest.raises(ChatModelError, match=says) as raised:
            complete(model, prompt(), RequestContext())
        assert KEY not in str(raised.value)

    def test_a_parameter_that_a_model_refuses_is_left_out_from_then_on(
        self, model: ChatModel, makers: MakersServer
    ) -> None:
        """Newer models know no temperature; every question would fail on it."""
        makers.refuses = "temperature"
        texts = [complete(model, prompt(), RequestContext()).text for _ in range(2)]
        assert texts == ["Kenya has 52,428,290 people [1]."] * 2
        sent = ["temperature" in str(asked.body) for asked in makers.requests]
        assert sent == [True, False, False]

    def test_a_question_that_nobody_waits_for_is_given_up(
        self, model: ChatModel, makers: MakersServer
    ) -> None:
        makers.hangs = True
        cancel, started = Cancellation(), time.monotonic()
        threading.Timer(0.5, cancel.cancel).start()
        complete(model, prompt(), RequestContext(cancel))
        assert time.monotonic() - started < 20


def test_a_model_that_is_the_small_one_too_is_closed_twice() -> None:
    loop = EventLoop()
    loop.close(), loop.close()


@pytest.mark.parametrize("maker", MAKERS)
def test_a_model_has_to_be_named(maker: str) -> None:
    with pytest.raises(SettingsError, match=f"CHAT_MODEL={maker}:MODEL"):
        CHAT_MODELS.builder(maker)(Settings(), model="")


@pytest.mark.skipif(INSTALLED, reason="any-llm-sdk is installed")
def test_without_the_library_the_error_says_how_to_install_it() -> None:
    with pytest.raises(MissingPackageError, match=r"requirements-providers\.txt"):
        CHAT_MODELS.builder("anthropic")(Settings(), model="m")
