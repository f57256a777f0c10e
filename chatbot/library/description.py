"""A document's country, year, title, type and language. The places count in this order:
the title, the block of lines around it, running heads and feet, the file's properties,
its name, the text of the first pages. What one place says clearly is taken. The rest is
proposed to a person.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path

import pycountry

from ..domain import Embedder, Loaded
from ..domain.documents import Proposal
from ..domain.errors import read_table
from ..domain.scope import Value
from ..language.analysis import LETTERS_PATTERN
from ..language.countries import ISO_CODE_LENGTH, country_code, normalise, usual_name
from ..language.country_names import find_countries
from ..language.detection import language_of

_TABLE = read_table(__package__, "description")
TYPES: dict[str, str] = {
    phrase: name for name, phrases in _TABLE["types"].items() for phrase in phrases
}
KINDS, BODIES, PARTS, LABELS, GOVERNMENTS = map(frozenset, _TABLE["words"].values())
NATIONAL = KINDS | GOVERNMENTS
LANGUAGE_NOTE = (
    "The text is in {language}, which the search does not know: only equal words "
    "are found. Use words of the text, or "
    "ask an administrator for a search in many languages."
)
FIRST_PAGES, FIRST_SECTIONS = 3, 500
FIRST_CHARACTERS = 12_000
"""Read of a document's beginning; a file without pages has them on some four."""
MIN_MENTIONS = 3
"""Of a country that only the text names."""
_RANGE = re.compile(r"(?<!\d)((?:19|20)\d\d)\s*[-–—/]\s*((?:19|20)?\d\d)(?!\d|-\d)")
_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?!\d|[.,]\d)")
_PAST = re.compile(
    r"\b(?:since|depuis|desde|seit)\s+(?:\w+\s+)?(?:19|20)\d\d", re.IGNORECASE
)
_GOVERNMENT_HOST = re.compile(
    r"[\w-]\.(?:gov|gob|gouv|govt|go|gub|gc)(?:\.([a-z]{2}))?\b(?!\.?\w)"
)
_NUMBERED = re.compile(r"(?:\d{1,3}(?:\.\d+)*\.?|[IVXL]+\.)\s")
_CELLS = re.compile(r"\s*\|\s*")
_SERIES = re.compile(r"\b(?:no\.?|n[°º]|wp/) ?\d{1,3}/\d{2,3}(?!\d)", re.IGNORECASE)
"""A publisher's number "No. 23/45": the line names the series."""
_SMALL_CAPITALS = re.compile(r"[a-zà-ÿ][A-ZÀ-Ý]{2}|[A-ZÀ-Ý]{2}[a-zà-ÿ]")
"""A font's small capitals that became usual letters: "InForMATIon on SPECIFIC
ZoonoSES".
"""
_ADDRESS = re.compile(r",[^,]*$")
"""The country of one: "FAO, Rome, Italy"."""
_SHORT = {"US", "UK"}
_RULE = re.compile(r"[|\s:-]*")
_PAIRS = re.compile(r"([^:;]+): ([^:;]+); ([^:;]+): (.+)")
_ROW = re.compile(r"(?:[^:;]+: )?[^;]+; [^:;]+: ")
_JOINED = re.compile(
    r"(?:\b(?:of|the|and|in|on|for|to|de|du|des|la|le|les|et|del|y|e|do|da|und|der)|[:,–—-])$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FirstPages:
    """The beginning of a file and the places where it describes itself."""

    loaded: Loaded
    stem: str

    @cached_property
    def text(self) -> str:
        first = [
            one
            for one in self.loaded.sections[:FIRST_SECTIONS]
            if (one.page or 0) <= FIRST_PAGES
        ]
        texts = (
            "\n".join((*one.path[-1:], one.text[:FIRST_CHARACTERS])) for one in first
        )
        return "\n".join(texts)[:FIRST_CHARACTERS]

    @cached_property
    def block(self) -> list[str]:
        """The lines before the first text."""
        lines = dict[str, None]()
        for section in self.loaded.sections:
            if (section.page or 1) > 1 or section.metadata or self.loaded.columns:
                break  # a row of a table says nothing about the whole
            for text in (*section.path, *section.text.split("\n")):
                row = _CELLS.sub(": ", text.strip("| "), 1).replace("|", " ")
                line = " ".join((row if text.startswith("|") else text).split())
                words = len(line.split())
                # A line of 20 words is text, and so is one of six that ends as a
                # sentence does.
                if (
                    words >= 20
                    or (line.endswith(".") and words >= 6)
                    or len(lines) == 25
                ):
                    return list(lines)
                lines |= {} if not line or _RULE.fullmatch(line) else {line: None}
        return list(lines)

    def title(self) -> tuple[str, str] | None:
        """Return the title and its place."""
        title = self.loaded.title
        if title != self.stem and _is_title(title):
            return title, "title"
        lines = self.block
        rows = [
            match.groups() if (match := _PAIRS.fullmatch(line)) else line.split(": ", 1)
            for line in lines
        ]
        labelled = (
            pair
            for row in rows
            for pair in zip(row, row[len(row) // 2 :], strict=False)
        )
        if stated := next(
            (
                value
                for name, value in labelled
                if normalise(name) in LABELS and _is_title(value)
            ),
            "",
        ):
            return stated, "title block"
        country = next(
            (
                line
                for line in (title, *lines)
                if line != self.stem and country_code(line)
            ),
            "",
        )
        for number, line in enumerate(lines):
            while _JOINED.search(lines[number]) and number + 1 < len(lines):
                line = f"{line} {lines[number + 1]}"  # noqa: PLW2901
                number += 1  # noqa: PLW2901
            if _is_title(line) and KINDS & _words(line) and not _SERIES.search(line):
                return f"{country}: {line}" if country and not _mentions(
                    line
                ) else line, "title block"
        heading = next(
            (line for line in lines if _is_title(line) and not _SERIES.search(line)), ""
        )
        names = [
            word[0].isupper()
            for word in LETTERS_PATTERN.findall(heading)
            if len(word) > 3
        ]
        about = len(names) > 2 and (years_in(heading) or _mentions(heading))
        if (about or sum(names) >= max(1.2, 0.6 * len(names))) and (
            self.loaded.pages is not None or len(lines) > 1
        ):
            return heading, "title block"
        stated = self.loaded.properties.get("title", "")
        if stated != self.stem and _is_title(stated):
            return stated, "document properties"
        if title != self.stem and not _names_part(title):
            return title, "title"
        running = (
            " ".join(_NOT_RUNNING.sub(" ", line).split()).strip(" .,;:–—-")
            for line in self.loaded.margins
        )
        running = (
            line.capitalize() if len(_SMALL_CAPITALS.findall(line)) > 1 else line
            for line in running
        )
        return next(
            ((line, "running head") for line in running if _is_title(line)), None
        )

    def places(self, title: str) -> dict[str, Sequence[str]]:
        """Return the lines of the places that describe the file, the ones that prove
        most first.
        """
        return {
            "title": [title],
            "title block": [*{self.loaded.title} - {self.stem}, *self.block],
            "running head": self.loaded.margins,
            "document properties": [
                self.loaded.properties.get(name, "") for name in ("title", "subject")
            ],
            "file name": [re.sub(r"[\W_]+", " ", self.stem).title()],
        }

    def years(self, title: str) -> Iterator[tuple[int, str, bool]]:
        """Yield years, the likeliest first, with their place and whether they are
        beyond doubt.
        """
        likely = list[tuple[int, str]]()
        for place, lines in self.places(title).items():
            years = list(
                dict.fromkeys(year for line in lines for year in years_in(line))
            )
            # Of several years in the title, the one that another place names alone is
            # the document's.
            years = (
                [year for year in years if not likely or year in dict(likely)]
                if len(years) == 1
                else years
            )
            if len(years) == 1:
                yield years[0], place, True
            likely = likely or [
                (year, place) for year in next(filter(None, map(years_in, lines)), [])
            ]
        if likely:
            yield *likely[-1], False
        for year, _ in Counter(years_in(self.text)).most_common(1):
            yield year, "first pages", False
        for year in years_in(self.loaded.properties.get("created", "")):
            yield year, "document properties", False

    def countries(self, title: str) -> Iterator[tuple[str, str, bool]]:
        """Yield names of countries, the likeliest first, with their place and whether
        they are beyond doubt.
        """
        body = _mentions(self.text)
        for place, lines in self.places(title).items():
            texts = (
                line
                if place == "title" or NATIONAL & _words(line)
                else _ADDRESS.sub("", line)
                for line in lines
            )
            named = set(_mentions("\n".join(texts)))
            if place == "file name":
                named = named or {
                    code for code in body if code.lower() in _words(self.stem)
                }
            if len(named) > 1 and place == "title":
                return  # it is about several
            if len(named) == 1:
                (code,) = named
                rival = max(
                    (count for other, count in body.items() if other != code), default=0
                )
                clear = (
                    rival <= max(MIN_MENTIONS, 2 * body[code])
                    and not _namesake(code) & body.keys()
                )
                yield usual_name(code), place, clear
        hosts = {
            country_code(match[1] or "us")
            for match in _GOVERNMENT_HOST.finditer(self.text)
        }
        if len(hosts) == 1 and len(body) < 2 and (host := hosts.pop()):
            yield usual_name(host), "web address", host in body or not body
        for code, count in body.most_common(1):
            # Three of four mentions are of the report's own country.
            clear = (
                count >= MIN_MENTIONS
                and count >= 0.75 * body.total()
                and not _namesake(code) & body.keys()
            )
            is_sole = len(body) == 1 and code not in _mentions(
                "\n".join(self.block)
            )  # there it is an address
            if is_sole or (count >= MIN_MENTIONS and 2 * count > body.total()):
                yield usual_name(code), "first pages", clear

    def type(self, title: str) -> tuple[str, str, bool] | None:
        for place, text in (
            ("title", title),
            *(("title block", line) for line in self.block[:6]),
        ):
            plain = f" {normalise(text)} "
            if phrases := [phrase for phrase in TYPES if f" {phrase} " in plain]:
                return TYPES[max(phrases, key=len)], place, True
        return None

    def language(self) -> tuple[str, str, bool] | None:
        """Return the language's English name in lower case, None if the text is too
        short or in another script.
        """
        # Fewer words do not tell a language.
        is_long = len(LETTERS_PATTERN.findall(self.text)) >= 5
        return (
            (language, "first pages", True)
            if is_long and (language := language_of(self.text))
            else None
        )


_NOT_RUNNING = re.compile(
    r"\bpage\b|[|–—]|(?<!\d)\d{1,3}(?:\s*/\s*\d+)?(?!\d)", re.IGNORECASE
)
"""Page numbers in a running head."""


def propose(loaded: Loaded, path: Path) -> tuple[Proposal, ...]:
    """Return what the document says about itself, each field once: what is beyond
    doubt, else the likeliest.
    """
    pages = FirstPages(loaded, path.stem)
    title = pages.title()
    named = title[0] if title else ""
    proposals: dict[str, tuple[Value, str, bool] | None] = {
        "title": (*title, True) if title else None,
        "country_name": next(pages.countries(named), None),
        "year": next(pages.years(named), None),
        "type": pages.type(named),
        "language": pages.language(),
    }
    return tuple(Proposal(name, *value) for name, value in proposals.items() if value)


def unread_language(proposed: Iterable[Proposal], embedder: Embedder) -> str:
    """Return a document's language if the embedder does not know it, else ""."""
    language = next(
        (str(one.value) for one in proposed if one.field == "language"), "english"
    )
    return "" if language == "english" or embedder.multilingual else language


def language_notes(proposed: Iterable[Proposal], embedder: Embedder) -> tuple[str, ...]:
    """Return `LANGUAGE_NOTE` for a document that needs it."""
    language = unread_language(proposed, embedder).capitalize()
    return (LANGUAGE_NOTE.format(language=language),) if language else ()


def years_in(text: str) -> list[int]:
    """Return the years that a line names: of "2020/21" the second, of longer spans
    none.
    """
    newest = datetime.now(UTC).year + 1

    def span(match: re.Match[str]) -> str:
        first, last = int(match[1]), int(match[2])
        last += first // 100 * 100 if last < 100 else 0
        return str(last) if last == first + 1 else " "

    years = map(int, _YEAR.findall(_PAST.sub(" ", _RANGE.sub(span, text))))
    # Earlier numbers of four digits are hardly the year of a report.
    return [year for year in years if 1950 <= year <= newest]


def _mentions(text: str) -> Counter[str]:
    """Return how often a text names each country."""
    counts: Counter[str] = Counter()
    for country in find_countries(text, misspelt=False):
        short = country.text.replace(
            ".", ""
        ).upper()  # of two letters it is hardly a country: "C.A."
        if (
            len(country.keys) == 1
            and len(country.keys[0]) == ISO_CODE_LENGTH
            and (len(short) > 2 or short in _SHORT)
        ):
            counts[country.keys[0]] += not country.text[:1].islower()
    return +counts


@cache
def _namesake(code: str) -> set[str]:
    """Return the countries that have a part of the same name, as the United States have
    Georgia.
    """
    parts = (
        part for part in pycountry.subdivisions if len(part.name) > ISO_CODE_LENGTH
    )
    return {
        str(country_code(part.country_code))
        for part in parts
        if country_code(part.name) == code
    } - {code}


def _words(text: str) -> set[str]:
    return set(normalise(text).split())


def _names_part(line: str) -> bool:
    words = normalise(line).split() or [""]
    is_numbered = words[0] in PARTS and len(words) == 2 and words[1].isdigit()
    return " ".join(words) in {"", *PARTS} or bool(_NUMBERED.match(line)) or is_numbered


def _is_title(line: str) -> bool:
    """Return whether a line can name a document: neither a part of it nor who wrote
    it.
    """
    if (
        _ROW.match(line)
        or not 2 <= len(LETTERS_PATTERN.findall(line)) <= 40
        or len(line) > 250
        or _names_part(line)
    ):
        return False
    return bool(KINDS & _words(line)) or BODIES.isdisjoint(normalise(line).split()[:3])
