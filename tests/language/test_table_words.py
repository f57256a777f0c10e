"""What words in heads of tables say."""

import re

import pytest

from chatbot.config import STATIC
from chatbot.language.table_words import plain_rows, role_of_head

ROWS = [
    ("“Item: Boreholes; Value: 55” [1]", "“Boreholes: 55” [1]"),
    ("“Item: a; Value: 1 · Item: b; Value: 2”", "“a: 1 · b: 2”"),
    ("“**Item: Boreholes; Value: 55**”", "“**Boreholes: 55**”"),
    ("“Item: total; Value: **3**”", "“total: **3**”"),
    ("“Country: Mali; Indicator: Schools; Value: 12”", "“Country: Mali; Schools: 12”"),
    ("“Libellé: Forages; Montant: 4”", "“Forages: 4”"),
    ("“Sex: Male; Value: 5”", "“Sex: Male; Value: 5”"),
    ("Item: a; Value: 3", "Item: a; Value: 3"),
]


@pytest.mark.parametrize(("quoted", "shown"), ROWS)
def test_a_quoted_row_is_read_without_heads_that_say_nothing(
    quoted: str, shown: str
) -> None:
    assert plain_rows(quoted) == shown


def test_the_page_leaves_out_heads_that_the_word_list_has() -> None:
    script = (STATIC / "js/common/passage.js").read_text("utf-8")
    lists = re.findall(r'^  "(\S+[|]\S+)",$', script, re.MULTILINE)
    rows, values = [text.lower().replace("s?", "").split("|") for text in lists]
    assert {role_of_head(head) for head in rows} == {"item", "indicator"}
    assert {role_of_head(head) for head in values} == {"value"}
