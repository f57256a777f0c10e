"""`ask`: the chat flow on the command line; `--json` is the /query response."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Run

QUESTION = "What is the population growth rate?"
SOURCE = {"chunk_id", "document_id", "document_name", "title", "country_name", "year", "page", "section"}
CONTRACT: dict[str, set[str]] = {
    "": {"response", "sources", "answered", "citations", "unsupported", "scope", "suggested_scope", "trace"}
    | {"conversation_id", "message_id", "conversation_usage"},
    "citation": SOURCE | {"number", "snippet", "score", "supported"},
    "scope": {"filters", "documents", "chunks"},
    "trace": {"mode", "retrieval_method", "query", "threshold", "hits", "steps", "usage", "cached", "caches"}
    | {"truncated", "stopped_by", "path", "ledger", "cost"},
    "threshold": {"start", "used", "relaxed"},
    "hit": SOURCE | {"rank", "text", "score", "keyword_score", "fused_score", "found_by"},
    "step": {"name", "ms"},
    "usage": {"prompt_tokens", "completion_tokens", "embedding_tokens", "calls", "cached_calls", "failed_calls"},
}
"""DESIGN.md, "HTTP contract"."""


def ask(run: Run, *arguments: str, **settings: str) -> Any:
    result = run("ask", QUESTION, "--json", *arguments, **settings)
    assert result.status == 0, result.err
    return json.loads(result.out)


def test_json_has_exactly_the_fields_of_the_contract(loaded: Run) -> None:
    body = ask(loaded, "--country", "KE", "--year", "2023")
    trace = body["trace"]
    parts = {"": body, "citation": body["citations"][0], "scope": body["scope"], "trace": trace}
    parts |= {
        "threshold": trace["threshold"],
        "hit": trace["hits"][0],
        "step": trace["steps"][0],
        "usage": trace["usage"],
    }
    assert {name: set(part) for name, part in parts.items()} == CONTRACT


def test_the_answer_stays_inside_its_scope(loaded: Run) -> None:
    body = ask(loaded, "--country", "KE", "--year", "2023")
    assert body["answered"] is True
    assert body["scope"] == {"filters": {"country_name": ["Kenya"], "year": [2023]}, "documents": 1, "chunks": 3}
    assert {citation["country_name"] for citation in body["citations"]} == {"Kenya"}
    assert any("2.09%" in citation["snippet"] for citation in body["citations"])
    assert body["sources"] == ["Kenya: Country Report 2023"]


def test_several_countries_are_alternatives(loaded: Run) -> None:
    body = ask(loaded, "--country", "Kenya", "--country", "ML")
    assert body["scope"]["documents"] == 2


def test_options_reach_the_retrieval(loaded: Run) -> None:
    body = ask(loaded, "--retrieval-method", "bm25", "--limit", "1")
    assert body["trace"]["retrieval_method"] == "bm25"
    assert body["trace"]["threshold"] is None
    assert len(body["trace"]["hits"]) == 1


def test_the_vector_weight_changes_the_fused_scores(loaded: Run) -> None:
    one, other = (
        ask(loaded, "--vector-weight", weight)["trace"]["hits"][0]["fused_score"] for weight in ("0.1", "0.9")
    )
    assert one != other


def test_the_conversation_is_kept(loaded: Run) -> None:
    one, other = ask(loaded), ask(loaded)
    assert one["conversation_id"] != other["conversation_id"]
    assert len({one["message_id"], other["message_id"]}) == 2


def test_without_json_the_answer_and_its_sources_are_printed(loaded: Run) -> None:
    result = loaded("ask", QUESTION, "--country", "Kenya")
    assert result.status == 0
    assert result.out.startswith(f"You asked: {QUESTION} [1]")
    assert "[1] Kenya: Country Report 2023: People and Society › Population growth rate" in result.out


def test_an_honest_not_found_is_done(loaded: Run) -> None:
    """DESIGN.md: exit status 0 also for an honest "not found"."""
    body = ask(loaded, "--year", "2023", RELEVANCE_FLOOR="1.0")
    assert body["answered"] is False
    assert body["citations"] == []
    assert "do not seem to answer this question" in body["response"]
    assert body["trace"]["usage"]["calls"] == 0


def test_a_scope_that_cannot_be_meant_is_wrong_usage(loaded: Run) -> None:
    """R-D4."""
    for arguments, parts in {
        ("--country", "Narnia"): ["filters.country_name", "'Narnia'", "Kenya, Mali"],
        ("--country", "France"): ["there is no report on 'France'", "Kenya, Mali"],
        ("--year", "1999"): ["no report for 1999", "2023"],
        ("--type", "poem"): ["unknown type", "country_report"],
        ("--mode", "magic"): ["mode", "'magic'", "direct"],
        ("--retrieval-method", "magic"): ["retrieval", "'magic'", "bm25, hybrid, vector"],
    }.items():
        result = loaded("ask", QUESTION, *arguments)
        assert result.status == 2
        assert all(part in result.err for part in parts), result.err


@pytest.mark.parametrize(
    ("question", "said"), [("", "empty"), ("  \n", "empty"), ("x" * 4001, "4,000 characters (4,001)")]
)
def test_what_is_no_question_is_wrong_usage(run: Run, question: str, said: str) -> None:
    """R-A7: long input is never cut silently."""
    result = run("ask", question, "--mode", "deep")
    assert result.status == 2
    assert said in result.err
    assert result.out == ""


def test_space_around_a_question_does_not_count(loaded: Run) -> None:
    result = loaded("ask", f" {QUESTION:4000}\n", "--json")
    assert result.status == 0, result.err
    assert json.loads(result.out)["trace"]["query"] == QUESTION


def test_an_empty_database_answers_honestly(run: Run) -> None:
    body = ask(run)
    assert body["answered"] is False
    assert body["trace"]["hits"] == []


def test_the_scope_of_the_question_is_applied_when_asked_for(loaded: Run) -> None:
    question = "What is the population growth rate of Kenya in 2023?"
    for flags, setting, filters in (
        ((), "off", {}),
        (("--auto-scope",), "off", {"country_name": ["Kenya"], "year": [2023]}),
        ((), "on", {"country_name": ["Kenya"], "year": [2023]}),
        (("--no-auto-scope",), "on", {}),
    ):
        result = loaded("ask", question, "--json", *flags, AUTO_SCOPE=setting)
        assert json.loads(result.out)["scope"]["filters"] == filters
