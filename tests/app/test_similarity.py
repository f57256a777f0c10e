"""Seed 003's two functions, on every store (R-D1, R-D3)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot import create_embedding, similarity_search
from chatbot.app import similarity
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.config.settings_types import PRESETS
from chatbot.database.mongo import MongoDatabase
from chatbot.domain.errors import InvalidRequestError
from chatbot.stores.atlas.indexes import ensure_indexes, index_plans
from tests.fakes import postgres
from tests.fakes.mongomock_search import SearchClient
from tests.library.helpers import ingest, passages_of, write

pytestmark = pytest.mark.extras("pgvector")
FIELDS = {
    "document_name",
    "country_name",
    "year",
    "document_title",
    "document_page_number",
    "data_labels",
    "data_description",
    "data",
    "score",
}


@pytest.fixture
def client() -> SearchClient:
    return SearchClient()


@pytest.fixture(
    params=["faiss", "atlas", pytest.param("pgvector", marks=pytest.mark.slow)]
)
def services(
    request: pytest.FixtureRequest,
    settings: Settings,
    client: SearchClient,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Services]:
    name = str(request.param)
    changed = settings.override(embedding_model="64", vector_search=name)
    if name == "pgvector":
        changed = changed.override(postgres_uri=postgres.empty_database())
    database = MongoDatabase(client, "similar") if name == "atlas" else None
    with build(changed, database=database) as opened:
        if database is not None:
            opened.prepare()
            ensure_indexes(database, index_plans(changed, {"": 64}))
        kenya = passages_of(*(f"zebra{n}" for n in range(8)), title="Kenya")
        ingest(
            opened,
            write(tmp_path / "a", kenya),
            {"country_name": "Kenya", "year": 2023},
            identity="uploads/a.md",
        )
        ingest(
            opened, write(tmp_path / "b", passages_of("lion")), identity="uploads/b.md"
        )
        monkeypatch.setattr(similarity, "_services", lambda: opened)
        yield opened


def test_an_embedding_is_a_list_of_floats(services: Services) -> None:
    found = create_embedding("zebra3 lives here")
    assert found == services.runtime.embedder.embed_query("zebra3 lives here").tolist()
    assert {type(number) for number in found} == {float}
    with pytest.raises(InvalidRequestError, match="text"):
        create_embedding(" ")


def test_the_nearest_documents_come_with_their_score_and_without_embedding(
    services: Services,
) -> None:
    found = similarity_search("The zebra3 lives here.")
    assert len(found) == 5
    assert "zebra3" in found[0]["data"]
    assert all(set(row) >= FIELDS for row in found)
    assert not any(name.startswith("data_embedding") for row in found for name in row)
    scores = [row["score"] for row in found]
    assert scores == sorted(scores, reverse=True)
    assert len(similarity_search("zebra3", limit=2)) == 2


def test_a_report_context_is_a_filter(services: Services) -> None:
    found = similarity_search(
        "lion", limit=50, report_context={"type": "country", "value": "Kenya"}
    )
    # The general collection is searched without the filter, as in the seed.
    assert {row["country_name"] for row in found} == {"Kenya", ""}
    found = similarity_search(
        "lion",
        limit=50,
        report_context={"type": "country", "value": "Kenya"},
        collection_name="report_chatting",
    )
    assert {(row["country_name"], row["year"]) for row in found} == {("Kenya", 2023)}
    for wrong in (
        {"type": "country", "value": "Atlantis"},
        {"type": "planet", "value": "Mars"},
    ):
        with pytest.raises(InvalidRequestError):
            similarity_search("lion", report_context=wrong)
    assert {
        row["data"] for row in similarity_search("lion", collection_name="chatbot_data")
    } == {"The lion lives here."}


@pytest.mark.parametrize("services", ["atlas"], indirect=True)
def test_on_mongodb_it_is_the_seeds_pipeline(
    services: Services, client: SearchClient
) -> None:
    client.engine.asked.clear()
    similarity_search("zebra3", limit=100, collection_name="report_chatting")
    similarity_search("zebra3", collection_name="report_chatting")
    searches = [one for one in client.engine.asked if "$vectorSearch" in one[1][0]]
    (_, wide, _), (collection, pipeline, _) = searches
    assert wide[0]["$vectorSearch"]["numCandidates"] == 2000
    stage = pipeline[0]["$vectorSearch"]
    assert (collection, stage["numCandidates"], stage["limit"]) == (
        "report_chatting",
        1000,
        5,
    )
    assert stage["numCandidates"] == PRESETS["adaptive"]["num_candidates"]
    assert [next(iter(part)) for part in pipeline] == [
        "$vectorSearch",
        "$addFields",
        "$sort",
        "$project",
    ]
