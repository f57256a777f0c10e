"""What words in heads and labels of tables say: roles of columns, totals, units."""

import re
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

from ..domain.errors import read_table
from .figures import ANY_SCALE, CURRENCIES, SCALES, unify_signs

__all__ = [
    "NAMELESS_SHEETS",
    "TABLE_NUMBER",
    "HeadUnit",
    "MeasureKind",
    "also_written",
    "denominators",
    "is_birth",
    "is_code",
    "is_of_persons",
    "is_part",
    "is_past",
    "is_share",
    "is_start",
    "is_table_title",
    "is_total",
    "is_unnamed",
    "measure_kind",
    "names_rows",
    "part_units",
    "plain_rows",
    "read_unit",
    "role_of_head",
    "role_of_tag",
    "unit_line",
    "with_base_forms",
]

_TABLE = read_table(__package__, "tables")


def _words(text: str) -> frozenset[str]:
    return frozenset(" ".join(word.split()) for word in text.split(","))


_ROLES: dict[str, frozenset[str]] = {
    role: _words(words) for role, words in _TABLE["roles"].items()
}
_TAGS: dict[str, list[str]] = {
    role: sorted(_words(tags)) for role, tags in _TABLE["tags"].items()
}
_PARTS = _words(_TABLE["columns"]["parts"])
_SHARES = _words(_TABLE["columns"]["shares"])
_LEVELS = _words(_TABLE["columns"]["levels"])
_FLOWS = _words(_TABLE["columns"]["flows"])
_STOCKS = _words(_TABLE["columns"]["stocks"])
_STATES = _words(_TABLE["columns"]["states"])
_PERSONS = _words(_TABLE["columns"]["persons"])
_STARTS = _words(_TABLE["columns"]["starts"])
_BIRTHS = _words(_TABLE["columns"]["births"])
_UNITS_OF_ROWS = _words(_TABLE["columns"]["units"])
_TIMES = _words(_TABLE["columns"]["times"])
_TOTALS = _words(_TABLE["columns"]["totals"])
_BASE_FORMS = dict(
    pair.split()
    for kind in ("irregular", "alike")
    for pair in _words(_TABLE["verbs"][kind])
)
_ALIKE = [pair.split() for pair in sorted(_words(_TABLE["verbs"]["alike"]))]
_PAST_FORMS = frozenset(
    pair.split()[0] for pair in _words(_TABLE["verbs"]["irregular"])
)
_IRREGULAR = re.compile(rf"\b(?:{'|'.join(_BASE_FORMS)})\b", re.IGNORECASE)
NAMELESS_SHEETS = _words(_TABLE["columns"]["sheets"])
"""Names that programs give to sheets."""
_UNIT_WORDS = _words(_TABLE["units"]["words"])
_COUNTED = _words(_TABLE["units"]["counted"])
_LEADS = re.compile(
    rf"^(?:{'|'.join(sorted(_words(_TABLE['units']['leads']), key=len, reverse=True))})"
    r"\b\s*:?\s*",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,40})[)\]]")
_AFTER_COMMA = re.compile(r",\s+([^,]{1,30})$")
_THOUSANDS = re.compile(r"(?<![\d.,])['’]?000(?:['’]?s)?(?![\d.,])")
_SCALE = re.compile(
    rf"\b(?:{ANY_SCALE})\b\.?"
    r"(?!\s+(?:inhabitants|people|births|live|population|habitants|hab))",
    re.IGNORECASE,
)
_PER = re.compile(r"\b(?:per|par|por|لكل)\b|/", re.IGNORECASE)
_OF = re.compile(
    r"^(?:of|de|d['’]|des|do|da)\s*|\s+(?:of|de|d['’]|des)$", re.IGNORECASE
)
TABLE_NUMBER = re.compile(
    r"^(?:table|tableau|tabla|cuadro|tabela|quadro|figure|annex|جدول)\b\s*"
    r"(?:[A-Z]?\d+(?:[.-]\d+)*[a-z]?|[A-Z]\b|[IVX]+\b)?\s*[.:–-]*\s*",
    re.IGNORECASE,
)
_UNNAMED = re.compile(r"(?:Column \d+)?")
_ROW_HEADS = "|".join(map(re.escape, _ROLES["item"] | _ROLES["indicator"]))
_VALUE_HEADS = "|".join(map(re.escape, _ROLES["value"]))
_QUOTED_ROW = re.compile(
    rf"(?<=[“·;*])( ?)(?:{_ROW_HEADS}): ([^;·”\n]+); (\*\*)?(?:{_VALUE_HEADS}): ",
    re.IGNORECASE,
)


MeasureKind = Literal["flow", "stock", "level", ""]


