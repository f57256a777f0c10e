"""Names of years and reports in a text.

The years of figures ("in 2023") and of editions ("the 2023 report", "the latest
edition"); reports by their titles.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

from ..domain import DocumentRecord, Scope
from ..domain.protocols import Catalog
from ..domain.scope import NamedCountry, NamedDocument, NamedYears
from ..domain.tables import Texts
from ..language.analysis import analyzer
from ..language.countries import normalise
from ..language.country_names import find_countries
from ..language.figures import MONTHS
from .english import number_of, pattern, words


def lists(
    text: str, names: Iterable[NamedCountry], joined: re.Pattern[str]
) -> list[list[NamedCountry]]:
    """Return names in groups: those of one follow each other with no more than
    ``joined`` in between.
    """
    groups: list[list[NamedCountry]] = []
    for name in names:
        if groups and joined.fullmatch(text, groups[-1][-1].end, name.start):
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


MAX_YEARS = 30
"""Years of each form that are read; a question is about fewer."""
_RANGE = pattern(
    r"(?:\b(?:from|between)\s+)?{year}\s*(?:-|–|to|until|till|through|and)\s*((?:19|20)\d\d|\d\d)(?![\d%]|[.,]\d)"
)
_SINCE = pattern(r"\bsince\s+(?:the\s+)?{year}")
_SINGLE = pattern("{year}")
_MORE_YEARS = pattern(r"^(?:{and_year}(?:19|20)\d\d\b)+")
_YEARS_BEFORE = pattern(r"(?:\b(?:19|20)\d\d{and_year})+$")
"""Years in a list share what stands before and behind it: "the 2021 and 2023
reports".
"""
_REPORT_AFTER = pattern(r"^(?:['’]s)?\s+(?:(?-i:[A-Z])[\w'’-]+\s+){0,2}{report}\b")
_REPORT_BEFORE = pattern(
    r"\b{report}(?:\s+(?:on|about|for|of)(?-i:(?:\s+(?:the|of|and))*\s+[A-Z][\w'’-]*){1,4})?[\s:(]+"
    r"(?:(?:of|for|from)\s+)?(?:the\s+)?$"
)
EDITIONS = pattern(
    r"\b(?:(?P<before>{number})\s+)?(?:(?P<newest>{newest})|(?P<previous>{previous})|(?P<oldest>{oldest}))\s+"
    r"(?:(?P<count>{number})\s+)?(?:(?-i:[A-Z])[\w'’-]+\s+){0,2}{report}\b"
)


def find_years(text: str) -> list[NamedYears]:
    """Return the years written in a text, in its order. "Last year" is not resolved."""
    named_years: list[NamedYears] = []
    for match in islice(_RANGE.finditer(text), MAX_YEARS):
        first = int(match[1])
        last = match[2]
        ended = int(last) if len(last) == 4 else first // 100 * 100 + int(last)
        joins = "and" in match[0].lower() and "between" not in match[0].lower()
        if first < ended and not joins:
            named_years.append(_years(text, first, ended, match))
    for form in (_SINCE, _SINGLE):
        for match in islice(form.finditer(text), MAX_YEARS):
            if not any(
                other.start < match.end() and match.start() < other.end
                for other in named_years
            ):
                year = int(match[1])
                named_years.append(
                    _years(text, year, None if form is _SINCE else year, match)
                )
    return sorted(named_years, key=lambda years: years.start)


def _years(text: str, first: int, last: int | None, match: re.Match[str]) -> NamedYears:
    start = match.start()
    end = match.end()
    before = _YEARS_BEFORE.sub("", text[:start])
    after = _MORE_YEARS.sub("", text[end:])
    of_report = (
        _REPORT_AFTER.match(after) is not None
        or _REPORT_BEFORE.search(before) is not None
    )
    return NamedYears(first, last, start, end, of_report, text[start:end])


def relative_editions(text: str, editions: Sequence[int]) -> list[NamedYears]:
    """Return the years of "the latest report", "the last two editions" and the like,
    counted among ``editions``. "The previous report" is the one before the newest, or
    before an edition that the text names first.
    """
    relative: list[NamedYears] = []
    named = [years for years in find_years(text) if years.of_report]
    for match in islice(EDITIONS.finditer(text), MAX_YEARS):
        candidates = sorted(editions)
        if match["previous"]:
            candidates = _before(match, candidates, named)
        chosen = _chosen(match, candidates)
        if chosen:
            start, end = match.span()
            relative.append(NamedYears(chosen[0], chosen[-1], start, end, True))
    return relative


def _before(
    match: re.Match[str], editions: Sequence[int], named: Sequence[NamedYears]
) -> list[int]:
    """Return the editions before the last one that the text names up to a match, else
    before the newest.
    """
    border = editions[-1] if editions else 0
    for years in named:
        if years.start < match.end():
            border = years.gte
    return [year for year in editions if year < border]


def _chosen(match: re.Match[str], editions: Sequence[int]) -> Sequence[int]:
    """Return as many editions as a match says, from its end of the list."""
    is_every = match["previous"] and match[0].endswith("s")
    count = number_of(match["before"] or match["count"] or "")
    count = count or (MAX_YEARS if is_every else 1)
    return editions[:count] if match["oldest"] else editions[-count:]


MIN_TELLING_WORDS = 2
_SEPARATOR = re.compile(r"[:,;|()\[\]/–—]|\s-\s|_")
_DATE = re.compile(rf"\b(?:\d[\w.]*|(?:{'|'.join(MONTHS)})(?= \d))\b")
_TITLE_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{1,200})[\"”»]")
_REPORT = pattern(r"\b{document_noun}s?\b")
_LOOKS_LIKE_TITLE = re.compile(
    r"[A-Z]\w+\s+(?:(?:of|for|on|in|to|and|the|a)\s+)*[A-Z]\w+|[\"'“‘«]\w+ \w+"
)
_NO_TELLING = frozenset(analyzer("english").terms(" ".join(words("title_words"))))


def find_title(text: str, catalog: Catalog, scope: Scope) -> NamedDocument | None:
    """Return the report whose title the text has, by the longest title; None where it
    has none. A title is a title beside a word for a report, in quotation marks or with
    its capitals: "food security" is a topic.
    """
    quoted = _quoted_title(text, catalog, scope)
    if quoted is not None:
        return quoted
    if not (_REPORT.search(text) or _LOOKS_LIKE_TITLE.search(text)):
        return None
    words = list(_TITLE_WORD.finditer(text))
    plain = f" {' '.join(normalise(word[0]) or '-' for word in words)} "
    records_by_title: dict[str, list[DocumentRecord]] = {}
    for record in catalog.all(scope):
        for title in _titles(record.title):
            if f" {title} " in plain:
                records_by_title.setdefault(title, []).append(record)
    for title in sorted(records_by_title, key=len, reverse=True):
        first = plain[: plain.index(f" {title} ")].count(" ")
        start = words[first].start()
        end = words[first + title.count(" ")].end()
        if _is_meant(text, start, end):
            names = tuple(record.name for record in records_by_title[title])
            return NamedDocument(names, text[start:end], start, end)
    return None


def _quoted_title(text: str, catalog: Catalog, scope: Scope) -> NamedDocument | None:
    """Return the report whose whole title, or name, a text has in quotation marks:
    "jordan_water_2024" is then no question for Jordan in 2024.
    """
    quoted = {_plain_title(match[1]): match for match in _QUOTED.finditer(text)}
    names_of_title: dict[str, list[str]] = {}
    if any(quoted):
        for record in catalog.all(scope):
            for title in {_plain_title(record.title), _plain_title(record.name)}:
                names_of_title.setdefault(title, []).append(record.name)
    for title, match in quoted.items():
        if title and title in names_of_title:
            names = tuple(names_of_title[title])
            return NamedDocument(names, match[1], match.start(1), match.end(1))
    return None


@lru_cache(maxsize=16384)
def _plain_title(title: str) -> str:
    return " ".join(normalise(word) for word in _TITLE_WORD.findall(title))


def _is_meant(text: str, start: int, end: int) -> bool:
    if _REPORT.search(text[start:end]) or _REPORT.match(text[end:].lstrip(" ”’\"'»")):
        return True
    if text[:start].endswith(("'", '"', "“", "‘", "«")):
        return True
    capitals = [word for word in text[start:end].split() if word[0].isupper()]
    return len(capitals) >= MIN_TELLING_WORDS and not text.isupper()


@lru_cache(maxsize=16384)
def _titles(title: str) -> Texts:
    """The parts of a title that tell which report it is, normalised."""
    parts = [normalise(piece) for piece in [title, *_SEPARATOR.split(title)]]
    plain = dict.fromkeys(" ".join(_DATE.sub(" ", piece).split()) for piece in parts)
    terms = analyzer("english").terms
    titles = [
        candidate
        for candidate in plain
        if len(set(terms(candidate)) - _NO_TELLING) >= MIN_TELLING_WORDS
    ]
    if _DATE.search(parts[0]) and len(set(terms(parts[0]))) > MIN_TELLING_WORDS:
        titles.append(parts[0])  # "World in 2023: Global Overview" tells by its date
    return tuple(filter(_tells_beside_country, titles))


def _tells_beside_country(title: str) -> bool:
    """Return whether a title tells its report also without the countries in it: "Kenya
    water programme", and not "Kenya: country report", which the country and the year
    of a question find.
    """
    countries = find_countries(title, misspelt=False)
    if not countries:
        return True
    rest = title
    for country in reversed(countries):
        rest = f"{rest[: country.start]} {rest[country.end :]}"
    telling = set(analyzer("english").terms(_DATE.sub(" ", rest))) - _NO_TELLING
    return len(telling) >= MIN_TELLING_WORDS
