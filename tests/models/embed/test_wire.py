"""What our providers are sent, over OpenAI's client."""

import pytest

from chatbot.models.embed.providers import PROVIDERS, Provider
from tests.data import cases
from tests.models.embed.wire import OnTheWire


class TestProviders(OnTheWire):
    cases = cases(__file__)

    @pytest.fixture(params=sorted(PROVIDERS))
    def row(self, request: pytest.FixtureRequest) -> Provider:
        return PROVIDERS[request.param]
