"""What each provider is sent, and what becomes of its errors (R-A5, R-B3). A test
module derives a class, whose fixture `row` gives the providers.
"""

import itertools
from typing import Any

import pytest

from chatbot.domain.errors import EmbedderMismatchError, EmbeddingError, SettingsError
from chatbot.language.counts import estimate_tokens
from chatbot.models.embed.providers import Provider
from tests.models.embed.conftest import KEY
from tests.models.embed.providers_server import ProvidersServer

WRONG = [
    (401, "refused the key", False),
    (403, "refused the key", False),
    (404, "EMBEDDING_MODEL and EMBEDDING_BASE_URL", False),
    (400, "refused the request", False),
    (429, "limits the rate", True),
    (500, "failed with status 500", True),
]
"""A status of the endpoint, a part of the error, and whether it may come back."""


def authorisation(headers: dict[str, str]) -> str:
    return (
        headers.get("api-key")
        or headers.get("x-goog-api-key")
        or headers["authorization"].removeprefix("Bearer ")
    )


class OnTheWire:
    cases: dict[str, Any]
    """Rows of `data/NAME.json`: paths, and what is said of a query and a document."""

    needs_address = True
    """Whether EMBEDDING_BASE_URL is required where the row has no address."""

    def key(self, provider: Provider) -> str:
        """Return the key that a request carries."""
        return KEY

    def test_path_key_and_model(
        self, row: Provider, build_provider, providers_server: ProvidersServer
    ) -> None:
        embedder = build_provider(row.name)
        assert providers_server.requests == [], "nothing is sent before the first text"
        embedder.embed_query("growth")
        (sent,) = providers_server.embeddings()
        assert sent.path == self.cases["paths"].get(row.name, "/v1/embeddings")
        assert authorisation(sent.headers).startswith(self.key(row))
        if "mine" not in sent.path:
            assert sent.body["model"] == "mine"

    def test_what_it_is_told_of_the_kind_of_text(
        self, row: Provider, build_provider, providers_server
    ) -> None:
        embedder = build_provider(row.name)
        embedder.embed_query("growth")
        embedder.embed_documents(["growth"])
        query, document = (sent.body for sent in providers_server.embeddings())
        assert query.items() >= self.cases["query"].get(row.name, {}).items()
        assert document.items() >= self.cases["document"].get(row.name, {}).items()

    def test_the_length_of_the_vectors(self, row: Provider, build_provider) -> None:
        if not row.shortens:
            with pytest.raises(
                SettingsError,
                match=f"EMBEDDING_DIMENSIONS is set.* {row.name} .*openai",
            ):
                build_provider(row.name, embedding_dimensions=8)
            return
        assert build_provider(row.name, embedding_dimensions=8).embed_query(
            "growth"
        ).shape == (8,)

    def test_texts_are_sent_in_batches_of_the_provider(
        self, row: Provider, build_provider, providers_server: ProvidersServer
    ) -> None:
        """R-B3: a property of the provider."""
        limit = row.batch
        texts = [f"text number {number}" for number in range(2 * limit + 1)]
        rows = build_provider(row.name).embed_documents(texts)
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
        self, row: Provider, build_provider, providers_server
    ) -> None:
        limit = row.request_tokens
        embedder = build_provider(row.name, embedding_max_tokens=min(limit, 8000))
        text = "word " * int(min(limit, 8000) * 0.6)
        embedder.embed_documents([text] * 30)
        totals = [
            sum(estimate_tokens(part) for part in sent.texts)
            for sent in providers_server.embeddings()
        ]
        assert max(totals) <= limit
        assert sum(len(sent.texts) for sent in providers_server.embeddings()) >= 30

    @pytest.mark.parametrize(("status", "says", "again"), WRONG)
    def test_the_start_finds_what_is_wrong(
        self, row: Provider, build_provider, providers_server, status, says, again
    ) -> None:
        """``retry_after`` is what keeps a start going: only where the endpoint may come
        back by itself.
        """
        embedder = build_provider(row.name)
        providers_server.status = status
        with pytest.raises(EmbeddingError, match=says) as raised:
            embedder.verify()
        assert (raised.value.retry_after is not None) == again
        assert KEY not in str(raised.value)
        if status in {401, 403}:
            assert "EMBEDDING_API_KEY" in raised.value.remedy
            assert raised.value.reason == "key_refused"

    def test_an_endpoint_that_is_down_may_come_back(
        self, row: Provider, build_provider
    ) -> None:
        embedder = build_provider(row.name, embedding_base_url="http://127.0.0.1:9/v1")
        with pytest.raises(EmbeddingError, match="cannot be reached") as raised:
            embedder.verify()
        assert raised.value.retry_after is not None
        assert "EMBEDDING_BASE_URL" in raised.value.remedy

    def test_vectors_of_another_length_are_never_mixed_in(
        self, row: Provider, build_provider, providers_server
    ) -> None:
        embedder = build_provider(row.name)
        embedder.verify()
        providers_server.dimensions = 8
        with pytest.raises(
            EmbedderMismatchError, match="vectors of 8 dimensions; 16 are expected"
        ):
            embedder.embed_documents(["growth"])

    def test_a_known_model_has_the_dimensions_of_the_table(
        self, row: Provider, build_provider
    ) -> None:
        known = [name for name in row.models if row.find_model(name).dimensions != 16]
        for model in known:
            embedder = build_provider(row.name, model)
            assert embedder.dimensions == row.models[model].dimensions
            with pytest.raises(EmbedderMismatchError, match="of 16 dimensions"):
                embedder.verify()

    def test_without_what_it_needs_the_setting_is_named(
        self, row: Provider, build_provider
    ) -> None:
        if row.key == "required":
            with pytest.raises(
                SettingsError, match=f"EMBEDDING_API_KEY is not set.*{row.name}"
            ):
                build_provider(row.name, embedding_api_key=None)
        if self.needs_address and row.base_url is None:
            with pytest.raises(
                SettingsError, match=f"EMBEDDING_BASE_URL is not set.*{row.name}"
            ):
                build_provider(row.name, embedding_base_url=None)
        if not row.default_model:
            with pytest.raises(
                SettingsError, match=f"EMBEDDING_MODEL is not set.*{row.name}"
            ):
                build_provider(row.name, "")
