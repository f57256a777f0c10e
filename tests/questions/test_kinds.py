"""What kind of request a question is: the cases of `data/requests.json`, in wordings of their own."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from chatbot.domain.reading import Reading
from chatbot.questions.kinds import read_request
from chatbot.questions.names import find_countries, find_years

CASES = json.loads((Path(__file__).parent / "data/requests.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["question"])
def test_what_is_asked_for(case: dict[str, Any]) -> None:
    text = case["question"]
    countries = tuple(find_countries(text))
    years = tuple(find_years(text))
    request = read_request(Reading(text, countries, countries, years), countries=len(countries))
    assert request.kind == case["kind"]
    assert request.lowest >= case.get("lowest", False)
    assert request.most == case.get("most", request.most)
    if "value" in case:
        assert request.bound is not None
        assert (request.bound.above, request.bound.value) == (case["above"], Decimal(case["value"]))
