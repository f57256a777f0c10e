"""Passages beside the body of a document are recognised by their headings and by their
shape, and questions that ask for them by their words.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from chatbot.language import zones
from chatbot.language.zones import ZONES, zone_of_headings, zone_of_text, zones_in

TABLE: dict[str, Any] = tomllib.loads(
    Path(zones.__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
EXAMPLES = 2
"""The least texts of each kind beside a rule that are written by hand in a line."""


@pytest.mark.parametrize("name", ZONES)
def test_each_rule_finds_its_examples_and_leaves_the_others_alone(name: str) -> None:
    of_headings = TABLE[name]["headings"]
    of_questions = TABLE[name]["questions"]
    for rule in (of_headings, of_questions):
        assert len(rule["matches"]) >= EXAMPLES
        assert len(rule["leaves"]) >= EXAMPLES
    found = {one: zone_of_headings([one]) for one in of_headings["matches"]}
    assert found == dict.fromkeys(of_headings["matches"], name)
    assert {zone_of_headings([one]) for one in of_headings["leaves"]} == {""}
    asked = {one: zones_in(one) for one in of_questions["matches"]}
    assert asked == dict.fromkeys(of_questions["matches"], frozenset({name}))
    left = {one: zones_in(one) for one in of_questions["leaves"]}
    assert left == dict.fromkeys(of_questions["leaves"], frozenset())
    if shape := TABLE[name].get("shape"):
        assert len(shape["leaves"]) >= EXAMPLES
        assert {zone_of_text(one) for one in shape["matches"]} == {name}
        assert {zone_of_text(one) for one in shape["leaves"]} == {""}


@pytest.mark.parametrize("name", ZONES)
def test_headings_are_written_as_they_are_compared(name: str) -> None:
    for heading in ZONES[name].headings:
        assert zone_of_headings([heading]) == name


def test_an_entry_of_several_lines_is_one_entry() -> None:
    text = (
        "Ito, K. (2018). Wells and women of the lagoon.\nLagoon Press, Apia.\n"
        "Noor, S. (2020). Sand dams in dry years.\nDrylands 4(2), 11-19.\n"
        "Weber, T. (2021). Pumps.\nhttps://lagoon.example/pumps"
    )
    assert zone_of_text(text) == "references"


def test_a_part_of_a_zone_is_of_the_zone() -> None:
    assert zone_of_headings(["Minutes", "Attendance", "Guests"]) == "attendance"
    assert zone_of_headings(["Minutes", "Decisions"]) == ""
