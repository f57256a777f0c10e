"""What a figure of a passage is called: the heading it stands under, and what its label adds to that."""

from __future__ import annotations

import pytest

from chatbot.language.reported_figures import figures_of
from tests.checking.conftest import chunk


@pytest.mark.parametrize(
    ("section", "text", "indicators"),
    [
        ("Economy › Exports", "Value: $12.6 billion (2023 est.)", ["Exports"]),
        ("Economy › Literacy", "Value: male: 82% (2023 est.)", ["Literacy: male"]),
        (
            "Economy › Median age",
            "**total:** 20.9 years (2023 est.)\n\n**male:** 20.8 years",
            ["Median age", "Median age: male"],
        ),
        ("Economy › Exports", "Value added: $3 billion (2023 est.)", ["Exports: Value added"]),
        ("", "Value: 5% (2023 est.)", ["Value"]),
    ],
)
def test_a_column_of_values_is_no_name(section: str, text: str, indicators: list[str]) -> None:
    assert [figure.indicator for figure in figures_of(chunk(0, text, section=section))] == indicators
