"""The composition root: which embedder, which model, which search, and that what was
opened is closed (R-A5).
"""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from chatbot.app.factory import create_app
from chatbot.app.services import Runtime, Services, build
from chatbot.app.services import runtime as module
from chatbot.config.settings import Settings
from chatbot.database.repositories.corpus import StoredEmbedder
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.errors import (
    EmbedderMismatchError,
    InvalidRequestError,
    SettingsError,
    UnknownNameError,
)
from chatbot.library.pipeline import Ingested
from tests.answering.modes.conftest import question
from tests.data import cases
from tests.fakes.openai_server import CHAT, EMBEDDINGS, FakeOpenAI, Reply
from tests.library.helpers import until

CASES = cases(__file__)

KEY = SecretStr("sk-secret-4711")


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(dimensions=32) as running:
        yield running


@pytest.fixture
def plain(settings: Settings) -> Settings:
    """As on a fresh machine: no provider and no chat model chosen."""
    return settings.override(embedding_provider=None, chat_model=None)


class TestEmbedder:
    @pytest.mark.parametrize(
        ("key", "model_id", "dimensions"),
        [
            (None, "minilm:all-minilm-l6-v2-int8", 384),
            (KEY, "openai:text-embedding-ada-002", 1536),
        ],
    )
    def test_it_is_the_local_one_or_with_a_key_openais(
        self, plain: Settings, key, model_id, dimensions
    ) -> None:
        with build(plain.override(openai_api_key=key)) as services:
            embedder = services.runtime.embedder
            assert (embedder.model_id, embedder.dimensions) == (model_id, dimensions)

    @pytest.mark.parametrize(
        ("key", "chat_model"), [(KEY, "openai:gpt-4o"), (None, "extractive")]
    )
    def test_a_key_set_later_or_removed_keeps_the_databases_embedder(
        self, plain, kenya, key, chat_model
    ) -> None:
        """R-A5: it changes the chat model only. (The fixture wrote the database with
        ``hashing``.)
        """
        with build(plain.override(openai_api_key=key)) as services:
            assert services.runtime.embedder.model_id == "hashing:256"
            assert services.models.chat.model_id == chat_model

    def test_another_one_than_the_databases_is_an_error_with_the_remedy(
        self, settings, kenya
    ) -> None:
        for wrong in [
            {"embedding_provider": "minilm"},
            {"embedding_provider": "hashing", "embedding_model": "128"},
        ]:
            with build(settings.override(**wrong)) as services:
                for _ in range(2):
                    with pytest.raises(EmbedderMismatchError) as raised:
                        _ = services.runtime.embedder
                assert "hashing:256 (256 dimensions)" in raised.value.message
                assert (
                    "Unset EMBEDDING_PROVIDER, EMBEDDING_MODEL and EMBEDDING_DIMENSIONS"
                    in raised.value.message
                )

    def test_the_same_dimensions_do_not_make_it_the_same_model(
        self, settings, server
    ) -> None:
        """Only the stored id tells text-embedding-ada-002 and -3-small apart."""
        openai = settings.override(
            embedding_provider="openai", openai_api_key=KEY, openai_base_url=server.url
        )
        with build(
            openai.override(embedding_model="text-embedding-ada-002")
        ) as services:
            services.runtime.remember_embedder()
        with (
            build(
                openai.override(embedding_model="text-embedding-3-small")
            ) as services,
            pytest.raises(EmbedderMismatchError, match="text-embedding-ada-002"),
        ):
            _ = services.runtime.embedder

    def test_a_mismatch_stops_the_start_and_is_never_an_empty_answer(
        self, settings, kenya
    ) -> None:
        with build(settings.override(embedding_provider="minilm")) as services:
            with pytest.raises(EmbedderMismatchError):
                services.check()
            with pytest.raises(EmbedderMismatchError):
                services.chat.answer(question(), cancel=Cancellation())

    def test_what_the_database_remembers_is_written_once(self, settings) -> None:
        with build(settings) as services:
            assert services.runtime.embedder.model_id == "hashing:256"
            assert services.storage.facts.embedder() is None
            for _ in range(2):
                services.runtime.remember_embedder()
                stored = services.storage.facts.embedder()
                assert stored is not None
                assert (stored.provider, stored.model_id, stored.dimensions) == (
                    "hashing",
                    "hashing:256",
                    256,
                )

    def test_a_missing_key_names_it(self, settings, plain, server) -> None:
        for missing in (
            {"embedding_provider": "openai"},
            {"chat_model": "openai:gpt-4o"},
        ):
            services = build(settings.override(**missing))
            with services, pytest.raises(SettingsError, match="OPENAI_API_KEY"):
                _ = services.runtime.embedder, services.models.chat
        opened = plain.override(
            openai_api_key=KEY, openai_base_url=server.url, embedding_model="mine"
        )
        with build(opened) as services:
            services.runtime.remember_embedder()
        with (
            build(plain) as services,
            pytest.raises(SettingsError, match="OPENAI_API_KEY"),
        ):
            _ = services.runtime.embedder


class TestChatModel:
    @pytest.mark.parametrize(
        ("values", "model_id"),
        [
            ({}, "extractive"),
            ({"openai_api_key": KEY}, "openai:gpt-4o"),
            ({"openai_api_key": KEY, "chat_model": "extractive"}, "extractive"),
            ({"openai_api_key": KEY, "chat_model": "openai:o-9"}, "openai:o-9"),
            (
                {"openai_api_key": KEY, "chat_model": "openai:ft:gpt:x"},
                "openai:ft:gpt:x",
            ),
            (
                {
                    "openai_base_url": "http://127.0.0.1:9/v1",
                    "chat_model": "openai:local",
                },
                "openai:local",
            ),
        ],
    )
    def test_the_settings_choose_the_chat_model(
        self, plain: Settings, values: dict[str, object], model_id: str
    ) -> None:
        with build(plain.override(**values)) as services:
            assert services.models.chat.model_id == model_id


