"""Lines of a model's reply: lists without brackets, single questions, refusals (R-C9)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

LINES = 200
"""Lines of a reply that are looked at."""
_LABEL = r"(?:q|(?:sub[-_ ]?|search |follow[- ]?up )?(?:query|question)|section|chapter)\s*\d{0,2}\s*[:.)]"
_NUMBER = r"\(?\d{1,2}(?:[.):．]+(?=[\s*])|、)"
_BULLET = r"[-*•–—+](?=\s)"
_MARKER = re.compile(rf"^(?:#{{1,6}}\s|(?:{_NUMBER}|{_BULLET}|{_LABEL})\s*(?:\[[ xX]\]\s+)?)", re.IGNORECASE)
_LINE = re.compile(
    rf"(?:>\s*)?(?:\*\*)?(?:(?P<heading>#{{1,6}}\s)|(?P<number>{_NUMBER}|{_LABEL})|(?P<bullet>{_BULLET}))"
    r"\s*(?:\[[ xX]\]\s+)?(?P<text>.+)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“„«'‘`]([^\"“”„«»`]*)[\"”“»'’`]")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Half of a surrogate pair can be written in JSON, but not be sent or stored."""
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m |i am )?(?:very |so )?sorry\b|i (?:can(?:no|['’]?)t|am unable|['’]?m unable|won['’]?t)\b"
    r"|i['’]m (?:unable|not able)|unfortunately\b|as an ai\b|please (?:provide|clarify|specify)\b"
    r"|(?:could|can|would) you (?:please )?(?:clarify|provide|share|tell me|specify|like|rephrase)\b"
    r"|how can i (?:help|assist)\b)",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\W*(?:none|n/?a|null|nil|nothing|no (?:(?:more|further|additional|other|gap|follow[- ]?up|new) )*"
    r"(?:sub[- ]?)?(?:queries|questions|query|question)\b.{0,40})\W*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[^\W\d_]{3}[.!]\s+\S")
_QUESTION = ("?", "？", "؟")


@dataclass(frozen=True, slots=True)
class Marked:
    """A line of a list; ``text`` without its mark."""

    mark: Literal["heading", "number", "bullet"]
    text: str


def marked_lines(text: str, longest: int) -> Iterator[Marked]:
    """Lines with a number ("1.", "Q1:"), a bullet or the signs of a heading before them."""
    for line in text.splitlines()[:LINES]:
        if (match := _LINE.match(line.strip())) and (said := one_line(match["text"], longest)):
            yield Marked("heading" if match["heading"] else "number" if match["number"] else "bullet", said)


def questions_on_lines(text: str, longest: int) -> list[str]:
    """Where every line is a question of one sentence, apart from lines that announce them with a colon."""
    lines = [line.strip(" \t*_`\"”'") for line in text.splitlines()[:LINES] if line.strip()]
    lines = [line for line in lines if not line.endswith((":", "："))]
    if not all(line.endswith(_QUESTION) and len(line) <= longest and not _SENTENCE_END.search(line) for line in lines):
        return []
    return [one_line(line, longest) for line in lines if line[0] not in "[{"]


def one_line(text: str, longest: int) -> str:
    """At most ``longest`` characters, printable, without list marks, quotes around it and bold type; maybe ""."""
    text = _plain(text[: 4 * longest])
    if len(text) > longest:
        text = text[: longest + 1].rsplit(" ", 1)[0][:longest]
    while (bare := _plain(_bare(text))) != text:
        text = bare
    return text if any(sign.isalnum() for sign in text) else ""


def _plain(text: str) -> str:
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


def _bare(text: str) -> str:
    text = _MARKER.sub("", text.replace("**", ""))
    quoted = _QUOTED.fullmatch(text)
    return quoted[1] if quoted else text


def refuses(text: str) -> bool:
    """The model declines, or asks the person something."""
    return bool(_REFUSAL.match(text))


def says_none(text: str) -> bool:
    """Says in words that there is nothing to list."""
    return bool(_NOTHING.fullmatch(text))
