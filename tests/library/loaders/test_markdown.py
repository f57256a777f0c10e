"""Markdown: headings to section paths, the first top-level heading to the title."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.domain import Loaded, Section
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.markdown import MarkdownLoader, markdown_sections
from tests.data import cases

CASES = cases(__file__)["cases"]


def load(tmp_path: Path, text: str) -> tuple[str, list[tuple[tuple[str, ...], str]]]:
    path = tmp_path / "report.md"
    path.write_bytes(text.encode())
    loaded = MarkdownLoader().load(path)
    return loaded.title, [(section.path, section.text) for section in loaded.sections]


def test_headings_become_paths_and_the_first_one_the_title(tmp_path: Path) -> None:
    text = (
        "# Kenya\n\nPreface\n\n## People\n\n### Growth\n\n2.09%\n\n### Births\n\n26\n"
        "\n## Land\nbig"
    )
    sections = [
        ((), "Preface"),
        (("People", "Growth"), "2.09%"),
        (("People", "Births"), "26"),
        (("Land",), "big"),
    ]
    assert load(tmp_path, text) == ("Kenya", sections)


@pytest.mark.parametrize(("text", "title", "sections"), CASES.values(), ids=CASES)
def test_headings_of_markdown_become_sections(
    tmp_path: Path, text: str, title: str, sections: list[tuple[list[str], str]]
) -> None:
    assert load(tmp_path, text) == (
        title,
        [(tuple(path), text) for path, text in sections],
    )


@given(
    st.lists(
        st.sampled_from(
            ["# A", "## B", "### C", "text one", "text **two**", "", "```", "| a | b |"]
        ),
        max_size=20,
    )
)
def test_every_word_of_the_text_arrives(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = tmp_path_factory.mktemp("md") / "report.md"
    path.write_text("\n".join(["text zero", *lines]), encoding="utf-8")
    sections = MarkdownLoader().load(path).sections
    found = "\n".join(section.text for section in sections)
    assert found.count("text") == 1 + sum(line.startswith("text") for line in lines)
    assert all(section.text == section.text.strip() != "" for section in sections)
    ends = [section.start + len(section.text) for section in sections]
    assert all(
        end < later.start for end, later in zip(ends, sections[1:], strict=False)
    )


def test_marks_without_end_take_linear_time() -> None:
    assert markdown_sections("**a " * 20_000)[1][0].text.startswith("**a **a")
    assert markdown_sections("`a $b " * 20_000)[1][0].text.startswith("a $b a $b")


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
            "Kenya: A Report",
            (Section((), "Text"),),
            None,
            {"country_name": "Kenya", "year": 2024, "type": "country_report"},
            ("health", "food security"),
            "First line, second line.",
            properties={"authors": "X"},
        ),
    ),
    "of Hugo": (
        """+++
title = "Kenya"
date = 2024-05-06
tags = ["health"]
author = {name = "Ada Lo"}
[taxonomies]
authors = ["Ann Ra", "Bo Si"]
+++
x""",
        Loaded(
            "Kenya",
            (Section((), "x"),),
            labels=("health",),
            properties={
                "authors": "Ann Ra; Bo Si",
                "published": "2024-05-06",
                "created": "2024-05-06",
            },
        ),
    ),
    "nested": (
        "---\nlang: fr-CA\nauthor:\n  name: Ada Lo\n---\nx",
        Loaded(
            "report",
            (Section((), "x"),),
            properties={"authors": "Ada Lo"},
        ),
    ),
    "a list of lines": (
        "---\nlabels:\n- a\n - b\n---\nx",
        Loaded("report", (Section((), "x"),), labels=("a", "b")),
    ),
    "labels in a row": (
        "---\ntags: a, b\n...\nx",
        Loaded("report", (Section((), "x"),), labels=("a", "b")),
    ),
    "country_name": (
        "\n---\nCountry-Name: Mali\n---\nx",
        Loaded("report", (Section((), "x"),), metadata={"country_name": "Mali"}),
    ),
    "title of the text": (
        "---\nyear: 2020\n---\n# T\nx",
        Loaded("T", (Section((), "x"),), metadata={"year": 2020}),
    ),
    "a sharp in a value": ("---\ntitle: C#\n---\nx", Loaded("C#", (Section((), "x"),))),
    "an empty key": (
        "---\ntitle:\nyear:\n---\nx",
        Loaded("report", (Section((), "x"),)),
    ),
    "a rule, not front matter": (
        "---\nJust text\n---\nx",
        Loaded("report", (Section(("Just text",), "x"),)),
    ),
    "never closed": (
        "---\ntitle: T\nx",
        Loaded("report", (Section((), "title: T\nx"),)),
    ),
    "two rules": ("---\n---\nx", Loaded("report", (Section((), "x"),))),
}


@pytest.mark.parametrize(("text", "loaded"), FRONT.values(), ids=FRONT)
def test_front_matter_describes_the_document(
    tmp_path: Path, text: str, loaded: Loaded
) -> None:
    path = tmp_path / "report.md"
    path.write_text(text, encoding="utf-8")
    found = MarkdownLoader().load(path)
    assert (
        replace(
            found,
            sections=tuple(replace(section, start=0) for section in found.sections),
        )
        == loaded
    )


@pytest.mark.parametrize("year", ["twenty", "24", "99999", "2024-01", "-2024"])
def test_a_wrong_year_is_named_with_its_line(tmp_path: Path, year: str) -> None:
    path = tmp_path / "report.md"
    path.write_text(f"---\ntitle: T\n\nyear: {year}\n---\nx", encoding="utf-8")
    with pytest.raises(LoadError) as raised:
        MarkdownLoader().load(path)
    assert (
        raised.value.message
        == f"report.md: line 4: year must be a year such as 2024, not {year!r}."
    )


def test_front_matter_alone_has_no_text(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("---\ntitle: T\n---\n", encoding="utf-8")
    with pytest.raises(
        LoadError, match=r"^report\.md has no text below its front matter\.$"
    ):
        MarkdownLoader().load(path)
