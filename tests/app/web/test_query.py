"""POST /query, field by field as docs/api.md has it (R-D8)."""

import time

import pytest
from flask.testing import FlaskClient

from chatbot.library.pipeline import Ingested
from tests.app.web.conftest import QUESTION, Post, error_of
from tests.app.web.contract import ANSWER, CITATION, HIT, TRACE, USAGE
from tests.data import cases

CASES = cases(__file__)
pytestmark = pytest.mark.usefixtures("kenya", "mali")


def test_the_answer_its_citations_and_its_trace_have_every_field_of_the_contract(
    query: Post, kenya: Ingested
) -> None:
    response = query(filters={"country_name": ["Kenya"], "year": [2023]}, limit=2)
    assert response.status_code == 200
    assert 'embedding"' not in response.text.replace('"embedding_tokens"', "")  # R-D3
    body = response.get_json()
    assert set(body) == ANSWER
    assert body["suggested_scope"] is None
    assert body["response"] == f"You asked: {QUESTION} [1][2]"
    assert body["sources"] == ["Kenya: Country Report 2023"]
    assert body["answered"] is True
    assert body["scope"] == {
        "filters": {"country_name": ["Kenya"], "year": [2023]},
        "documents": 1,
        "chunks": 3,
    }
    assert len(body["conversation_id"]) == len(body["message_id"]) == 32
    first, second = query(filters={"country_name": "Kenya"}, limit=2).get_json()[
        "citations"
    ]
    assert set(first) == CITATION
    assert (first["number"], second["number"]) == (1, 2)
    assert first["chunk_id"].startswith(f"{kenya.document_id}-")
    assert first["document_id"] == kenya.document_id
    assert first["document_name"] == first["title"] == "Kenya: Country Report 2023"
    assert (first["country_name"], first["year"], first["page"]) == (
        "Kenya",
        2023,
        None,
    )
    assert first["section"] == "People and Society \u203a Population growth rate"
    assert first["snippet"] == "2.09% (2023 est.)"
    assert 0.5 < first["score"] <= 1
    assert first["supported"] is True
    trace = query(filters={"country_name": "Kenya"}, limit=2).get_json()["trace"]
    assert set(trace) == TRACE
    assert (trace["mode"], trace["retrieval_method"], trace["query"]) == (
        "direct",
        "hybrid",
        QUESTION,
    )
    assert set(trace["threshold"]) == {"start", "used", "relaxed"}
    assert trace["threshold"]["start"] == 0.7
    assert [hit["rank"] for hit in trace["hits"]] == [1, 2]
    assert set(trace["hits"][0]) == HIT
    assert trace["hits"][0]["found_by"] == ["vector", "keyword"]
    assert all(
        set(step) == {"name", "ms"} and step["ms"] >= 0 for step in trace["steps"]
    )
    assert set(trace["usage"]) == USAGE
    assert [step["name"] for step in trace["path"]] == ["mode", "search", "generate"]
    assert [row["stage"] for row in trace["ledger"]][-1] == "generate"
    assert trace["usage"]["calls"] == 1
    assert trace["cached"] is False
    body = query(limit=5).get_json()
    names = [citation["document_name"] for citation in body["citations"]]
    assert body["sources"] == list(dict.fromkeys(names))
    assert sorted(body["sources"]) == [
        "Kenya: Country Report 2023",
        "Mali: Country Report 2021",
    ]
    assert len(names) > len(body["sources"])


def test_citations_are_the_numbers_that_occur_in_the_response(
    query: Post, client: FlaskClient
) -> None:
    body = client.post(
        "/query", json={"query": "Is it [2] or [9]?", "limit": 3}
    ).get_json()
    assert body["response"] == "You asked: Is it [1] or [9]? [2][1][3]"
    assert [citation["number"] for citation in body["citations"]] == [1, 2, 3]


