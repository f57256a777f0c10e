"""The words of the rules as data: each can be read, and none is left over."""

import re
import tomllib
from pathlib import Path

import pytest

from chatbot.questions import english

ROOM = Path(english.__file__).parent
DATA = tomllib.loads((ROOM / "english.toml").read_text(encoding="utf-8"))
RULES = "\n".join(
    path.read_text(encoding="utf-8")
    for path in [*ROOM.glob("*.py"), ROOM / "english.toml"]
)


@pytest.mark.parametrize("name", DATA["patterns"])
def test_a_pattern_can_be_read_and_a_rule_takes_it(name: str) -> None:
    read = english.pattern(f"{{{name}}}").pattern
    assert not re.search(r"\s\|\s|\{[a-z_]+\}|\n", read)
    assert f"{{{name}}}" in RULES


@pytest.mark.parametrize("name", DATA["words"])
def test_a_list_is_taken_by_a_rule(name: str) -> None:
    assert f'"{name}"' in RULES


def test_entries_are_alternatives() -> None:
    newest = english.pattern("^{newest}$")
    assert newest.match("Most recent")
    assert not newest.match("most recent last")


def test_a_name_that_the_data_has_not_is_an_error() -> None:
    with pytest.raises(KeyError):
        english.pattern("{nothing}")
