"""A cell of a table is a sentence, then its row; a row is quoted without its table."""

from dataclasses import replace
from pathlib import Path

import pytest

from chatbot.app.services import Services, build
from chatbot.domain import Answer
from chatbot.library.sources import Source
from tests.answering.modes.conftest import question
from tests.asking import on_the_way

MILLS = """# Mills of the valley

## Output

Table 1: Flour (tonnes)

| Mill | 2019 | 2020 |
|---|---|---|
| Alder | 120 | 130 |
| North Birch | 240 | 250 |
| Birch | 70 | 80 |
| Total | 430 | 460 |

## Codes of faults

| Code | Meaning |
|---|---|
| E29 | The belt has slipped off its wheel |
| E30 | The hopper is empty |
| E31 | The millstone is too hot |
"""
SCHOOLS = (
    "county_number,geo_code,name,public_schools,teachers\n"
    "001,X-C001,Kilo,96,1329\n002,X-C002,Lima,415,3178\n"
)


@pytest.fixture
def ask(services: Services, tmp_path: Path):
    for name, text in (("mills.md", MILLS), ("schools.csv", SCHOOLS)):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        services.ingesting.service.ingest(Source(path, name))
    with build(services.settings.override(chat_model="extractive")) as keyless:

        def answer(query: str) -> Answer:
            asked = replace(question(query), top_k=5)
            return on_the_way(keyless.everything.flow, asked)[-1].answer

        yield answer


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            "How much flour did Alder make in 2019?",
            "Alder, flour: 120 tonnes (2019) [1].",
        ),
        ("How much flour did Alder make?", "Alder, flour: 130 tonnes (2020) [1]."),
        ("Flour of North Birch in 2020?", "North Birch, flour: 250 tonnes (2020) [1]."),
        ("How many teachers are in Lima?", "Lima, teachers: 3178 [1]."),
    ],
)
def test_a_cell_is_a_sentence_and_its_row(ask, query: str, sentence: str) -> None:
    first, _, row = ask(query).response.partition("\n\n")
    assert first == sentence
    assert len(first) + len(row) < 400
    assert sentence.partition(",")[0] in row


@pytest.mark.parametrize(
    "query",
    ["How much flour was made in 2019?", "How much flour did Alder make in 2018?"],
)
def test_no_cell_is_guessed(ask, query: str) -> None:
    assert not ask(query).response.startswith(("Alder, flour", "Birch, flour"))


def test_a_row_is_quoted_without_its_table(ask) -> None:
    response = ask("E30").response
    assert "The hopper is empty" in response
    assert "Codes of faults" in response
    assert "millstone" not in response


@pytest.mark.usefixtures("kenya", "mali")
@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        (
            "What has the highest flour in 2019?",
            "Highest Flour: North Birch, 240 tonnes (2019) [1]. Of 3 rows",
        ),
        (
            "Flour, lowest first, in 2020?",
            "Lowest Flour: Birch, 80 tonnes (2020) [1]. Of 3 rows",
        ),
    ],
)
def test_rows_of_a_table_are_ranked_beside_countries(
    ask, query: str, beginning: str
) -> None:
    assert ask(query).response.startswith(beginning)
