"""The weights of the search: each says what it weighs, and is read once."""

import re
from pathlib import Path

import pytest

from chatbot import search
from chatbot.domain.errors import read_table
from chatbot.search.weights import read_weight

ROOM = Path(search.__file__).parent
ROWS = {
    f"{group}.{name}": row
    for group, rows in read_table("chatbot.search", "weights").items()
    for name, row in rows.items()
}


@pytest.mark.parametrize("name", ROWS)
def test_a_weight_says_what_it_weighs(name: str) -> None:
    columns = {"value", "weighs"}
    if name.startswith(("features.", "order.")):
        columns.add("measured")  # the measurement that set it
        assert ROWS[name]["measured"].endswith(".")
    assert ROWS[name].keys() == columns
    assert ROWS[name]["weighs"].endswith(".")
    assert read_weight(name) == ROWS[name]["value"]


def test_every_weight_is_read_by_one_module() -> None:
    package = ROOM.parent
    paths = [*ROOM.glob("*.py"), *package.glob("answering/**/*.py")]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    read = [
        name for text in texts for name in re.findall(r'read_weight\("(.+?)"\)', text)
    ]
    assert sorted(read) == sorted(ROWS)


def test_a_name_that_the_table_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        read_weight("order.nothing")
