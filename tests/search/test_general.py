"""General documents beside a country's reports (R-D7): seed 003 does not filter
`chatbot_data`.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.app.factory import close_app, create_app
from chatbot.app.services import Services
from chatbot.app.services.preparing import ordinary_indexes
from chatbot.config.settings import Settings
from chatbot.database.mongo import MongoDatabase
from chatbot.database.ordinary_indexes import create_missing
from chatbot.stores.atlas.indexes import ensure_indexes, index_plans
from tests.data import cases
from tests.fakes.mongomock_search import SearchClient
from tests.library.helpers import ingest, write

CASES = cases(__file__)
QUESTION = "What does FCS mean?"
MEANING = "FCS is the food consumption score, a measure of diets."
REPORTS = CASES["reports"]
"""Of these only the glossary goes to the general collection: the review of the world
has a year.
"""


@pytest.fixture(scope="module", params=["embedded", "mongodb", "older rows"])
def app(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Flask]:
    """One for all tests: none of them changes a report. The general rows of a seed 003
    database lack the filter fields ("older rows").
    """
    folder, own = (
        tmp_path_factory.mktemp("general"),
        {"sample_data": "off", "summaries": "off", "cache_seconds": 0},
    )
    settings = Settings(
        data_dir=folder / "data",
        chat_model="extractive",
        embedding_provider="minilm",
        **own,
    )
    client = SearchClient()
    database = None
    if request.param != "embedded":
        database = MongoDatabase(client, "general")
        settings = settings.override(vector_search="atlas", indexes="never")
    app = create_app(settings, database=database)
    services: Services = app.extensions["services"]
    if database is not None:
        create_missing(database, ordinary_indexes(services.storage))
        ensure_indexes(database, index_plans(settings, {"": 384}))
    for name, (text, about) in REPORTS.items():
        ingest(
            services,
            write(folder / name, text, f"{name}.md"),
            about,
            identity=f"uploads/{name}.md",
        )
    if request.param == "older rows":
        fields = dict.fromkeys(("country_name", "year", "type"), "")
        client["general"]["chatbot_data"].update_many({}, {"$unset": fields})
    yield app
    close_app(app)


def ask(
    app: Flask,
    query: str = QUESTION,
    path: str = "/query",
    key: str = "",
    **fields: Any,
) -> Any:
    client: FlaskClient = app.test_client()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    response = client.post(path, json={"query": query, **fields}, headers=headers)
    assert response.status_code == 200, response.get_json()
    return response.get_json()


def found(app: Flask, **fields: Any) -> dict[str, bool]:
    """The titles of what is found by a search, and whether each is said to be
    general.
    """
    return {
        hit["title"]: hit.get("general", False)
        for hit in ask(app, path="/api/search", **fields)["hits"]
    }


def test_beside_the_chosen_country_the_general_documents_answer_and_are_shown_apart(
    app: Flask,
) -> None:
    body = ask(app, filters={"country_name": ["Kenya"]})
    assert f"- **General: Glossary, FCS:** “{MEANING}” [1]" in body["response"]
    assert [(one["title"], one["general"]) for one in body["citations"]] == [
        ("Glossary", True)
    ]
    hits = {one["title"]: one.get("general", False) for one in body["trace"]["hits"]}
    assert hits == {"Glossary": True, "Kenya 2023": False}
    assert body["scope"]["filters"] == {"country_name": ["Kenya"]}


def test_they_are_said_to_be_general_in_the_language_of_the_page(app: Flask) -> None:
    body = ask(app, filters={"country_name": ["Kenya"]}, language="fr")
    assert "**Général : Glossary, FCS:**" in body["response"]


def test_what_is_nearest_comes_first(app: Flask) -> None:
    assert next(iter(found(app, filters={"country_name": ["Kenya"]}).items())) == (
        "Glossary",
        True,
    )
    of_kenya = ask(
        app, "Food in Turkana", path="/api/search", filters={"country_name": ["Kenya"]}
    )["hits"]
    assert of_kenya[0]["title"] == "Kenya 2023"


@pytest.mark.parametrize(
    "fields",
    CASES["any other scope keeps them out"],
    ids=["collection", "report", "another seed"],
)
def test_any_other_scope_keeps_them_out(app: Flask, fields: dict[str, Any]) -> None:
    assert found(app, **fields) == {"Kenya 2023": False}


@pytest.mark.parametrize(
    "fields",
    CASES["the general collection is searched beside"],
    ids=["country and year", "report context", "vector", "bm25", "adaptive"],
)
def test_a_chosen_country_and_year_leave_the_general_documents_in(
    app: Flask, fields: dict[str, Any]
) -> None:
    titles = found(app, **fields)
    assert titles.pop("Glossary")
    assert titles in ({"Kenya 2023": False}, {})  # the threshold may drop it


def test_a_year_in_review_leaves_the_general_documents_in(app: Flask) -> None:
    context = {"type": "year_in_review", "value": 2023}
    for fields in ({}, {"preset": "adaptive"}):
        assert found(app, report_context=context, **fields)["Glossary"]


@pytest.mark.parametrize("preset", ["", "adaptive"])
def test_the_general_collection_alone_answers_under_a_country(
    app: Flask, preset: str
) -> None:
    fields = {"filters": {"country_name": ["Kenya"]}, "preset": preset}
    body = ask(app, collections=["chatbot_data"], **fields)
    assert MEANING in body["response"]
    assert body["answered"]


def test_without_a_scope_nothing_is_general(app: Flask) -> None:
    assert found(app) == dict.fromkeys(
        ["Glossary", "Kenya 2023", "Peru 2023", "The world in 2023"], False
    )


def test_a_keys_limit_keeps_them_out(app: Flask) -> None:
    services: Services = app.extensions["services"]
    _, secret = services.storage.keys.create(
        "Nairobi", "read", filters={"country_name": ["Kenya"]}
    )
    for filters in ({}, {"country_name": ["Kenya"]}):
        assert found(app, key=secret, filters=filters) == {"Kenya 2023": False}


def test_the_sides_of_a_comparison_have_none(app: Flask) -> None:
    body = ask(
        app,
        "Compare the food consumption score (FCS) of Kenya and Peru",
        mode="compare",
    )
    assert "Kenya 2023" in body["response"]
    assert "General" not in body["response"]