def test_an_unknown_name_names_the_setting_and_the_valid_ones(settings) -> None:
    for setting, valid in CASES["an unknown name names the setting and the valid ones"]:
        with pytest.raises(UnknownNameError) as raised:
            create_app(settings.override(**{setting: "clairvoyant"}))
        message = raised.value.message
        assert message.startswith(setting.upper())
        assert "'clairvoyant'" in message
        assert all(name in message for name in valid)
        assert set(valid) <= set(raised.value.details[0]["valid_values"])


def test_a_wrong_setting_stops_the_start_not_each_upload(settings) -> None:
    for changed, error, message in [
        ({"chunk_overlap": 50}, InvalidRequestError, "overlap"),
        ({"language": "klingon"}, SettingsError, r"LANGUAGE='klingon'.*english"),
        (
            {"vector_search": "atlas"},
            SettingsError,
            "VECTOR_SEARCH=atlas needs a MongoDB server: set MONGODB_URI",
        ),
        *(
            ({"embedding_model": model}, SettingsError, "EMBEDDING_MODEL")
            for model in ("x", "7", "8193", "-8")
        ),
    ]:
        with pytest.raises(error, match=message):
            create_app(settings.override(**changed))


class TestChatOnlyEndpoint:
    @pytest.mark.parametrize("status", [404, 405, 400])
    def test_a_server_that_embeds_nothing_gets_the_built_in_embedder(
        self,
        settings: Settings,
        server: FakeOpenAI,
        caplog: pytest.LogCaptureFixture,
        status: int,
    ) -> None:
        server.always(EMBEDDINGS, Reply(status=status))
        chats = settings.override(embedding_provider=None, **server.as_settings)
        with build(chats) as services:
            assert services.runtime.embedder.model_id.startswith("minilm:")
            services.runtime.remember_embedder()
        assert "the built-in one is used" in caplog.text
        assert server.calls(EMBEDDINGS) == 1

    @pytest.mark.parametrize("reply", [Reply(), Reply(status=401), Reply(status=500)])
    def test_a_server_that_may_embed_is_kept(
        self, settings: Settings, server: FakeOpenAI, reply: Reply
    ) -> None:
        server.always(EMBEDDINGS, reply)
        embeds = settings.override(embedding_provider=None, **server.as_settings)
        with build(embeds) as services:
            assert services.runtime.embedder.model_id.startswith("openai:")


class TestClosing:
    def test_closing_twice_or_unused_is_fine(self, settings: Settings) -> None:
        unused = build(settings)
        unused.close()
        unused.close()

    def test_connections_to_models_are_closed(
        self, settings: Settings, server: FakeOpenAI
    ) -> None:
        """A socket that is left open is a ResourceWarning, and warnings are errors
        here.
        """
        openai = settings.override(
            chat_model="openai:m",
            embedding_provider="openai",
            embedding_model="mine",
            openai_api_key=KEY,
            openai_base_url=server.url,
            on_empty="general",
        )
        with build(openai) as services:
            services.chat.answer(question(), cancel=Cancellation())
            assert (server.calls(EMBEDDINGS), server.calls(CHAT)) == (2, 1)
            assert server.open_connections > 0
        server.wait_until(lambda: server.open_connections == 0)


class TestReplacedRuntime:
    """What began with the old embedding model finishes with it; later its store and
    embedder are closed (R-A5).
    """

    @pytest.fixture
    def closed(self, monkeypatch: pytest.MonkeyPatch) -> list[Runtime]:
        """The runtimes that were closed, in order."""
        closed: list[Runtime] = []
        monkeypatch.setattr(Runtime, "close", lambda runtime: closed.append(runtime))  # noqa: PLW0108  # a method
        return closed

    @pytest.fixture
    def serving(self, settings: Settings, kenya: Ingested) -> Iterator[Services]:
        """Another process than the one that wrote the report."""
        with build(settings) as opened:
            yield opened

    @pytest.fixture
    def old(self, serving: Services) -> Runtime:
        return serving.runtime

    def replace(self, services: Services, old: Runtime) -> None:
        """As `reembed` does in another process."""
        facts = services.storage.facts
        assert facts.replace_embedder(
            facts.embedder(), StoredEmbedder("hashing", "64", "hashing:64", 64, "_b")
        )
        assert services.runtime is not old

    def test_it_is_closed_after_the_longest_time_of_a_question(
        self, serving, old, closed, monkeypatch
    ) -> None:
        monkeypatch.setattr(
            module, "AFTER_BUDGET_SECONDS", 0.1 - serving.settings.budget_seconds
        )
        self.replace(serving, old)
        until(lambda: closed == [old])

    def test_a_replaced_runtime_is_closed_with_the_services(
        self, serving, old, closed
    ) -> None:
        self.replace(serving, old)
        new = serving.runtime
        serving.close()
        assert closed == [old, new]

    def test_the_process_that_wrote_the_first_passage_adopts_the_new_model(
        self, services, kenya
    ) -> None:
        self.replace(services, services.runtime)
        assert services.runtime.embedder.model_id == "hashing:64"

    def test_a_question_ends_with_it(self, serving, old, closed) -> None:
        replaced: list[object] = []

        def send(event: object) -> None:
            if not replaced:
                replaced.append(event)
                self.replace(serving, old)

        saved = serving.chat.answer(question(), send=send, cancel=Cancellation())
        assert saved is not None
        assert (saved.answer.answered, closed) == (True, [])
