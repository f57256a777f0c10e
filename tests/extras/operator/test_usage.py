"""`usage`: days, stages, their costs."""

import json
import re

import pytest

from tests.app.cli.conftest import Run
from tests.fakes.openai_server import PROMPT_TOKENS, FakeOpenAI

QUESTION = "What is the population growth rate?"


def test_the_table_has_days_a_total_and_stages(loaded: Run) -> None:
    assert loaded("usage").out == "No questions on these days.\n"
    for _ in range(2):
        loaded("ask", QUESTION, MODEL_PRICES="echo=1000/0")
    result = loaded("usage", "--days", "7")
    assert result.status == 0
    lines = [line.split() for line in result.out.splitlines()]
    assert lines[0][:2] == ["day", "questions"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", lines[1][0])
    assert lines[1][1:] == lines[2][1:]
    assert (lines[2][0], lines[2][1], lines[2][2]) == ("total", "2", "2")
    assert float(lines[2][-1]) == pytest.approx(
        float(lines[2][5].replace(",", "")) / 1000
    )
    assert lines[4][0] == "stage"
    assert {"embed", "generate"} <= {line[0] for line in lines[5:]}


def test_tokens_without_a_price_are_told(loaded: Run) -> None:
    with FakeOpenAI() as server:
        loaded("ask", QUESTION, **server.as_environment)
        total = next(
            line
            for line in loaded("usage").out.splitlines()
            if line.startswith("total")
        )
        assert total.endswith(" unknown")
        loaded("ask", QUESTION, MODEL_PRICES="openai:fake=1/1", **server.as_environment)
    result = loaded("usage")
    tokens = PROMPT_TOKENS + 2
    assert f"{tokens} tokens have no price in MODEL_PRICES" in result.out
    total = next(line for line in result.out.splitlines() if line.startswith("total"))
    assert total.endswith(f" {tokens / 1e6:.6f}+")


def test_json_is_the_response_of_the_api(loaded: Run) -> None:
    loaded("ask", QUESTION)
    body = json.loads(loaded("usage", "--json").out)
    assert body["total"]["questions"] == body["days"][0]["questions"] == 1
    assert {stage["stage"] for stage in body["total"]["stages"]} >= {
        "embed",
        "generate",
    }
