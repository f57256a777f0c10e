"""What the cells of a table say: subject, indicator, year and unit of each figure.

They are told by the headings of rows and columns, by words ("Year", "Indicator"), by
values (countries, years) and by what the file says itself (tags), never by position
alone. What cannot be told stays empty.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import filterfalse, islice

from ..domain.tables import Headings, Stated, Table, TableRow
from ..language.countries import country_code
from ..language.figures import (
    comma_decimals,
    figures,
    start_of_figure,
    unify_signs,
)
from ..language.periods import DAY, is_time, periods_in, unify_periods
from ..language.table_text import group_depth
from ..language.table_words import (
    NAMELESS_SHEETS,
    TABLE_NUMBER,
    HeadUnit,
    is_birth,
    is_part,
    is_share,
    is_start,
    is_total,
    is_unnamed,
    part_units,
    read_unit,
    role_of_head,
    role_of_tag,
    unit_line,
)

__all__ = ["statements"]

FIGURES = frozenset({"figure", "value"})
"""Roles of columns of figures."""
_NAMES = frozenset({"name", "place", "country"})
_YEAR = r"(?:1[89]|20|21)\d\d"
_YEARS = re.compile(
    rf"(?<![\d.,])(?:FY\s?|CY\s?)?(?P<year>{_YEAR})"
    rf"(?:\s?[-/–]\s?(?P<until>{_YEAR}|\d\d|(?<=/)\d)(?!\d|[-/]\d))?(?![\d]|[.,]\d)",
    re.IGNORECASE,
)
_ONLY_YEAR = re.compile(
    rf"(?:{_YEARS.pattern})(?:\.0+)?|{_YEAR}-\d\d(?:-\d\d)?|{_YEAR}-?[QSM]\d+",
    re.IGNORECASE,
)
_IN_YEAR = re.compile(
    rf"[,(\s]*(?:\b(?:in|en|em|as of)\s)?{_YEARS.pattern}\)?", re.IGNORECASE
)
_PLAIN = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d\d?)?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_NO_FIGURE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[:/.]\d{1,2}[:/.]|\d+:\d\d|0\d+$|\+\d")
_MARKS = re.compile(
    r"\s*(?:\[[^\]]{1,4}\]|\((?:[a-z]|\d|est\.?|p|r|e)\)|[*†‡§]+)$", re.IGNORECASE
)
_NEGATIVE = re.compile(r"\(\s*([$€£¥]?\s*\d[\d.,\s]*%?)\s*\)")


@dataclass(frozen=True, slots=True)
class _Roles:
    """What the levels of the rows' labels and the columns hold, by their places.

    ``labels``: a role for each of `Table.row_heads`, ``columns`` for each column. Roles
    are those of `language/tables.toml`; "name" = values that name the rows, "figure" =
    numbers, "text" = anything else. ``comma``: decimals have a comma.
    """

    labels: Sequence[str]
    columns: Sequence[str]
    comma: bool
    subjects_above: bool
    """The columns' headings name countries or places, so the rows name indicators."""
    key: int | None
    """The first level of several whose names tell all rows apart."""


@dataclass(frozen=True, slots=True)
class _RowFacts:
    """What a row says of all of its figures."""

    subject: str
    parts: Headings
    """What is counted, or the part of it, from the outermost heading inwards."""
    is_indicator: bool
    """``parts`` name what is counted, not only a part of it."""
    years: frozenset[int]
    unit: HeadUnit | None


@dataclass(frozen=True)
class _ColumnFacts:
    """What the heads of a column, or the texts beside a table, say of the figures."""

    parts: Headings
    years: frozenset[int]
    unit: HeadUnit | None
    subject: str = ""

    @cached_property
    def counted(self) -> Headings:
        """The parts that say what is counted: "Value" and "Total" only say that there
        are figures below them.
        """
        counted: list[str] = []
        for part in self.parts:
            if role_of_head(part) != "value" and not is_total(part):
                counted.append(part)
        return tuple(counted)

    @cached_property
    def is_part(self) -> bool:
        """Whether all of these name a part of what the table counts."""
        return all(is_part(name) or is_time(name) for name in self.counted)


