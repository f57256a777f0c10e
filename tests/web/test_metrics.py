"""`/metrics`: what a Prometheus reads."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

LINE = re.compile(r'[a-z_]+(\{[a-z]+="[a-z]+"\})? -?\d+')


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
