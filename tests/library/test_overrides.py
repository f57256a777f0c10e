"""What a person says is checked, and stored as the data spells it."""

from collections.abc import Mapping
from typing import Any

import pytest

from chatbot.domain.errors import InvalidRequestError
from chatbot.domain.validation import parse
from chatbot.library.chunkers import CHUNKERS
from chatbot.library.sources import Overrides, check_overrides
from tests.data import cases

CASES = cases(__file__)

KNOWN = ["Turkey (Turkiye)", "Kenya", "Burma"]


def check(**values: Any) -> Mapping[str, Any]:
    return check_overrides(parse(Overrides, values), countries=KNOWN)


@pytest.mark.parametrize(
    ("values", "expected"), CASES["accepted"].values(), ids=CASES["accepted"]
)
def test_what_is_accepted(values: dict[str, Any], expected: dict[str, Any]) -> None:
    assert check(**values) == expected


REFUSED: dict[str, tuple[dict[str, Any], str, list[Any] | None]] = {
    **CASES["refused"],
    "a title too long": ({"title": "x" * 301}, "at most 300 characters", None),
    "too many labels": ({"labels": [str(n) for n in range(31)]}, "at most 30", None),
    "a label too long": ({"labels": ["x" * 61]}, "at most 60 characters", None),
    "an unknown strategy": (
        {"chunk_strategy": "sideways"},
        "sideways",
        CHUNKERS.names(),
    ),
    "a size too large": ({"chunk_size": 10**7}, "999999 or less", None),
}


@pytest.mark.parametrize(("values", "part", "valid"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_named(
    values: dict[str, Any], part: str, valid: list[Any] | None
) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        check(**values)
    (detail,) = raised.value.details
    assert detail["field"].partition(".")[0] == next(iter(values))
    assert part in raised.value.message
    if valid is not None:
        assert detail["valid_values"] == valid