class HeadUnit(NamedTuple):
    """``name``: "%", "$", "lira per kg"; "" = only a scale. ``scale``: what a value
    under it is multiplied by. ``text``: as it is written.
    """

    name: str
    scale: Decimal
    text: str


def plain_rows(markdown: str) -> str:
    """Return an answer with the quoted rows of tables as people write them, without the
    heads that say nothing: "Boreholes: 55" for "Item: Boreholes; Value: 55".
    """
    return _QUOTED_ROW.sub(r"\1\2: \3", markdown)


def role_of_head(head: str) -> str:
    """Return the role that a column's head names, one of the `roles` of the word list;
    "" = none.
    """
    plain = _plain(head)
    spaced = plain.replace("_", " ").replace("-", " ")
    for role, words in _ROLES.items():
        if plain in words or spaced in words:
            return role
    last = spaced.rpartition(" ")[2]
    if last in {"code", "id", "pcode"}:
        return "code"
    if spaced.endswith(" name"):
        return role_of_head(spaced.removesuffix(" name"))
    return ""


def is_code(head: str) -> bool:
    """Return whether a head is that of codes and numbers that only identify rows."""
    return role_of_head(head) == "code"


def names_rows(head: str) -> bool:
    """Return whether a head is that of names or groups, each of which is a row."""
    return role_of_head(head) in {"country", "place", "breakdown", "indicator"}


def role_of_tag(tag: str) -> str:
    """Return the role that a tag of the Humanitarian Exchange Language gives a column:
    "#country+name"; "" = none, or any name.
    """
    parts = set(re.findall(r"[#+]\w+", tag.lower()))
    if not parts:
        return ""
    best = ""
    most = 0
    for role, patterns in _TAGS.items():
        for pattern in patterns:
            named = set(re.findall(r"[#+]\w+", pattern))
            # An attribute of codes decides, whatever the tag is about.
            weight = 9 if role == "code" else len(named)
            if named <= parts and weight > most:
                best = role
                most = weight
    if best or "+name" in parts:
        return best
    return "value"


def is_unnamed(head: str) -> bool:
    """Return whether a head is empty, or the place of a column without one."""
    return bool(_UNNAMED.fullmatch(head.strip()))


def is_part(head: str) -> bool:
    """Return whether a head names a part of what its table counts: "Girls", "Q1"."""
    plain = _plain(head)
    return plain in _PARTS or role_of_head(head) == "value"


def is_share(head: str) -> bool:
    """Return whether a head is that of shares or rates: "Share", "Growth rate"."""
    return not _SHARES.isdisjoint(_plain(head).split())


def with_base_forms(text: str) -> str:
    """Return a text with the base forms of its irregular verbs, and one word for those
    that mean one thing: "spend" for "Spent", "rain" for "Rainfall".
    """
    return _IRREGULAR.sub(lambda match: _BASE_FORMS[match[0].lower()], text)


def measure_kind(head: str, unit: str = "") -> MeasureKind:
    """Return what figures under a head are, by its words and their unit: a "flow" is
    added up over months and places, as visits are; a "stock" over places only, as
    staff; a "level" over neither, as prices and shares. "" = the words do not tell.
    """
    words = set(re.findall(r"\w+", _plain(head)))
    words |= {f"{word}s" for word in words}
    if unit == "%" or words & (_SHARES | _LEVELS):
        return "level"
    behind = denominators(unit)
    if behind:
        return "stock" if _TIMES.issuperset(behind) else "level"
    if words & _FLOWS:
        return "flow"
    if words & _STATES:
        return "stock"
    if any(is_past(word) for word in words):
        return "flow"
    return "stock" if words & _STOCKS else ""


def denominators(unit: str) -> list[str]:
    """Return what a unit is per: "person" and "day" of "litres per person per day"."""
    return [part.strip().lower() for part in _PER.split(unit)[1:]]


def is_of_persons(head: str) -> bool:
    """Return whether a head is that of names of people."""
    return _plain(head) in _PERSONS


def tells_unit(head: str) -> bool:
    """Return whether the labels under a head are units of the figures beside them:
    "Currency", "Unit".
    """
    return role_of_head(head) == "unit" or _plain(head) in _UNITS_OF_ROWS


def is_start(head: str) -> bool:
    """Return whether a head says when something began: "Since", "Date joined"."""
    return not _STARTS.isdisjoint(re.findall(r"\w+", _plain(head)))


def is_birth(head: str) -> bool:
    """Return whether a head says when someone was born: "Date of birth"."""
    return not _BIRTHS.isdisjoint(re.findall(r"\w+", _plain(head)))


def also_written(text: str) -> str:
    """Return the words that tables may have for others: "salary" of "earns"."""
    words = with_base_forms(text).lower().split()
    found: list[str] = []
    for written, base in _ALIKE:
        if base in words or f"{base}s" in words:
            found += [written, base]
    return " ".join(dict.fromkeys(found))


