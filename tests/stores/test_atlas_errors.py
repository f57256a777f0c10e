"""Each refusal of the engine reaches the caller as a message that says what to do."""

import json

import numpy as np
import pytest

from chatbot.database.core import CommandError
from chatbot.domain import Scope
from chatbot.domain.errors import SearchEngineError
from chatbot.domain.scope import Values
from chatbot.stores.atlas.errors import explain, lacks_engine
from chatbot.stores.atlas.indexes import SearchTarget
from tests.data import cases
from tests.stores.atlas_setup import Setup

QUERY = np.asarray([1, 0, 0, 0], dtype=np.float32)
KENYA = Scope.of({"country_name": Values(("Kenya",))})
TARGET = SearchTarget("reports", "vector_index", "vectorSearch", {"fields": []})


def refusal(setup: Setup, *, scope: Scope = KENYA) -> SearchEngineError:
    with pytest.raises(SearchEngineError) as caught:
        setup.store.vector_search(QUERY, top_k=5, scope=scope)
    assert isinstance(caught.value.__cause__, CommandError)
    return caught.value


# Through the store, from an engine that refuses; over HTTP in
# tests/faults/test_search_faults.py


def test_an_undeclared_filter_field_is_named_with_the_definition_it_needs() -> None:
    setup = Setup(fields=("year",))
    error = refusal(setup)
    assert (
        "'country_name' is not declared as filter in the search index "
        "'vector_index' of 'general'"
    ) in error.message
    definition = json.loads(error.message[error.message.index("{") :])
    assert {"type": "filter", "path": "country_name"} in definition["fields"]
    assert "index create" in error.remedy
    assert error.retry_after is None
    setup = Setup(fields=("year",))
    with pytest.raises(
        SearchEngineError,
        match=r"'country_name' is not declared as token.*'text_index'",
    ):
        setup.store.keyword_search("coffee", top_k=5, scope=KENYA)


def test_other_dimensions_name_both_numbers_and_say_re_embed() -> None:
    error = refusal(Setup(dimensions=1536))
    assert "1536 dimensions" in error.message
    assert "has 4" in error.message
    assert "reembed" in error.remedy


def test_a_wrong_vector_path() -> None:
    setup = Setup()
    index = setup.engine.index("general", "vector_index")
    index.serving = {
        "fields": [
            {
                "type": "vector",
                "path": "embedding",
                "numDimensions": 4,
                "similarity": "cosine",
            }
        ]
    }
    error = refusal(setup, scope=Scope())
    assert "'data_embedding' is not the vector field" in error.message
    assert '"path": "data_embedding"' in error.remedy


# By message

CASES = cases(__file__)
AWAY = CommandError(
    (
        "Error connecting to localhost:28000 (127.0.0.1:28000) :: caused by :: "
        "Connection refused"
    ),
    6,
)


@pytest.mark.parametrize(("message", "code"), CASES["no engine"])
def test_every_way_of_having_no_search_engine(message: str, code: int) -> None:
    assert lacks_engine(CommandError(message, code))
    assert "VECTOR_SEARCH=faiss" in explain(CommandError(message, code), TARGET).remedy


def test_an_engine_that_is_down_may_come_back() -> None:
    assert not lacks_engine(AWAY)
    error = explain(AWAY, TARGET)
    assert "cannot reach its search engine" in error.message
    assert error.retry_after == 5


@pytest.mark.parametrize(("message", "code"), CASES["wrong requests"])
def test_a_wrong_request_is_not_blamed_on_the_server(message: str, code: int) -> None:
    assert not lacks_engine(CommandError(message, code))
    assert (
        "refused a search of 'reports'"
        in explain(CommandError(message, code), TARGET).message
    )


@pytest.mark.parametrize(("message", "expected"), CASES["messages"])
def test_an_error_of_the_search_engine_is_explained(
    message: str, expected: str
) -> None:
    prefixed = f"PlanExecutor error during aggregation :: caused by :: {message}"
    assert expected in explain(CommandError(prefixed, 8), TARGET).message
