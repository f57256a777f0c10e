"""MongoDB's automated embedding: the server embeds the passages and the questions, by a
model of Voyage AI. Nothing is embedded in this process, and no key is needed.
"""

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from ...config.settings import Settings
from ...domain import RequestContext
from ...domain.documents import Matrix
from ...domain.errors import EmbeddingError
from ...language.counts import estimate_tokens
from .providers import PROVIDERS

VOYAGE = PROVIDERS["voyageai"]
MODEL = VOYAGE.default_model


class AtlasEmbedder:
    """Implements `protocols.Embedder` and `protocols.EmbedsInStore`: its vectors have
    no dimensions.
    """

    local = False
    multilingual = True
    dimensions = 0

    def __init__(self, model: str) -> None:
        self.store_model = model
        self.model_id = f"atlas:{model}"
        self.max_tokens = VOYAGE.find_model(model).max_tokens

    def count_tokens(self, text: str) -> int:
        """Return an estimate: the server counts."""
        return estimate_tokens(text)

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> NoReturn:
        """Raises EmbeddingError: always, as the server gives no vector away."""
        raise EmbeddingError(
            f"{self.model_id} runs in MongoDB, which gives no vectors away.",
            remedy="Set EMBEDDING_PROVIDER to another provider where vectors are used.",
        )

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        """Return shape (len(texts), 0): passages are stored without a vector."""
        return np.empty((len(texts), self.dimensions), dtype=np.float32)


def build(settings: Settings, *, model: str) -> AtlasEmbedder:
    """Take any model: the server knows which it has, and says so when the index is
    made.
    """
    return AtlasEmbedder(model)
