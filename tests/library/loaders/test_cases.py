"""Files that people have reported to other readers, read where REPORT_CHAT_TEST_DATA
names a folder with them.
"""

import re
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from chatbot.domain import Loaded
from chatbot.domain.documents import document_text
from chatbot.domain.errors import LoadError
from chatbot.library.loaders import loader_for
from tests.data import cases
from tests.library.loaders.samples import CASES

pytestmark = pytest.mark.skipif(
    not CASES.is_dir(), reason="REPORT_CHAT_TEST_DATA names no folder with loader_cases"
)
FILES = sorted(
    path
    for path in CASES.rglob("*")
    if path.suffix in {".pdf", ".docx", ".html", ".pptx", ".xlsx"}
)


@cache
def load(path: Path) -> Loaded:
    return loader_for(path).load(path)


def text_of(name: str) -> str:
    loaded = load(CASES / name)
    return f"{loaded.title}\n{document_text(loaded.sections)}"


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_no_file_makes_a_reader_fail(path: Path) -> None:
    if path.name == "w-tbl-having-tables.docx":  # all its tables are empty
        with pytest.raises(LoadError, match="has no text"):
            load(path)
    else:
        assert load(path).sections


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W\d_]{2,}", unicodedata.normalize("NFKC", text)))


@pytest.mark.parametrize(
    ("name", "least"), [("c-arabic.pdf", 1.0), ("d-right_to_left_01.pdf", 0.86)]
)
def test_words_from_right_to_left_are_found(name: str, least: float) -> None:
    """Recall of the words that PDFium reads, which turns some ligatures round (0.87,
    all others found).
    """
    pypdfium2 = pytest.importorskip("pypdfium2")
    document = pypdfium2.PdfDocument(CASES / name)
    printed = words(
        "\n".join(page.get_textpage().get_text_range() for page in document)
    )
    document.close()
    wanted = Counter(
        {
            word: count
            for word, count in printed.items()
            if unicodedata.bidirectional(word[0]) in "RAL"
        }
    )
    found = (wanted & words(text_of(name))).total() / wanted.total()
    assert round(found, 2) >= least


CONTAINED = cases(__file__)["contained"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parts"), CONTAINED.items(), ids=CONTAINED)
def test_what_they_say_is_there(name: str, parts: list[str]) -> None:
    assert [part for part in parts if part not in text_of(name)] == []
