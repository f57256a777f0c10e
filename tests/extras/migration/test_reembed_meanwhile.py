"""`reembed` while a report is ingested."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain.errors import EmbedderMismatchError
from chatbot.extras.migration.reembed import Reembedding
from chatbot.models.embed.hashing import HashingEmbedder
from tests.library.conftest import embedding
from tests.library.helpers import (
    Embedding,
    assert_consistent,
    ingest,
    record_of,
)
from tests.library.test_versions import (
    NEW,
    OLD,
    new,
    old,
    small_batches,
    words,
)

__all__ = ("embedding", "new", "old", "small_batches")


def test_a_change_of_the_embedding_model_meanwhile_loses_no_passage(
    services: Services, settings: Settings, old: Path, new: Path, embedding: Embedding
) -> None:
    """`reembed` has moved all vectors to another place: what was there before must
    stay.
    """
    ingest(services, old)
    done = list[bool]()

    def change(texts: Sequence[str]) -> None:
        if done:
            return
        done.append(True)
        Reembedding(
            services.storage.database,
            collections=services.settings.chunk_collections,
            provider="hashing",
            model="64",
            embedder=HashingEmbedder(64),
            indexes=None,
            grace=0,
        ).run(lambda count: None)

    embedding.before = change
    with pytest.raises(EmbedderMismatchError):
        ingest(services, new)
    with build(settings.override(embedding_model="64")) as after:
        assert (
            sorted(
                chunk.text.split()[1]
                for chunk in after.runtime.store.get(record_of(after).chunk_ids())
            )
            == OLD
        )
        assert words(after) == OLD
        assert_consistent(after)
        ingest(after, new)
        assert words(after) == NEW
