"""The endpoints that only read: search, reports, facets, one passage."""

import pytest
from flask.testing import FlaskClient

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from tests.app.web.conftest import QUESTION, error_of, fields_of
from tests.app.web.contract import HIT
from tests.app.web.live import application
from tests.conftest import AddReport
from tests.data import cases

CASES = cases(__file__)

pytestmark = pytest.mark.usefixtures("kenya", "mali")
GROWTH = "People and Society \u203a Population growth rate"


class TestSearch:
    def test_hits_scope_and_trace_without_an_answer(self, client: FlaskClient) -> None:
        response = client.post(
            "/api/search",
            json={"query": QUESTION, "filters": {"country_name": "KE"}, "limit": 2},
        )
        assert response.status_code == 200
        body = response.get_json()
        assert set(body) == {"hits", "scope", "trace"}
        assert [hit["rank"] for hit in body["hits"]] == [1, 2]
        assert set(body["hits"][0]) == HIT
        assert (body["hits"][0]["section"], body["hits"][0]["text"]) == (
            GROWTH,
            "2.09% (2023 est.)",
        )
        assert body["scope"] == {
            "filters": {"country_name": ["Kenya"]},
            "documents": 1,
            "chunks": 3,
        }
        assert body["trace"]["mode"] == "search"
        assert body["trace"]["usage"]["calls"] == 0

    def test_each_method_gives_its_scores(self, client: FlaskClient) -> None:
        for method, scores in [
            ("vector", {"score"}),
            ("bm25", {"score", "keyword_score"}),
            ("hybrid", {"score", "keyword_score", "fused_score"}),
        ]:
            body = client.post(
                "/api/search", json={"query": QUESTION, "retrieval_method": method}
            ).get_json()
            best = body["hits"][0]
            assert {
                name
                for name in ("score", "keyword_score", "fused_score")
                if best[name] is not None
            } == scores

    def test_what_belongs_to_a_conversation_is_refused_and_nothing_is_saved(
        self, client: FlaskClient, services: Services
    ) -> None:
        response = client.post(
            "/api/search",
            json={"query": QUESTION, "conversation_id": "x", "mode": "direct"},
        )
        assert sorted(fields_of(response)) == ["conversation_id", "mode"]
        client.post("/api/search", json={"query": QUESTION})
        assert services.storage.database["conversations"].count({}) == 0


class TestReports:
    def test_all_by_title_field_by_field(self, client: FlaskClient, kenya) -> None:
        body = client.get("/api/reports").get_json()
        assert body["total"] == 2
        first, second = body["reports"]
        assert first.pop("updated_at").startswith("20")
        assert first == {
            "document_id": kenya.document_id,
            "document_name": "Kenya: Country Report 2023",
            "title": "Kenya: Country Report 2023",
            "country_name": "Kenya",
            "year": 2023,
            "type": "country_report",
            "pages": None,
            "chunks": 3,
            "status": "ready",
            "publisher": "",
            "authors": [],
            "publication_date": "",
            "source_url": "",
        }
        assert second["country_name"] == "Mali"

    def test_under_a_scope(self, client: FlaskClient) -> None:
        for arguments, countries in [
            ("country_name=KE&country_name=mali", ["Kenya", "Mali"]),
            ("year=2021", ["Mali"]),
        ]:
            body = client.get(f"/api/reports?{arguments}").get_json()
            assert [report["country_name"] for report in body["reports"]] == countries
            assert body["total"] == len(countries)


