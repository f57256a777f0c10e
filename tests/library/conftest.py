"""What the tests of the ingestion share: the embedding model's calls."""

import pytest

from tests.library.helpers import Embedding


@pytest.fixture
def embedding(monkeypatch: pytest.MonkeyPatch) -> Embedding:
    return Embedding(monkeypatch)
