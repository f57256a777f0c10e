"""Days and months as people write them: 7 August 2022, August 7, 2022, 2022-08-07, 7.8.2022, 7/8/22, August 2022."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal

from .figures import unify_signs

_MONTHS = (
    "january jan januar januari janvier janv enero ene janeiro gennaio gen",
    "february feb februar februari février févr fév febrero fevereiro fev febbraio febb",
    "march mar märz mrz maart mars marzo março",
    "april apr avril avr abril abr aprile",
    "may mai mei mayo maio maggio mag",
    "june jun juni juin junio junho giugno giu",
    "july jul juli juillet juil julio julho luglio lug",
    "august aug augustus août agosto ago",
    "september sept sep septembre septiembre setembro settembre sett",
    "october oct oktober okt octobre octubre outubro ottobre ott out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre déc diciembre dic dezembro dicembre",
)
MONTHS = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?<![\d.,])(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|º|°)?\.?"
_DATE_YEAR = r"(?P<year>(?:1\d|20)\d{2})(?!\d|[.,]\d)"
_OF = r"\s+(?:of |de |di )?"
_WRITTEN = (
    re.compile(rf"{_DAY}{_OF}{_MONTH}(?:,?{_OF}{_DATE_YEAR})?", re.IGNORECASE),
    re.compile(rf"\b{_MONTH}\s+{_DAY}(?!\d|[.,]\d|\s?%)(?:,?\s+{_DATE_YEAR})?", re.IGNORECASE),
    re.compile(rf"\b{_MONTH},?{_OF}{_DATE_YEAR}", re.IGNORECASE),
)
_NUMERIC = (
    re.compile(r"(?<!\d)(?P<year>(?:1\d|20)\d{2})-(?P<month>[01]?\d)-(?P<day>[0-3]?\d)(?!\d)"),
    re.compile(r"(?<![\d.])(?P<day>[0-3]?\d)\.\s?(?P<month>[01]?\d)\.\s?(?P<year>(?:1\d|20)\d{2})(?!\d)"),
    re.compile(r"(?<![\d/])(?P<day>[0-3]?\d)/(?P<month>[01]?\d)/(?P<year>(?:1\d|20)\d{2})(?!\d)"),
    re.compile(r"(?<![\d/])(?P<month>[01]?\d)/(?P<day>[0-3]?\d)/(?P<year>(?:1\d|20)\d{2})(?!\d)"),
)
_EARLIER_DAY = re.compile(
    r"(?<![\d.,])([0-3]?\d)(?:st|nd|rd|th)?\.?\s?(?:-|/|,|to|and|or|bis|und|et|y)\s?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Date:
    """A day or a month; ``year`` or ``day`` is None if the text does not give it."""

    start: int
    end: int
    year: int | None
    month: int
    day: int | None

    def stands_in(self, other: Date) -> bool:
        """Whether ``other`` has the same month, and the same day and year as far as both give them."""
        return (
            self.month == other.month
            and (self.day is None or self.day == other.day)
            and (self.year is None or other.year is None or self.year == other.year)
        )


def dates(text: str) -> list[Date]:
    """Return the dates in a text, unordered. 7/8/2022 has both readings, and "7 and 8 August" is two days."""
    text = unify_signs(text)
    in_text: list[Date] = []
    for pattern in (*_WRITTEN, *_NUMERIC):
        for match in pattern.finditer(text):
            named = match.groupdict()
            month = int(named["month"]) if named["month"].isdigit() else MONTHS[named["month"].lower()]
            day = int(named["day"]) if named.get("day") else None
            if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
                continue
            year = int(named["year"]) if named.get("year") else None
            start, end = match.span()
            in_text.append(Date(start, end, year, month, day))
            # The other days of "3, 7 and 8 August 2022".
            while day is not None and (earlier := _EARLIER_DAY.search(text[max(0, start - 12) : start])):
                start = max(0, start - 12) + earlier.start()
                if 1 <= int(earlier[1]) <= 31:
                    in_text.append(Date(start, end, year, month, int(earlier[1])))
    return in_text


def date_stands(claimed: Date, known: Iterable[Date], has: Callable[[Decimal], bool]) -> bool:
    """Whether a text with the dates ``known`` has the claimed day or month; ``has`` tells which numbers it has.

    A date in an unknown spelling counts by its numbers, unless the text has the same day of another month, or another
    day of that month.
    """
    known = list(known)
    year_known = claimed.year is None or has(Decimal(claimed.year))
    if any(claimed.stands_in(date) and (date.year is not None or year_known) for date in known):
        return True
    same_month = any(date.month == claimed.month and date.day is not None for date in known)
    same_day = any(date.day == claimed.day and date.day is not None for date in known)
    if same_month or same_day or not year_known:
        return False
    return claimed.day is None or has(Decimal(claimed.day))
