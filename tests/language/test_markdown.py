"""Text as Markdown: it is shown unchanged, and has no more marks than that takes."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chatbot.domain import Quotation
from chatbot.language.markdown import escape_markdown, quotation_markdown

PIECES = [*"ab1 *_`[]()<>/|#!\\~:.", "**", "](", "<b>", "[1]", "~~", "&lt;"]
SIGNS = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)


def shown(markdown: str) -> str:
    """Return the text of a paragraph that has no element in it."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("strikethrough")
    html = reader.render(markdown).strip()
    assert html.count("<") == 2 * bool(html)
    return unescape(html.removeprefix("<p>").removesuffix("</p>"))


@given(SIGNS)
def test_escaped_text_is_shown_unchanged(text: str) -> None:
    assert shown(f"“{escape_markdown(text)}”") == f"“{' '.join(text.split())}”"


@pytest.mark.parametrize(
    "text",
    [
        "Results (#DidUGetRelief)",
        "(a) > 5 and < 7",
        "snake_case of C# [sic]",
        "2 * 3",
        "S/ 2.1 - 40%",
    ],
)
def test_signs_that_are_no_marks_stay_as_they_are(text: str) -> None:
    assert escape_markdown(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("# a", r"\# a"),
        ("see [1]", r"see \[1\]"),
        ("[a](b)", r"[a\](b)"),
        ("**a** _b_", r"\*\*a\*\* \_b\_"),
        ("a\n| b", r"a \| b"),
    ],
)
def test_marks_and_numbers_of_citations_are_escaped(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


def test_what_answers_is_bold_whatever_signs_it_has() -> None:
    quotation = Quotation(
        number=1, where="x", text="One. #two _is_ here.", answer="#two _is_ here."
    )
    assert quotation_markdown(quotation) == r"“One. **\#two \_is\_ here.**” [1]"


def test_a_quoted_row_of_a_table_has_no_heads_that_say_nothing() -> None:
    text = "Item: urban areas; Value: 98% Sex: Male; Value: 5"
    quotation = Quotation(1, "Kenya 2024", text, answer="Item: urban areas; Value: 98%")
    assert quotation_markdown(quotation) == (
        "“**urban areas: 98%** Sex: Male; Value: 5” [1]"
    )