class TestScope:
    """R-D4."""

    def test_years_are_the_same_as_text_and_as_number(self, query: Post) -> None:
        for year in [
            "2023",
            2023,
            ["2023"],
            [2023, "2023"],
            {"gte": 2022},
            {"gte": "2023", "lte": 2023},
        ]:
            body = query(filters={"year": year}).get_json()
            assert {citation["year"] for citation in body["citations"]} == {2023}
            assert body["scope"]["documents"] == 1

    def test_a_country_is_known_by_name_and_code(self, query: Post) -> None:
        for country in ["Kenya", "kenya", "KE", "KEN", " Kenya "]:
            body = query(
                report_context={"type": "country", "value": country}
            ).get_json()
            assert body["scope"]["filters"] == {"country_name": ["Kenya"]}
            assert {citation["country_name"] for citation in body["citations"]} == {
                "Kenya"
            }

    def test_a_year_in_review(self, query: Post) -> None:
        for year in ["2021", 2021]:
            body = query(
                report_context={"type": "year_in_review", "value": year}
            ).get_json()
            assert body["scope"]["filters"] == {"year": [2021]}

    def test_fields_are_combined_and_what_nothing_fits_is_refused_or_said(
        self, query: Post
    ) -> None:
        body = query(
            filters={"country_name": ["Kenya", "Mali"], "year": [2021]}, limit=10
        ).get_json()
        assert body["sources"] == ["Mali: Country Report 2021"]
        assert body["scope"] == {
            "filters": {"country_name": ["Kenya", "Mali"], "year": [2021]},
            "documents": 1,
            "chunks": 2,
        }
        response = query(
            filters={"country_name": "Mali"},
            report_context={"type": "country", "value": "KE"},
        )
        assert error_of(response, 400)["details"][0]["field"] == "filters.country_name"
        response = query(filters={"country_name": "Kenya", "year": 2021})
        assert response.status_code == 200
        body = response.get_json()
        assert body["answered"] is False
        assert body["citations"] == body["sources"] == []
        assert "There is no report for Kenya, 2021." in body["response"]
        assert "2023" in body["response"]


class TestConversation:
    def test_a_conversation_is_continued_by_either_name(
        self, query: Post, services
    ) -> None:
        for name in ["conversation_id", "chatId"]:
            first = query().get_json()
            second = query(**{name: first["conversation_id"]}).get_json()
            assert second["conversation_id"] == first["conversation_id"]
            assert (
                len(services.storage.conversations.messages(first["conversation_id"]))
                == 4
            )
            for none in (None, ""):
                other = query(**{name: none}).get_json()
                assert other["conversation_id"] != first["conversation_id"]

    def test_an_unknown_conversation_is_not_found(self, query: Post) -> None:
        response = query(conversation_id="nope")
        assert "'nope'" in error_of(response, 404, "not_found")["message"]

    def test_a_new_chat_id_of_a_caller_without_owner_stores_nothing_under_it(
        self, query: Post, services
    ) -> None:
        """R-D8."""
        first = query(chatId="front-end:1").get_json()
        second = query(chatId="front-end:1").get_json()
        assert first["conversation_id"] != second["conversation_id"]
        assert not services.storage.conversations.exists("front-end:1")

    def test_an_unknown_field_is_answered_with_the_names_as_they_are_sent(
        self, query: Post
    ) -> None:
        problem = error_of(query(chatid="a"), 400)["details"][0]
        assert {"chatId", "conversation_id"} <= set(problem["valid_values"])
        assert "chat_id" not in problem["valid_values"]

    def test_a_chat_id_outside_of_the_pattern_is_named(self, query: Post) -> None:
        for wrong in ["a b", "x" * 101, "é"]:
            problem = error_of(query(chatId=wrong), 400)["details"][0]
            assert problem["field"] == "chatId"
            assert "1 to 100" in problem["message"]

    def test_extra_keys_of_previous_messages_are_ignored(self, query: Post) -> None:
        sent = [
            {"role": "user", "content": "Hello", "id": 7, "createdAt": "now"},
            {"role": "assistant", "content": ""},
        ]
        assert query(previous_messages=sent).status_code == 200


def test_what_older_clients_send_is_accepted(query: Post) -> None:
    """R-D8."""
    for fields in CASES["what older clients send is accepted"]:
        assert query(**fields).status_code == 200


def test_the_retrieval_method_and_the_limit_of_a_request(query: Post) -> None:
    for method, limit in [("vector", 1), ("bm25", 2), ("hybrid", 3)]:
        body = query(retrieval_method=method, limit=limit).get_json()
        assert body["trace"]["retrieval_method"] == method
        assert body["citations"][0]["snippet"] == "2.09% (2023 est.)"
        assert len(body["trace"]["hits"]) == limit


