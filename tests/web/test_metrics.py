"""`/metrics`: what a Prometheus reads."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from chatbot.schema import LedgerRow, Usage
from chatbot.services import Services

LINE = re.compile(r'[a-z_]+(\{[a-z]+="[a-z]+"\})? -?\d+(\.\d+)?(e-\d+)?')


@pytest.mark.usefixtures("kenya")
def test_counters_and_gauges(client: FlaskClient) -> None:
    response = client.get("/metrics")
    assert response.content_type == "text/plain; version=0.0.4; charset=utf-8"
    lines = response.text.splitlines()
    assert all(LINE.fullmatch(line) for line in lines if not line.startswith("# "))
    assert 'report_chat_documents{status="ready"} 1' in lines
    assert "report_chat_passages 3" in lines
    assert 'report_chat_cache_hits_total{level="query"} 0' in lines
    kinds = [line for line in lines if line.startswith("# TYPE")]
    assert len(set(kinds)) == len(kinds)


def test_what_the_questions_of_today_took(client: FlaskClient, services: Services) -> None:
    usage = Usage(100, 10, 5, calls=3, cached_calls=1, failed_calls=1)
    services.usage.book([LedgerRow("generate", 1, 5.0, usage, 0.0000275)], questions=1)
    services.usage.add(110)
    lines = client.get("/metrics").text.splitlines()
    assert all(LINE.fullmatch(line) for line in lines if not line.startswith("# "))
    assert {
        "report_chat_tokens_today 110",
        "report_chat_questions_today 1",
        'report_chat_model_calls_today{result="ok"} 2',
        'report_chat_model_calls_today{result="failed"} 1',
        'report_chat_model_calls_today{result="cached"} 1',
        'report_chat_question_tokens_today{kind="prompt"} 100',
        'report_chat_question_tokens_today{kind="completion"} 10',
        'report_chat_question_tokens_today{kind="embedding"} 5',
        "report_chat_cost_today 2.75e-05",
        "report_chat_unpriced_tokens_today 0",
    } <= set(lines)