class TestFacets:
    def test_without_countries_there_are_no_groups_of_them(
        self, settings: Settings
    ) -> None:
        with application(settings.override(filter_fields="year")) as made:
            facets = made.test_client().get("/api/facets").get_json()
        assert (facets["group"], len(facets["year"])) == ([], 2)

    def test_values_with_counts_as_a_whole_by_page_and_under_the_rest_of_a_scope(
        self, client: FlaskClient
    ) -> None:
        found = client.get("/api/facets").get_json()
        # Kenya is in Eastern Africa, Mali in Western: alone there.
        groups = {group.pop("value"): group for group in found.pop("group")}
        assert groups["Africa"] == {"documents": 2, "members": ["Kenya", "Mali"]}
        assert groups.keys().isdisjoint({"Eastern Africa", "Asia"})
        newest = found.pop("newest")
        assert newest["title"] == "Kenya: Country Report 2023"
        assert (newest["date"], newest["added"][:2]) == ("2023", "20")
        assert newest["publisher"] == ""
        own = found.pop("own")
        assert set(own) == {"Kenya: Country Report 2023", "Mali: Country Report 2021"}
        assert found == {
            "country_name": [
                {"value": "Kenya", "documents": 1, "code": "404", "label": "Kenya"},
                {"value": "Mali", "documents": 1, "code": "466", "label": "Mali"},
            ],
            "year": [{"value": 2021, "documents": 1}, {"value": 2023, "documents": 1}],
            "document_name": [
                {"value": "Kenya: Country Report 2023", "documents": 1},
                {"value": "Mali: Country Report 2021", "documents": 1},
            ],
            "type": [{"value": "country_report", "documents": 2}],
            "collections": [{"value": "report_chatting", "documents": 2}],
            "total": {"country_name": 2, "year": 2, "document_name": 2, "type": 1},
            "documents": 2,
            "chunks": 5,
            "next": None,
        }
        found = client.get(
            "/api/facets?field=document_name&q=mali&year=2021"
        ).get_json()
        assert [row["value"] for row in found["document_name"]] == [
            "Mali: Country Report 2021"
        ]
        assert (found["total"], found["documents"]) == ({"document_name": 1}, 1)
        second = client.get("/api/facets?limit=1&cursor=1").get_json()
        assert [row["value"] for row in second["country_name"]] == ["Mali"]
        assert second["total"]["country_name"] == 2
        assert fields_of(client.get("/api/facets?field=planet")) == ["field"]
        facets = client.get("/api/facets?country_name=Kenya").get_json()
        assert [row["value"] for row in facets["country_name"]] == ["Kenya", "Mali"]
        assert [row["value"] for row in facets["year"]] == [2023]
        assert (facets["documents"], facets["chunks"]) == (1, 3)

    def test_what_the_reports_are_about_and_the_guide_to_one(
        self, client: FlaskClient
    ) -> None:
        assert client.get("/api/topics").get_json() == {
            "topics": ["People and Society"]
        }
        listed = client.get("/api/documents").get_json()["documents"]
        guide = client.get(
            f"/api/documents/{listed[0]['document_id']}/guide"
        ).get_json()
        assert guide["chapters"] == ["People and Society", "Geography"]
        assert [one["text"] for one in guide["figures"]] == ["52,428,290", "2.09%"]
        asked = [
            "What is “Kenya: Country Report 2023” about?",
            "What is Kenya's population?",
        ]
        assert guide["questions"] == [*asked, "What is Kenya's population growth rate?"]


def test_a_wrong_argument_is_named(client: FlaskClient) -> None:
    for arguments, field in CASES["a wrong argument is named"]:
        for path in ["/api/facets", "/api/reports"]:
            assert fields_of(client.get(path + arguments)) == [field]


def test_a_message_lists_some_of_many_values_and_the_details_all(
    client: FlaskClient, add_report: AddReport
) -> None:
    for number in range(20):
        add_report(f"# Report number {number}\n\nA text.", f"report-{number}")
    error = error_of(client.get("/api/reports?document_name=Narnia"), 400)
    (detail,) = error["details"]
    assert len(detail["valid_values"]) == 22
    assert error["message"].startswith(
        "document_name: unknown document_name: 'Narnia'. Valid: Kenya: Country Report"
    )
    assert error["message"].endswith("and 12 more.")
    assert error["message"].count("Report") == 10


class TestChunk:
    def test_a_passage_with_the_text_around_it(self, client: FlaskClient) -> None:
        chunk_id = client.post("/api/search", json={"query": QUESTION}).get_json()[
            "hits"
        ][0]["chunk_id"]
        error_of(client.get(f"/api/chunks/{chunk_id}%0a"), 404, "not_found")
        response = client.get(f"/api/chunks/{chunk_id}")
        assert response.status_code == 200
        body = response.get_json()
        assert set(body) == HIT | {"wider_text", "file"}
        assert body["text"] == "2.09% (2023 est.)"
        assert "52,428,290 (2023 est.)" in body["wider_text"]
        assert body["text"] in body["wider_text"]

    def test_any_other_id_is_not_found(self, client: FlaskClient) -> None:
        for chunk_id in [
            "nope",
            "../../../etc/passwd",
            "..%2f..%2fetc%2fpasswd",
            "%2e%2e/%2e%2e/settings",
            '{"$ne":null}',
            "[$ne]=x",
            "$where",
            "a%00b",
            "a%0ab",
            "nope%0a",
            "x" * 201,
            "x" * 10_000,
            "%F0%9F%98%80",
            "%ff",
            "665f1f77bcf86cd799439011",
            " ",
        ]:
            error = error_of(client.get(f"/api/chunks/{chunk_id}"), 404, "not_found")
            assert len(error["message"]) < 300