FOUND = {"country_name": ["Kenya"], "year": [2023]}


class TestScopeOfTheQuestion:
    ASKED = "What is the population growth rate of Kenya in the 2023 report?"

    def test_it_is_offered_where_it_is_not_applied_and_sent_back_it_is_chosen(
        self, query: Post
    ) -> None:
        body = query(query=self.ASKED, auto_scope=False).get_json()
        assert "from_question" not in body["scope"]
        assert body["scope"]["filters"] == {}
        assert body["suggested_scope"] == {
            "filters": FOUND,
            "documents": 1,
            "chunks": 3,
        }
        body = query(query=self.ASKED, filters=FOUND).get_json()
        assert body["scope"] == {"filters": FOUND, "documents": 1, "chunks": 3}
        assert (
            query(query=self.ASKED, preset="adaptive").get_json()["scope"]["filters"]
            == {}
        )

    def test_a_scope_of_the_question_is_applied_and_named(self, query: Post) -> None:
        for fields in [{}, {"auto_scope": True}]:
            body = query(query=self.ASKED, **fields).get_json()
            assert body["scope"] == {
                "filters": FOUND,
                "documents": 1,
                "chunks": 3,
                "from_question": FOUND,
            }
            assert body["trace"]["understood"] == {
                "countries": ["Kenya"],
                "figure_years": [],
                "editions": [2023],
            }
            assert body["suggested_scope"] is None
            assert {citation["country_name"] for citation in body["citations"]} == {
                "Kenya"
            }

    def test_what_the_data_does_not_have_and_what_it_has(self, query: Post) -> None:
        body = query(query="What is the population of France?").get_json()
        assert (body["answered"], body["citations"], body["sources"]) == (False, [], [])
        assert body["response"].startswith("There is no report on France.")
        body = query(query="Which reports do you have on Kenya?").get_json()
        assert (body["answered"], body["sources"], body["trace"]["hits"]) == (
            True,
            [],
            [],
        )
        assert "- Kenya: Country Report 2023" in body["response"]


def test_a_run_of_spaces_is_read_as_one(query: Post) -> None:
    """1,600 of them kept the whole server for 50 s, 4,000 for a quarter of an hour: a
    rule took their third power.
    """
    for gap in [" ", "\n", "\t"]:
        wide = f"And its growth{gap * 1_200}?"
        previous = [
            {"role": "user", "content": f"What is the population of{gap * 3}Kenya?"}
        ]
        began = time.process_time()
        body = query(query=wide, previous_messages=previous).get_json()
        assert time.process_time() - began < 3.0
        assert body["scope"]["filters"] == {"country_name": ["Kenya"]}


def test_previous_messages_complete_the_question(query: Post) -> None:
    previous = [
        {"role": "user", "content": "What is the population growth rate of Mali?"},
        {"role": "assistant", "content": "Error: the model did not answer."},
    ]
    body = query(query="and in Kenya?", previous_messages=previous).get_json()
    assert body["trace"]["query"] == "What is the population growth rate of Kenya?"
    assert body["scope"]["from_question"] == {"country_name": ["Kenya"]}


def test_a_group_of_countries_is_a_filter(query: Post) -> None:
    body = query(filters={"group": "east africa"}).get_json()
    assert body["scope"]["filters"] == {"country_name": ["Kenya"]}
    assert "Of 18 countries in Eastern Africa one has a report." in body["response"]
    for filters, field, problem in (
        ({"group": "Eastrn Africa"}, "filters.group", "Did you mean Eastern Africa"),
        ({"group": "Oceania"}, "filters.group", "no country of Oceania has a report"),
        ({"group": []}, "filters.group", "an empty list"),
        (
            {"group": "Sahel", "country_name": "Kenya"},
            "filters.country_name",
            "no country of it is in the group",
        ),
    ):
        refused = query(filters=filters)
        detail = refused.get_json()["error"]["details"][0]
        assert (refused.status_code, detail["field"]) == (400, field)
        assert problem in detail["message"]
