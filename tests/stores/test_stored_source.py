"""Which rows of a document an index has: read from what the index itself stores, where
it does. What the double believes of it stands in tests/fakes/search_engine.py.
"""

from typing import Any

import pytest

from tests.stores.atlas_setup import Setup


@pytest.fixture
def setup() -> Setup:
    return Setup()


def store_in(setup: Setup, name: str, **stored: Any) -> None:
    """Let an index store these fields, and the program look at it again."""
    for collection in ("general", "reports"):
        index = setup.engine.index(collection, name)
        definition = {key: index.latest[key] for key in index.latest}
        definition.pop("storedSource", None)
        index.latest = index.serving = {**definition, **stored}
    setup.clock.now += 100


def reads_of_a_listing(setup: Setup) -> int:
    """Return how many rows the server reads to tell which of three passages the two
    indexes have.
    """
    ids = [chunk.id for chunk in setup.write()]
    setup.engine.looked_up.clear()
    assert setup.store.unfollowed("reports", written=ids) == set()
    return len(setup.engine.looked_up)


def test_a_new_index_of_words_lists_its_rows_without_a_read(setup: Setup) -> None:
    assert reads_of_a_listing(setup) == 3
    store_in(setup, "text_index")
    assert reads_of_a_listing(setup) == 6


@pytest.mark.parametrize(("takes_it", "reads"), [(True, 0), (False, 3)])
def test_an_index_of_vectors_does_so_where_an_operator_has_it_store_them(
    setup: Setup, takes_it: bool, reads: int
) -> None:
    setup.engine.stores_vectors_source = takes_it
    store_in(setup, "vector_index", storedSource={"include": ["document_id"]})
    assert reads_of_a_listing(setup) == reads


def test_rows_that_an_index_still_has_are_waited_for(setup: Setup) -> None:
    ids = {chunk.id for chunk in setup.write(2)}
    setup.engine.lag, setup.engine.clock = 30.0, setup.clock
    assert set(setup.store.retire("reports", keep=[])) == ids
    setup.clock.now += 10
    assert setup.store.unfollowed("reports", retired=ids) == ids
    setup.clock.now += 30
    assert setup.store.unfollowed("reports", retired=ids) == set()
