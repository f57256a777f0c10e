"""The measures of a page's layout: each has a unit, and is read once."""

import re
from pathlib import Path

import pytest

from chatbot.domain.errors import read_table
from chatbot.library.loaders import pdf
from chatbot.library.loaders.pdf.measures import read_measure

FOLDER = Path(pdf.__file__).parent
ROWS = {
    f"{module}.{name}": row
    for module, rows in read_table("chatbot.library.loaders.pdf", "layout").items()
    for name, row in rows.items()
}


@pytest.mark.parametrize("name", ROWS)
def test_a_measure_says_its_unit_and_what_it_tells_apart(name: str) -> None:
    assert ROWS[name].keys() == {"value", "unit", "tells"}
    assert ROWS[name]["tells"].endswith(".")
    assert read_measure(name) == ROWS[name]["value"]


def test_every_measure_is_read_by_the_module_that_it_names() -> None:
    read = []
    for path in FOLDER.glob("*.py"):
        names = re.findall(r'read_measure\("(.+?)"\)', path.read_text(encoding="utf-8"))
        assert {name.partition(".")[0] for name in names} <= {path.stem}
        read += names
    assert sorted(read) == sorted(ROWS)
