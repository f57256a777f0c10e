"""Passages as a model sees them: quoted material between delimiters that no document can imitate."""

from __future__ import annotations

from ..prompts.delimiters import inert, on_one_line
from ..schema import ATTACHMENTS, Passage


def render_passage(passage: Passage) -> str:
    """Source lines, then the text."""
    chunk = passage.hit.chunk
    if chunk.collection == ATTACHMENTS:  # three labelled lines, as seed 000 has them (R-A3)
        lines = [f"Source: {on_one_line(chunk.document_name)}", f"Title: {on_one_line(chunk.title)}"]
        text = f"Content: {inert(passage.wider_text)}"
    else:
        page = f", page {chunk.page}" if chunk.page is not None else ""
        lines = [f"Report: {on_one_line(chunk.title)}{page}", f"Section: {on_one_line(chunk.section)}"]
        text = inert(passage.wider_text)
    return "\n".join([f'<passage number="{passage.number}">', *lines, text, "</passage>"])
