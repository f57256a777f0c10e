"""Lists of anything: where they are split, and where they may be one thing."""

from __future__ import annotations

import re

import pytest

from tests.retrieval.splitting import split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tell me about {} in Somalia in 2023", "clan violence, drought and hunger"),
        ("Tell me about {} in Somalia in 2023", "food prices, the drought and hunger"),
        ("What do the reports say about {} in Kenya?", "gangs, elections, and HIV"),
        ("What about {}?", "coffee, tea & flowers"),
        ("Kenya, 2021: {}", "Drought, hunger and floods"),
    ],
)
def test_a_list_of_anything(text: str, expected: str) -> None:
    for question, thing in zip(split(text.format(expected)), re.split(r",? and | & |, ", expected), strict=True):
        assert question.rstrip(".?") == text.format(thing).rstrip(".?")


@pytest.mark.parametrize(
    "text",
    [
        "Tell me about war and peace in Mali",
        "Tell me about oil, gas and coal exports of Kenya",
        "Tell me about infant, child and maternal mortality in Kenya",
        "Tell me about health, law and order in Kenya",
        "Tell me about Paul, John and Mary",
        "Tell me about the supply, demand and price of oil and of what is traded",
        "Tell me about how, why and when it began",
        "Why do drought, hunger and floods kill?",
        "Name the parties: left, right and centre",
        "Kenya, 2021 report: What is the area?",
    ],
)
def test_a_list_that_may_be_one_thing_stays_whole(text: str) -> None:
    assert split(text) == [text]
