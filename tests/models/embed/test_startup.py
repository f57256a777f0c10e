"""A start finds a wrong key, address or model; an endpoint that is down does not stop
it (R-A5).
"""

from typing import Any

import pytest
from pydantic import SecretStr

from chatbot.app.factory import close_app, create_app
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain.errors import EmbedderMismatchError, EmbeddingError, SettingsError
from chatbot.extras.operator.doctor import diagnose
from chatbot.models.embed import EMBEDDERS
from tests.data import cases
from tests.library.helpers import until
from tests.models.embed.conftest import KEY
from tests.models.embed.providers_server import ProvidersServer

CASES = cases(__file__)


@pytest.fixture
def settings(settings: Settings, providers_server: ProvidersServer) -> Settings:
    return settings.override(
        embedding_provider="voyageai",
        embedding_model="mine",
        embedding_api_key=SecretStr(KEY),
        embedding_base_url=f"{providers_server.root}/v1",
        model_retries=0,
        cache_seconds=60.0,
    )


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "Check EMBEDDING_API_KEY"),
        (404, "Check EMBEDDING_MODEL and EMBEDDING_BASE_URL"),
    ],
)
def test_what_waiting_does_not_mend_stops_it(
    settings: Settings, providers_server, status: int, says: str
) -> None:
    providers_server.status = status
    with pytest.raises(EmbeddingError, match=says):
        create_app(settings)


@pytest.mark.parametrize(("wrong", "says"), CASES["what is missing stops it"])
def test_what_is_missing_stops_it(
    settings: Settings, wrong: dict[str, object], says: str
) -> None:
    with pytest.raises(SettingsError, match=says):
        create_app(settings.override(**wrong))


def test_a_database_keeps_the_length_of_its_vectors(
    settings: Settings, providers_server: ProvidersServer
) -> None:
    def model_of(**changed: object) -> str:
        with build(settings.override(**changed)) as services:
            services.runtime.require_current()
            services.runtime.embedder.embed_query("growth")
            return (
                f"{services.runtime.embedder.model_id}, "
                f"{services.runtime.embedder.dimensions}"
            )

    assert model_of(embedding_dimensions=8) == "voyageai:mine@8, 8"
    assert model_of() == "voyageai:mine@8, 8"
    with pytest.raises(
        EmbedderMismatchError, match=r"voyageai:mine@12 \(12\) is configured.*reembed"
    ):
        model_of(embedding_dimensions=12)
    with pytest.raises(
        SettingsError, match=r"EMBEDDING_DIMENSIONS is set, but .* minilm have"
    ):
        model_of(
            embedding_dimensions=8, embedding_provider="minilm", embedding_model=None
        )
    providers_server.shortens = False
    with pytest.raises(EmbedderMismatchError, match="Unset EMBEDDING_DIMENSIONS"):
        model_of(embedding_dimensions=8, cache_seconds=0.0)


@pytest.mark.slow
def test_an_endpoint_that_is_down_does_not(
    settings: Settings, providers_server: ProvidersServer
) -> None:
    providers_server.status = 500
    app = create_app(settings)
    try:
        assert app.test_client().get("/health").status_code == 200
        providers_server.status = 200
        until(lambda: app.test_client().get("/ready").status_code == 200)
    finally:
        close_app(app)


def test_the_doctor_asks_the_endpoint_and_not_the_cache(
    settings: Settings, providers_server: ProvidersServer
) -> None:
    def embedder(services: Services) -> str:
        return next(
            finding.name for finding in diagnose(services) if finding.area == "embedder"
        )

    with build(settings) as services:
        assert embedder(services) == "answers"
        providers_server.status = 401
        assert embedder(services) == "key_refused"


@pytest.mark.parametrize(
    ("providers", "keys", "address", "sent"),
    CASES["a key is sent to the address it was set for and to no other"],
)
def test_a_key_is_sent_to_the_address_it_was_set_for_and_to_no_other(
    providers_server: ProvidersServer,
    providers: str,
    keys: dict[str, str],
    address: str,
    sent: str,
) -> None:
    values = {f"{name}_api_key": key for name, key in keys.items()} | {
        address: f"{providers_server.root}/v1"
    }
    for name in providers.split():
        embedder: Any = EMBEDDERS.builder(name)(
            Settings(model_retries=0, embedding_provider=name, **values), model="m"
        )
        embedder.embed_query("x")
        embedder.close()
        assert (
            providers_server.requests[-1].headers["authorization"] == f"Bearer {sent}"
        )
