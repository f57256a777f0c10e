"""The type of what is asked for, and statements of it."""

from __future__ import annotations

import time

import pytest

from chatbot.models.chat.answer_types import answer_type

SHARE, TOTAL = "urban population: 40.5% of total population (2023)", "23.210 million DHAKA (capital) (2023)"
PARTNERS, GOODS = "China 31%, India 15%, Singapore 5% (2019)", "refined petroleum, cotton, natural gas, wheat (2019)"


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("What share of people live in cities?", SHARE, TOTAL),
        ("Which countries supply most of its imports?", PARTNERS, GOODS),
        ("What goods does it import?", GOODS, PARTNERS),
        ("Which goods does it import?", GOODS, PARTNERS),
        ("What are the main exports?", GOODS, PARTNERS),
        ("What are its main export markets?", PARTNERS, GOODS),
        ("Who buys its exports?", PARTNERS, "$9.352 billion (2024 est.)"),
        ("What does the country export?", GOODS, "$9.352 billion (2024 est.)"),
        ("Who leads the government?", "Prime Minister Mostafa MADBOULY (since 2018)", "presidential republic"),
        ("When did it become independent?", "12 December 1963 (from the UK)", "none (sovereign state)"),
        ("How many people live there?", "total: 11,753,943 (2024 est.)", "fairly even distribution (2023)"),
        ("What is the capital?", "name: Nairobi", "geographic coordinates: 1 17 S, 36 49 E"),
    ],
)
def test_what_is_asked_for_is_told_apart(question: str, right: str, wrong: str) -> None:
    wanted = answer_type(question)
    assert wanted is not None
    assert (wanted.is_said(right), wanted.is_said(wrong)) == (True, False)


@pytest.mark.parametrize("question", ["Tell me about trade.", "¿Cuántos habitantes tiene?", ""])
def test_of_others_nothing_is_known(question: str) -> None:
    assert answer_type(question) is None


def test_long_statements_are_looked_through_in_linear_time() -> None:
    began = time.process_time()
    for question in ("Who?", "What goods?", "Which countries?", "How many?", "What share?"):
        for text in ("A" * 20_000, "Aa " * 20_000, "a, " * 20_000, "(" * 20_000, "a" * 20_000, "AB " * 20_000):
            answer_type(question).is_said(text)  # type: ignore[union-attr]
    assert time.process_time() - began < 2.0
