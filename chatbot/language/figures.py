"""Read numbers and dates as people write them, with the scales, units, number words and
months of several languages. 1,234,567 and 1 234 567, 2.5 and 2,5, 1.2 million, 12 %,
$3bn, twelve, 2019-21; 7 August 2022, 2022-08-07, 7/8/22.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from ..domain.errors import read_table
from ..domain.tables import Texts
from .analysis import LETTERS_PATTERN
from .characters import lowered

_WORDS_OF = read_table(__package__, "numbers")
SCALES = {
    word: Decimal(10) ** int(power)
    for power, words in _WORDS_OF["scales"].items()
    for word in words.split()
}
for _thousand_million in ("mil millones", "mil milhões"):
    SCALES[_thousand_million] = Decimal(10) ** 9
SCALE_SIGNS = {
    sign: Decimal(10) ** int(power)
    for power, signs in _WORDS_OF["signs"].items()
    for sign in signs
}
"""Written directly after the number."""
SHORT_SCALES = {
    "k": Decimal(10) ** 3,
    "m": Decimal(10) ** 6,
    "b": Decimal(10) ** 9,
    "t": Decimal(10) ** 12,
}
"""Only after a currency: 5 m may be metres."""
CURRENCIES: dict[str, str] = _WORDS_OF["currencies"]
PERCENT = "|".join(_WORDS_OF["percent"])
ONES = {word: number for number, word in enumerate(_WORDS_OF["ones"].split(), start=1)}
TENS = {
    word: number * 10 for number, word in enumerate(_WORDS_OF["tens"].split(), start=2)
}
MONTHS = {
    name: number
    for number, names in enumerate(_WORDS_OF["months"], start=1)
    for name in names.split()
}
GAP = "\u202f"
"""Replaces every space that keeps the digits of one number together."""
_ALIKE = {
    **dict.fromkeys("\u00a0\u2007\u2009\u202f", GAP),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-"),
    **dict.fromkeys("\u2019\u02bc", "'"),
    **dict(zip("\uff05\uff0e\uff0c\u066b\u066c\ufe6a", "%.,.,%", strict=True)),
}
_ALIKE_SIGN, _OTHER_DIGIT = (
    re.compile(f"[{''.join(_ALIKE)}]"),
    re.compile(r"\d(?<![0-9])"),
)
_WORDS = (
    rf"(?:{'|'.join(TENS)})(?:[- "
    rf"](?:{'|'.join(list(ONES)[:9])}))?|{'|'.join(sorted(ONES, key=len, reverse=True))}"  # noqa: E501
)
_NUMBER = (
    rf"\d{{1,3}}(?:[{GAP}']\d{{3}})+(?!\d)(?:[.,]\d+)?"
    r"|\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*"
    rf"|\b(?:{_WORDS})\b"
)
MONEY = "|".join(CURRENCIES.values())
ANY_SCALE = "|".join(sorted(map(re.escape, SCALES), key=len, reverse=True))
"""The words of all scales as alternatives, the longest first."""
SCALE_WORD = re.compile(rf"\b(?:{ANY_SCALE})\b")
_STARTS = sorted(
    {word[:2] for word in (*TENS, *ONES, "minus", *re.findall(r"[a-z]{2,}", MONEY))}
)
_FIGURE = re.compile(
    # It begins at a sign, a digit or such a word; without this the alternatives are
    # tried at each letter.
    rf"(?=[-\d$€£¥₹₽]|(?<![a-z])(?:{'|'.join(_STARTS)}|[a-z][$.ó]))"
    rf"(?P<sign>(?<![\w)\]%.,])-|\bminus )?(?P<before>(?:{MONEY})[ "
    rf"{GAP}]?(?P<inner>-)?)?"
    rf"(?<![\w.])(?<!\d,)(?P<number>{_NUMBER})"
    rf"(?:(?P<signs>[{''.join(SCALE_SIGNS)}])|(?P<short>[kmbt]\b)|[ "
    rf"{GAP}-]?(?P<scale>{ANY_SCALE})\b\.?)?"
    rf"(?:[ {GAP}-]?(?P<percent>{PERCENT})|[ {GAP}]?(?P<after>{MONEY})(?! ?-?\d))?"
)
_YEARS = {str(year): year for year in range(1000, 2100)}
RANGE = re.compile(r"\s?(?:-|/|to|and|or|bis|und|à|et|a|y|e|до)\s?(?:[^\w\s])?")
_COMMA_DECIMAL = re.compile(
    r"\d(?<![\d.,]\d)\d{0,2}(?:(?:\.\d{3})+,\d+|,\d{1,2}|(?:\.\d{3}){2,})(?![\d,])(?!\.\d)"
)
_POINT_DECIMAL = re.compile(
    r"\d(?<![\d.,]\d)\d{0,2}(?:(?:,\d{3})+\.\d+|\.\d{1,2}|(?:,\d{3}){2,})(?![\d.])(?!,\d)"
)
_NOTE_MARK = re.compile("[⁰¹²³⁴-⁹](?<=[0-9⁰¹²³⁴-⁹].)(?<!10.)")
"""2023⁴; 10⁴ is a power."""


class Figure(NamedTuple):
    """A number in a text. ``values`` are its possible readings, of which one is enough.
    ``parts``: the several numbers that it may be instead ("12 345" in a table, 5,6 in a
    list), all of which count. ``scaled``: a word such as "million" is in ``values``;
    ``word``: it is written in letters ("three").
    """

    text: str
    start: int
    end: int
    values: frozenset[Decimal]
    unit: str = ""
    scaled: bool = False
    word: bool = False
    parts: tuple[Decimal, ...] = ()
    year: int | None = None
    """The number as a year if it is written like one, from 1000 to 2099."""

    @property
    def bare(self) -> bool:
        """Just a number: no unit, no scale."""
        return not self.unit and not self.scaled


def unify_signs(text: str) -> str:
    """Return a text of the same length: ASCII digits, one kind of dash, apostrophe and
    space, no marks of notes.
    """
    if text.isascii():
        return text
    text = _NOTE_MARK.sub(" ", _ALIKE_SIGN.sub(lambda sign: _ALIKE[sign[0]], text))
    return (
        text
        if text.isascii()
        else _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    )


def comma_decimals(text: str) -> bool:
    """Return whether more numbers have a decimal comma than a decimal point: then 1.234
    is a thousand.
    """
    text = unify_signs(text)
    commas = len(_COMMA_DECIMAL.findall(text))
    return commas > 0 and commas > len(_POINT_DECIMAL.findall(text))


def start_of_figure(text: str) -> int:
    """Return where the first number of ``text`` begins; -1 = it has none. Costs a small
    part of `figures`.
    """
    found = _FIGURE.search(lowered(unify_signs(text)))
    if found is None:
        return -1
    return found.start()


def figures(text: str, *, comma: bool = False) -> list[Figure]:
    """Return the numbers of ``text`` in order. ``comma``: its decimals have a comma
    (`comma_decimals`).
    """
    text = unify_signs(text)
    lower = lowered(text)
    in_text = list[Figure]()
    for match in _FIGURE.finditer(lower):
        start, end = match.span()
        written = text[start:end].strip()
        in_text.append(
            Figure(
                written,
                start,
                end,
                *_meaning(match.groups(), comma),
                _YEARS.get(written),
            )
        )
        if len(in_text) > 1:
            in_text[-2:] = _shared(lower, *in_text[-2:])
    return in_text


# Answers repeat the numbers of their passages.
@lru_cache(4096)
def _meaning(
    groups: Texts, comma: bool
) -> tuple[frozenset[Decimal], str, bool, bool, tuple[Decimal, ...]]:
    """Return what the groups of `_FIGURE` mean: `Figure.values` to `Figure.parts`."""
    sign, before, inner, number, *_, percent, after = groups
    (values, parts), scale, unit = (
        _readings(number, comma),
        _scale(groups),
        "%" if percent else "",
    )
    factor = (scale or 1) * (-1 if sign or inner else 1)
    if not unit and (money := (before or after or "").strip(f" {GAP}-")):
        unit = next(
            (one for one, names in CURRENCIES.items() if re.match(names, money)), ""
        )
    whole = frozenset(_normal(value * factor) for value in values)
    return (
        whole,
        unit,
        scale is not None,
        number[0].isalpha(),
        tuple(map(_normal, parts)),
    )


def _scale(groups: Texts) -> Decimal | None:
    _, before, _, _, signs, short, word, *_ = groups
    if short and (before or short == "k"):
        return SHORT_SCALES[short]
    return SCALE_SIGNS.get(signs) or SCALES.get(word)


def _readings(number: str, comma: bool) -> tuple[Sequence[Decimal], Sequence[Decimal]]:
    """Return what the digits may mean as one number, and as several."""
    if number[0].isalpha():
        tens, _, ones = number.replace("-", " ").partition(" ")
        return (Decimal(TENS.get(tens, 0) + ONES.get(ones or tens, 0)),), ()
    if " " in number:
        whole, _ = _readings(number.replace(" ", GAP), comma)
        several: list[Decimal] = []
        for part in number.split(" "):
            values, _ = _readings(part, comma)
            several.extend(values)
        return whole, tuple(several)
    number = number.replace(GAP, "").replace("'", "")
    if number.isdigit():
        return (Decimal(number),), ()
    pieces = re.split(r"[.,]", number)
    marks = re.findall(r"[.,]", number)
    parts = tuple(Decimal(piece) for piece in pieces)
    whole = (Decimal("".join(pieces)),)
    decimal = (Decimal(f"{''.join(pieces[:-1])}.{pieces[-1]}"),)
    grouped = _are_groups(pieces)
    last = marks[-1]
    is_only_one = marks.count(last) == 1
    if is_only_one and (len(marks) > 1 or not grouped):
        if last == ",":
            return decimal, parts
        return decimal, ()
    if len(marks) == 1 and (marks[0] == ",") == comma:
        return decimal, ()
    if grouped and len(set(marks)) == 1:
        return whole, ()
    return (), parts


def _are_groups(pieces: Sequence[str]) -> bool:
    """Return whether the pieces are digits in groups: 1,234 and, as in India,
    12,34,567; not 0,123.
    """
    head, *middle, last = pieces
    if not head or head[0] == "0":
        return False
    if len(head) > 3:
        return False
    if len(last) != 3:
        return False
    return all(len(part) in (2, 3) for part in middle)


def _shared(text: str, first: Figure, second: Figure) -> tuple[Figure, Figure]:
    """Give both ends of a range the unit and scale of one: "5 to 7 million", "$5-7".
    2019-21 ends in 2021.
    """
    gap = text[first.end : second.start]
    if len(gap) > len(" bis $") or not RANGE.fullmatch(gap):
        return first, second
    if first.year and gap in {"-", "/"} and re.fullmatch(r"\d{2}", second.text):
        return first, _in_century_of(first.year, second)
    if first.year or second.year:
        return first, second
    if second.scaled and not first.scaled:
        match = _FIGURE.match(second.text.lower())
        scale = (match and _scale(match.groups())) or Decimal(1)
        scaled = {_normal(value * scale) for value in first.values}
        first = first._replace(values=first.values | scaled, scaled=True)
    unit = first.unit or second.unit
    return first._replace(unit=unit), second._replace(unit=second.unit or unit)


def _in_century_of(year: int, end: Figure) -> Figure:
    """Return the end of a span, of two digits, also as a later year."""
    century = Decimal(year // 100 * 100)
    later = {century + value for value in end.values if century + value > year}
    return end._replace(values=end.values | later)


def _normal(value: Decimal) -> Decimal:
    return value.normalize() + 0  # no -0


def scales_named(text: str, figures_of_it: Iterable[Figure]) -> set[Decimal]:
    """Return the scales apart from any number, as in the heading "GDP (US$
    million)".
    """
    spans = [(figure.start, figure.end) for figure in figures_of_it if figure.scaled]
    named = (
        (word.start(), SCALES[word[0]]) for word in SCALE_WORD.finditer(lowered(text))
    )
    return {
        size
        for at, size in named
        if size >= 1000 and not any(start <= at < end for start, end in spans)
    }


_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?<![\d.,])(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|º|°)?\.?"
_DATE_YEAR = r"(?P<year>(?:1\d|20)\d{2})(?!\d|[.,]\d)"
_OF = r"\s+(?:of |de |di )?"
_WRITTEN = (
    re.compile(rf"{_DAY}{_OF}{_MONTH}(?:,?{_OF}{_DATE_YEAR})?"),
    re.compile(rf"\b{_MONTH}\s+{_DAY}(?!\d|[.,]\d|\s?%)(?:,?\s+{_DATE_YEAR})?"),
    re.compile(rf"\b{_MONTH},?{_OF}{_DATE_YEAR}"),
)
_NUMERIC = (
    re.compile(
        r"(?<!\d)(?P<year>(?:1\d|20)\d{2})-(?P<month>[01]?\d)-(?P<day>[0-3]?\d)(?!\d)"
    ),
    re.compile(
        r"(?<![\d.])(?P<day>[0-3]?\d)\.\s?(?P<month>[01]?\d)\.\s?(?P<year>(?:1\d|20)\d{2})(?!\d)"
    ),
    re.compile(
        r"(?<![\d/])(?P<day>[0-3]?\d)/(?P<month>[01]?\d)/(?P<year>(?:1\d|20)\d{2})(?!\d)"
    ),
    re.compile(
        r"(?<![\d/])(?P<month>[01]?\d)/(?P<day>[0-3]?\d)/(?P<year>(?:1\d|20)\d{2})(?!\d)"
    ),
)
_MAY_BE_NUMERIC = re.compile(r"\d[-./]\s?\d\d?[-./]")
_EARLIER_DAY = re.compile(
    r"(?<![\d.,])([0-3]?\d)(?:st|nd|rd|th)?\.?\s?(?:-|/|,|to|and|or|bis|und|et|y)\s?$"
)


@dataclass(frozen=True, slots=True)
class Date:
    """A day or a month; ``year`` or ``day`` is None if the text does not give it."""

    start: int
    end: int
    year: int | None
    month: int
    day: int | None


def dates(text: str) -> list[Date]:
    """Return the dates in a text, unordered. 7/8/2022 has both readings, and "7 and 8
    August" is two days.
    """
    text = lowered(unify_signs(text))
    in_text: list[Date] = []
    # Most sentences have neither, and to look for both is quicker than for dates.
    written = (
        () if MONTHS.keys().isdisjoint(LETTERS_PATTERN.findall(text)) else _WRITTEN
    )
    numeric = _NUMERIC if _MAY_BE_NUMERIC.search(text) else ()
    for pattern in (*written, *numeric):
        for match in pattern.finditer(text):
            named = match.groupdict()
            month = (
                int(named["month"])
                if named["month"].isdigit()
                else MONTHS[named["month"]]
            )
            day = int(named["day"]) if named.get("day") else None
            if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
                continue
            year = int(named["year"]) if named.get("year") else None
            start, end = match.span()
            in_text.append(Date(start, end, year, month, day))
            # The other days of "3, 7 and 8 August 2022".
            while day is not None and (
                earlier := _EARLIER_DAY.search(text[max(0, start - 12) : start])
            ):
                start = max(0, start - 12) + earlier.start()
                if 1 <= int(earlier[1]) <= 31:
                    in_text.append(Date(start, end, year, month, int(earlier[1])))
    return in_text


def date_stands(
    claimed: Date, in_text: Sequence[Date], has: Callable[[Decimal], bool]
) -> bool:
    """Return whether a text with these dates has the claimed day or month; ``has``
    tells which numbers it has. A date in an unknown spelling counts by its numbers,
    unless the text has the same day of another month, or another day of that month.
    """
    has_year = claimed.year is None or has(Decimal(claimed.year))
    for date in in_text:
        same_year = has_year if date.year is None else claimed.year in (None, date.year)
        if (
            same_year
            and date.month == claimed.month
            and claimed.day in (None, date.day)
        ):
            return True
    if not has_year or any(
        d.day is not None and (d.month == claimed.month or d.day == claimed.day)
        for d in in_text
    ):
        return False
    return claimed.day is None or has(Decimal(claimed.day))
