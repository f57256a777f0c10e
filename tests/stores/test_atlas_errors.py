"""Each refusal of the engine reaches the caller as a message that says what to do."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pymongo.errors import OperationFailure

from chatbot.database.core import CommandError
from chatbot.domain import Scope, Values
from chatbot.domain.errors import SearchEngineError
from chatbot.stores.atlas.errors import explain, lacks_engine
from chatbot.stores.atlas.indexes import SearchTarget
from tests.fakes.search_engine import location
from tests.stores.atlas_setup import Setup

QUERY = np.asarray([1, 0, 0, 0], dtype=np.float32)
KENYA = Scope.of({"country_name": Values(("Kenya",))})
TARGET = SearchTarget("reports", "vector_index", "vectorSearch", {"fields": []})


def refusal(setup: Setup, *, scope: Scope = KENYA) -> SearchEngineError:
    with pytest.raises(SearchEngineError) as caught:
        setup.store.vector_search(QUERY, top_k=5, scope=scope)
    assert isinstance(caught.value.__cause__, CommandError)
    return caught.value


# Through the store, from an engine that refuses; over HTTP in tests/faults/test_search_faults.py


def test_an_undeclared_filter_field_is_named_with_the_definition_it_needs() -> None:
    setup = Setup(fields=("year",))
    error = refusal(setup)
    assert "'country_name' is not declared as filter in the search index 'vector_index' of 'general'" in error.message
    definition = json.loads(error.message[error.message.index("{") :])
    assert {"type": "filter", "path": "country_name"} in definition["fields"]
    assert "index create" in error.remedy
    assert error.retry_after is None


def test_an_undeclared_field_in_the_text_index() -> None:
    setup = Setup(fields=("year",))
    with pytest.raises(SearchEngineError, match=r"'country_name' is not declared as token.*'text_index'"):
        setup.store.keyword_search("coffee", top_k=5, scope=KENYA)


def test_other_dimensions_name_both_numbers_and_say_re_embed() -> None:
    error = refusal(Setup(dimensions=1536))
    assert "1536 dimensions" in error.message
    assert "has 4" in error.message
    assert "reembed" in error.remedy


def test_a_wrong_vector_path() -> None:
    setup = Setup()
    index = setup.engine.index("general", "vector_index")
    index.serving = {"fields": [{"type": "vector", "path": "embedding", "numDimensions": 4, "similarity": "cosine"}]}
    error = refusal(setup, scope=Scope())
    assert "'data_embedding' is not the vector field" in error.message
    assert '"path": "data_embedding"' in error.remedy


# By message

NO_ENGINE = [
    OperationFailure("SearchNotEnabled", 31082),
    OperationFailure("Using $search and $vectorSearch aggregation stages requires additional configuration.", 31082),
    OperationFailure("$vectorSearch stage is only allowed on MongoDB Atlas", 6047401),
    OperationFailure("$vectorSearch is not allowed with the current configuration.", 8),
    OperationFailure("$rankFusion is not allowed in the current feature compatibility version.", 224),
    OperationFailure("Aggregation stage '$vectorSearch' not supported", 1),
    OperationFailure("Unrecognized pipeline stage name: '$vectorSearch'", 40324),
    OperationFailure("no such command: 'createSearchIndexes'", 59),
    OperationFailure("Search index commands are only supported with Atlas.", 115),
]
AWAY = OperationFailure("Error connecting to localhost:28000 (127.0.0.1:28000) :: caused by :: Connection refused", 6)
BUGS = [
    location(40602, "$vectorSearch is only valid as the first stage in a pipeline"),
    location(51047, "$vectorSearch is not allowed within a $lookup's sub-pipeline"),
    location(40600, "$vectorSearch is not allowed to be used within a $facet stage"),
    OperationFailure('"numCandidates" must be omitted when "exact" is set to true', 8),
    OperationFailure("limit should be less than or equal to numCandidates", 8),
]


def command_error(error: OperationFailure) -> CommandError:
    return CommandError(str((error.details or {}).get("errmsg", error)), error.code)


@pytest.mark.parametrize("error", NO_ENGINE, ids=str)
def test_every_way_of_having_no_search_engine(error: OperationFailure) -> None:
    assert lacks_engine(command_error(error))
    assert "VECTOR_SEARCH=faiss" in explain(command_error(error), TARGET).remedy


def test_an_engine_that_is_down_may_come_back() -> None:
    assert not lacks_engine(command_error(AWAY))
    error = explain(command_error(AWAY), TARGET)
    assert "cannot reach its search engine" in error.message
    assert error.retry_after == 5


@pytest.mark.parametrize("error", BUGS, ids=str)
def test_a_wrong_request_is_not_blamed_on_the_server(error: OperationFailure) -> None:
    assert not lacks_engine(command_error(error))
    assert "refused a search of 'reports'" in explain(command_error(error), TARGET).message


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Cosine similarity cannot be calculated against a zero vector.", "all zeros"),
        ('"queryVector[0]" non-finite value', "not a number"),
        ('data_embedding must be indexed as "vector".', "not the vector field"),
        ("Index vector_index not initialized", "state is not initialized"),
        ("cannot query vector index 6a while in state INITIAL_SYNC", "state is INITIAL_SYNC"),
        ("cannot query vector index 6a while in state FAILED", "has failed"),
        ("The maximum number of FTS indexes has been reached for this instance size.", "no room"),
    ],
)
def test_messages(message: str, expected: str) -> None:
    prefixed = f"PlanExecutor error during aggregation :: caused by :: {message}"
    assert expected in explain(CommandError(prefixed, 8), TARGET).message
