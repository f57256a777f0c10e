"""Figures as reports state them: what is counted, its value and unit, and the year it
is of.

Statements are read: "**total:** 20.9 years (2023 est.)", "Kikuyu 17.1%, Luhya 14.3%
(2019 est.)", rows of tables and files ("Year: 2021; Inflation: 5"). What prose says in
passing is no statement, but the years that it gives to figures count. A year is never
guessed: lines of one statement share the one that stands at their end, or at their
head.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from ..domain import Chunk
from ..domain.documents import UNSURE
from ..domain.figures import ReportedFigure
from ..domain.tables import Stated, Texts
from .figures import MONTHS, Figure, comma_decimals, figures, unify_signs
from .local_figures import local_text
from .markdown import escape_markdown
from .sentences import sentences
from .table_words import is_total
from .words import Say

_YEAR = r"(?:1[89]|20)\d\d"
_ANY_YEAR = re.compile(rf"\b{_YEAR}\b")
_DIGIT = re.compile(r"\d")
_WHEN = (
    r"(?:(?:early|mid|late|end|of|as|in|est|fiscal|year|[A-Z][a-z]{2,8}|\d{1,2})[.,]?[ "
    r"-]|FY ?){0,4}"
)
_DATED = re.compile(
    rf" ?\({_WHEN}(?P<year>{_YEAR})(?:\s?[-/–]\s?(?P<until>{_YEAR}|\d\d))?"
    r"(?P<estimate>,? ?(?:est|estimate|estimated|proj|projected)\b\.?)?\)"
)
"""(2018), (2018 est.), (31 December 2021 est.), (2020-25 est.), (FY 2021/22)."""
_NEXT_DATED = re.compile(r"(?:(?<=\d\))|(?<=t\.\))) +(?=[-$€£¥\d])")
"""Between two figures of a line, each with its year."""
_NOTE = re.compile(
    r"^\W*(?:note|definition|methodology)s?:.*|\bnote:[^(]*", re.IGNORECASE
)
_BULLET = re.compile(r"^(?:[-*•]|\d+\.) +")
_LABEL = re.compile(r"([^:]{1,80}?) ?:\s+")
_FOOTNOTE = re.compile(r"\s*\(\d+\)$")
_LED_BY_YEAR = re.compile(rf"(?P<year>{_YEAR})(?: (?P<rest>[^\d\s].*))?")
_YEAR_COLUMN = re.compile(
    r"(?:(?:fiscal|calendar|reference) )?year|jahr|année|año|ano|anno", re.IGNORECASE
)
_ITEM_END = re.compile(r"[;,]\s+(?![^()]*\))")
_PART_END = re.compile(r"(?:(?<!\s)\s+)?[/;]\s*|,\s+")
_ASIDE = re.compile(r"(?:^|(?<=\s))\(([^()]*)\)\s?")
_RATE = re.compile(r"(?:/|\bper )[\d,]+")
_BEHIND_UNIT = re.compile(r", | (?:or|and|with|in|for|as)\b")
_ROUGHLY = re.compile(
    r"\b(?:approximately|about|around|roughly|some|ca\.|circa) ?$", re.IGNORECASE
)
_NO_NAME = re.compile(
    r"\b(?:less|more|fewer|greater|over|under|nearly|almost|up|than|or|and|to|in|since|the|by|from|at|of|until|before"
    rf"|after|{'|'.join(MONTHS)})\W*$",
    re.IGNORECASE,
)
"""Endings that a figure's name does not have: a bound, a date, prose."""
_NO_UNIT = re.compile(rf"^(?i:{'|'.join(MONTHS)})\b|[\[\]]|[A-Z]\S* [A-Z]")
_CODE = re.compile(r"0\d")
_PLACE = re.compile(r"[A-Z][\w']{3,}(?![\w/])")
"""Behind a figure without a name: 5.3 million NAIROBI."""
_CONTACT = re.compile(
    r"\b(?:telephone|phone|fax|e-?mail|address|chancery|embassy|consulate|code)\b",
    re.IGNORECASE,
)
"""Numbers that count nothing."""
_SENTENCE_YEAR = re.compile(rf"(?:^|[;,] )(?:[Ii]n|[Dd]uring) (?P<year>{_YEAR})\b")
_BINDING = re.compile(
    r"(?:[^\d;:.!?()]|(?<=[A-Z])\d){0,25}\((?:\w+ ){0,2}|,? (?:[\w%]+ "
    r"){0,3}(?:in|for|as of)(?: early| late| mid-?)? "
)
_ASIDES_AND_DATE = re.compile(rf"[^\d;:.!?()]{{0,25}}(?:\([^()]*\) ?)+{_DATED.pattern}")
"""Behind a figure with asides before its year: "5,000 (since the war of 1991)
(2020)".
"""
_PRICES = re.compile(
    r" (?:constant |US |international )*(?:dollars|prices|terms|euros|report|edition)\b"
)
_IN_UNIT = re.compile(r"(?:/|\bper )$")
"""Before a figure that belongs to the unit of the one before: "342 deaths/100,000 live
births (2017)".
"""
_NEXT_ITEM = re.compile(r"[,;] [A-ZÀ-ÞΑ-ΩА-Я][\w .&'-]{0,40}[ :]\$?")
_MORE_YEARS = re.compile(r" ?(?:-|/|to|,|and|or|, and) ?")
_TOTAL = re.compile(r"(?:: |^)(?:total(?: population)?|overall)$", re.IGNORECASE)
_ANY_COLUMN = re.compile(
    r"(?:: |^)(?:values?|figures?|amounts?)(?=: |$)", re.IGNORECASE
)
"""A column head of a table that says nothing about the figures below it."""
_ROW = re.compile(r"Row \d+\b")
MOST_WORDS = 8
"""Words of a label, a heading or a unit, at most; more of them are prose."""


