"""`from report_chat import open_library`, as a notebook uses it."""

import re
from pathlib import Path

import pytest

from chatbot.domain.errors import ChatbotError, InvalidRequestError
from report_chat import OpenLibrary, open_library
from tests.conftest import KENYA_2023

PAGE = Path(__file__).parent.parent / "docs" / "python.md"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "kenya-2023.md"
    path.write_text(KENYA_2023, encoding="utf-8")
    return path


def opened(folder: Path) -> OpenLibrary:
    return open_library(
        folder / "data", embedding_provider="hashing", chat_model="echo"
    )


def test_a_notebook_adds_asks_searches_and_computes(
    tmp_path: Path, report: Path
) -> None:
    library = opened(tmp_path)
    added = library.add(report, country_name="Kenya", year=2023)
    assert added.outcome == "added"
    assert library.add(report).outcome == "unchanged"
    answer = library.ask("What is the population growth rate?")
    assert answer.citations[0].hit.chunk.document_id == added.document_id
    with pytest.raises(InvalidRequestError, match="no report for 1999"):
        library.search("growth", filters={"year": [1999]})
    assert library.search("population growth", limit=1)[0].chunk.country_name == "Kenya"
    table = library.figures("Population growth rate", steps=[{"op": "rank"}])
    assert "Kenya" in table.text
    library.close()
    library.close()


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(ChatbotError, match="not a valid"):
        open_library(tmp_path, chat_model="nobody:knows").ask("How many?")
    with opened(tmp_path) as library:
        with pytest.raises(InvalidRequestError, match="neither a file"):
            library.add(tmp_path / "none.md")
        with pytest.raises(InvalidRequestError, match="limit"):
            library.search("growth", limit=0)
        with pytest.raises(InvalidRequestError):
            library.ask("How many?", nosuch=1)


def test_the_example_of_the_page_runs(
    tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(report.parent)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})  # the page's own example
