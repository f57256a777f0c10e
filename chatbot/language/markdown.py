"""Write text and quotations as Markdown."""

import re
from typing import TYPE_CHECKING

from .table_words import plain_rows

if TYPE_CHECKING:
    from ..domain import Quotation
    from .words import Say
_MARKDOWN_SIGN = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|[`|]|(?<!\s)\*|\*(?!\s)|(?<!\w)_|_(?!\w)"
    r"|<(?=[a-zA-Z/!?])|~(?=~)|&(?=#?\w+;)|^[#>]|\[(?=\W*\d)|(?<=\d)\]|\](?=[(\[:])"
)
"""A sign where it would be markup, or the number of a citation."""


def quotation_markdown(quotation: "Quotation") -> str:
    """Return a quotation with its citation as Markdown, what answers in bold, and rows
    of tables without heads that say nothing.
    """
    text = " ".join(quotation.text.split())
    shown = _escaped(text)
    if quotation.answer and quotation.answer in text:
        before, answer, after = text.partition(quotation.answer)
        shown = f"{_escaped(before)}**{_escaped(answer)}**{_escaped(after)}"
    return plain_rows(f"“{shown}” [{quotation.number}]")


def quotation_item(quotation: "Quotation", say: "Say") -> str:
    """Return a quotation and its source as an item of a Markdown list; ``say`` marks a
    general one.
    """
    source = (
        say("General: {source}", source=quotation.where)
        if quotation.general
        else quotation.where
    )
    return f"- **{escape_markdown(source)}:** {quotation_markdown(quotation)}"


def escape_markdown(text: str) -> str:
    """Return a text on one line that Markdown shows unchanged, so that a document
    cannot add Markdown to a page.
    """
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    return _MARKDOWN_SIGN.sub(r"\\\g<0>", text)