def figure_years(text: str) -> tuple[int, ...]:
    """The years that ``text`` gives figures or facts for, newest first; not those of
    events.
    """
    if not _ANY_YEAR.search(unify_signs(text)):
        return ()
    every_year = set[int]().union(*(figure.years for figure in stated(text)))
    for line in _lines(text):
        for match in _DATED.finditer(line):
            if match["estimate"] or not line[match.end() :].strip(" .;"):
                every_year |= _years(match)
        for sentence in sentences(line):
            nothing_new = every_year.issuperset(map(int, _ANY_YEAR.findall(sentence)))
            if nothing_new or not _DIGIT.search(_ANY_YEAR.sub("", sentence)):
                continue  # most prose has years and no figure
            numbers = figures(sentence)
            every_year = every_year.union(*bound_years(sentence, numbers))
            if not all(number.bare for number in numbers):
                every_year |= {
                    int(match["year"]) for match in _SENTENCE_YEAR.finditer(sentence)
                }
    return tuple(sorted(every_year, reverse=True))


def may_state_years(text: str, cells: Sequence[Stated]) -> bool:
    """Return whether a text with these cells of a table may give figures another year
    than theirs: besides their values it has a number that is a year.
    """
    texts = "\n".join(figure.text for figure in cells)
    numbers = Counter(_ANY_YEAR.findall(unify_signs(text)))
    numbers -= Counter(_ANY_YEAR.findall(unify_signs(texts)))
    years = set[int]().union(*(figure.years for figure in cells))
    return not years.issuperset(map(int, numbers))


def figures_of(chunk: Chunk) -> Iterator[ReportedFigure]:
    """Yield the figures that a passage states, in order."""
    statements = chunk.statements
    if statements is None:
        statements = tuple(stated(chunk.text))
    for figure in named_statements(chunk, statements):
        yield ReportedFigure(
            subject=figure.subject,
            heading=figure.heading,
            label=figure.label,
            value=figure.value,
            unit=figure.unit,
            text=figure.text,
            year=figure.year,
            estimate=figure.estimate,
            document_id=chunk.document_id,
            chunk_id=chunk.id,
            edition=chunk.metadata.get("year"),
        )


def named_statements(chunk: Chunk, statements: Iterable[Stated]) -> Iterator[Stated]:
    """Yield the statements of a passage, in order, with the names that they leave to
    its heading, its country or its title.
    """
    section = _section_of_figures(chunk)
    about = str(chunk.metadata.get("country_name") or chunk.title)
    for figure in statements:
        if figure.heading and figure.subject and not figure.label:
            # So it is with cells of wide tables, of which there are very many.
            yield figure
            continue
        heading = figure.heading or section
        of_row = section in figure.subject or is_total(section)
        if chunk.statements is not None and not figure.heading and of_row:
            # The passage's heading is the name of its row.
            heading = ""
        label = figure.label
        if heading:
            label = _ANY_COLUMN.sub("", label).removeprefix(": ")
        label = _TOTAL.sub("", _without_own_year(label, figure, heading))
        if not label and not heading:
            heading = chunk.title
        subject = figure.subject or about
        yield figure._replace(subject=subject, heading=heading, label=label)


