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
from functools import cached_property
from itertools import chain
from pathlib import Path

from ..domain import Embedder, Loaded, Section
from ..domain.documents import Proposal
from ..domain.errors import read_table
from ..domain.tables import Texts
from ..language.analysis import LETTERS_PATTERN
from ..language.countries import country_code, normalise
from ..language.detection import language_of
from ..language.figures import dates
from ..language.table_text import one_line
from .country_evidence import (
    CountryEvidence,
    clip_words,
    count_countries,
)
from .loaders.office import FILLED_IN
from .publication import PublicationReader, labelled_values, names_organisation

_TABLE = read_table(__package__, "description")
TABLE_ROWS: int = _TABLE["country"]["rows"]
TYPES: dict[str, str] = {
    phrase: name for name, phrases in _TABLE["types"].items() for phrase in phrases
}
KINDS, BODIES, PARTS, LABELS, DATES = map(frozenset, _TABLE["words"].values())
LANGUAGE_NOTE = (
    "The text is in {language}, which the search does not know: only equal words "
    "are found. Use words of the text, or "
    "ask an administrator for a search in many languages."
)
WORKBOOKS = (".xlsx", ".ods")
FIRST_PAGES, FIRST_SECTIONS = 3, 500
FIRST_CHARACTERS = 12_000
"""Read of a document's beginning; a file without pages has them on some four."""
_RANGE = re.compile(r"(?<!\d)((?:19|20)\d\d)\s*[-–—/]\s*((?:19|20)?\d\d)(?!\d|-\d)")
_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?!\d|[.,]\d|[A-Z]{2})")
_CELL_BREAK = re.compile(r";\s+|\s*\|\s*")
_NUMBER_CELL = re.compile(r"([^:]*:)\s*[\d.,\s]+")
_DATE = re.compile(
    r"(?:\b(?!(?:and|was|were|since|than|from|until|und)\b)[^\W\d_]{3,10}\.?\s+(?:de\s+|\d{1,2},\s+)?|\b(?:in|en|em|im|of|year|FY)\s+)"
    r"(?:19|20)\d\d(?![\d%])|(?:19|20)\d\d-[01]\d(?:-[0-3]\d)?(?!\d)"
)
TEMPLATE_DATES = ("2013-01-27", "2013-12-23")
"""Of the templates of libraries that write Word and PowerPoint files."""
_PAST = re.compile(
    r"\b(?:since|depuis|desde|seit)\s+(?:\w+\s+)?(?:19|20)\d\d", re.IGNORECASE
)
_CITED = re.compile(r"\([^()]{0,300}?[^\W\d_]\.?,? (?:19|20)\d\d[a-z]?(?:;[^()]*)?\)")
"""A reference in the text: "(Lo et al., 2019; Ra, 2020)"."""
_WEB_ADDRESS = re.compile(r"\bhttps?:\S+|\bwww\.\S+", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:\d{1,3}(?:\.\d+)*\.?|[IVXL]+\.)\s")
_ROMAN = re.compile(r"[ivxl]+")
_SERIES = re.compile(
    r"\b(?:no\.?|n[°º]|wp/) ?\d{1,3}/\d{2,3}(?!\d)"
    r"|\b(?:series|série|serie|reihe)\W+(?:no\b|nr\b|n[°º]|\d)",
    re.IGNORECASE,
)
"""A publisher's number "No. 23/45" or "Series No 12": the line names the series."""
_SMALL_CAPITALS = re.compile(r"[a-zà-ÿ][A-ZÀ-Ý]{2}|[A-ZÀ-Ý]{2}[a-zà-ÿ]")
"""A font's small capitals that became usual letters: "InForMATIon on SPECIFIC
ZoonoSES".
"""
_RULE = re.compile(r"[|\s:-]*")
_FIGURES = re.compile(r"[a-zµ%$€£]{1,10}\s+[\d.,]+\s|[\d.,%\s]+(?:[^\W\d_]+\W*)?$")
"""A figure with its unit, in place of a title: "kilograms 2.5 CO2e/boe"."""
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
    is_workbook: bool = False

    @cached_property
    def text(self) -> str:
        texts: list[str] = []
        sections = self.loaded.sections
        if self.is_workbook or self.loaded.columns:
            sections = sections[:: max(1, len(sections) // TABLE_ROWS)]
        for section in sections[:FIRST_SECTIONS]:
            page = section.page or 0
            if page > FIRST_PAGES:
                continue
            texts += section.path[-1:]
            texts.append(section.text[:FIRST_CHARACTERS])
        return "\n".join(texts)[:FIRST_CHARACTERS]

    @cached_property
    def block(self) -> list[str]:
        """The lines before the first text. Those of a workbook with several sheets are
        of its first sheet alone, and it has none.
        """
        sheets = {"".join(section.path[:1]) for section in self.loaded.sections}
        if self.is_workbook and len(sheets) > 1:
            return []
        lines = dict[str, None]()
        for section in self.loaded.sections:
            if (section.page or 1) > 1 or section.metadata or self.loaded.columns:
                break  # a row of a table says nothing about the whole
            for text in self._texts_of(section):
                line = one_line(text)
                if len(lines) == 25 or _is_text(line):
                    return list(lines)
                if line and not _RULE.fullmatch(line):
                    lines[line] = None
        return list(lines)

    def _texts_of(self, section: Section) -> list[str]:
        texts = section.text.split("\n")
        if self.is_workbook and _ROW.match(section.text):
            return texts  # the heading of a row is its first cell
        return [*section.path, *texts]

    def title(self) -> tuple[str, str] | None:
        """Return the title and its place."""
        title = self.loaded.title
        if title != self.stem and _is_title(title):
            return title, "title"
        for line in (self._labelled_title(), self._report_line(), self._heading()):
            if line:
                return line, "title block"
        stated = self.loaded.properties.get("title", "")
        if stated != self.stem and _is_title(stated):
            return stated, "document properties"
        is_name = title == self.stem
        if not is_name and title.casefold() == self.stem.casefold():
            # "Glossary" of glossary.md is a whole document, not a part of one.
            return title, "title"
        if not is_name and not names_part(title) and not says_nothing(title):
            return title, "title"
        line = self._running_head()
        if line:
            return line, "running head"
        return None

    def _running_head(self) -> str:
        """Return the first margin that is a title, "" if none is."""
        for margin in self.loaded.margins:
            # "First page, next page" are links, "Series No 12" is no title.
            if margin.lower().count("page") > 1 or _SERIES.search(margin):
                continue
            line = " ".join(_NOT_RUNNING.sub(" ", margin).split()).strip(" .,;:–—-")
            if len(_SMALL_CAPITALS.findall(line)) > 1:
                line = line.capitalize()
            if _is_title(line):
                return line
        return ""

    def _labelled_title(self) -> str:
        """Return the title of a list of properties, "" if there is none."""
        for line in self.block:
            for name, value in labelled_values(line):
                if normalise(name) in LABELS and _is_title(value):
                    return value
        return ""

    def _report_line(self) -> str:
        """Return the first line that names a report, with the country that stands alone
        in another line; "" if there is none.
        """
        lines = self.block
        for first, line in enumerate(lines):
            number = first
            whole = line
            while _JOINED.search(lines[number]) and number + 1 < len(lines):
                number += 1
                whole = f"{whole} {lines[number]}"
            if not _is_title(whole) or _SERIES.search(whole):
                continue
            if KINDS.isdisjoint(_words(whole)):
                continue
            country = self._country_line()
            if not country or count_countries(whole):
                return whole
            return f"{country}: {whole}"
        return ""

    def _country_line(self) -> str:
        """Return the first line that is the name of a country."""
        for line in (self.loaded.title, *self.block):
            if line != self.stem and country_code(line):
                return line
        return ""

    def _heading(self) -> str:
        """Return the first line that may be a title, if most of its words have capital
        letters, or if it says what it is about.
        """
        lines = self.block
        if self.loaded.pages is None and len(lines) < 2:
            return ""
        for line in lines:
            if _SERIES.search(line) or not _is_title(line) or names_organisation(line):
                continue
            words = [word for word in LETTERS_PATTERN.findall(line) if len(word) > 3]
            count = len(words)
            capitals = sum(word[0].isupper() for word in words)
            if capitals >= max(1.2, 0.6 * count):
                return line
            if count <= 2 or _is_statement(line):
                return ""
            is_about = years_in(line) or count_countries(line)
            return line if is_about else ""
        return ""

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

    def years(
        self, title: str, published: Proposal | None = None
    ) -> Iterator[Proposal]:
        """Yield years, the likeliest first; ``published``: the date of publication."""
        likely: list[tuple[int, str, str]] = []
        for place, lines in self.places(title).items():
            named = _years_of_place(place, lines)
            # Of several years in the title, the one that another place names alone is
            # the document's.
            years = list(named)
            if len(years) == 1 and likely:
                likely_years = {one for one, *_ in likely}
                if years[0] not in likely_years:
                    continue
            if len(years) == 1:
                yield _year(years[0], place, named[years[0]], taken=True)
            if likely:
                continue
            likely += [(year, place, line) for year, line in named.items()]
        if likely:
            year, place, line = likely[-1]
            yield _year(year, place, line, taken=False)
        if published is not None:
            date = str(published.value)
            for year in years_in(date):
                words = published.words or date
                yield _year(year, published.origin, words, taken=False)
        yield from self._years_of_text()

    def _years_of_text(self) -> Iterator[Proposal]:
        """Yield the year of most dates and periods in the text, then that of most
        numbers that are no quantities, then that of the file.
        """
        text = "\n".join(map(without_cells, self.text.split("\n")))
        dates = Counter(years_in("\n".join(_DATE.findall(text))))
        numbers = Counter(years_in(_CITED.sub(" ", text)))
        # One number like a year may be a quantity: "1961 tonnes".
        for counts, least in ((dates, 1), (numbers, 2)):
            for year, count in counts.most_common(1):
                if count >= least:
                    words = _line_with(text, year)
                    yield _year(year, "first pages", words, taken=False)
        created = self.loaded.properties.get("created", "")
        if not created.startswith(TEMPLATE_DATES):
            for year in years_in(created):
                yield _year(year, "document properties", created, taken=False)

    def country(self, title: str, titles: Sequence[str]) -> Proposal | None:
        """Return the country; ``titles`` are those of the library."""
        places = self.places(title)
        lines = set(chain(*places.values()))
        body = [line for line in self.text.split("\n") if line not in lines]
        text = "\n".join(body)
        rows: list[str] = []
        if self.is_workbook or self.loaded.columns:
            rows = self.text.split("\n")
        return CountryEvidence(places, text, self.stem, titles, rows).proposal()

    def type(self, title: str) -> tuple[str, str, bool] | None:
        place = "title"
        for line in (title, *self.block[:6]):
            plain = f" {normalise(line)} "
            phrases = [phrase for phrase in TYPES if f" {phrase} " in plain]
            if phrases:
                return TYPES[max(phrases, key=len)], place, True
            place = "title block"
        return None

    def publication(self, title: str) -> Iterator[Proposal]:
        """Yield what the document says about its publication. Rows of a table, which
        may list other documents, say nothing.
        """
        rows = self.is_workbook or bool(self.loaded.columns)
        lines: list[str] = []
        if not rows:
            lines = self.text.split("\n")
        heading = [self.loaded.title]
        if self.loaded.title == self.stem:
            heading = []
        reader = PublicationReader(
            properties=self.loaded.properties,
            block=[*heading, *self.block],
            lines=lines,
            margins=self.loaded.margins,
            title=title,
        )
        yield from reader.proposals()

    def language(self) -> tuple[str, str, bool] | None:
        """Return the language's English name in lower case, None if the text is too
        short or in another script.
        """
        # Fewer words do not tell a language.
        is_long = len(LETTERS_PATTERN.findall(self.text)) >= 5
        if not is_long:
            return None
        language = language_of(self.text)
        if not language:
            return None
        return language, "first pages", True


_NOT_RUNNING = re.compile(
    r"\bpage\b|[|–—]|(?<!\d)\d{1,3}(?:\s*/\s*\d+)?(?!\d)", re.IGNORECASE
)
"""Page numbers in a running head."""


def propose(
    loaded: Loaded, path: Path, titles: Sequence[str] = ()
) -> tuple[Proposal, ...]:
    """Return what the document says about itself, each field once: what is beyond
    doubt, else the likeliest. ``titles`` are those of the library: one of a series
    proves a country.
    """
    pages = FirstPages(loaded, path.stem, path.suffix.lower() in WORKBOOKS)
    proposals = []
    named = ""
    title = pages.title()
    if title is not None:
        named, place = title
        of_title = Proposal(
            field="title",
            value=named,
            origin=place,
            taken=True,
        )
        proposals.append(of_title)
    country = pages.country(named, titles)
    if country is not None:
        proposals.append(country)
    publication = list(pages.publication(named))
    published = None
    for proposal in publication:
        if proposal.field == "publication_date":
            published = proposal
    for year in pages.years(named, published):
        proposals.append(year)
        break
    kind = pages.type(named)
    if kind is not None:
        proposals.append(Proposal("type", *kind))
    language = pages.language()
    if language is not None:
        proposals.append(Proposal("language", *language))
    proposals.extend(publication)
    return tuple(proposals)


def unread_language(proposed: Iterable[Proposal], embedder: Embedder) -> str:
    """Return a document's language if the embedder does not know it, else ""."""
    if embedder.multilingual:
        return ""
    for proposal in proposed:
        if proposal.field != "language":
            continue
        if proposal.value == "english":
            return ""
        return str(proposal.value)
    return ""


def language_notes(proposed: Iterable[Proposal], embedder: Embedder) -> Texts:
    """Return `LANGUAGE_NOTE` for a document that needs it."""
    language = unread_language(proposed, embedder)
    if not language:
        return ()
    note = LANGUAGE_NOTE.format(language=language.capitalize())
    return (note,)


def years_in(text: str) -> list[int]:
    """Return the years that a line names: of "2020/21" the second, of longer spans
    none.
    """
    newest = datetime.now(UTC).year + 1

    def span(match: re.Match[str]) -> str:
        first, last = int(match[1]), int(match[2])
        is_month = len(match[2]) == 2 and 1 <= last <= 12 and first % 100 != last - 1
        if is_month:
            return match[1]  # "2024-03"
        if last < 100:
            last += first // 100 * 100
        if last == first + 1:
            return str(last)
        return " "

    years: list[int] = []
    text = _WEB_ADDRESS.sub(" ", text)
    text = _RANGE.sub(span, text)
    text = _PAST.sub(" ", text)
    for digits in _YEAR.findall(text):
        year = int(digits)
        # Earlier numbers of four digits are hardly the year of a report.
        if 1950 <= year <= newest:
            years.append(year)
    return years


def without_cells(line: str) -> str:
    """Return a line without the numbers of its cells: of "Households: 2000; Year:
    2024" only the year is one.
    """
    kept = []
    for cell in _CELL_BREAK.split(line):
        match = _NUMBER_CELL.fullmatch(cell)
        if match is None or DATES & _words(match[1]):
            kept.append(cell)
        else:
            kept.append(match[1])
    return "; ".join(kept)


def _year(year: int, place: str, words: str, *, taken: bool) -> Proposal:
    return Proposal(
        field="year",
        value=year,
        origin=place,
        taken=taken,
        words=clip_words(words),
    )


def _years_of_place(place: str, lines: Iterable[str]) -> dict[int, str]:
    """Return the years in the lines of a place, each with the last line that has it."""
    named: dict[int, str] = {}
    for line in lines:
        if place == "title block" and _is_statement(line):
            continue
        for year in years_in(without_cells(line)):
            named[year] = line
    return named


def _is_statement(line: str) -> bool:
    """Return whether a line of the title page says something in a sentence, so that a
    year in it is no date of the document. A day is one: "held on 9 September 2025".
    """
    if len(line.split()) <= 12:
        return False
    return all(found.day is None for found in dates(line))


def _line_with(text: str, year: int) -> str:
    """Return some words around the first mention of a year."""
    position = text.find(str(year))
    start = text.rfind("\n", 0, position) + 1
    start = max(start, position - 60)
    return text[start:].split("\n", maxsplit=1)[0]


def _words(text: str) -> set[str]:
    return set(normalise(text).split())


def names_part(line: str) -> bool:
    """Return whether a line is the heading or the number of a part: "2. Background",
    "Annex A", "Appendix 5, page 8 of 11".
    """
    words = normalise(line).split()
    if " ".join(words) in {"", *PARTS} or _NUMBERED.match(line):
        return True
    if words[0] not in PARTS:
        return False
    for word in words[1:]:
        is_number = word.isdigit() or len(word) == 1 or _ROMAN.fullmatch(word)
        if not is_number and word not in {"page", "of", *PARTS}:
            return False
    return True


def says_nothing(line: str) -> bool:
    """Return whether a title is a program's default, the heads of columns, a label or a
    figure.
    """
    words = normalise(line).split()
    different = len(set(words))
    if different <= 3 and len(words) > different + 1:
        return True
    is_label = line.rstrip().endswith(":")
    if is_label:
        return True
    if _FIGURES.match(line):
        return True
    return FILLED_IN.match(line) is not None


def _is_text(line: str) -> bool:
    """Tell whether a line is text, not part of a title block: it has 20 words, or six
    and ends as a sentence does.
    """
    words = line.count(" ") + 1
    return words >= 20 or (line.endswith(".") and words >= 6)


def _is_title(line: str) -> bool:
    """Return whether a line can name a document: neither a part of it nor who wrote
    it.
    """
    if says_nothing(line):
        return False
    if (
        _ROW.match(line)
        or not 2 <= len(LETTERS_PATTERN.findall(line)) <= 40
        or len(line) > 250
        or names_part(line)
    ):
        return False
    return bool(KINDS & _words(line)) or BODIES.isdisjoint(normalise(line).split()[:3])