def statements(table: Table) -> Iterator[dict[int, Stated]]:
    """Yield the figures of each row, by the places of their columns: each with its
    subject, indicator, years and unit, and with the unit in its text.
    """
    roles = _roles(table)
    columns: list[_ColumnFacts | None] = []
    for path, role in zip(table.columns, roles.columns, strict=True):
        of_column = None
        if role in FIGURES:
            of_column = _column_facts(path, roles)
        if of_column and not of_column.parts and columns and columns[-1]:
            # "Target", "Percent": a share of what stands before it.
            of_column = replace(of_column, parts=columns[-1].parts)
        columns.append(of_column)
    beside = _beside(table.title, table.unit, table.note, table.place)
    title = _title_of(table)
    # A row of each year has the same path.
    paths = {_own_path(table, row, roles) for row in table.rows}
    names = Counter(path[-1] for path in paths if path)
    for row in table.rows:
        facts = _row_facts(table, row, roles, names)
        stated: dict[int, Stated] = {}
        for place, text in enumerate(row.texts):
            column = columns[place]
            if column is None:
                continue
            number = _number(text, roles.comma)
            if number is not None:
                indicator = _indicator(facts, column, title)
                stated[place] = _stated(text, number, indicator, facts, column, beside)
        yield stated


def _stated(
    text: str,
    number: tuple[Decimal, str],
    indicator: Headings,
    row: _RowFacts,
    column: _ColumnFacts,
    beside: _ColumnFacts,
) -> Stated:
    """Return the figure of a cell. ``number``: the value and the unit in the cell."""
    value, unit_name = number
    unit = column.unit or row.unit
    if unit is None and not unit_name and _may_be_in(beside.unit, column.parts):
        unit = beside.unit
    if unit is not None:
        # "$5" below "US$ million": the cell repeats a part of its unit.
        if unit_name != "%" and unit.scale != 1:
            value *= unit.scale
        text = _with_unit(text, unit_name, unit)
        unit_name = unit_name or unit.name
    heading, *labels = indicator or ("",)
    years = column.years or row.years or beside.years
    subject = row.subject or column.subject
    return Stated(
        heading, ": ".join(labels), value, unit_name, text, years, subject=subject
    )


def _may_be_in(unit: HeadUnit | None, heads: Headings) -> bool:
    """Return whether the unit beside a table may be that of a column: money is none of
    shares.
    """
    is_of_shares = unit is None or unit.name.startswith(("%", "per "))
    return is_of_shares or not any(map(is_share, heads))


def _with_unit(text: str, own_unit: str, unit: HeadUnit) -> str:
    """Return a cell's text with what it leaves to the heads. ``own_unit``: the unit in
    the cell.
    """
    if not own_unit and unit.text == "%":
        return f"{text}%"
    if not own_unit:
        return f"{text} {unit.text}"
    if unit.scale != 1:
        scale = unit.text.replace(unit.name, "").strip()
        return f"{text} {scale}"
    return text


def _indicator(row: _RowFacts, column: _ColumnFacts, title: str) -> Headings:
    """Return what a cell of a table with this title counts, from the outermost heading
    inwards.
    """
    own = column.counted
    if row.is_indicator:
        return (*row.parts, *own)
    if title and column.is_part:
        # "Girls": a part of what the title counts.
        return (title, *own, *row.parts)
    if own:
        return (*own, *row.parts)
    if all(is_time(part) for part in row.parts):
        return (*column.parts, *row.parts)
    return row.parts


@lru_cache(256)
def _clean_title(title: str) -> str:
    """Return a title without its number, years and units: "Table 3: Exports (tonnes),
    2019" is "Exports".
    """
    text = TABLE_NUMBER.sub("", title)
    text, _ = part_units(text)
    text = _IN_YEAR.sub(" ", text)
    return " ".join(text.split()).strip(" ,:;-–()")


def _title_of(table: Table) -> str:
    title = _clean_title(table.title)
    if title or table.place.lower() in NAMELESS_SHEETS:
        return title
    return _clean_title(table.place)


@lru_cache(256)
def _beside(title: str, unit: str, note: str, place: str) -> _ColumnFacts:
    """Return the year and the unit that the texts beside a table give all figures."""
    years = frozenset[int]()
    for text in (title, place, note):
        if len(_YEARS.findall(text)) == 1:
            years = _years_in(text)
            break
    named = None
    if unit:
        named = read_unit(unit, sure=True)
    for line in note.splitlines():
        if named is None:
            named = unit_line(line)
    if named is None:
        _, named = part_units(title)
    return _ColumnFacts((), years, named)


