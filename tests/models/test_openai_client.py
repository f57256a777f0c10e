"""The one place that knows the OpenAI SDK: what the client is built from, and its
errors as ours.
"""

import pytest
from openai import OpenAI

from chatbot.config.settings import Settings
from chatbot.domain.errors import ChatModelError, ContextLengthError, EmbeddingError
from chatbot.models.openai_client import OPENAI_URL, openai_client, translated
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

KEY = "sk-secret-4711"


def client(**settings: object) -> OpenAI:
    key, url = (
        settings.pop("openai_api_key", KEY),
        settings.pop("openai_base_url", OPENAI_URL),
    )
    return openai_client(Settings(**settings), key=key, base_url=url)


class TestClient:
    def test_time_out_and_retries_are_settings(self) -> None:
        with client(model_timeout=7.5, model_retries=4) as built:
            assert (built.timeout.read, built.max_retries, built.api_key) == (
                7.5,
                4,
                KEY,
            )

    def test_without_a_base_url_it_is_openais_whatever_the_environment_says(
        self, monkeypatch
    ) -> None:
        """Settings are the only reader of the environment."""
        monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.example/v1")
        with client() as built:
            assert str(built.base_url) == "https://api.openai.com/v1/"


class TestTranslation:
    """Statuses are covered with the adapters; here what both have in common."""

    def raised(
        self, kind: type[EmbeddingError] | type[ChatModelError], reply: Reply
    ) -> Exception:
        with (
            FakeOpenAI() as server,
            client(openai_base_url=server.url, model_retries=0) as built,
        ):
            server.chat(reply)
            with pytest.raises(kind) as raised, translated(kind, "openai:m"):
                built.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "x"}]
                )
            assert server.calls(CHAT) == 1
        return raised.value

    def test_a_prompt_that_is_too_long_is_the_chat_models_error_only(self) -> None:
        reply = Reply(
            status=400, error={"message": "x", "code": "context_length_exceeded"}
        )
        assert type(self.raised(ChatModelError, reply)) is ContextLengthError
        assert type(self.raised(EmbeddingError, reply)) is EmbeddingError

    @pytest.mark.parametrize("status", [409, 502, 503, 504])
    def test_other_statuses_are_named(self, status: int) -> None:
        error = self.raised(ChatModelError, Reply(status=status))
        assert (
            str(error)
            == f"The endpoint of openai:m failed with status {status}. Try again."
        )
        assert error.retry_after == 5  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ({"error": {"message": "m" * 5000}}, "m" * 300),
            (
                [{"error": {"code": 400, "message": "API key not valid."}}],
                "API key not valid.",
            ),
            (
                {"detail": [{"loc": ["body", "top_k"], "msg": "extra fields"}]},
                "body.top_k: extra fields",
            ),
            ({"detail": "Not allowed"}, "Not allowed"),
            ({"error": "model is loading"}, "model is loading"),
            ({"message": "Incorrect key sk-secret-4711"}, "Incorrect key ***"),
            ("plain text", "plain text"),
        ],
    )
    @pytest.mark.parametrize("status", [400, 422])
    def test_the_providers_words_are_kept_apart_from_the_message(
        self, status: int, body: object, said: str
    ) -> None:
        """They may hold hosts and keys, and are for the log and administrators."""
        error = self.raised(ChatModelError, Reply(status=status, body=body))
        assert (
            str(error)
            == "The endpoint of openai:m refused the request. The log has its reason."
        )
        assert error.said == said  # type: ignore[attr-defined]

    def test_the_cause_is_kept_for_the_log(self) -> None:
        assert (
            type(self.raised(ChatModelError, Reply(status=500)).__cause__).__name__
            == "InternalServerError"
        )

    def test_other_errors_pass(self) -> None:
        with pytest.raises(KeyError), translated(ChatModelError, "openai:m"):
            raise KeyError("ours")
