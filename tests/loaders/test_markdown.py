"""Markdown: headings to section paths, the first top-level heading to the title."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.errors import LoadError
from chatbot.loaders.markdown import MarkdownLoader
from chatbot.schema import document_text


def load(tmp_path: Path, text: str) -> tuple[str, list[tuple[tuple[str, ...], str]]]:
    path = tmp_path / "report.md"
    path.write_bytes(text.encode())
    loaded = MarkdownLoader().load(path)
    return loaded.title, [(section.path, section.text) for section in loaded.sections]


def test_headings_become_paths_and_the_first_one_the_title(tmp_path: Path) -> None:
    assert load(
        tmp_path, "# Kenya\n\nPreface\n\n## People\n\n### Growth\n\n2.09%\n\n### Births\n\n26\n\n## Land\nbig"
    ) == (
        "Kenya",
        [
            ((), "Preface"),
            (("People", "Growth"), "2.09%"),
            (("People", "Births"), "26"),
            (("Land",), "big"),
        ],
    )


CASES = {
    "no heading": ("Just text", "report", [((), "Just text")]),
    "text before the first heading": ("Intro\n\n# Part\n\nBody", "report", [((), "Intro"), (("Part",), "Body")]),
    "a second top-level heading": ("# T\n\na\n\n# Annex\n\nb", "T", [((), "a"), (("Annex",), "b")]),
    "a heading with nothing below": ("# T\n## A\n## B\nx", "T", [(("B",), "x")]),
    "a level is skipped": ("# T\n## A\n#### B\nx\n### C\ny", "T", [(("A", "B"), "x"), (("A", "C"), "y")]),
    "closing marks": ("# T #\n## A ##\nx", "T", [(("A",), "x")]),
    "a sharp at the end of a name": ("# T\n## C#\nx", "T", [(("C#",), "x")]),
    "trailing spaces": ("# T  \n## A ## \nx", "T", [(("A",), "x")]),
    "no space, no heading": ("# T\n#hashtag", "T", [((), "#hashtag")]),
    "seven marks, no heading": ("# T\n####### x", "T", [((), "####### x")]),
    "a comment in a code fence": ("```\n# no\n```\n## A\nx", "report", [((), "```\n# no\n```"), (("A",), "x")]),
    "emphasis is dropped": ("# T\n**total:** 580 sq km", "T", [((), "total: 580 sq km")]),
    "a table keeps its form": ("# T\n| a | b |\n|---|---|", "T", [((), "| a | b |\n|---|---|")]),
    "windows line ends": ("# T\r\n\r\n## A\r\nx\r\ny\r\n", "T", [(("A",), "x\ny")]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "title", "sections"), CASES.values(), ids=CASES)
def test_markdown(tmp_path: Path, text: str, title: str, sections: list[tuple[tuple[str, ...], str]]) -> None:
    assert load(tmp_path, text) == (title, sections)


def test_sections_know_where_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("# T\n\nabc\n\n## A\n\ndefg\n\n## B\n\nh", encoding="utf-8")
    sections = MarkdownLoader().load(path).sections
    text = document_text(sections)
    assert text == "abc\n\nA\ndefg\n\nB\nh"
    assert [text[s.start : s.start + len(s.text)] for s in sections] == ["abc", "defg", "h"]


@given(
    st.lists(st.sampled_from(["# A", "## B", "### C", "text one", "text **two**", "", "```", "| a | b |"]), max_size=20)
)
def test_every_word_of_the_text_arrives(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("md") / "report.md"
    path.write_text("\n".join(["text zero", *lines]), encoding="utf-8")
    sections = MarkdownLoader().load(path).sections
    found = "\n".join(section.text for section in sections)
    assert found.count("text") == 1 + sum(line.startswith("text") for line in lines)
    assert all(section.text == section.text.strip() != "" for section in sections)
    ends = [section.start + len(section.text) for section in sections]
    assert all(end < later.start for end, later in zip(ends, sections[1:], strict=False))


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"gone\.md cannot be read"):
        MarkdownLoader().load(tmp_path / "gone.md")
