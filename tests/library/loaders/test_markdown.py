"""Markdown: headings to section paths, the first top-level heading to the title."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.domain import Loaded, Section
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.markdown import MarkdownLoader, markdown_sections


def load(tmp_path: Path, text: str) -> tuple[str, list[tuple[tuple[str, ...], str]]]:
    path = tmp_path / "report.md"
    path.write_bytes(text.encode())
    loaded = MarkdownLoader().load(path)
    return loaded.title, [(section.path, section.text) for section in loaded.sections]


def test_headings_become_paths_and_the_first_one_the_title(tmp_path: Path) -> None:
    text = "# Kenya\n\nPreface\n\n## People\n\n### Growth\n\n2.09%\n\n### Births\n\n26\n\n## Land\nbig"
    sections = [((), "Preface"), (("People", "Growth"), "2.09%"), (("People", "Births"), "26"), (("Land",), "big")]
    assert load(tmp_path, text) == ("Kenya", sections)


CASES = {
    "no heading": ("Just text", "report", [((), "Just text")]),
    "text before the first heading": ("Intro\n\n# Part\n\nBody", "report", [((), "Intro"), (("Part",), "Body")]),
    "a second top-level heading": ("# T\n\na\n\n# Annex\n\nb", "T", [((), "a"), (("Annex",), "b")]),
    "a heading with nothing below": ("# T\n## A\n## B\nx", "T", [(("A",), "A"), (("B",), "x")]),
    "a level is skipped": ("# T\n## A\n#### B\nx\n### C\ny", "T", [(("A", "B"), "x"), (("A", "C"), "y")]),
    "closing marks": ("# T #\n## A ##\nx", "T", [(("A",), "x")]),
    "a sharp at the end of a name": ("# T\n## C#\nx", "T", [(("C#",), "x")]),
    "trailing spaces": ("# T  \n## A ## \nx", "T", [(("A",), "x")]),
    "no space, no heading": ("# T\n#hashtag", "T", [((), "#hashtag")]),
    "seven marks, no heading": ("# T\n####### x", "T", [((), "####### x")]),
    "a comment in a code fence": ("```\n# no\n```\n## A\nx", "report", [((), "```\n# no\n```"), (("A",), "x")]),
    "emphasis is dropped": ("# T\n**total:** 580 sq km", "T", [((), "total: 580 sq km")]),
    "a table keeps its form": ("# T\n| a | b |\n|---|---|", "T", [((), "| a | b |\n|---|---|")]),
    "only sub-headings below": ("# T\n## A\n### B\nx", "T", [(("A", "B"), "x")]),
    "a heading at the end": ("# T\n\nx\n\n## A\n### B", "T", [((), "x"), (("A", "B"), "B")]),
    "a title and nothing else": ("# T", "T", [((), "T")]),
    "emphasis in a heading": ("# **T**\n## **A** b\nx", "T", [(("A b",), "x")]),
    "emphasis over two lines": ("**to\ntal:** 5", "report", [((), "to\ntal: 5")]),
    "two emphases": ("**a**, **b c** and ***d***", "report", [((), "a, b c and d")]),
    "powers": ("2**10 and 3**4, a ** b", "report", [((), "2**10 and 3**4, a ** b")]),
    "arguments": ("f(*args, **kwargs) and **options", "report", [((), "f(*args, **kwargs) and **options")]),
    "emphasis and a power": ("**x** is 2**10", "report", [((), "x is 2**10")]),
    "emphasis in code": ("`**x**` and ``a`**b**``", "report", [((), "`**x**` and ``a`**b**``")]),
    "emphasis in a formula": ("$**x**$ for **$5**", "report", [((), "$**x**$ for $5")]),
    "emphasis in a fence": ("~~~\n**x**\n```\n# no\n~~~\n**y**", "report", [((), "~~~\n**x**\n```\n# no\n~~~\ny")]),
    "a longer fence": ("````\n```\n# no\n````\n# A\nx", "report", [((), "````\n```\n# no\n````"), (("A",), "x")]),
    "an open fence": ("```\n# no\n**x**", "report", [((), "```\n# no\n**x**")]),
    "marks that do not close": ("**a\n\nb** c", "report", [((), "**a\n\nb** c")]),
    "windows line ends": ("# T\r\n\r\n## A\r\nx\r\ny\r\n", "T", [(("A",), "x\ny")]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "title", "sections"), CASES.values(), ids=CASES)
def test_markdown(tmp_path: Path, text: str, title: str, sections: list[tuple[tuple[str, ...], str]]) -> None:
    assert load(tmp_path, text) == (title, sections)


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


def test_marks_without_end_take_linear_time() -> None:
    assert markdown_sections("**a " * 20_000)[1][0].text.startswith("**a **a")
    assert markdown_sections("`a $b " * 20_000)[1][0].text.startswith("`a $b")


FRONT = {
    "all of it": (
        """---
