"""CSV as programs and people write it. What rows become is tested in
test_records.py.
"""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.domain import Loaded, Section
from chatbot.domain.documents import document_text
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.records import CsvLoader, choose_delimiter
from tests.data import cases

CASES = cases(__file__)


def load(tmp_path: Path, content: str | bytes, name: str = "data.csv") -> Loaded:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return CsvLoader().load(path)


def texts(loaded: Loaded) -> list[str]:
    return [section.text for section in loaded.sections]


def test_a_knowledge_base(tmp_path: Path) -> None:
    """R-B1."""
    loaded = load(
        tmp_path,
        (
            '\ufeffTitle,Text,Source\r\nGrowth,"It grew,\r\na ""lot"".",bank.org\r\n'
            "\r\n,It shrank.,\r\n"
        ),
    )
    assert loaded.title == "data"
    assert loaded.sections == (
        Section(("Row 1: Growth",), 'It grew,\na "lot".\nSource: bank.org', start=14),
        Section(("Row 2",), "It shrank.", start=56),
    )
    text = document_text(loaded.sections)
    assert all(text[s.start : s.start + len(s.text)] == s.text for s in loaded.sections)


DIALECTS = {
    **CASES["dialects"],
    "latin-1": (
        "pays;année\nSénégal;2015\n".encode("latin-1"),
        ["pays: Sénégal; année: 2015"],
    ),
}


@pytest.mark.parametrize(("content", "expected"), DIALECTS.values(), ids=DIALECTS)
def test_separators_and_quotes_of_a_csv_file_are_found_out(
    tmp_path: Path, content: str | bytes, expected: list[str]
) -> None:
    assert texts(load(tmp_path, content)) == expected


def test_a_huge_field_is_read(tmp_path: Path) -> None:
    (text,) = texts(load(tmp_path, f"Text\n{'word ' * 200_000}\n"))
    assert len(text) == 999_999


@given(
    st.sampled_from(",;\t|"),
    st.integers(2, 6).flatmap(
        lambda width: st.lists(
            st.lists(
                st.text("ab1 ,;|\t\"'\n.", max_size=8), min_size=width, max_size=width
            ),
            min_size=3,
            max_size=20,
        )
    ),
)
def test_quoted_tables_come_back_whatever_is_in_them(
    delimiter: str, rows: list[list[str]]
) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    assert choose_delimiter(buffer.getvalue()) == delimiter


@pytest.mark.parametrize(
    ("content", "message"), CASES["broken"].values(), ids=CASES["broken"]
)
def test_what_is_no_table_is_refused_by_name(
    tmp_path: Path, content: str, message: str
) -> None:
    with pytest.raises(LoadError) as raised:
        load(tmp_path, content)
    assert raised.value.message.startswith(message)
