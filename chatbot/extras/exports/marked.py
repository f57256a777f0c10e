"""Answers as tokens of Markdown, with signs around what is not supported."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ...language.table_words import plain_rows

MARK, END = "\ue000", "\ue001"
"""Stand around a marked place while Markdown is read; letters for private use."""
_UNPRINTABLE = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse_answer(markdown: str, answer: Mapping[str, Any]) -> Sequence[Token]:
    """Read an answer, with signs around its marked places."""
    for mark in sorted(answer.get("marks") or (), key=lambda one: -int(one["start"])):
        start = mark["start"]
        end = mark["end"]
        markdown = f"{markdown[:start]}{MARK}{markdown[start:end]}{END}{markdown[end:]}"
    return MarkdownIt("commonmark").enable("table").parse(plain_rows(clean(markdown)))


def clean(text: str) -> str:
    """Leave out what XML does not allow."""
    return _UNPRINTABLE.sub("", text)
