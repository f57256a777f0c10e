"""Write text and quotations as Markdown."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..domain import Quotation
    from .words import Say
_MARKDOWN_SIGN = re.compile(r"[\\`*_\[\]<>|#]")


def quotation_markdown(quotation: "Quotation") -> str:
    """Return a quotation with its citation as Markdown, what answers in bold."""
    text = escape_markdown(quotation.text)
    answer = escape_markdown(quotation.answer)
    if answer:
        text = text.replace(answer, f"**{answer}**", 1)
    return f"“{text}” [{quotation.number}]"


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
    return _MARKDOWN_SIGN.sub(r"\\\g<0>", " ".join(text.split()))
