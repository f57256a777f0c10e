"""What each provider is sent, and what becomes of its errors (R-A5, R-B3)."""

import itertools

import pytest

from chatbot.domain.errors import EmbedderMismatchError, EmbeddingError, SettingsError
from chatbot.language.counts import estimate_tokens
from chatbot.models.embed import EMBEDDERS
from chatbot.models.embed.providers import PROVIDERS, find_model
from tests.data import cases
from tests.models.embed.conftest import KEY
from tests.models.embed.providers_server import ProvidersServer

CASES = cases(__file__)

REMOTE = sorted(PROVIDERS)
# any-llm has no way to close its SDKs' connections; they go with the process.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def authorisation(headers: dict[str, str]) -> str:
    return (
        headers.get("api-key")
        or headers.get("x-goog-api-key")
        or headers["authorization"].removeprefix("Bearer ")
    )


@pytest.mark.parametrize("provider", REMOTE)
class TestOnTheWire:
    def test_path_key_and_model(
        self, provider: str, build_provider, providers_server: ProvidersServer
    ) -> None:
        embedder = build_provider(provider)
        assert providers_server.requests == [], "nothing is sent before the first text"
        embedder.embed_query("growth")
        (sent,) = providers_server.embeddings()
        assert sent.path == CASES["paths"].get(provider, "/v1/embeddings")
        key = authorisation(sent.headers)
        if provider == "bedrock":
            assert key.startswith("AWS4-HMAC-SHA256 Credential=AKIATEST/")
        else:
            assert key == ("google-token" if provider == "google_vertexai" else KEY)
        if "mine" not in sent.path:
            assert sent.body["model"] == "mine"

    def test_what_it_is_told_of_the_kind_of_text(
        self, provider: str, build_provider, providers_server
    ) -> None:
        embedder = build_provider(provider)
        embedder.embed_query("growth")
        embedder.embed_documents(["growth"])
        query, document = (sent.body for sent in providers_server.embeddings())
        assert query.items() >= CASES["query"].get(provider, {}).items()
        assert document.items() >= CASES["document"].get(provider, {}).items()
        if provider.startswith("google"):
            assert "RETRIEVAL_QUERY" in str(query)
            assert "RETRIEVAL_DOCUMENT" in str(document)

    def test_the_length_of_the_vectors(self, provider: str, build_provider) -> None:
        if not PROVIDERS[provider].shortens:
            with pytest.raises(
                SettingsError,
                match=f"EMBEDDING_DIMENSIONS is set.* {provider} .*openai",
            ):
                build_provider(provider, embedding_dimensions=8)
            return
        assert build_provider(provider, embedding_dimensions=8).embed_query(
            "growth"
        ).shape == (8,)

    def test_texts_are_sent_in_batches_of_the_provider(
        self, provider: str, build_provider, providers_server: ProvidersServer
    ) -> None:
        """R-B3: a property of the provider."""
        limit = PROVIDERS[provider].batch
        texts = [f"text number {number}" for number in range(2 * limit + 1)]
        rows = build_provider(provider).embed_documents(texts)
        assert [len(sent.texts) for sent in providers_server.embeddings()] == [
            limit,
            limit,
            1,
        ]
        assert (
            list(
                itertools.chain(*(sent.texts for sent in providers_server.embeddings()))
            )
            == texts
        )
        assert len(rows) == len(texts)

    def test_a_request_holds_no_more_tokens_than_it_may(
        self, provider: str, build_provider, providers_server
    ) -> None:
        limit = PROVIDERS[provider].request_tokens
        embedder = build_provider(provider, embedding_max_tokens=min(limit, 8000))
        text = "word " * int(min(limit, 8000) * 0.6)
        embedder.embed_documents([text] * 30)
        totals = [
            sum(estimate_tokens(part) for part in sent.texts)
            for sent in providers_server.embeddings()
        ]
        assert max(totals) <= limit
        assert sum(len(sent.texts) for sent in providers_server.embeddings()) >= 30

    @pytest.mark.parametrize(
        ("status", "says", "again"), CASES["the start finds what is wrong"]
    )
    def test_the_start_finds_what_is_wrong(
        self, provider: str, build_provider, providers_server, status, says, again
    ) -> None:
        """``retry_after`` is what keeps a start going: only where the endpoint may come
        back by itself.
        """
        embedder = build_provider(provider)
        providers_server.status = status
        with pytest.raises(EmbeddingError, match=says) as raised:
            embedder.verify()
        assert (raised.value.retry_after is not None) == again
        assert KEY not in str(raised.value)
        if status in {401, 403}:
            assert "EMBEDDING_API_KEY" in raised.value.remedy
            assert raised.value.reason == "key_refused"

    def test_an_endpoint_that_is_down_may_come_back(
        self, provider: str, build_provider
    ) -> None:
        embedder = build_provider(provider, embedding_base_url="http://127.0.0.1:9/v1")
        with pytest.raises(EmbeddingError, match="cannot be reached") as raised:
            embedder.verify()
        assert raised.value.retry_after is not None
        assert "EMBEDDING_BASE_URL" in raised.value.remedy

    def test_vectors_of_another_length_are_never_mixed_in(
        self, provider: str, build_provider, providers_server
    ) -> None:
        embedder = build_provider(provider)
        embedder.verify()
        providers_server.dimensions = 8
        with pytest.raises(
            EmbedderMismatchError, match="vectors of 8 dimensions; 16 are expected"
        ):
            embedder.embed_documents(["growth"])

    def test_a_known_model_has_the_dimensions_of_the_table(
        self, provider: str, build_provider
    ) -> None:
        known = [
            name
            for name in PROVIDERS[provider].models
            if find_model(provider, name).dimensions != 16
        ]
        for model in known:
            embedder = build_provider(provider, model)
            assert embedder.dimensions == PROVIDERS[provider].models[model].dimensions
            with pytest.raises(EmbedderMismatchError, match="of 16 dimensions"):
                embedder.verify()

    def test_without_what_it_needs_the_setting_is_named(
        self, provider: str, build_provider
    ) -> None:
        row = PROVIDERS[provider]
        if row.key == "required":
            with pytest.raises(
                SettingsError, match=f"EMBEDDING_API_KEY is not set.*{provider}"
            ):
                build_provider(provider, embedding_api_key=None)
        if row.base_url is None and row.adapter != "any_llm":
            with pytest.raises(
                SettingsError, match=f"EMBEDDING_BASE_URL is not set.*{provider}"
            ):
                build_provider(provider, embedding_base_url=None)
        if not row.default_model:
            with pytest.raises(
                SettingsError, match=f"EMBEDDING_MODEL is not set.*{provider}"
            ):
                build_provider(provider, EMBEDDERS.default_model(provider))