# what it is
title: "Kenya: A Report"
country: Kenya
year: 2024   # the edition
type: 'country_report'
labels: [health, "food security"]
description: >
  First line,
  second line.
author: X
---
# Heading

Text""",
        Loaded(
            "Kenya: A Report", (Section((), "Text"),), None,
            {"country_name": "Kenya", "year": 2024, "type": "country_report"},
            ("health", "food security"), "First line, second line.",
        ),
    ),
    "a list of lines": ("---\nlabels:\n- a\n - b\n---\nx", Loaded("report", (Section((), "x"),), labels=("a", "b"))),
    "labels in a row": ("---\ntags: a, b\n...\nx", Loaded("report", (Section((), "x"),), labels=("a", "b"))),
    "country_name": (
        "\n---\nCountry-Name: Mali\n---\nx", Loaded("report", (Section((), "x"),), metadata={"country_name": "Mali"})
    ),
    "title of the text": ("---\nyear: 2020\n---\n# T\nx", Loaded("T", (Section((), "x"),), metadata={"year": 2020})),
    "a sharp in a value": ("---\ntitle: C#\n---\nx", Loaded("C#", (Section((), "x"),))),
    "an empty key": ("---\ntitle:\nyear:\n---\nx", Loaded("report", (Section((), "x"),))),
    "a rule, not front matter": ("---\nJust text\n---\nx", Loaded("report", (Section((), "---\nJust text\n---\nx"),))),
    "never closed": ("---\ntitle: T\nx", Loaded("report", (Section((), "---\ntitle: T\nx"),))),
    "two rules": ("---\n---\nx", Loaded("report", (Section((), "---\n---\nx"),))),
}  # fmt: skip


@pytest.mark.parametrize(("text", "loaded"), FRONT.values(), ids=FRONT)
def test_front_matter(tmp_path: Path, text: str, loaded: Loaded) -> None:
    path = tmp_path / "report.md"
    path.write_text(text, encoding="utf-8")
    found = MarkdownLoader().load(path)
    assert replace(found, sections=tuple(replace(section, start=0) for section in found.sections)) == loaded


@pytest.mark.parametrize("year", ["twenty", "24", "99999", "2024-01", "-2024"])
def test_a_wrong_year_is_named_with_its_line(tmp_path: Path, year: str) -> None:
    path = tmp_path / "report.md"
    path.write_text(f"---\ntitle: T\n\nyear: {year}\n---\nx", encoding="utf-8")
    with pytest.raises(LoadError) as raised:
        MarkdownLoader().load(path)
    assert raised.value.message == f"report.md: line 4: year must be a year such as 2024, not {year!r}."


def test_front_matter_alone_has_no_text(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("---\ntitle: T\n---\n", encoding="utf-8")
    with pytest.raises(LoadError, match=r"^report\.md has no text below its front matter\.$"):
        MarkdownLoader().load(path)
