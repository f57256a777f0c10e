"""What every embedder promises (R-A5, R-A7, R-B3). A test module derives a class, whose
fixture `embedder` gives the embedders.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

TEXTS = ["growth growth rate", "population of Kenya", "the capital of Peru"]


class EveryEmbedder:
    names: Collection[str]
    """The providers that the fixture `embedder` gives."""

    local = False

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
        assert embedder.local is self.local

    def test_no_texts_no_rows(self, embedder: Any) -> None:
        assert embedder.embed_documents([]).shape == (0, embedder.dimensions)

    def test_every_embedder_has_an_id_and_counts_tokens(self, embedder: Any) -> None:
        assert embedder.model_id.partition(":")[0] in self.names
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
