"""Knowledge collections over HTTP: what there is, and a question within some of them
(R-D7, R-C5).
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.library.pipeline import Ingested, Registration
from tests.answering.modes.conftest import MALI_2021
from tests.app.web.conftest import QUESTION, Post, error_of, fields_of
from tests.conftest import ingest_file, write_report

SEARCHED = ["chatbot_data", "report_chatting", "news"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    described = {"news": "Daily news.", "report_chatting": "Country reports."}
    return settings.override(collections=described, threshold_start=0.0)


@pytest.fixture(autouse=True)
def reports(kenya: Ingested, services: Services, tmp_path: Path) -> None:
    """Kenya's report among the reports, Mali's in the news."""
    path = write_report(tmp_path / "news", MALI_2021, "mali-2021")
    ingest_file(
        services,
        path,
        "test/mali",
        Registration("news"),
        country_name="Mali",
        year=2021,
    )


def countries(hits: list[dict[str, Any]]) -> set[str]:
    return {hit["country_name"] for hit in hits}


@pytest.fixture
def search(client: FlaskClient) -> Callable[..., Any]:
    return lambda **fields: client.post(
        "/api/search", json={"query": QUESTION, **fields}
    )


def test_what_there_is_is_counted_under_the_rest_of_the_scope_and_takes_uploads(
    client: FlaskClient,
) -> None:
    assert client.get("/api/collections").get_json() == {
        "collections": [
            {"name": "chatbot_data", "description": "", "documents": 0, "chunks": 0},
            {
                "name": "report_chatting",
                "description": "Country reports.",
                "documents": 1,
                "chunks": 3,
            },
            {"name": "news", "description": "Daily news.", "documents": 1, "chunks": 2},
        ]
    }
    both = [
        {"value": "report_chatting", "documents": 1},
        {"value": "news", "documents": 1},
    ]
    facets = client.get("/api/facets?collections=news").get_json()
    mali = {"value": "Mali", "documents": 1, "code": "466", "label": "Mali"}
    assert facets["country_name"] == [mali]
    assert (facets["documents"], facets["chunks"], facets["collections"]) == (
        1,
        2,
        both,
    )
    assert (
        client.get("/api/facets?country_name=Mali").get_json()["collections"]
        == both[1:]
    )
    file = (io.BytesIO(b"# News\n\nA text."), "news.md")
    refused = client.post(
        "/api/documents", data={"collection": "elsewhere", "files": file}
    )
    assert error_of(refused, 400)["details"][0]["valid_values"] == SEARCHED


def test_a_search_stays_within_its_collections(search) -> None:
    for method in ["vector", "bm25", "hybrid"]:
        for collections, found in [
            (None, {"Kenya", "Mali"}),
            (["news"], {"Mali"}),
            (["report_chatting"], {"Kenya"}),
            (["chatbot_data"], set()),
            (["news", "report_chatting"], {"Kenya", "Mali"}),
        ]:
            body = search(collections=collections, retrieval_method=method).get_json()
            assert countries(body["hits"]) == found
            assert body["scope"].get("collections") == (
                sorted(collections) if collections else None
            )
            assert body["scope"]["documents"] == len(found)


def test_and_within_its_filters(search) -> None:
    filters = {"country_name": ["Kenya", "Mali"]}
    body = search(
        collections=["news"], filters={"country_name": ["KE", "ML"]}
    ).get_json()
    assert countries(body["hits"]) == {"Mali"}
    assert body["scope"] == {
        "filters": filters,
        "collections": ["news"],
        "documents": 1,
        "chunks": 2,
    }


def test_what_there_is_not_is_refused_with_what_there_is(client: FlaskClient) -> None:
    for wrong in [[], ["nothing"], ["news", "messages"], ["News"]]:
        for path in ["/query", "/api/search", "/api/chat"]:
            error = error_of(
                client.post(path, json={"query": QUESTION, "collections": wrong}), 400
            )
            (detail,) = error["details"]
            assert detail["field"] == "collections"
            assert not wrong or detail["valid_values"] == SEARCHED


def test_anything_but_a_list_of_names_is_refused(search) -> None:
    for wrong in ["news", {"$ne": "news"}, 5, ["x"] * 301]:
        assert fields_of(search(collections=wrong)) == ["collections"]


def test_an_answer_stands_on_its_collections_and_says_what_they_leave_out(
    query: Post,
) -> None:
    """Nothing of another collection is passed off as an answer, nor is it said that
    there is no such report.
    """
    body = query(collections=["news"]).get_json()
    assert body["answered"]
    assert countries(body["citations"]) <= countries(body["trace"]["hits"]) == {"Mali"}
    assert body["scope"]["collections"] == ["news"]
    assert "collections" not in query().get_json()["scope"]
    body = query(
        query="What is the population growth rate of Kenya?", collections=["news"]
    ).get_json()
    assert body["answered"] is False
    assert "the collection news) leaves out Kenya" in body["response"]
    body = query(collections=["chatbot_data"]).get_json()
    assert body["answered"] is False
    assert "There is no report for the collection chatbot_data." in body["response"]
    body = query(
        query="What is the population growth rate of Mali?",
        collections=["news", "report_chatting"],
        auto_scope=True,
    ).get_json()
    assert body["scope"]["filters"] == {"country_name": ["Mali"]}
    assert body["scope"]["collections"] == ["news", "report_chatting"]


def test_lists_within_collections(client: FlaskClient) -> None:
    for path in ["/api/reports", "/api/documents"]:
        assert client.get(f"{path}?collections=news").get_json()["total"] == 1
        assert (
            client.get(
                f"{path}?collections=news&collections=report_chatting"
            ).get_json()["total"]
            == 2
        )
        assert (
            client.get(f"{path}?collections=news&country_name=KE").get_json()["total"]
            == 0
        )
        assert fields_of(client.get(f"{path}?collections=x")) == ["collections"]
