"""The makers' embedders keep to the contract, over a server that speaks their APIs
(R-A5).
"""

from typing import Any

import pytest

from chatbot.config.settings import Settings
from chatbot.domain.errors import MissingPackageError, SettingsError
from chatbot.extras.makers.embed import MAKERS
from chatbot.models.embed.providers import Provider
from tests.data import cases
from tests.extras.makers.conftest import EMBEDDERS, INSTALLED, needs_library
from tests.models.embed.conftest import KEY, BuildProvider
from tests.models.embed.contract import EveryEmbedder
from tests.models.embed.providers_server import ProvidersServer
from tests.models.embed.wire import OnTheWire

# any-llm has no way to close its SDKs' connections; they go with the process.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@needs_library
class TestContract(EveryEmbedder):
    names = MAKERS

    @pytest.fixture(params=sorted(MAKERS))
    def embedder(
        self, request: pytest.FixtureRequest, build_provider: BuildProvider
    ) -> Any:
        return build_provider(request.param)


@needs_library
class TestOnTheWire(OnTheWire):
    cases = cases(__file__)
    needs_address = False

    @pytest.fixture(params=sorted(MAKERS))
    def row(self, request: pytest.FixtureRequest) -> Provider:
        return MAKERS[request.param]

    def key(self, provider: Provider) -> str:
        if provider.name == "bedrock":
            return "AWS4-HMAC-SHA256 Credential=AKIATEST/"
        return "google-token" if provider.name == "google_vertexai" else KEY

    @pytest.mark.parametrize("maker", ["google_genai", "google_vertexai"])
    def test_google_is_told_of_the_kind_of_text(
        self,
        maker: str,
        build_provider: BuildProvider,
        providers_server: ProvidersServer,
    ) -> None:
        embedder = build_provider(maker)
        embedder.embed_query("growth")
        embedder.embed_documents(["growth"])
        query, document = (sent.body for sent in providers_server.embeddings())
        assert "RETRIEVAL_QUERY" in str(query)
        assert "RETRIEVAL_DOCUMENT" in str(document)


@pytest.mark.skipif(INSTALLED, reason="any-llm-sdk is installed")
@pytest.mark.parametrize("provider", sorted(MAKERS))
def test_a_missing_library_is_named_with_the_command(provider: str) -> None:
    with pytest.raises(
        MissingPackageError, match=f"'{provider}' needs the Python package any-llm-sdk"
    ) as raised:
        EMBEDDERS.builder(provider)(Settings(embedding_api_key=KEY), model="m")
    assert (
        raised.value.remedy == "Install it: pip install -r requirements-providers.txt"
    )


@needs_library
def test_an_address_for_vertex_is_refused_rather_than_ignored() -> None:
    with pytest.raises(
        SettingsError, match="EMBEDDING_BASE_URL is not for google_vertexai"
    ):
        EMBEDDERS.builder("google_vertexai")(
            Settings(embedding_base_url="https://x.example"), model="m"
        )
