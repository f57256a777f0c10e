"""What a file may come to: no heading, table or sheet of styles makes more of it than
its share.
"""

import time
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.hostile_inputs import inputs
from chatbot.domain import Loaded
from chatbot.domain.errors import LoadError
from chatbot.library.loaders import (
    MAX_HEADINGS,
    MAX_NAME_CHARACTERS,
    loader_for,
    read_file,
)


def load(path: Path, text: str) -> Loaded:
    path.write_text(text, encoding="utf-8")
    return read_file(loader_for(path), path)


def test_a_long_heading_is_text_and_its_beginning_a_heading(tmp_path: Path) -> None:
    long = "tea " * 500
    loaded = load(
        tmp_path / "a.md",
        f"# Tea\n\nHills.\n\n## {long}\n\nFarms.\n\n### Rain\n\nMuch.",
    )
    short = loaded.sections[1].path[0]
    assert [section.path for section in loaded.sections] == [
        (),
        (short,),
        (short, "Rain"),
    ]
    assert len(short) <= MAX_NAME_CHARACTERS + 2
    assert [section.text for section in loaded.sections] == [
        "Hills.",
        f"{long.strip()}\n\nFarms.",
        "Much.",
    ]
    assert (
        len(load(tmp_path / "b.html", f"<title>{long}</title><p>Tea.</p>").title)
        <= MAX_NAME_CHARACTERS + 2
    )


def test_headings_are_so_many_at_most(tmp_path: Path) -> None:
    deep = '{"a": {"x": 1, "b": ' * 20 + "1" + "}}" * 20
    assert (
        max(len(section.path) for section in load(tmp_path / "a.json", deep).sections)
        == MAX_HEADINGS
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", ",".join("c" * 3_000) + "\n" + ",".join("1" * 3_000)),
        (
            "a.html",
            "<table>" + ("<tr>" + "<td>1</td>" * 3_000 + "</tr>") * 2 + "</table>",
        ),
    ],
)
def test_a_table_that_is_too_wide_is_refused_with_the_limit(
    tmp_path: Path, name: str, text: str
) -> None:
    with pytest.raises(
        LoadError,
        match=rf"^{name} has a table of 3,00\d columns; up to 1,000 are read\.",
    ):
        load(tmp_path / name, text)


def test_names_of_columns_are_counted_in_no_time(tmp_path: Path) -> None:
    loaded = load(
        tmp_path / "a.csv",
        ",".join(["c", "c (2)", "c"] * 300) + "\n" + ",".join("1" * 900),
    )
    assert len(set(loaded.columns)) == 900


@pytest.mark.nightly
def test_a_hostile_file_is_read_or_refused_in_little_time(tmp_path: Path) -> None:
    """The small ones of the campaign; all of it is `python -m benchmarks hostile`."""
    took: dict[str, float] = {}
    for one in inputs():
        if not one.is_question and len(one.data) < 150_000:
            (path := tmp_path / one.name).write_bytes(one.data)
            started = time.process_time()
            with suppress(LoadError):
                read_file(loader_for(path), path)
            took[one.name] = time.process_time() - started
    assert len(took) > 20
    assert {name: seconds for name, seconds in took.items() if seconds > 2} == {}