def _without_own_year(label: str, figure: Stated, heading: str) -> str:
    """Return a label without the heading and the year that it repeats: "" of "Exports
    2024: $5 billion (2024)" under Exports. Each year would be another indicator.
    """
    beginning, _, last = label.rpartition(": ")
    name, _, year = last.rpartition(" ")
    is_own = year.isdecimal() and int(year) in figure.years
    if is_own and name.casefold() == heading.casefold():
        return beginning
    return label


def _section_of_figures(chunk: Chunk) -> str:
    """Return the heading of a passage, "" where it names a row of a table: the columns
    say what is counted.
    """
    country = str(chunk.metadata.get("country_name") or "")
    names_country = country and chunk.heading.startswith(country)
    if names_country or _ROW.match(chunk.heading):
        return ""
    return chunk.heading


def year_of(figure: ReportedFigure) -> int:
    """The figure's own year, else that of its edition; 0 without either."""
    return figure.year or (figure.edition if isinstance(figure.edition, int) else 0)


def dated_text(figure: ReportedFigure, say: Say, *, as_written: bool = False) -> str:
    """Return a figure as the language of ``say`` writes it, with its year: "4.5% (2024
    est.)". ``as_written``: also as its report does, where that differs: "4,5% («4.5%»,
    2024 est.)".
    """
    written = escape_markdown(figure.text)
    text = local_text(written, say)
    notes: list[str] = []
    if as_written and text != written:
        notes.append(say("“{name}”", name=written))
    if figure.year is not None:
        notes.append(f"{figure.year}{' est.' if figure.estimate else ''}")
    elif figure.edition:
        notes.append(say("{year} edition", year=figure.edition))
    if notes:
        return f"{text} ({', '.join(notes)})"
    return text


def stated(text: str) -> list[Stated]:
    """The figures that a passage's text states, in text order."""
    if not _DIGIT.search(text):
        return []
    comma = comma_decimals(text)
    heading = ""
    group = Texts()
    blocks: list[list[Stated]] = [[]]
    for line in _lines(text):
        statements, group = _figures_of_line(line, heading, group, comma)
        if statements:
            blocks[-1] += statements
            continue
        blocks.append([])
        group = (line.rstrip(" -:"),) if line.endswith(("-", ":")) else ()
        is_name = len(line.split()) <= MOST_WORDS and not re.search(r"[,;:.!?]", line)
        heading = line if not group and is_name else heading
    return [figure for block in blocks for figure in _sharing_years(block)]


# The next edition of a report repeats many of its lines.
@lru_cache(4096)
def _figures_of_line(
    line: str, heading: str, group: Texts, comma: bool
) -> tuple[list[Stated], Texts]:
    """The statements of a line, and the labels that the next lines belong under."""
    items = []
    is_prose = line.endswith((".", "!", "?"))
    if not is_prose and _DIGIT.search(line):
        dated = _NEXT_DATED.sub("; ", line)
        for part in _ITEM_END.split(dated):
            if part.strip():
                items.append(_take_labels(part))
    if items:
        labels, value = items[0]
        if len(labels) > 1:
            # "improved: urban: 91.3%", then "rural: 63.3%"
            group = tuple(labels[:-1])
        elif group:
            items[0] = ([*group, *labels], value)
    statements = _statements(items, comma)
    if not heading:
        return statements, group
    headed = [figure._replace(heading=heading) for figure in statements]
    return headed, group


def _lines(text: str) -> Iterator[str]:
    for line in unify_signs(text).replace("**", "").splitlines():
        if UNSURE not in line and (
            words := _NOTE.sub("", _BULLET.sub("", line.strip())).strip()
        ):
            yield words


