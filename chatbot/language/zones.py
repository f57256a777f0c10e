"""Zones of a document beside its body (`zones.toml`): by the heading of a passage, by
the shape of its lines, and which of them a question asks for.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..domain.errors import read_table

__all__ = ["MAX_SHARE", "ZONES", "Zone", "zone_of_headings", "zone_of_text", "zones_in"]

_TABLE = read_table(__package__, "zones")
MAX_SHARE = float(_TABLE["share"]["most"])
"""The share of a document's text above which the passages of a zone are its body."""
_BAR = re.compile(r"\s*\n?\s+\|\s+")
_NUMBERING = re.compile(
    r"^(?:(?:annex|annexe|anexo|appendix|الملحق) ?)?(?:[\divx]{1,4}|[a-z])?[\s.:)–-]+",
    re.IGNORECASE,
)
"""What stands before a heading's name: "7. ", "Annex 2: "."""
_ENTRY = re.compile(r"^\W{0,2}(?:\d{1,3}[\].)]|[-*•]\s|[^\W\d_]+, [^\W\d_]\.)")
"""The beginning of a numbered or listed entry, or of one that begins with an author."""


@dataclass(frozen=True, slots=True)
class ZoneShape:
    """What passages of a zone without a heading consist of."""

    pattern: re.Pattern[str]
    """Of texts in lower case."""
    by_entry: bool
    """Whether an entry counts once, and not each match."""
    least: int
    """How many of them a passage has to have."""
    characters: int
    """How many characters of the passage each of them may stand for."""

    def fits(self, text: str) -> bool:
        """Return whether a passage consists of such lines."""
        needed = max(self.least, -(-len(text) // self.characters))
        # Far cheaper than a pattern that takes capitals for small letters.
        text = text.lower()
        if not self.by_entry:
            return len(self.pattern.findall(text)) >= needed
        entries = list(_entries(text))
        # Most passages are prose, of few lines: their number alone says no.
        possible = len(entries)
        for entry in entries:
            if possible < needed:
                return False
            # Without line ends, where one entry has several lines.
            if not self.pattern.search(" ".join(entry.split())):
                possible -= 1
        return possible >= needed


@dataclass(frozen=True, slots=True)
class Zone:
    """A kind of passages beside the body."""

    name: str
    title: str
    """What a search for it adds to a question."""
    holds_facts: bool
    """True if its passages say what stands nowhere else in the document."""
    headings: frozenset[str]
    question: re.Pattern[str]
    shape: ZoneShape | None


def _plain(text: str) -> str:
    """Return a text in lower case without accents and punctuation."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(sign for sign in letters if not unicodedata.combining(sign))
    return " ".join(re.sub(r"[\W_]+", " ", bare).split())


def _zone(name: str, table: dict[str, Any]) -> Zone:
    shape = None
    if "shape" in table:
        stated = table["shape"]
        lines = stated["lines"].replace("\n", "")
        pattern = re.compile(lines)
        shape = ZoneShape(
            pattern=pattern,
            by_entry=stated["by_entry"],
            least=stated["least"],
            characters=stated["characters"],
        )
    question = _BAR.sub("|", table["questions"]["pattern"].strip())
    question = " ".join(question.split())
    return Zone(
        name=name,
        title=table["title"],
        holds_facts=table["holds_facts"],
        headings=frozenset(map(_plain, table["headings"]["names"])),
        question=re.compile(rf"\b(?:{question})"),
        shape=shape,
    )


ZONES: dict[str, Zone] = {
    name: _zone(name, table) for name, table in _TABLE.items() if "title" in table
}
"""All zones by their names."""


def zone_of_headings(path: Sequence[str]) -> str:
    """Return the zone that a heading of a passage names, the outermost first; "" = the
    body.
    """
    for heading in path:
        if name := _by_heading().get(_plain(_NUMBERING.sub("", heading, count=1))):
            return name
    return ""


def zone_of_text(text: str) -> str:
    """Return the zone that the lines of a passage are of, under any heading; "" = the
    body.
    """
    for zone in ZONES.values():
        if zone.shape is not None and zone.shape.fits(text):
            return zone.name
    return ""


def zones_in(question: str) -> frozenset[str]:
    """Return the zones that a question asks for."""
    plain = _plain(question)
    return frozenset(
        zone.name for zone in ZONES.values() if zone.question.search(plain)
    )


@cache
def _by_heading() -> dict[str, str]:
    return {heading: zone.name for zone in ZONES.values() for heading in zone.headings}


def _entries(text: str) -> Iterable[str]:
    """Yield the lines of a text; those of a list with the lines that continue them."""
    entry: list[str] = []
    for line in text.splitlines():
        continues = entry and _ENTRY.match(entry[0]) and not _ENTRY.match(line)
        if not continues or not line.strip():
            yield "\n".join(entry)
            entry = []
        if line.strip():
            entry.append(line)
    yield "\n".join(entry)
