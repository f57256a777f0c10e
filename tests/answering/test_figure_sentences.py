"""What the sentences above a table of figures say."""

import pytest

from chatbot.answering.figure_sentences import over_years
from chatbot.domain.figure_query import (
    FigureCell,
    FigureColumn,
    FigureRow,
    FigureTable,
)
from chatbot.language.words import ENGLISH, speaking

SHARES = {2019: 5, 2020: 8, 2021: 8}


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        ("max", "Highest Inflation: Kenya, 8% (2020) [1], 8% (2021) [1]."),
        ("min", "Lowest Inflation: Kenya, 5% (2019) [1]."),
        ("", "Kenya, Inflation: rose from 5% (2019) [1] to 8% (2021) [1]."),
    ],
)
def test_a_series_says_its_years_of_an_end(end: str, sentence: str) -> None:
    columns = tuple(FigureColumn("Inflation", "%", year) for year in SHARES)
    cells = [
        FigureCell(value, f"{value}%", year, citations=(1,))
        for year, value in SHARES.items()
    ]
    table = FigureTable(columns, (FigureRow("Kenya", tuple(cells)),), whole=1)
    assert over_years(table, speaking(ENGLISH), end).startswith(f"{sentence}\n\n| Year")