def _sharing_years(block: Sequence[Stated]) -> Iterator[Stated]:
    """Labelled figures without a year take that of the next one that has one, else of
    the last one before.
    """
    for place, figure in enumerate(block):
        if not figure.label or figure.years:
            yield figure
            continue
        after = next((other for other in block[place:] if other.years), None)
        before = next((other for other in reversed(block[:place]) if other.years), None)
        if near := after or before:
            figure = figure._replace(years=near.years, estimate=near.estimate)  # noqa: PLW2901
        yield figure


def _statements(items: Sequence[tuple[list[str], str]], comma: bool) -> list[Stated]:
    """The statements of one line; the label of its first item counts for all, where the
    others have none.
    """
    if not items:
        return []
    of_row = led = frozenset[int]()
    statements: list[Stated] = []
    for labels, words in _share_labels(items):
        names, years = _names_and_years(labels)
        if _is_year_of_row(names, words):
            of_row = frozenset({int(words)})
            continue
        if years and names:
            led = years
        elif years:
            led = frozenset()
        statements += _item(names, words, years or led, comma)
    _take_year_of_end(statements)
    if not of_row:
        return statements
    dated = []
    for figure in statements:
        years = figure.years or of_row
        dated.append(figure._replace(years=years))
    return dated


def _share_labels(
    items: Sequence[tuple[list[str], str]],
) -> Iterator[tuple[list[str], str]]:
    """The items of one line with the labels and names that they have from its first."""
    (shared, row), *others = items
    labelled = [labels for labels, _ in others if labels]
    is_named = len(shared) == 1 and not _DIGIT.search(row)
    if is_named and others and len(labelled) == len(others):
        # "Source: Loans; 2020: 268.8; Share: 23.3%"
        for labels, words in others:
            yield [row, *labels], words
        return
    if labelled:
        yield from items
        return
    for labels, words in items:
        yield labels or shared, words


def _names_and_years(labels: Sequence[str]) -> tuple[list[str], frozenset[int]]:
    """Split the labels of an item into names and the year of its column: "2018", "2018
    Men".
    """
    names: list[str] = []
    years = frozenset[int]()
    for label in labels:
        match = _LED_BY_YEAR.fullmatch(label)
        if match is None:
            names.append(label)
            continue
        years = frozenset({int(match["year"])})
        if match["rest"]:
            names.append(match["rest"])
    return names, years


def _is_year_of_row(names: Sequence[str], words: str) -> bool:
    """Tell whether an item is the year of a row: "Year: 2020", or nothing but it."""
    if not re.fullmatch(_YEAR, words):
        return False
    return not names or bool(_YEAR_COLUMN.fullmatch(names[-1]))


def _take_year_of_end(statements: list[Stated]) -> None:
    """Give the items of one line the year of its end."""
    for place in reversed(range(len(statements) - 1)):
        last = statements[place + 1]
        statement = statements[place]
        if statement.years or not last.years:
            continue
        statements[place] = statement._replace(years=last.years, estimate=last.estimate)


def _take_labels(item: str) -> tuple[list[str], str]:
    """The labels in front of an item ("improved: urban: 91.3%"), and the rest."""
    labels = []
    while label := _LABEL.match(item):
        labels.append(_FOOTNOTE.sub("", label[1]))
        item = item[label.end() :]
    return labels, item.strip()


def _item(
    labels: Sequence[str], words: str, years: frozenset[int], comma: bool
) -> Iterator[Stated]:
    """The figure of an item, and those in brackets behind it: "36.45% (male
    10,447,425/female 10,349,611)".
    """
    estimate = False
    dated = _DATED.search(words)
    if dated:
        years = years or _years(dated)
        estimate = bool(dated["estimate"])
        words = f"{words[: dated.start()]}{words[dated.end() :]}"
    asides = [aside[1] for aside in _ASIDE.finditer(words)]
    core = _ASIDE.sub("", words).strip()
    named = next((aside for aside in asides if _is_name(aside)), "")
    main = _figure(labels, core, comma, named)
    names = [main.label] if main else [*labels, core.strip(" -")]
    if main is None and (_DIGIT.search(core) or len(core.split()) > MOST_WORDS):
        return  # prose, as in "takes the following five (5) measures of ..."
    figures = [main]
    for aside in asides:
        for part in _PART_END.split(aside):
            figures.append(_figure(names, part, comma))
    for figure in figures:
        if figure is not None:
            yield figure._replace(years=years, estimate=estimate)


def _is_name(aside: str) -> bool:
    return aside[:1].isupper() and not _DIGIT.search(aside)


