"""Ways to compare two countries, and what is asked of each."""

from __future__ import annotations

import pytest

from tests.retrieval.splitting import split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How does the debt of Kenya differ from that of Somalia?", "The debt of {}?"),
        ("How does Kenya differ from Somalia in debt?", "Debt in {}?"),
        ("Which is larger, Kenya or Somalia, in area?", "Area in {}?"),
        ("Which is larger, Kenya or Somalia?", "Size in {}?"),
        ("Which country has more refugees in 2021, Kenya or Somalia?", "Refugees in 2021, {}?"),
        ("Kenya versus Somalia: which has the lower debt?", "Debt in {}?"),
        ("Does Kenya have more refugees than Somalia?", "Refugees in {}?"),
        ("Debt in Kenya versus Somalia", "Debt in {}?"),
    ],
)
def test_each_is_asked_the_same(text: str, expected: str) -> None:
    assert split(text) == [expected.format("Kenya"), expected.format("Somalia")]