def _roles(table: Table) -> _Roles:
    """Tell what each level of the rows' labels and each column holds."""
    heads = table.row_heads or ("",)
    missing = len(heads) + len(table.columns) - len(table.tags)
    tags = (*table.tags, *[""] * missing)
    labels: list[str] = []
    key: int | None = None
    for level, head in enumerate(heads):
        values = _labels_of(table, level)
        role = _role_of_labels(head, values, tags[level])
        labels.append(role)
        if key is not None or role not in _NAMES or len(heads) == 1:
            continue
        is_unique = len(set(values)) == len(table.rows)
        if is_unique and not any(map(str.isdecimal, values)):
            key = level
    columns: list[str] = []
    sample: list[str] = []
    above: list[str] = []
    for place, path in enumerate(table.columns):
        values = [row.texts[place] for row in table.rows]
        filled = list(filter(None, values))
        role = _role_of_column(path, filled, tags[len(heads) + place])
        columns.append(role)
        above += path[:1]
        if role in FIGURES:
            sample += filled
    _mark_codes(table, labels)
    comma = comma_decimals("\n".join(sample))
    subjects_above = len(above) > 1 and _are_countries(above)
    if not subjects_above and _rows_are_indicators(table, labels):
        subjects_above = len(above) > 1 and all(map(_may_be_subject, above))
    return _Roles(labels, columns, comma, subjects_above, key)


def _rows_are_indicators(table: Table, labels: Sequence[str]) -> bool:
    """Return whether the rows' labels call themselves indicators, or have units of
    their own: "Population" above "Vaccinated (%)".
    """
    if "indicator" in labels:
        return True
    if list(labels) != ["name"]:
        return False
    names = _labels_of(table, 0)
    units: list[str] = []
    for name in names:
        rest, unit = part_units(name)
        if rest and unit is not None:
            units.append(unit.text)
    return len(set(units)) > 1 and 2 * len(units) >= len(names)


def _may_be_subject(head: str) -> bool:
    """Return whether a column's heading may name what its figures are of: it is no
    year, unit or part of what is counted.
    """
    _, unit = part_units(head)
    if unit is not None or _YEARS.search(head) or is_unnamed(head):
        return False
    return is_total(head) or not is_part(head)


def _mark_codes(table: Table, labels: list[str]) -> None:
    """Change the roles of levels that number the rows, beside others that name them."""
    numbers: list[int] = []
    for level, role in enumerate(labels):
        values = _labels_of(table, level)
        if role == "name" and values and all(map(str.isdecimal, values)):
            numbers.append(level)
    others = [role for role in labels if role in _NAMES or role == "item"]
    if len(others) > len(numbers):
        for level in numbers:
            labels[level] = "code"


def _labels_of(table: Table, level: int) -> list[str]:
    """Return the labels of a level of the rows that are not empty."""
    labels: list[str] = []
    for row in table.rows:
        depth = group_depth(table, row)
        own = row.path[depth:]
        if level < len(own) and own[level]:
            labels.append(own[level])
    return labels


def _role_of_labels(head: str, values: Sequence[str], tag: str) -> str:
    """Return the role of a level of the rows' labels. ``values``: those that are not
    empty.
    """
    role = role_of_tag(tag) or role_of_head(head)
    if role not in {"date", "year"} and _say_begin(head, values):
        # The figures of a row are not of the time when it began.
        return "start"
    if _are_years(values) and (role in {"year", "date", ""} or is_unnamed(head)):
        return "date" if all(periods_in(value) for value in values) else "year"
    if role == "year":
        # "Period" above names of seasons.
        return "breakdown"
    # Labels of rows are no comments: "Source" above "Wind" and "Solar".
    if role not in {"value", "comment", ""}:
        return role
    if _are_countries(values):
        return "country"
    if role == "value":
        return "item"
    return "name"


def _say_begin(head: str, values: Sequence[str]) -> bool:
    """Return whether a level says when its rows began or were born."""
    tells_begin = is_start(head) or is_birth(head)
    return tells_begin and bool(values) and all(map(is_time, values))


def _role_of_column(path: Headings, values: Sequence[str], tag: str) -> str:
    """Return the role of a column right of the rows' labels. ``values``: those that are
    not empty.
    """
    head = path[-1] if path else ""
    role = role_of_tag(tag) or role_of_head(head)
    if role == "year" and _are_years(values):
        return "year"
    if role == "comment" or (role == "code" and len(path) == 1):
        return role
    numbers = 0
    words = 0
    for value in values:
        if _number(value, False) is not None:
            numbers += 1
        elif re.search(r"[^\W\d_]{3}", value):
            words += 1
    # Others are signs such as a dash or "n/a" for a number that is missing.
    if numbers > words:
        return "value" if role == "value" else "figure"
    if role in {"unit", "indicator", "country", "place", "breakdown"}:
        return role
    return "text"


def _are_years(values: Sequence[str]) -> bool:
    if not values:
        return False
    return all(map(_ONLY_YEAR.fullmatch, values))


