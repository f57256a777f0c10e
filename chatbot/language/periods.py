"""The months, quarters and weeks in texts: "May 2024", "Jan-24", "2024-03", "Q2" and
"week 12", in several languages. The one reader of them.
"""

import re
from collections.abc import Collection
from functools import lru_cache

from .figures import MONTHS

__all__ = ["DAY", "is_time", "month_names", "periods_in", "unify_periods"]

_PERIOD = re.compile(r"(?:\b(\d{4}) )?\b(\d\d(?:month|quarter|week))\b(?: (\d{4})\b)?")
"""A period in one spelling, with its year before or behind it."""
DAY = re.compile(r"\b\d\d?day\b")
_IN_DIGITS = (
    (r"\b((?:19|20)\d\d)-(0[1-9]|1[0-2])-0?(\d\d?)\b", r"\1 \2month \3day"),
    (r"\b((?:19|20)\d\d)(?:-|M)(0[1-9]|1[0-2])\b", r"\1 \2month"),
    (r"\b(0[1-9]|1[0-2])[-/.]((?:19|20)\d\d)\b", r"\2 \1month"),
    (r"(?i)\bmonth[: ]+(1[0-2]|0[1-9])\b", r"\1month"),
    (r"(?i)\bmonth[: ]+([1-9])\b", r"0\1month"),
    (r"(?i)\b(?:first|1st|premier|primer|primeiro)[ -](?=quarter|trimest)", "Q1 "),
    (r"(?i)\b(?:second|2nd|deuxième|segundo)[ -](?=quarter|trimest)", "Q2 "),
    (r"(?i)\b(?:third|3rd|troisième|tercer|terceiro)[ -](?=quarter|trimest)", "Q3 "),
    (r"(?i)\b(?:fourth|last|4th|quatrième|[cq]uarto)[ -](?=quarter|trimest)", "Q4 "),
    (r"\b(Q[1-4]) (?i:quarter|trimestre|trimester)\b", r"\1"),
    (r"(?i)\b(?:[QT]|(?:quarter|trimest(?:re|er))[: ]+)([1-4])\b", r"0\1quarter"),
    (r"(?i)\b(?:(?:weeks?|wk|semaine|semana)[:. ]+|W)0?(\d)\b", r"0\1week"),
    (r"(?i)\b(?:(?:weeks?|wk|semaine|semana)[:. ]+|W)([1-5]\d)\b", r"\1week"),
)
"""How texts write periods, and how all of them are written alike: in this order, before
the names of months.
"""
_MONTH = re.compile(
    rf"\b(?P<name>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
    # Excel's "Jan-24"
    r"(?:(?:-|[ -]?['’])(?P<year>\d\d)\b)?",
    re.IGNORECASE,
)
_BEHIND_MONTHS = (
    (r"\b0?(\d\d?)(?:st|nd|rd|th)?(?: of)? (\d\dmonth)\b", r"\1day \2"),
    (r"\b(\d\dmonth) 0?(\d\d?)(?:st|nd|rd|th)?\b,?(?!month)", r"\1 \2day"),
    (
        r"\b(\d\d(?:month|quarter|week))"
        r"(?:,? (?:of|de|del|d[ou]) |[,/-] ?|  +)((?:19|20)\d\d)\b",
        r"\1 \2",
    ),
    (r"\b((?:19|20)\d\d)[/-](\d\d(?:month|quarter|week))\b", r"\1 \2"),
)


@lru_cache(2048)
def unify_periods(text: str) -> str:
    """Return a text with one word for each month, quarter and week in all spellings:
    "05month 2024". The number stands first: two terms that begin alike are taken for
    one word.
    """
    for pattern, written in _IN_DIGITS:
        text = re.sub(pattern, written, text)
    text = _MONTH.sub(_month, text)
    for pattern, written in _BEHIND_MONTHS:
        text = re.sub(pattern, written, text)
    return text


def _month(match: re.Match[str]) -> str:
    name = match["name"]
    # Lower-case words of three letters may be others: "may".
    if len(name) == 3 and name.islower() and not match["year"]:
        return match[0]
    year = f" 20{match['year']}" if match["year"] else ""
    return f"{MONTHS[name.lower()]:02}month{year}"


def periods_in(text: str) -> list[tuple[str, str]]:
    """Return the periods of a text, each with its year or ""."""
    found = _PERIOD.findall(unify_periods(text))
    return [(term, before or after) for before, term, after in found]


def month_names(text: str, years: Collection[str] = ()) -> str:
    """Return the names of the months that a text has, also in digits or cut short, in
    the languages of the data; of those in ``years`` if there are any.
    """
    numbers: set[int] = set()
    for term, year in periods_in(text):
        if term.endswith("month") and (not years or year in years):
            numbers.add(int(term[:2]))
    return " ".join(name for name, month in MONTHS.items() if month in numbers)


def is_time(text: str) -> bool:
    """Return whether a text is a date, a month, a quarter or a year and says nothing
    else: "2024-05", "May 2024", "Q1".
    """
    rest = DAY.sub("", _PERIOD.sub("", unify_periods(text)))
    return not re.search(r"[^\W\d_]", rest)
