"""What a person says is checked, and stored as the data spells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chatbot.domain.errors import InvalidRequestError
from chatbot.domain.json import parse
from chatbot.library.chunkers import CHUNKERS
from chatbot.library.sources import Overrides, check_overrides

KNOWN = ["Turkey (Turkiye)", "Kenya", "Burma"]


def check(**values: Any) -> Mapping[str, Any]:
    return check_overrides(parse(Overrides, values), countries=KNOWN)


ACCEPTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "as the data spells it": ({"country_name": "Türkiye"}, {"country_name": "Turkey (Turkiye)"}),
    "another name of it": ({"country_name": "myanmar"}, {"country_name": "Burma"}),
    "ISO-2": ({"country_name": "ke"}, {"country_name": "Kenya"}),
    "ISO-3": ({"country_name": "TUR"}, {"country_name": "Turkey (Turkiye)"}),
    "new to the data": ({"country_name": "Côte d'Ivoire"}, {"country_name": "Côte d'Ivoire"}),
    "new, by its code": ({"country_name": "ml"}, {"country_name": "Mali"}),
    "new, in lower case": ({"country_name": "south sudan"}, {"country_name": "South Sudan"}),
    "a year": ({"year": 2023}, {"year": 2023}),
    "a year as text": ({"year": " 2023 "}, {"year": 2023}),
    "the first year": ({"year": 1000}, {"year": 1000}),
    "white space": ({"title": "  A \n title "}, {"title": "A title"}),
    "labels": ({"labels": ["b", "a", "b", " "]}, {"labels": ["b", "a"]}),
    "labels as text": ({"labels": "b, a,,b"}, {"labels": ["b", "a"]}),
    "no labels": ({"labels": []}, {"labels": []}),
    "none": (
        {"country_name": None, "year": None, "type": None, "labels": None, "description": None},
        {"country_name": None, "year": None, "type": None, "labels": None, "description": None},
    ),
    "chunking": (
        {"chunk_strategy": "recursive", "chunk_size": "800", "chunk_overlap": 0},
        {"chunk_strategy": "recursive", "chunk_size": 800, "chunk_overlap": 0},
    ),
    "nothing": ({}, {}),
}


@pytest.mark.parametrize(("values", "expected"), ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_accepted(values: dict[str, Any], expected: dict[str, Any]) -> None:
    assert check(**values) == expected


REFUSED: dict[str, tuple[dict[str, Any], str, list[Any] | None]] = {
    "a country with a slip": ({"country_name": "Kenia"}, "Did you mean Kenya?", ["Kenya"]),
    "no country": ({"country_name": "Atlantis Prime"}, "not a country name or ISO code. For regions", []),
    "a region": ({"country_name": "Sahel region"}, "For regions use labels", None),
    "an empty country": ({"country_name": " "}, "must not be empty", None),
    "a country that is a number": ({"country_name": 5}, "must be text", None),
    "a year in words": ({"year": "soon"}, "must be a year", None),
    "a year too early": ({"year": 999}, "from 1000 to 3000", None),
    "a year too late": ({"year": "3001"}, "from 1000 to 3000", None),
    "a year that is true": ({"year": True}, "must be a year", None),
    "a broken year": ({"year": 2023.0}, "must be a year", None),
    "a year with a superscript": ({"year": "202²"}, "must be a year", None),
    "a title too long": ({"title": "x" * 301}, "at most 300 characters", None),
    "an empty title": ({"title": ""}, "must not be empty", None),
    "too many labels": ({"labels": [str(n) for n in range(31)]}, "at most 30", None),
    "a label too long": ({"labels": ["x" * 61]}, "at most 60 characters", None),
    "a label that is a number": ({"labels": [5]}, "must be text", None),
    "labels that are a number": ({"labels": 5}, "must be a list", None),
    "an unknown strategy": ({"chunk_strategy": "sideways"}, "sideways", CHUNKERS.names()),
    "a size too small": ({"chunk_size": 99}, "100 or more", None),
    "a size too large": ({"chunk_size": 10**7}, "999999 or less", None),
    "a negative overlap": ({"chunk_overlap": -1}, "0 or more", None),
    "a size that is no number": ({"chunk_size": "1e3"}, "whole number", None),
    "control characters": ({"description": "a\0b"}, "control characters", None),
    "an unknown field": ({"planet": "Mars"}, "unknown field", None),
}


@pytest.mark.parametrize(("values", "part", "valid"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_named(values: dict[str, Any], part: str, valid: list[Any] | None) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        check(**values)
    (detail,) = raised.value.details
    assert detail["field"].partition(".")[0] == next(iter(values))
    assert part in raised.value.message
    if valid is not None:
        assert detail["valid_values"] == valid