def _are_countries(values: Sequence[str]) -> bool:
    """Return whether most different values are names or codes of countries."""
    known = 0
    others = 0
    for value in set(islice(values, 500)):
        if is_total(value):
            continue
        if len(value) > 2 and country_code(value):
            known += 1
        else:
            others += 1
    return known > 2 * others


def _own_path(table: Table, row: TableRow, roles: _Roles) -> Headings:
    """Return the labels that name a row, behind its groups."""
    depth = group_depth(table, row)
    path = list(row.path[:depth])
    for label, role in zip(row.path[depth:], roles.labels, strict=False):
        if label and role in _NAMES:
            path.append(label)
    return tuple(path)


def _row_facts(
    table: Table, row: TableRow, roles: _Roles, names: Counter[str]
) -> _RowFacts:
    """Return what a row's labels, and its columns without figures, say of the rest."""
    depth = group_depth(table, row)
    groups = row.path[:depth]
    texts = _texts_by_role(table, row, depth, roles)
    subjects = [*texts["country"], *texts["name"], *texts["place"]]
    key = row.path[depth:][roles.key :][:1]
    if roles.key is not None and any(key) and not is_total(key[0]):
        # The other names say where it is.
        subjects = [key[0]]
    unit = None
    for text in texts["unit"]:
        unit = read_unit(text, sure=True)
    times = _times_of_row(texts["date"], subjects)
    parts = tuple(filterfalse(is_total, [*texts["breakdown"], *times]))
    years = _years_of_row(texts["year"], [*parts, *texts["date"], *subjects])
    items = texts["item"]
    if texts["indicator"]:
        name = texts["indicator"][-1]
        rest, unit_of_name = part_units(name)
        subject = _subject(groups, subjects, names)
        counted = (rest or name, *items, *parts)
        return _RowFacts(subject, counted, True, years, unit or unit_of_name)
    if not _rows_are_items(table, roles, texts):
        subject = _subject(groups, subjects, names)
        return _RowFacts(subject, (*items, *parts), False, years, unit)
    facts = _RowFacts("", parts, True, years, unit)
    facts = _with_names(facts, (*groups, *subjects, *items))
    is_part_of_title = table.title and not groups and "item" not in roles.labels
    if is_part_of_title or not facts.parts:
        # "Cocoa beans" below "Exports": the label alone does not say what is counted.
        facts = replace(facts, parts=(_title_of(table), *facts.parts))
    return replace(facts, parts=tuple(filter(None, facts.parts)))


def _times_of_row(dates: Sequence[str], subjects: Sequence[str]) -> Sequence[str]:
    """Return the dates that tell figures of a row apart: its days only where it has no
    name.
    """
    if not subjects:
        return dates
    return [text for text in dates if not DAY.search(unify_periods(text))]


def _years_of_row(stated: Iterable[str], others: Iterable[str]) -> frozenset[int]:
    """Return the first years of those that a row states, else of its months and
    quarters, which are among the other names of it.
    """
    for text in [*stated, *(other for other in others if is_time(other))]:
        years = _years_in(text)
        if years:
            return years
    return frozenset()


def _texts_by_role(
    table: Table, row: TableRow, depth: int, roles: _Roles
) -> defaultdict[str, list[str]]:
    """Return the labels of a row behind its groups, and the cells of its columns
    without figures, each under its role.
    """
    texts = defaultdict[str, list[str]](list)
    heads = table.row_heads or ("",)
    for label, role, head in zip(row.path[depth:], roles.labels, heads, strict=False):
        if label.isdecimal() and periods_in(f"{head} {label}"):
            # "Week 12": the number alone says nothing.
            texts[role].append(f"{head} {label}")
        elif label:
            texts[role].append(label)
    for text, role in zip(row.texts, roles.columns, strict=True):
        if text and role not in FIGURES:
            texts[role].append(text)
    return texts


def _with_names(facts: _RowFacts, names: Sequence[str]) -> _RowFacts:
    """Return facts with what the names of a row say: what is counted, its unit and its
    years.
    """
    unit = facts.unit
    years = facts.years
    counted: list[str] = []
    for name in names:
        rest, unit_of_name = part_units(name)
        unit = unit or unit_of_name
        years = years or _years_in(name)
        if not is_total(name):
            counted.append(rest or name)
    return replace(facts, parts=(*counted, *facts.parts), years=years, unit=unit)


