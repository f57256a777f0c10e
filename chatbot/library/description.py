"""A document's country, year, title, type and language. The places count in this order: the title, the block of lines
around it, running heads and feet, the file's properties, its name, the text of the first pages. What one place says
clearly is taken. The rest is proposed to a person."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.resources import files
from itertools import starmap
from pathlib import Path

import pycountry

from ..domain import Loaded, Proposal, Value
from ..domain.protocols import Embedder
from ..language import LETTERS_PATTERN, language_of
from ..language.countries import ISO_CODE_LENGTH, country_code, normalise, usual_name
from ..questions.names import find_countries

_TABLE = tomllib.loads(files(__package__).joinpath("description.toml").read_text("utf-8"))
TYPES: dict[str, str] = {phrase: name for name, phrases in _TABLE["types"].items() for phrase in phrases}
KINDS, BODIES, PARTS = (frozenset(_TABLE["words"][name]) for name in ("kinds", "bodies", "parts"))
LANGUAGE_NOTE = (
    "The text is in {language}, which the search does not know: only equal words are found. Use words of the text, or "
    "ask an administrator for a search in many languages."
)
ENGLISH = Proposal("language", "english", "first pages", True)
"""What is proposed of an English text, which every embedding model knows."""
FIRST_PAGES = 3
FIRST_CHARACTERS = 12_000
"""Read of a document's beginning; a file without pages has them on some four."""
BLOCK_LINES = 25
BODY_WORDS = 20
"""A longer line is text; so is a shorter one that ends as a sentence does."""
SENTENCE_WORDS = 6
MIN_MENTIONS = 3
"""Of a country that only the text names."""
MIN_SHARE = 0.75
FIRST_LIKELY_YEAR = 1950
LANGUAGE_WORDS = 5
"""Fewer words do not tell a language."""
_RANGE = re.compile(r"(?<!\d)((?:19|20)\d\d)\s*[-–—/]\s*((?:19|20)?\d\d)(?!\d)")
_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?!\d|[.,]\d)")
_YEAR_IN_NAME = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
MAX_COUNTRY_WORDS = 5
_PAST = re.compile(r"\b(?:since|depuis|desde|seit)\s+(?:\w+\s+)?(?:19|20)\d\d", re.IGNORECASE)
_GOVERNMENT_HOST = re.compile(r"[\w-]\.(?:gov|gob|gouv|govt|go|gub|gc)(?:\.([a-z]{2}))?\b(?!\.?\w)")
_NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*\.?|[IVXL]+\.)\s")
_CELLS = re.compile(r"\s*\|\s*")
_RULE = re.compile(r"[|\s:-]*")
_ROW = re.compile(r"[^:;]+: [^;]+; [^:;]+: ")
_JOINED = re.compile(
    r"(?:\b(?:of|the|and|in|on|for|to|de|du|des|la|le|les|et|del|y|e|do|da|und|der)|[:,–—-])$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the title block; ``cells``: of a table's row."""

    text: str
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class FirstPages:
    """The beginning of a file and the places where it describes itself."""

    loaded: Loaded
    stem: str

    @cached_property
    def text(self) -> str:
        pieces, size = list[str](), 0
        for section in self.loaded.sections:
            if size > FIRST_CHARACTERS or (section.page or 0) > FIRST_PAGES:
                break
            pieces.append("\n".join((*section.path[-1:], section.text))[:FIRST_CHARACTERS])
            size += len(pieces[-1])
        return "\n".join(pieces)

    @cached_property
    def block(self) -> list[_Line]:
        """The lines before the first text."""
        lines = list[_Line]()
        seen = set[str]()
        for section in self.loaded.sections:
            if (section.page or 1) > 1 or section.metadata or self.loaded.columns:
                break  # a row of a table says nothing about the whole
            for text in (*section.path, *section.text.split("\n")):
                cells = tuple(filter(None, _CELLS.split(text))) if text.startswith("|") else ()
                line = " ".join((" ".join(cells) if cells else text).split())
                if not line or _RULE.fullmatch(line) or line in seen:
                    continue
                words = len(line.split())
                if words >= BODY_WORDS or (line.endswith(".") and words >= SENTENCE_WORDS) or len(lines) == BLOCK_LINES:
                    return lines
                seen.add(line)
                lines.append(_Line(line, cells))
        return lines

    def title(self) -> tuple[str, str] | None:
        """Return the title and its place."""
        title = self.loaded.title
        if title != self.stem and _is_title(title):
            return title, "title"
        lines = [line.cells[0] if line.cells else line.text for line in self.block]
        for number, line in enumerate(lines):
            while _JOINED.search(lines[number]) and number + 1 < len(lines):
                line = f"{line} {lines[number + 1]}"  # noqa: PLW2901
                number += 1  # noqa: PLW2901
            if _is_title(line) and KINDS & _words(line):
                return line, "title block"
        heading = next(filter(_is_title, lines), "")
        names = [word[0].isupper() for word in LETTERS_PATTERN.findall(heading) if len(word) > 3]
        is_heading = len(names) > 1 and sum(names) >= 0.6 * len(names)
        if is_heading and (self.loaded.pages is not None or len(lines) > 1):
            return heading, "title block"
        if title != self.stem and not _names_part(title):
            return title, "title"
        running = (" ".join(_NOT_RUNNING.sub(" ", line).split()) for line in self.loaded.margins)
        return next(((line, "running head") for line in running if _is_title(line)), None)

    def years(self, title: str) -> Iterator[tuple[int, str, bool]]:
        """Yield years, the likeliest first, with their place and whether they are beyond doubt."""
        places = {
            "title": [title],
            "title block": [line.text for line in self.block],
            "running head": self.loaded.margins,
            "file name": map(str, filter(None, [metadata_of(self.stem).get("year")])),
        }
        likely = list[int]()
        for place, lines in places.items():
            years = list(dict.fromkeys(year for line in lines for year in years_in(line)))
            # Of several years in the title, the one that another place names alone is the document's.
            years = [year for year in years if not likely or year in likely] if len(years) == 1 else years
            if len(years) == 1:
                yield years[0], place, True
            likely = likely or years
        if likely:
            yield likely[0], "title block", False
        counts = Counter(years_in(self.text))
        if counts:
            yield counts.most_common(1)[0][0], "first pages", False
        for year in years_in(self.loaded.properties.get("created", "")):
            yield year, "document properties", False

    def countries(self, title: str) -> Iterator[tuple[str, str, bool]]:
        """Yield ISO-3 codes, the likeliest first, with their place and whether they are beyond doubt."""
        body = _mentions(self.text)
        places = {
            "title": [title],
            "title block": [line.text for line in self.block],
            "running head": self.loaded.margins,
            "document properties": [self.loaded.properties.get("subject", "")],
        }
        named_by = {place: set(_mentions("\n".join(lines))) for place, lines in places.items()}
        of_name = country_code(str(metadata_of(self.stem).get("country_name", "")))
        for place, named in {**named_by, "file name": {of_name} if of_name else set[str]()}.items():
            if len(named) > 1 and place == "title":
                return  # it is about several
            if len(named) == 1:
                (code,) = named
                rival = max((count for other, count in body.items() if other != code), default=0)
                yield code, place, rival <= max(MIN_MENTIONS, 2 * body[code]) and not _namesake(code) & body.keys()
        hosts = {country_code(match[1] or "us") for match in _GOVERNMENT_HOST.finditer(self.text)}
        if len(hosts) == 1 and len(body) < 2 and (host := hosts.pop()):
            yield host, "web address", host in body or not body
        if body:
            (code, count), *_ = body.most_common(1)
            clear = count >= MIN_MENTIONS and count >= MIN_SHARE * body.total() and not _namesake(code) & body.keys()
            if count >= MIN_MENTIONS and 2 * count > body.total():
                yield code, "first pages", clear

    def type(self, title: str) -> tuple[str, str] | None:
        for place, text in (("title", title), *(("title block", line.text) for line in self.block[:6])):
            plain = f" {normalise(text)} "
            phrases = [phrase for phrase in TYPES if f" {phrase} " in plain]
            if phrases:
                return TYPES[max(phrases, key=len)], place
        return None

    def language(self) -> str:
        """Return the language's English name in lower case, "" if the text is too short or in another script."""
        return language_of(self.text) if len(LETTERS_PATTERN.findall(self.text)) >= LANGUAGE_WORDS else ""


_NOT_RUNNING = re.compile(r"\bpage\b|[|–—]|(?<!\d)\d{1,3}(?:\s*/\s*\d+)?(?!\d)", re.IGNORECASE)
"""Page numbers in a running head."""


def propose(loaded: Loaded, path: Path) -> tuple[Proposal, ...]:
    """Return what the document says about itself, each field once: what is beyond doubt, else the likeliest."""
    pages = FirstPages(loaded, path.stem)
    named = pages.title()
    title = named[0] if named else ""
    proposals: list[tuple[str, Value, str, bool]] = []
    if named:
        proposals.append(("title", *named, True))
    if country := next(pages.countries(title), None):
        proposals.append(("country_name", usual_name(country[0]), *country[1:]))
    if year := next(pages.years(title), None):
        proposals.append(("year", *year))
    if kind := pages.type(title):
        proposals.append(("type", *kind, True))
    if language := pages.language():
        proposals.append(("language", language, "first pages", True))
    return tuple(starmap(Proposal, proposals))


def unread_language(proposed: Iterable[Proposal], embedder: Embedder) -> str:
    """Return a document's language if the embedder does not know it, else ""."""
    languages = [str(one.value) for one in proposed if one.field == "language"]
    return "" if embedder.multilingual or languages in ([], ["english"]) else languages[0]


def language_notes(proposed: Iterable[Proposal], embedder: Embedder) -> tuple[str, ...]:
    """Return `LANGUAGE_NOTE` for a document that needs it."""
    language = unread_language(proposed, embedder)
    return (LANGUAGE_NOTE.format(language=language.capitalize()),) if language else ()


def years_in(text: str) -> list[int]:
    """Return the years that a line names: of "2020/21" the second, of longer spans none."""
    newest = datetime.now(UTC).year + 1
    years = list[int]()

    def span(match: re.Match[str]) -> str:
        first, last = int(match[1]), int(match[2])
        last += first // 100 * 100 if last < 100 else 0
        return str(last) if last == first + 1 else " "

    for match in _YEAR.finditer(_PAST.sub(" ", _RANGE.sub(span, text))):
        if FIRST_LIKELY_YEAR <= int(match[0]) <= newest:
            years.append(int(match[0]))
    return years


def metadata_of(stem: str) -> dict[str, Value]:
    """Return country and year when the name has exactly one of each; short codes ("us", "in") are ignored."""
    metadata: dict[str, Value] = {}
    years = set(_YEAR_IN_NAME.findall(stem))
    if len(years) == 1:
        metadata["year"] = int(years.pop())
    words, countries, start = LETTERS_PATTERN.findall(stem), dict[str, str](), 0
    while start < len(words):
        # Of overlapping names the longest: "Papua New Guinea", not "Guinea".
        for end in range(min(len(words), start + MAX_COUNTRY_WORDS), start, -1):
            name = " ".join(words[start:end])
            if len(name) > ISO_CODE_LENGTH and (code := country_code(name)):
                countries[code] = name
                start = end - 1
                break
        start += 1
    if len(countries) == 1:
        metadata["country_name"] = countries.popitem()[1]
    return metadata


def _mentions(text: str) -> Counter[str]:
    """Return how often a text names each country."""
    counts: Counter[str] = Counter()
    for country in find_countries(text, misspelt=False):
        if len(country.keys) == 1 and len(country.keys[0]) == ISO_CODE_LENGTH:
            counts[country.keys[0]] += not country.text[:1].islower()
    return +counts


@cache
def _namesakes() -> dict[str, frozenset[str]]:
    """Return by ISO-3 code the countries that have a part of the same name, as the United States have Georgia."""
    by_code: dict[str, set[str]] = {}
    for part in pycountry.subdivisions:
        code, whole = country_code(part.name), country_code(part.country_code)
        if code and whole and code != whole and len(part.name) > ISO_CODE_LENGTH:
            by_code.setdefault(code, set()).add(whole)
    return {code: frozenset(wholes) for code, wholes in by_code.items()}


def _namesake(code: str) -> frozenset[str]:
    return _namesakes().get(code, frozenset())


def _words(text: str) -> set[str]:
    return set(normalise(text).split())


def _names_part(line: str) -> bool:
    plain = normalise(line)
    words = plain.split()
    return not words or bool(_NUMBERED.match(line)) or plain in PARTS or (words[0] in PARTS and words[-1].isdigit())


def _is_title(line: str) -> bool:
    """Return whether a line can name a document: neither a part of it nor who wrote it."""
    if _ROW.match(line) or not 2 <= len(LETTERS_PATTERN.findall(line)) <= 40 or len(line) > 250 or _names_part(line):
        return False
    return bool(KINDS & _words(line)) or BODIES.isdisjoint(normalise(line).split()[:3])
