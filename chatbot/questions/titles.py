"""The titles of reports in a question: "the Global Financial Stability Report" is a name as a country's is."""

from __future__ import annotations

import re
from functools import lru_cache

from ..domain import DocumentRecord, Scope
from ..domain.protocols import Catalog
from ..domain.reading import NamedDocument
from ..language import analyzer
from ..language.countries import normalise
from .names import keys_in

MIN_TELLING_WORDS = 2
_SEPARATOR = re.compile(r"[:,;|()\[\]/–—]|\s-\s|_")
_DATE = re.compile(
    r"\b(?:\d[\w.]*|(?:january|february|march|april|may|june|july|august|september|october|november|december)(?= \d))\b"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_REPORT = re.compile(
    r"\b(?:report|edition|review|outlook|survey|assessment|study|paper|document|handbook|guide|strategy|update|bulletin"
    r"|yearbook|factbook|manual|policy|file)s?\b",
    re.IGNORECASE,
)
_LOOKS_LIKE_TITLE = re.compile(r"[A-Z]\w+\s+(?:(?:of|for|on|in|to|and|the|a)\s+)*[A-Z]\w+|[\"'“‘«]\w+ \w+")
_NO_TELLING = frozenset(
    analyzer("english").terms(
        "report reports edition editions review country annual yearly year overview profile update summary document "
        "file paper factbook yearbook world version chapter part volume"
    )
)


def find_title(text: str, catalog: Catalog, scope: Scope) -> NamedDocument | None:
    """Return the report whose title the text has, by the longest title; None where it has none.

    A title is a title beside a word for a report, in quotation marks or with its capitals: "food security" is a topic.
    """
    if not (_REPORT.search(text) or _LOOKS_LIKE_TITLE.search(text)):
        return None
    words = list(_WORD.finditer(text))
    plain = f" {' '.join(normalise(word[0]) or '-' for word in words)} "
    found: dict[str, list[DocumentRecord]] = {}
    for record in catalog.all(scope):
        for title in _titles(record.title):
            if f" {title} " in plain:
                found.setdefault(title, []).append(record)
    for title in sorted(found, key=len, reverse=True):
        first = plain[: plain.index(f" {title} ")].count(" ")
        start, end = words[first].start(), words[first + title.count(" ")].end()
        if _is_meant(text, start, end):
            return NamedDocument(_newest(found[title]), text[start:end], start, end)
    return None


def _is_meant(text: str, start: int, end: int) -> bool:
    if _REPORT.search(text[start:end]) or _REPORT.match(text[end:].lstrip(" ”’\"'»")):
        return True
    if text[:start].endswith(("'", '"', "“", "‘", "«")):
        return True
    capitals = [word for word in text[start:end].split() if word[0].isupper()]
    return len(capitals) >= MIN_TELLING_WORDS and not text.isupper()


def _newest(records: list[DocumentRecord]) -> tuple[str, ...]:
    years = [record.metadata.get("year") for record in records]
    newest = max((year for year in years if isinstance(year, int)), default=None)
    return tuple(r.name for r, year in zip(records, years, strict=True) if newest is None or year in (newest, None))


@lru_cache(maxsize=16384)
def _titles(title: str) -> tuple[str, ...]:
    """The parts of a title that tell which report it is, normalised."""
    parts = [normalise(part) for part in [title, *_SEPARATOR.split(title)]]
    plain = dict.fromkeys(" ".join(_DATE.sub(" ", part).split()) for part in parts)
    return tuple(part for part in plain if _tells(part))


def _tells(part: str) -> bool:
    telling = set(analyzer("english").terms(part)) - _NO_TELLING
    return len(telling) >= MIN_TELLING_WORDS and not keys_in(part)
