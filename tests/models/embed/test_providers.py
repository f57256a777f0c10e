"""The table of providers: what is known of a model, and what follows for a request
(R-A5, R-A7).
"""

import pytest

from chatbot.language.counts import estimate_tokens
from chatbot.models.embed.providers import PROVIDERS, UNKNOWN_TOKENS
from tests.data import cases
from tests.models.embed.conftest import BuildProvider
from tests.models.embed.providers_server import ProvidersServer

CASES = cases(__file__)


@pytest.mark.parametrize(
    ("model", "prefixes"), CASES["prefixed"].items(), ids=CASES["prefixed"]
)
def test_open_models_get_the_prefixes_they_were_trained_with(
    build_provider: BuildProvider,
    providers_server: ProvidersServer,
    model: str,
    prefixes: tuple[str, str],
) -> None:
    providers_server.dimensions = PROVIDERS["ollama"].find_model(model).dimensions or 16
    embedder = build_provider("ollama", model)
    embedder.embed_query("growth")
    embedder.embed_documents(["growth"])
    assert [sent.texts for sent in providers_server.embeddings()] == [
        [f"{prefix}growth"] for prefix in prefixes
    ]


def test_with_its_prefix_a_window_is_not_longer_than_the_model_reads(
    build_provider, providers_server
) -> None:
    providers_server.dimensions = 1024
    build_provider("together", "intfloat/multilingual-e5-large-instruct").embed_query(
        "long text " * 2000
    )
    sent = [text for request in providers_server.embeddings() for text in request.texts]
    assert len(sent) > 5
    assert all(
        text.startswith("Instruct: ") and estimate_tokens(text) <= 512 for text in sent
    )


def test_under_openais_name_a_model_gets_no_prefix(
    build_provider, providers_server: ProvidersServer
) -> None:
    """Databases were written so before there were prefixes: a question with one would
    not fit them.
    """
    build_provider("openai", "nomic-embed-text").embed_query("growth")
    assert providers_server.embeddings()[0].texts == ["growth"]


def test_of_an_unknown_model_little_is_assumed_unless_the_setting_says_more(
    build_provider,
) -> None:
    assert build_provider("custom").max_tokens == UNKNOWN_TOKENS
    assert build_provider("custom", embedding_max_tokens=8000).max_tokens == 8000
    assert build_provider("custom", embedding_max_tokens=128).max_tokens == 128


def test_a_text_never_holds_more_tokens_than_a_request_may(build_provider) -> None:
    assert (
        build_provider("dashscope", embedding_max_tokens=50_000).max_tokens
        == PROVIDERS["dashscope"].request_tokens
    )


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_default_model_of_each_is_known_to_the_table_or_asked(
    provider: str,
) -> None:
    row = PROVIDERS[provider]
    known = row.find_model(row.default_model)
    assert known.max_tokens >= UNKNOWN_TOKENS
    assert known.dimensions is not None or row.default_model in {
        "",
        "fireworks/qwen3-embedding-8b",
    }
    assert row.batch >= 1
