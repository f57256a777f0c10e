"""An index over texts that MongoDB embeds: what is refused, and how seldom it is
asked.
"""

from dataclasses import replace

import numpy as np
import pytest

from chatbot.domain import Chunk, Scope
from chatbot.domain.errors import EmbedderMismatchError, SearchEngineError
from chatbot.stores.atlas import AtlasStore
from chatbot.stores.atlas.indexes import SearchTarget, ensure_indexes, index_plans
from tests.stores.atlas_setup import DIMENSIONS, SETTINGS, Setup

COFFEE = Chunk(
    id=Chunk.make_id("doc", "v", 0),
    document_id="doc",
    document_name="doc.pdf",
    title="Report",
    text="Coffee is grown in the hills",
    collection="reports",
)


class Embedding(Setup):
    """A store whose server embeds by ``model``."""

    model = "voyage-4"

    def open_store(self) -> AtlasStore:  # type: ignore[override]
        ensure_indexes(self.database, self.embedding_plans())
        return AtlasStore(
            settings=SETTINGS,
            database=self.database,
            changes=self.database.changes,
            dimensions=0,
            embedding_model=self.model,
            clock=self.clock,
        )

    def embedding_plans(self, model: str = "") -> list[SearchTarget]:
        return index_plans(SETTINGS, {"": 0}, model=model or self.model)

    def add(self) -> None:
        self.store.upsert([COFFEE], np.empty((1, 0), np.float32))


@pytest.fixture
def setup() -> Embedding:
    made = Embedding(indexed=False)
    made.add()
    return made


def test_a_text_finds_texts_and_stored_vectors_are_none(setup: Embedding) -> None:
    (match,) = setup.store.vector_search("coffee hills", top_k=3, scope=Scope())
    assert (match.chunk_id, match.score > 0.6) == (COFFEE.id, True)
    assert setup.store.vector_scores("coffee", [COFFEE.id]) == {}
    chunks, vectors = setup.store.stored("doc")
    assert ([chunk.id for chunk in chunks], vectors.shape) == ([COFFEE.id], (1, 0))


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_question_is_not_sent(setup: Embedding, text: str) -> None:
    with pytest.raises(SearchEngineError, match="nothing can be near"):
        setup.store.vector_search(text, top_k=3, scope=Scope())


def test_a_vector_of_another_model_is_not_sent(setup: Embedding) -> None:
    vector = np.ones(DIMENSIONS, np.float32)
    with pytest.raises(EmbedderMismatchError, match="has 4 dimensions"):
        setup.store.vector_search(vector, top_k=3, scope=Scope())
    with pytest.raises(EmbedderMismatchError, match="searched by their stored vectors"):
        Setup().store.vector_search("coffee", top_k=3, scope=Scope())


def test_a_model_that_the_server_does_not_have_is_named_with_those_it_has() -> None:
    setup = Embedding(indexed=False)
    setup.database["reports"].drop_search_index("auto_embed_index")
    with pytest.raises(SearchEngineError, match=r"nosuch.*voyage-4-lite, voyage-4,"):
        ensure_indexes(setup.database, setup.embedding_plans("nosuch"))
    setup.engine.models = ()
    with pytest.raises(SearchEngineError, match="keys of Voyage AI"):
        ensure_indexes(setup.database, setup.embedding_plans())


def test_an_index_of_another_model_has_to_be_dropped_first(setup: Embedding) -> None:
    with pytest.raises(SearchEngineError, match=r"another model.*index drop"):
        ensure_indexes(setup.database, setup.embedding_plans("voyage-4-large"))
    assert ensure_indexes(setup.database, setup.embedding_plans())[0].queryable


def test_looks_at_a_new_report_spend_few_questions(setup: Embedding) -> None:
    """A look embeds a question; a free cluster has three a minute. The text index is
    asked as often as one likes.
    """
    setup.engine.clock = setup.clock
    setup.engine.lag = 30.0
    later = replace(COFFEE, id=Chunk.make_id("doc", "v", 1))
    setup.store.upsert([later], np.empty((1, 0), np.float32))
    setup.engine.asked.clear()
    seconds = 0
    while setup.store.unfollowed("doc", written=[later.id]):
        setup.clock.sleep(1.0)
        seconds += 1
    looks = [
        name
        for name, pipeline, _ in setup.engine.asked
        if "$vectorSearch" in pipeline[0]
    ]
    assert seconds >= 30
    assert len(looks) <= 2
