"""The kind of request of a question, by closed classes of words: superlatives, bounds, words for time and number.

Nothing here knows what reports are about: which figure is meant is the business of the index of indicators. Small talk
and overviews, which no passage answers, are read as bags of words: all their words are of kinds that ask nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from ..domain.scope import Kind, Named, NamedDocument, Reading
from ..language import LETTERS_PATTERN, WORD_PATTERN
from ..language.figures import ONES, Figure, comma_decimals, figures
from .english import pattern, words
from .reading import remove_names

OF_ALL = frozenset({"ranking", "filter", "count", "aggregate"})
"""Kinds that ask of all countries."""
MOST_RANKED = 50
_form = partial(re.compile, flags=re.IGNORECASE)
_COUNTRIES = r"(?:countr(?:y|ies)|nations?|states?|places?|economies)"
_NO_SUPERLATIVES = (
    "forest interest harvest west midwest east rest test contest request arrest guest quest protest invest nest chest "
    "latest newest conquest manifest suggest digest honest modest inquest tempest priest behest"
)
_SUPERLATIVE = _form(
    rf"\b(?!(?:{'|'.join(_NO_SUPERLATIVES.split())})\b)(?:\w{{2,}}est|most|least|top|best|worst|rank(?:ed|ing|s)?"
    r"|nowhere)\b"
)
_LOWEST = _form(
    r"\b(?:lowest|least|fewest|smallest|youngest|poorest|shortest|slowest|weakest|cheapest|earliest|lightest|bottom"
    r"|narrowest|fewer|lower|less|smaller|younger|poorer|shorter|slower)\b"
)
_ORDER = _form(
    r"\b(?:top|first|highest|lowest|largest|biggest|most|least|fewest|smallest|best|worst|rank(?:ed|ing|s)?|nowhere)\b"
)
"""Superlatives that say nothing of the thing they rank."""
_SERIES = _form(
    r"\b(?:trends?|timeline|time series|histor(?:y|ical(?:ly)?)|evol\w+|charts?|graphs?|plot(?:ted)?|curve"
    r"|(?:over|with|through) time|(?:year|edition|report)[ -](?:by|after|on|to|for)[ -](?:year|edition|report)"
    r"|multi[- ]?year|by (?:year|edition)|(?:per|each|every) edition|since (?:19|20)\d\d"
    r"|develop(?:ed|ing|ment) over|(?:chang|develop)ed(?=\W*$)|oldest to newest)\b"
    r"|\b(?:over|across|through(?:out)?|all|each of|these|those|earlier|previous|last|past|several|few|recent)"
    r"\W+(?:\w+\W+)?(?:years|editions)\b(?! (?:old|of age|ago)\b)|\byears before\b"
)
_COMPARE = _form(r"\bcompar(?:e|ed|ing|ison)\b")
_HOW_MANY = _form(rf"\bhow many\b(?:\W+(?:of|the|these|those|all|our)\b)*\W+(?:\w+\W+)?{_COUNTRIES}\b")
_WHICH = _form(rf"\b(?:which|what|list)\W+(?:\w+\W+)?{_COUNTRIES}\b")
_AVERAGE = _form(r"\b(?:averages?|(?<!does )(?<!do )mean(?! (?:by|that|for|to|when|if)\b))\b")
_TOTAL = _form(r"\b(?:sum|combined|together|total)\b")
_ALL = _form(rf"\b(?:all|every|across|among|over|these|the)\W+(?:\w+\W+){{0,2}}{_COUNTRIES}\b")
_ABOVE = r"above|over|more than|greater than|higher than|larger than|at least|exceed(?:s|ing)?|beyond|upwards of"
_BELOW = r"below|under|less than|fewer than|lower than|smaller than|at most|beneath|up to"
_BOUND = _form(rf"\b(?:(?P<above>{_ABOVE})|(?P<below>{_BELOW}))\W+(?:(?:a|the|about|some|of)\W+)?(?=[$€£]?\S)")
_BEHIND = _form(
    r"^\W*(?:or|and) (?:(?P<above>more|over|higher|above|greater)|(?P<below>less|fewer|under|lower|below))\b"
)
_FALLS = _form(r"\b(?:shr[aiu]nk\w*|contract(?:s|ed|ing)|negative|declin\w+|fell|fall(?:s|ing)?|decreas\w+)\b")
_GROWS = _form(r"\b(?:positive|gr[eo]w(?:s|ing)?|increas(?:e|es|ed|ing))\b")
_FRACTIONS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_FRACTION = _form(rf"\b(?:(?P<count>{'|'.join(list(ONES)[:9])}|an?|\d)\W+)?(?P<part>{'|'.join(_FRACTIONS)})s?\b")
_PROSE = _form(
    r"^\W*(?:(?:and|but|so|please|tell me|explain|can you (?:tell|explain)\w*)\W+)*"
    r"(?:why|how (?!many|much|old|long|large|big|high|tall|far|deep|fast|often|young|rich|poor)|describe|explain"
    r"|what (?:happened|went|led|caused|is happening|was .{1,30} about))\b"
    r"|\b(?:reasons?|causes?|consequences?) (?:of|for)\b"
)
_AMOUNT = _form(
    r"\b(?:how (?:much|many)|combien|cu[aá]nt[oa]s?|quant[oa]s?|wie ?viele?)\b"
    r"|\b(?:what|which)\W+(?:\w+\W+)?(?:share|percentage|percent|proportion|number|rate|amount|total)\b"
)
_ADVICE = _form(r"\b(?:must|ought|shall|should) (?:i|we)\b|\byou (?:think|believe|feel|prefer|recommend)\b")


@dataclass(frozen=True, slots=True)
class Bound:
    """``above``: greater than ``value``, else less than it. ``unit``: "%", "$" or "" where none is said."""

    above: bool
    value: Decimal
    unit: str = ""

    def admits(self, value: Decimal) -> bool:
        return value > self.value if self.above else value < self.value


@dataclass(frozen=True, slots=True)
class Request:
    """``topic``: the question without its names and without the words that only say what kind it is.

    ``most``: how many of a ranking, 0 = not said. ``average``: of an aggregate, else the total.
    """

    kind: Kind
    topic: str
    lowest: bool = False
    most: int = 0
    bound: Bound | None = None
    average: bool = True


def asks_for_prose(text: str) -> bool:
    """Return whether a question asks why, how or what happened, and so for sentences instead of a figure or a name."""
    return _PROSE.search(text) is not None


def asks_for_amount(text: str) -> bool:
    """Return whether a question asks for a figure in so many words: "how many", "what share of"."""
    return _AMOUNT.search(text) is not None


def asks_for_advice(text: str) -> bool:
    """Return whether a question asks what the person who asks should do, or what the program thinks."""
    return _ADVICE.search(text) is not None


def series_words(text: str) -> str:
    """Return the words that ask for one thing over time: "over the years", "a chart"; "" without any."""
    match = _SERIES.search(text)
    return match[0].strip() if match else ""


def read_request(reading: Reading, *, countries: int) -> Request:
    """Return what a question asks for; ``countries``: how many of the data it is about. Only a question about no single
    country ranks, filters or counts countries."""
    plain, years = " ".join(remove_names(reading.text, reading.names).split()), reading.every_year
    is_span = len(years) > 1 or any(one.gte != one.lte for one in years)
    kind: Kind = "value"
    bound = None if countries else _bound(plain)
    if not countries:
        kind = _of_all(plain, bound)
    if kind in {"count", "filter"}:
        bound = bound or _sign(plain)
    elif kind == "value" and (_SERIES.search(plain) or _SERIES.search(reading.text) or is_span):
        kind = "series"
    elif kind == "value" and countries > 1:
        kind = "comparison"
    elif kind == "value" and asks_for_prose(plain):
        kind = "prose"
    if reading.kind and (reading.kind in OF_ALL) == (kind in OF_ALL):  # only the rules read bounds and numbers
        kind = reading.kind if bound or reading.kind not in {"count", "filter"} else kind
    topic = plain
    for form in (_HOW_MANY, _SERIES, _COMPARE, _BOUND, _WHICH, _ORDER):
        topic = form.sub(" ", topic)
    topic = " and ".join(reading.things) or " ".join(topic.split()) or "?"
    if kind not in OF_ALL:
        return Request(kind, topic)
    most = [int(min(one.values)) for one in _numbers(plain) if one.bare and min(one.values) <= MOST_RANKED]
    for number in reversed(_numbers(topic)):
        topic = f"{topic[: number.start]}{topic[number.end :]}"
    is_lowest, is_average = _LOWEST.search(plain) is not None, _AVERAGE.search(plain) is not None
    return Request(kind, topic, is_lowest, next(iter(most), 0), bound, is_average)


def _of_all(plain: str, bound: Bound | None) -> Kind:
    """Return the kind of a question about all countries; "value" if it asks nothing of that kind."""
    if _HOW_MANY.search(plain):
        return "count"
    if bound or (_sign(plain) and _WHICH.search(plain)):
        return "filter"
    if _SUPERLATIVE.search(plain):
        return "ranking"
    is_aggregate = _AVERAGE.search(plain) or (_TOTAL.search(plain) and _ALL.search(plain))
    return "aggregate" if is_aggregate else "value"


def _numbers(plain: str) -> list[Figure]:
    return [one for one in figures(plain, comma=comma_decimals(plain)) if one.year is None]


def _bound(plain: str) -> Bound | None:
    for match in _BOUND.finditer(plain):
        rest = plain[match.end() :]
        if fraction := _FRACTION.match(rest):
            count = (fraction["count"] or "one").lower()
            number = Decimal(ONES.get(count, 1 if not count.isdigit() else int(count)))
            return Bound(bool(match["above"]), 100 * number / _FRACTIONS[fraction["part"].lower()], "%")
        near = [one for one in _numbers(rest) if not rest[: one.start].strip(" $€£")]
        if near:
            return Bound(bool(match["above"]), min(near[0].values), near[0].unit)
    for one in _numbers(plain):
        if behind := _BEHIND.match(plain[one.end :]):
            return Bound(bool(behind["above"]), min(one.values), one.unit)
    return None


def _sign(plain: str) -> Bound | None:
    if _FALLS.search(plain):
        return Bound(False, Decimal(0))
    return Bound(True, Decimal(0)) if _GROWS.search(plain) else None


_GREETING_WORDS, _SERVICE_WORDS = words("greeting_words"), words("service_words")


def is_small_talk(text: str) -> bool:
    """Return whether a message is a greeting ("ok thanks, bye!") or asks about the program: "What can you do?"."""
    message_words = set(WORD_PATTERN.findall(text.lower()))
    is_of_program = not message_words.isdisjoint({"you", "i"}) and message_words <= _GREETING_WORDS | _SERVICE_WORDS
    return bool(message_words) and (message_words <= _GREETING_WORDS or is_of_program)


_OVERVIEW, _SAYING, _ORIGIN = words("overview_words"), words("content_words"), words("origin_words")
_OF_FORM = words("idle_words") | words("form_words")
"""Say which document, and in what form: they ask for nothing in it."""
_OWN = pattern(r"\b(?:this|that|these|those|my|our|attached|following|above)\s+(?:\w+\s+)?{edition_noun}s?\b")
_REPORTS = pattern(r"\b{edition_noun}(?P<several>s)?\b")
_VERIFIES = pattern(r"\b{verifies}\b")


def _words_of(question: str, names: Sequence[Named | NamedDocument]) -> set[str]:
    text = remove_names(question, names).replace("’", "'").replace("'s", " is ")
    return set(LETTERS_PATTERN.findall(text.lower())) - {"s"}


def asks_of_all(question: str) -> bool:
    """Return whether no single passage, or only the first page, says what a question asks for."""
    content_words = _words_of(question, ())
    is_origin = not content_words.isdisjoint(_ORIGIN) and content_words <= _OF_FORM | _SAYING | _ORIGIN
    return not content_words.isdisjoint(_OVERVIEW) or is_origin or asks_what_it_is_about(question, ())


def asks_what_it_is_about(question: str, names: Sequence[Named | NamedDocument]) -> bool:
    """Return whether a question asks for an overview of what it names, and for nothing in it: "Tell me about Kenya"."""
    content_words = _words_of(question, names)
    has_subject = bool(names) or not content_words.isdisjoint(_OVERVIEW | _SAYING)
    return has_subject and content_words <= _OF_FORM | _OVERVIEW | _SAYING


def asks_of_reports(question: str, *, names: bool) -> bool:
    """Return whether a question about what is attached to it speaks of the library's reports, too, or whether it is
    right. "The report" alone may be what is attached. ``names``: it, or its scope, names a country or a report."""
    mention = _REPORTS.search(_OWN.sub(" ", question))
    of_reports = mention is not None and (names or mention["several"] is not None)
    return of_reports or _VERIFIES.search(question) is not None