def is_past(word: str) -> bool:
    """Return whether an English word says that something happened: "served", "sent"."""
    if word in _STATES:
        return False
    is_regular = len(word) > 5 and word.endswith("ed") and word[-3] != "e"
    return is_regular or word in _PAST_FORMS


def is_total(label: str) -> bool:
    """Return whether a label names the total of its rows or columns."""
    plain = _plain(label)
    first, _, rest = plain.partition(" ")
    return plain in _TOTALS or (first in {"total", "totals"} and len(rest) < 30)


def _plain(text: str) -> str:
    return " ".join(_BRACKETS.sub("", text).split()).strip(" :*.").lower()


@lru_cache(4096)
def part_units(head: str) -> tuple[str, HeadUnit | None]:
    """Return a head without the unit in it, and the unit: "GDP (US$ million)"."""
    for pattern in (_BRACKETS, _AFTER_COMMA):
        for match in pattern.finditer(head):
            unit = read_unit(match[1])
            if unit is not None:
                rest = f"{head[: match.start()]} {head[match.end() :]}"
                return " ".join(rest.split()).strip(" ,:"), unit
    if re.match(r"%", head) or head.rstrip().endswith("%"):
        rest = head.strip(" %,:")
        # "% of GDP" is what is counted, too.
        return (head if head.startswith("%") and rest else rest), HeadUnit(
            "%", Decimal(1), "%"
        )
    unit = read_unit(head) if len(head) < 30 else None
    if unit is not None and _is_only_unit(head):
        return "", unit
    return head, None


@lru_cache(1024)
def read_unit(text: str, *, sure: bool = False) -> HeadUnit | None:
    """Return the unit in some words; None where they name none. ``sure``: they do, as
    those of a column of units.
    """
    words = unify_signs(text).strip(" ()[]:")
    core = _LEADS.sub("", words)
    has_lead = core != words
    if not core or len(core) > 60:
        return None
    rest, scale = _without_scale(core)
    known = sure or scale != 1 or _has_unit_word(rest) or _PER.match(core)
    if not known and not (has_lead and len(rest.split()) <= 2):
        return None
    return HeadUnit(_unit_name(rest), scale, core)


def _without_scale(text: str) -> tuple[str, Decimal]:
    """Return the words of a unit without those that scale its values, and the factor:
    ("US$", 1000000) of "millions of US$".
    """
    # "per 1,000 live births" has no scale: the value is of so many.
    per = _PER.search(text)
    end = per.start() if per else len(text)
    before = text[:end]
    scale = Decimal(1)
    thousands = _THOUSANDS.search(text)
    if thousands and thousands.end() <= end:
        scale *= 1000
        before = _THOUSANDS.sub("", before)
    while named := _SCALE.search(before):
        scale *= SCALES[named[0].lower().rstrip(".")]
        before = f"{before[: named.start()]}{before[named.end() :]}"
        before = _OF.sub("", before.strip(" ,-"))
    if scale == 1:
        return text, scale
    return f"{before.strip(' ,-')} {text[end:]}".strip(), scale


def _has_unit_word(text: str) -> bool:
    lower = text.lower()
    if lower in _UNIT_WORDS or "%" in lower or re.search("[$€£¥₹₽]", lower):
        return True
    words = re.findall(r"[^\s,;/]+", lower)
    # In brackets a unit is short: "kg per hectare", not "people who came per boat".
    return len(words) <= 5 and words[:1] != [] and words[0] in _UNIT_WORDS


def _is_only_unit(head: str) -> bool:
    words = re.findall(r"[^\s,;/()]+", head.lower())
    known = _UNIT_WORDS - _COUNTED
    return all(word in known or word in SCALES or word == "000" for word in words)


def _unit_name(text: str) -> str:
    for sign, pattern in CURRENCIES.items():
        if re.fullmatch(rf"(?:{pattern})", text.lower()):
            return sign
    if re.fullmatch(
        r"per ?cent|percentage|percent|pct|pour ?cent|por ciento|por cento",
        text.lower(),
    ):
        return "%"
    return text


def is_table_title(text: str) -> bool:
    """Return whether a line calls itself the title of a table: "Table 3: Exports"."""
    match = TABLE_NUMBER.match(text)
    if match is None or len(text) > 200 or "\n" in text or text.endswith("."):
        return False
    return match.end() < len(text) and any(map(str.isdigit, match[0]))


def unit_line(text: str) -> HeadUnit | None:
    """Return the unit of a whole line beside a table: "(in thousands)", "Unit: kg"."""
    line = text.strip()
    in_brackets = line.startswith("(") and line.endswith(")")
    core = line.strip("()[] ")
    if not (in_brackets or _LEADS.match(core) or _is_only_unit(core)):
        return None
    return read_unit(core)