def _rows_are_items(
    table: Table, roles: _Roles, texts: Mapping[str, Sequence[str]]
) -> bool:
    """Return whether the rows' labels say what is counted rather than of whom."""
    names_place = bool(texts["country"] or texts["place"])
    if roles.subjects_above:
        return not names_place
    if names_place:
        return False
    if "item" in roles.labels:
        return True
    if "name" not in roles.labels:
        return False
    if table.row_heads and not is_unnamed(table.row_heads[0]):
        return False
    # Without a name of their own: below years or parts they are what is counted.
    for path, role in zip(table.columns, roles.columns, strict=True):
        if role in FIGURES and not all(map(_is_part_or_year, path)):
            return False
    return True


def _is_part_or_year(part: str) -> bool:
    rest, _ = part_units(part)
    bare = _YEARS.sub("", rest).strip(" ()-–,.")
    if not bare:
        return True
    return is_part(bare)


def _subject(
    groups: Sequence[str], subjects: Sequence[str], names: Counter[str]
) -> str:
    """Return what a row's figures are of: its innermost name, behind the outer one
    where it repeats in the table. A total is of what its group names, or of all.
    """
    outer = [*groups, *subjects]
    if outer and is_total(outer[-1]):
        outer.pop()
        if outer:
            return outer[-1]
    if not outer:
        return ""
    name = outer[-1]
    if len(outer) == 1 or names[name] == 1 or outer[-2] == name:
        return name
    return f"{outer[-2]}: {name}"


def _column_facts(path: Headings, roles: _Roles) -> _ColumnFacts:
    """Return what a column's heads say of the figures below them."""
    parts: list[str] = []
    years = frozenset[int]()
    unit: HeadUnit | None = None
    subject = ""
    for place, head in enumerate(path):
        if roles.subjects_above and place == 0 and _may_be_subject(head):
            if not is_total(head):
                subject = head
            continue
        shown = _MARKS.sub("", head.replace("_", " "))
        rest, unit_of_head = part_units(shown)
        unit = unit_of_head or unit
        if is_time(rest):
            years = _years_in(rest) or years
        if len(_YEARS.findall(rest)) == 1:
            years = _years_in(rest)
            if not _DATE.search(rest):
                # Days of one year tell columns apart.
                rest = " ".join(_YEARS.sub(" ", rest).split())
                rest = rest.strip(" ()-–,.:")
        if rest and not is_unnamed(rest) and rest not in parts:
            parts.append(rest)
    return _ColumnFacts(tuple(parts), years, unit, subject)


@lru_cache(4096)
def _years_in(text: str) -> frozenset[int]:
    """Return the years of the first year or span in a text: both of "2018/19"."""
    shown = unify_signs(text)
    # "Jan-24"
    match = _YEARS.search(shown) or _YEARS.search(unify_periods(shown))
    if match is None:
        return frozenset()
    first = int(match["year"])
    until = match["until"]
    if not until:
        return frozenset({first})
    last = int(until)
    if len(until) < 4:
        last += first // 10 ** len(until) * 10 ** len(until)
    if last > first + 10:
        # The figure is of no one year.
        return frozenset()
    # A month, as in 2023-04, is no span of years.
    return frozenset(range(first, max(first, last) + 1))


def _number(text: str, comma: bool) -> tuple[Decimal, str] | None:
    """Return the value of a cell and its unit; None where it is no number."""
    if _PLAIN.fullmatch(text) and not comma:
        if text[0] == "0" and text[1:2].isdigit():
            return None
        return Decimal(text.replace(",", "")), ""
    if len(text) > 60 or not any(map(str.isdigit, text)):
        return None
    return _written_number(text, comma)


@lru_cache(4096)
def _written_number(text: str, comma: bool) -> tuple[Decimal, str] | None:
    """Return the value and the unit of a cell with more than digits."""
    shown = _MARKS.sub("", unify_signs(text)).strip()
    negative = _NEGATIVE.fullmatch(shown)
    if negative is not None:
        shown = f"-{negative[1].strip()}"
    if _NO_FIGURE.match(shown):
        return None
    # Most cells with digits are text, such as addresses: not read any further.
    if shown[: start_of_figure(shown)].strip(" ~≈<>≤≥"):
        return None
    numbers = figures(shown, comma=comma)
    if len(numbers) != 1 or numbers[0].word:
        return None
    number = numbers[0]
    if len(number.values) != 1:
        return None
    behind = shown[number.end :].strip()
    if len(behind.split()) > 4 or re.match(r"[-/:._]|.*\d", behind):
        return None
    unit = number.unit
    if behind and not unit:
        named = read_unit(behind, sure=True)
        if named is not None:
            unit = named.name
    return min(number.values), unit