def _figure(
    labels: Sequence[str], words: str, comma: bool, named: str = ""
) -> Stated | None:
    """The statement in these words; None where they are more than a name, one figure
    and its unit. ``named`` stands behind the figure in brackets.
    """
    first = _only_figure(words, comma)
    if first is None:
        return None
    behind = words[first.end :]
    before = _ROUGHLY.sub("", words[: first.start]).strip(" -")
    unit = _BEHIND_UNIT.split(behind)[0].rstrip()
    text = f"{first.text}{unit}"
    unit = unit.strip(" -")
    if _is_prose(before, unit):
        return None
    if first.year and first.bare and not unit:
        return None
    if _CONTACT.search(": ".join([*labels, before])):
        return None
    before = before or named
    if not before and _PLACE.match(unit):
        before = unit
        unit = ""
        text = first.text
    label = ": ".join(filter(None, [*labels, before]))
    return Stated("", label, min(first.values), first.unit or unit, text)


def _only_figure(words: str, comma: bool) -> Figure | None:
    """Return the one figure in these words, besides those of its rate; None where they
    have none, several, or a code.
    """
    if not _DIGIT.search(words):
        return None
    numbers = figures(words, comma=comma)
    if not numbers:
        return None
    first = numbers[0]
    if len(first.values) != 1 or first.word or _CODE.match(first.text):
        return None
    if len(numbers) > 1 and figures(_RATE.sub("", words[first.end :])):
        return None
    return first


def _is_prose(before: str, unit: str) -> bool:
    """Return whether the words around a number are more than a name and a unit."""
    if max(len(before.split()), len(unit.split())) > MOST_WORDS:
        return True
    return bool(_NO_NAME.search(before) or _NO_UNIT.search(unit))


def _years(dated: re.Match[str]) -> frozenset[int]:
    start = int(dated["year"])
    until = dated["until"] or dated["year"]
    end = int(until) if len(until) == len("2025") else start // 100 * 100 + int(until)
    if _is_of_figure(start, end):
        return frozenset(range(start, end + 1))
    return frozenset({start})


def _is_of_figure(start: int, end: int) -> bool:
    """Return whether a figure may be of a span of years; a longer one is that of an
    event.
    """
    return start <= end <= start + 10


def bound_years(sentence: str, numbers: Sequence[Figure]) -> list[frozenset[int]]:
    """For each number the years that it is bound to, as 2017 in "5% (2017 est.)" and in
    "5% of GDP in 2017". The items of a list have the year of its end: "India 17%, China
    9% (2021)". What brackets say of an event is of no number: "5,000 (civil war
    1983-2005) (2020)".
    """
    bound: list[frozenset[int]] = []
    next_years = frozenset[int]()
    for place in reversed(range(len(numbers))):
        figure = numbers[place]
        after = numbers[place + 1] if place + 1 < len(numbers) else None
        gap = sentence[figure.end : after.start] if after else ""
        own = _ASIDES_AND_DATE.match(sentence, figure.end)
        if figure.year is not None or after is None:
            next_years = frozenset()
        elif own is not None:
            next_years = _years(own)
        elif after.year is not None:
            next_years = frozenset()
            if _BINDING.fullmatch(gap) and not _PRICES.match(sentence, after.end):
                next_years = _span(sentence, numbers[place + 1 :])
        elif not (_NEXT_ITEM.fullmatch(gap) or _IN_UNIT.search(gap)):
            next_years = frozenset()
        bound.append(next_years)
    return bound[::-1]


def _span(sentence: str, numbers: Sequence[Figure]) -> frozenset[int]:
    """The years at the start: one, several ("2019 and 2020"), or all of 2019-21; none
    of a longer span, as that of a war.
    """
    years = {numbers[0].year or 0}
    for first, last in pairwise(numbers):
        gap = unify_signs(sentence[first.end : last.start])
        ends = {
            int(value) for value in last.values if last.bare and 1000 <= value < 2100
        }
        is_other = _PRICES.match(sentence, last.end)
        if not ends or is_other or not _MORE_YEARS.fullmatch(gap):
            break
        years |= (
            set(range(max(years), max(ends) + 1)) if gap.strip() in "-/to" else ends
        )
    if not _is_of_figure(min(years), max(years)):
        return frozenset()
    return frozenset(years)
