"""What an operator reads of a server: `/metrics` and `/api/usage` (R-C7)."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from chatbot.app.services import Services
from chatbot.domain import Answer, Scope, Trace, Usage
from chatbot.domain.chat import ScopeSummary, Threshold, Unsupported
from chatbot.domain.costs import LedgerRow
from chatbot.domain.errors import DatabaseError
from chatbot.extras.operator.observing import count_answer
from tests.app.web.conftest import Post, fields_of
from tests.app.web.contract import STAGE, SUMS
from tests.rows import outside


def counted(client: FlaskClient) -> dict[str, float]:
    """The exposition, as Prometheus' own parser reads it: values by name and labels."""
    with client.get("/metrics") as response:
        assert response.content_type == "text/plain; version=0.0.4; charset=utf-8"
        families = list(text_string_to_metric_families(response.text))
    assert len({family.name for family in families}) == len(families)
    return {
        " ".join([sample.name, *sorted(sample.labels.values())]): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.mark.usefixtures("kenya")
def test_an_answer_is_counted_with_all_that_it_tells(
    client: FlaskClient, query: Post
) -> None:
    before = counted(client)
    with (
        query(limit=2) as response,
        query(limit=2),
    ):  # a request is counted when its response is closed
        answer = response.get_json()
    query(
        query="Who won the chess championship on the moon?",
        filters={"country_name": "Kenya", "year": 1999},
    )
    assert query(conversation_id="nope").status_code == 404
    after = counted(client)
    added = {name: value - before.get(name, 0.0) for name, value in after.items()}
    assert added["report_chat_requests_total /query 200 POST"] == 2
    assert added["report_chat_request_seconds_count /query"] == 2
    assert added["report_chat_answers_total answered direct"] == 2
    assert added["report_chat_question_failures_total not_found"] == 1
    assert (
        added["report_chat_tokens_total prompt"]
        == 2 * answer["trace"]["usage"]["prompt_tokens"]
    )
    assert (
        added["report_chat_model_calls_total ok"]
        == 2 * answer["trace"]["usage"]["calls"]
    )
    assert {
        f"report_chat_stage_seconds_count {step['name']}"
        for step in answer["trace"]["steps"]
    } <= added.keys()
    assert (
        after["report_chat_questions_open"]
        == after["report_chat_questions_waiting"]
        == 0
    )


def test_the_counts_are_there_while_the_database_is_not(
    client: FlaskClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counted(client)["report_chat_database_up"] == 1
    with monkeypatch.context() as patched:
        patched.setattr(services.storage.documents, "holdings", away)
        found = counted(client)
    assert found["report_chat_database_up"] == 0
    assert found["report_chat_requests_total /metrics 200 GET"] >= 1
    assert "report_chat_passages" not in found


def away(*_: object) -> None:
    raise DatabaseError("It does not answer.", retry_after=5)


def test_what_strangers_call_a_method_or_a_path_makes_no_series(
    client: FlaskClient,
) -> None:
    before = counted(client)
    for number in range(3):
        for path in ("/query", f"/nothing-{number}"):
            client.open(path, method=f"ODD{number}").close()
    added = {
        name for name in counted(client) if name not in before and "seconds" not in name
    }
    assert not [name for name in added if "ODD" in name or "nothing" in name]
    assert counted(client)["report_chat_requests_total (none) (other) 405"] >= 3


def test_marks_lookups_and_a_lowered_threshold_are_counted(client: FlaskClient) -> None:
    marks = (
        Unsupported("It is 3 %.", (1,), figures=("3 %",), names=("Mali",)),
        Unsupported("So.", (), no_source=True),
    )
    trace = Trace(
        "direct",
        "hybrid",
        "q",
        Threshold(0.7, 0.5, relaxed=True),
        caches={"embedding hit": 2, "query miss": 1},
    )
    before = counted(client)
    count_answer(
        Answer(
            "It is 3 % [1].",
            False,
            (),
            ScopeSummary(Scope(), 0, 0),
            trace,
            unsupported=marks,
        )
    )
    added = {
        name: value - before.get(name, 0.0) for name, value in counted(client).items()
    }
    assert {
        "report_chat_answers_total abstained direct": 1,
        "report_chat_unsupported_marks_total figures": 1,
        "report_chat_unsupported_marks_total names": 1,
        "report_chat_unsupported_marks_total no_source": 1,
        "report_chat_cache_hits_total embedding": 2,
        "report_chat_cache_misses_total query": 1,
        "report_chat_threshold_relaxations_total": 1,
    }.items() <= added.items()


@pytest.mark.usefixtures("kenya")
def test_gauges_are_what_the_database_has(
    client: FlaskClient, services: Services
) -> None:
    usage = Usage(100, 10, 5, calls=3, cached_calls=1, failed_calls=1)
    services.storage.usage.book(
        [LedgerRow("generate", 1, 5.0, usage, 0.0000275)], questions=1
    )
    services.storage.usage.add(110)
    assert {
        "report_chat_documents ready": 1,
        "report_chat_passages": 3,
        "report_chat_index_lag_seconds": 0,
        "report_chat_ingestion_files": 0,
        "report_chat_tokens_today": 110,
        "report_chat_questions_today": 1,
        "report_chat_model_calls_today ok": 2,
        "report_chat_model_calls_today failed": 1,
        "report_chat_model_calls_today cached": 1,
        "report_chat_cost_today": 2.75e-05,
        "report_chat_unpriced_tokens_today": 0,
    }.items() <= counted(client).items()


@pytest.mark.usefixtures("kenya")
def test_a_report_that_waits_is_the_lag(
    client: FlaskClient, services: Services
) -> None:
    waiting = {
        "status": "pending",
        "updated_at": (datetime.now(UTC) - timedelta(minutes=5)).isoformat(),
    }
    outside(services.storage.database, "documents").update_one({}, {"$set": waiting})
    assert 300 <= counted(client)["report_chat_index_lag_seconds"] < 400


@pytest.mark.usefixtures("kenya")
def test_a_day_has_the_sums_of_its_answers_and_stages(
    client: FlaskClient, query: Post, services: Services
) -> None:
    body = client.get("/api/usage").get_json()
    assert (body["days"], body["total"]["questions"]) == ([], 0)
    assert set(body["total"]) == SUMS | {"metered_tokens", "stages", "degraded"}
    answers = [query(limit=2).get_json() for _ in range(2)]
    body = client.get("/api/usage?days=1").get_json()
    (day,) = body["days"]
    assert set(day) == SUMS | {"day", "metered_tokens", "stages", "degraded"}
    assert day["questions"] == 2
    assert day["calls"] == sum(answer["trace"]["usage"]["calls"] for answer in answers)
    assert day["cost"] == 0.0  # models of this process
    assert {stage["stage"] for stage in day["stages"]} == {
        row["stage"] for row in answers[0]["trace"]["ledger"]
    }
    assert set(day["stages"][0]) == STAGE
    assert body["total"] == {
        name: value for name, value in day.items() if name != "day"
    }
    for past in ("2020-01-01", "2020-01-02"):
        services.storage.database["usage"].insert_one({"_id": past, "tokens": 1})
    assert [
        one["day"] for one in client.get("/api/usage?days=366").get_json()["days"]
    ] == [day["day"]]


def test_a_number_of_days_that_cannot_be_is_named(client: FlaskClient) -> None:
    for days in ["0", "367", "-1", "1.5", "soon", ""]:
        assert fields_of(client.get(f"/api/usage?days={days}")) == ["days"]


def test_the_dashboard_and_the_page_name_metrics_that_exist(
    client: FlaskClient,
) -> None:
    docs = Path(__file__).parents[3] / "docs"
    there = {
        name
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for name in (
            family.name,
            *(f"{family.name}_{end}" for end in ("total", "bucket")),
        )
    }
    named = {
        name
        for page in ("grafana.json", "deploy.md")
        for name in re.findall(
            r"report_chat_\w+[a-z]\b", (docs / page).read_text(encoding="utf-8")
        )
    }
    assert named
    assert named <= there
