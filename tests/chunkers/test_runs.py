"""What no passage leaves: a page, a row with metadata of its own, a section."""

from __future__ import annotations

from chatbot.chunkers.runs import page_runs, section_runs
from chatbot.schema import document_text
from tests.chunkers.conftest import document, section

REPORT = document(
    section("first", "People", page=1),
    section("second", "People", "Growth", page=1),
    section("third", "People", "Growth", page=2),
    section("fourth", page=2, metadata={"year": 2020}),
)


def test_consecutive_sections_on_a_page_are_one_run_with_their_headings() -> None:
    assert [run.text.strip() for run in page_runs(REPORT)] == [
        "People\nfirst\n\nGrowth\nsecond",
        "third",
        "fourth",
    ]


def test_runs_together_are_the_text_of_the_document() -> None:
    text = document_text(REPORT.sections)
    runs = list(page_runs(REPORT))
    assert "".join(run.text for run in runs) == text
    assert all(text[run.start :].startswith(run.text) for run in runs)


def test_a_heading_belongs_to_the_section_below_it() -> None:
    run = next(page_runs(REPORT))
    for word, index in {"People": 0, "first": 0, "Growth": 1, "second": 1}.items():
        assert run.section_at(run.text.index(word)) == index
    assert {run.text[:end].split()[-1] for end in run.headings} == {"People", "Growth"}


def test_a_section_by_itself_is_without_its_heading() -> None:
    assert [(run.text, run.start) for run in section_runs(REPORT)] == [
        (found.text, found.start) for found in REPORT.sections
    ]


def test_a_document_without_sections_has_no_runs() -> None:
    assert list(page_runs(document())) == []
