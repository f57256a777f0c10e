"""The verb of a question that was asked of several things or countries."""

from __future__ import annotations

import pytest

from tests.retrieval.splitting import split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What are the inflation and the main exports of Kenya?", ("is the inflation", "are the main exports")),
        ("What is the population and exports of Kenya?", ("is the population", "are the exports")),
        ("How have inflation and imports changed in Kenya?", ("has inflation", "have imports")),
        ("Why are both inflation and debt in Kenya high?", ("is inflation", "is debt")),
    ],
)
def test_the_verb_agrees(text: str, expected: tuple[str, str]) -> None:
    for question, words in zip(split(text), expected, strict=True):
        assert words in question


def test_the_verb_agrees_with_one_country() -> None:
    found = split("How have Kenya and Somalia changed?")
    assert found == ["How has Kenya changed?", "How has Somalia changed?"]
