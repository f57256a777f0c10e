"""What documents say about themselves: first pages written for it, and real reports where they are at hand."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from chatbot.library.loaders import loader_for, read_file
from chatbot.library.sources import Source, make_document
from tests.data import data_set, needs

DOCUMENTS = json.loads(Path(__file__).with_name("data").joinpath("first_pages.json").read_text("utf-8"))["documents"]
FOREIGN = data_set("foreign_reports")


def described(path: Path) -> dict[str, Any]:
    document = make_document(Source(path, path.name), read_file(loader_for(path), path))
    return {one.field: one.value for one in document.proposed if one.taken} | document.metadata


@pytest.mark.parametrize("wanted", DOCUMENTS, ids=lambda wanted: wanted["file"])
def test_first_pages(tmp_path: Path, wanted: dict[str, Any]) -> None:
    (path := tmp_path / wanted.pop("file")).write_text(wanted.pop("text"), encoding="utf-8")
    found = described(path)
    assert re.search(wanted.pop("title"), found.pop("title"))
    assert found == {name: value for name, value in wanted.items() if value is not None}


@needs(FOREIGN)
def test_of_the_real_reports_half_the_countries_and_all_years_are_found_and_none_is_wrong() -> None:
    questions = json.loads((FOREIGN / "questions.json").read_text("utf-8"))
    wanted = questions["country_and_year_a_reader_would_give"]
    found = {name: [described(FOREIGN / name).get(field) for field in ("country_name", "year")] for name in wanted}
    pairs = [pair for name in wanted for pair in zip(wanted[name], found[name], strict=True)]
    assert not [pair for pair in pairs if pair[1] not in {None, pair[0]}]
    assert sum(value is not None for _, value in pairs) == 6, "of 8"
