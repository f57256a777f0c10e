"""What models write about their sources beside "[1]": names of reports in brackets,
numbers as superscripts, links, and a list of references at the end.
"""

import re
from collections.abc import Sequence

from ..domain import Context, Passage
from .wording import NUMBERS, cited_numbers, normalise, unify_brackets

__all__ = ["tidy"]

_SUPERSCRIPT = re.compile(r"[ \t]*<sup>\s*(?P<text>[^<>\n]{1,40}?)\s*</sup>", re.I)
_NUMBERS_ALONE = re.compile(r"\[?(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]?")
_LINK = re.compile(
    r"(?<!\\)!?\[(?P<text>(?:[^\[\]\n]|\[[^\[\]\n]*\]){0,300})\]\([^()\s]{1,2000}\)"
)
_NAMED = re.compile(r"\[(?P<name>[^\[\]\n]{4,300})\](?![(\[:])")
_WORD = re.compile(r"\w+")
_ITEM = re.compile(
    r"[ \t>]*(?:[-*+][ \t]+)?(?:\[?(\d{1,3})[\].):]+|\[(\d{1,3})\])[ \t]*(?P<text>.*)"
)


def tidy(response: str, context: Context) -> str:
    """Return an answer with all citations as [1], links as plain text, and without a
    list of references at its end. What may mean several passages stays as it is.
    """
    passages = context.passages
    text = _LINK.sub(lambda link: link["text"], response)
    text = _without_references(text, passages)
    text = _with_numbers_for_names(text, passages)
    text = unify_brackets(text, [passage.number for passage in passages])
    return _with_superscripts(text, {passage.number for passage in passages})


def _with_superscripts(text: str, numbers: set[int]) -> str:
    """Return a text with <sup>1</sup> as [1]: in brackets always, else where nothing
    is cited otherwise and no figure or unit is before it.
    """
    has_others = NUMBERS.search(_SUPERSCRIPT.sub("", text)) is not None

    def cite(match: re.Match[str]) -> str:
        alone = _NUMBERS_ALONE.fullmatch(match["text"])
        if alone is None:
            return match[0]
        cited = [int(number) for number in re.findall(r"\d+", alone[1])]
        is_bracketed = match["text"].startswith("[")
        if not numbers.issuperset(cited):
            return match[0]
        is_exponent = re.search(r"(?:\d|\b[kcm]?m)$", text[: match.start()])
        if not is_bracketed and (has_others or is_exponent):
            return match[0]
        return f" [{', '.join(map(str, cited))}]"

    return _SUPERSCRIPT.sub(cite, text)


def _with_numbers_for_names(text: str, passages: Sequence[Passage]) -> str:
    """Return a text with the names of reports in brackets as numbers, where one passage
    alone is meant.
    """
    names = [(passage, *_names(passage)) for passage in passages]

    def cite(match: re.Match[str]) -> str:
        words = _words(match["name"])
        meant: set[int] = set()
        for passage, title, whole in names:
            if title and title <= words and words <= whole:
                meant.add(passage.number)
        if len(meant) == 1:
            return f"[{meant.pop()}]"
        return match[0]

    return _NAMED.sub(cite, text)


def _without_references(text: str, passages: Sequence[Passage]) -> str:
    """Return a text without the lines at its end that only name reports under their
    numbers, and without the heading above these.
    """
    by_number = {passage.number: passage for passage in passages}
    lines = text.rstrip().split("\n")
    kept = len(lines)
    found = 0
    while kept and (
        not lines[kept - 1].strip() or _is_reference(lines[kept - 1], by_number)
    ):
        kept -= 1
        found += bool(lines[kept].strip())
    if not found or not kept:
        return text
    above = lines[kept - 1].strip()
    is_heading = (
        above.endswith(":") or above.startswith("#") or above.strip("*_:") != above
    )
    if is_heading and not cited_numbers(above) and len(above) <= 60:
        kept -= 1
    rest = "\n".join(lines[:kept]).rstrip()
    if cited_numbers(rest):
        return rest
    return text


def _is_reference(line: str, by_number: dict[int, Passage]) -> bool:
    item = _ITEM.match(line)
    if item is None:
        return False
    passage = by_number.get(int(item[1] or item[2]))
    if passage is None:
        return False
    title, whole = _names(passage)
    words = _words(item["text"])
    others = [word for word in words if word not in whole]
    return bool(title) and title <= words and len(others) <= len(title)


def _names(passage: Passage) -> tuple[set[str], set[str]]:
    """Return the words of the title of a passage's report, and all that name it."""
    chunk = passage.hit.chunk
    title = _words(chunk.title)
    page = f"p page {chunk.page}" if chunk.page is not None else ""
    values = " ".join(map(str, chunk.metadata.values()))
    others = f"{chunk.section} {chunk.document_name} {page} {values}"
    return title, title | _words(others)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(normalise(text)))
