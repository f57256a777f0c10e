"""The kind of request of a question, by closed classes of words: superlatives, bounds,
words for time and number.

Nothing here knows what reports are about: which figure is meant is the business of the
index of indicators. Small talk and overviews, which no passage answers, are read as
bags of words: all their words are of kinds that ask nothing else.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from ..domain.scope import Kind, Named, NamedDocument, Reading
from ..language.analysis import LETTERS_PATTERN, WORD_PATTERN
from ..language.figures import ANY_SCALE, ONES, Figure, comma_decimals, figures
from ..language.units import unit_pattern
from .english import number_of, pattern, words
from .reading import asking_clause, remove_names

OF_ALL = frozenset({"ranking", "filter", "count", "aggregate"})
"""Kinds that ask of all countries."""
MAX_RANKS = 50
"""A larger number in a question is hardly how many of a ranking it asks for."""
_SUPERLATIVE, _LOWEST, _SERIES = (
    pattern(r"\b{superlative}\b"),
    pattern(r"\b{lowest}\b"),
    pattern("{series}"),
)
_YEAR_OF_EXTREME = pattern(
    r"\b(?:which|what) years?\W+(?:had|has|saw)\W+(?:the|its)\W+{superlative}\b"
    r"|\b(?:(?:which|what) years?|when)\b.*\b{superlative}\W*$"
)
"""Asks for the year in which something was most or least."""
_OTHER_END = {
    "lowest": "highest",
    "smallest": "largest",
    "fewest": "most",
    "least": "most",
}
_LAST_YEARS = pattern(r"\b(?:last|past|latest|recent)\W+(?P<count>\w+)\W+years\b")
_WHICH_THING = pattern(r"^\W*(?:which|what)\W+(?P<thing>\w+)")
_WISH = pattern(r"\b{wish}\b")
_WORST = pattern(r"\bworst\b")
_BAD_WHEN_HIGH = pattern(r"\b{bad_when_high}")
_MAIN_THING = pattern(r"\b{main_item}\W+(?P<thing>\w+(?:\W+\w+)?)")
_HOW_MANY = pattern(
    r"\bhow many\b(?:\W+(?:of|the|these|those|all|our)\b)*\W+"
    r"(?:(?P<kind>\w+)\W+)?{countries}\b"
)
_WHICH = pattern(
    r"\b(?:which|what|list|name)\W+(?:(?:all|every|are|the|your|other|of)\W+)*"
    r"(?:(?P<kind>\w+)\W+)?{countries}\b"
)
_COUNTRIES_THAT = pattern(r"\b{countries}\W+(?:{in_library}\W+)?(?:{that_do})\b")
_AMONG = pattern(
    r"\b(?:among|of|in|from)\W+(?:all\W+)?(?:the|your|these|those)\W+{countries}(?:\W+{in_library})?\W*$"
)
_ASKS_COUNTRIES = (_HOW_MANY, _WHICH, _COUNTRIES_THAT, _AMONG)
_WHERE = pattern(
    r"^\W*(?:(?:and|but|so)\W+)?(?:where|whose|who (?:else )?{of_countries})\b"
)
_AVERAGE, _TOTAL = (
    pattern(r"\b{average}\b"),
    pattern(r"\b(?:sum|combined|together|total)\b"),
)
_ALTOGETHER, _HOW_MANY_OF = pattern(r"\b{altogether}\b"), pattern(r"\b{how_many}\b")
_ON_AVERAGE = pattern(r"\bon {average}\b")
_OF_NAMED = pattern(r"\b{of_named}\b")
_ALL = pattern(
    r"\b(?:all|every|across|among|over|these|the)\W+(?:\w+\W+){0,2}{countries}\b"
)
_BOUND = pattern(
    r"\b(?:(?P<above>{above})|(?P<below>{below})|(?P<exact>{exactly}))\W+"
    r"(?:(?:a|the|about|some|of|even)\W+)?(?=[$€£]?\S)"
    r"|\b(?P<none>)(?=0\s+[^\W\d])"
)
_UNIT_BEHIND = re.compile(rf"\s*(?P<unit>{unit_pattern().pattern})", re.IGNORECASE)
_BEHIND = pattern(r"^\W*(?:or|and) (?:(?P<above>{or_above})|(?P<below>{or_below}))\b")
_INCLUSIVE = pattern(r"\b{inclusive}\b")
_NOT_BEFORE = pattern(r"\b{negation}(?:\s+(?!(?:and|but|or)\b)\w+){0,5}\s*$")
_FALLS, _GROWS = pattern(r"\b{falls}\b"), pattern(r"\b{grows}\b")
FRACTIONS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_FRACTION = pattern(
    rf"\b(?:(?P<count>{'|'.join(list(ONES)[:9])}|an?|\d)\W+)?(?P<part>{'|'.join(FRACTIONS)})s?\b"
)
_OF_SCALE = pattern(
    rf"\b(?:(?:(?P<count>{'|'.join(list(ONES)[:9])})\s)?"
    rf"(?P<part>{'|'.join(FRACTIONS)})s?\s(?:of\s)?)?an?\s(?=(?:{ANY_SCALE})\b)"
    r"|\b(?P<zero>zero)\b(?!-)"
)
"""What stands for a number before its scale: "three quarters of a million"; and 0."""
NUMBER_WORDS = " ".join(["zero", *ONES, *FRACTIONS, ANY_SCALE.replace("|", " ")])
_ONE_IN = pattern(
    r"(?P<count>\w+)\W+(?:(?!in\b|out\b)[a-z]+\W+){0,2}(?:in|out of)\W+(?:every\W+)?"
    r"(?P<whole>\w+)\b"
)
_MEASURED_BY = pattern(
    r"\b(?:(?:measured |judged |going )?by|in terms of|according to)\s+"
    r"(?!far\b|any\b|now\b|then\b|{wh}\b)(?P<measure>[^\d,;:?.!]+)"
)
_PLACE_WORDS = (
    "second 2nd",
    "third 3rd",
    "fourth 4th",
    "fifth 5th",
    "sixth 6th",
    "seventh 7th",
    "eighth 8th",
    "ninth 9th",
    "tenth 10th",
)
WORDS_OF_PLACE = "place rank position spot take takes hold holds have has among all"
"""Words of a question for a place among others, which its answer uses."""
_PLACES = {
    word: place
    for place, words_of_place in enumerate(_PLACE_WORDS, start=2)
    for word in words_of_place.split()
}
_PLACE = pattern(
    rf"\b(?P<before>{'|'.join(_PLACES)})[\s-]+{{superlative}}"
    r"|\b(?:comes?|came|ranks?|ranked|stands?|is|are|placed)\s+(?:in\s+)?(?:the\s+)?"
    rf"(?P<behind>{'|'.join(_PLACES)})\b(?=\s+(?:place\b|by\b|in\b|for\b)|\W*$)"
)
_OWN_PLACE = pattern(
    r"\b(?:what|which) (?:place|rank|position|spot)\b"
    r"|\b(?:where|how) (?:does|do|did)\b.*\brank\b"
)
_PROSE, _ADVICE = pattern("{prose}"), pattern(r"\b{advice}\b")
_WHO = pattern(r"^\W*(?:(?:and|but|so)\W+)?who(?:m|se)?\b")
_OBLIGATION = pattern(r"\b{obligation}")
_OPERATIONS = [
    pattern(rf"\b{{{name}}}\b")
    for name in ("more_or_less", "tell", "compares", "oldest")
]
"""Words that only say what to do with figures."""
_REASONS = pattern("{reasons}")
_MANNER = pattern("{manner}")
_CHANGES_FIGURE = pattern(r"\b{changes_figure}\b")


@dataclass(frozen=True, slots=True)
class Bound:
    """``above``: greater than ``value``, else less than it. ``inclusive``: or equal to
    it. ``exact``: just that. ``negated``: the others are asked for ("not below 40").
    ``unit``: of the value, as it is written; "" = that of the figures. ``of``: the
    country whose figure is the value.
    """

    above: bool
    value: Decimal
    inclusive: bool = False
    negated: bool = False
    exact: bool = False
    unit: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """``topic``: the question without its names and without the words that only say
    what kind it is.

    ``most``: how many of a ranking, 0 = not said; ``place``: which one of it is asked
    for, 2 = the second; ``of``: whose place in it. ``average``: of an aggregate, else
    the total. ``last``: how many years of a series, the newest ones; 0 = all.
    ``end``: "min" or "max" where the year of a series is asked for that has least or
    most.
    """

    kind: Kind
    topic: str
    lowest: bool = False
    most: int = 0
    bound: Bound | None = None
    average: bool = True
    last: int = 0
    place: int = 0
    of: str = ""
    end: str = ""


def asks_for_prose(text: str) -> bool:
    """Return whether a question asks why, how or what happened, and so for sentences
    instead of a figure or a name.
    """
    return _PROSE.search(text) is not None or has_only_prose(text)


def has_only_prose(text: str) -> bool:
    """Return whether no figure and no table answers a question: it asks for reasons, or
    how something is done. "How did inflation change?" asks for figures.
    """
    if _REASONS.search(text):
        return True
    return bool(_MANNER.search(text)) and not _CHANGES_FIGURE.search(text)


def asks_for_advice(text: str) -> bool:
    """Return whether a question asks what the person who asks should do, or what the
    program thinks.
    """
    return _ADVICE.search(text) is not None


def asks_for_person(text: str) -> bool:
    """Return whether a question asks who, and so for no figure."""
    return _WHO.search(text) is not None


def asks_for_duty(text: str) -> bool:
    """Return whether a question for advice asks what someone is obliged to do, which a
    policy or a manual may state.
    """
    return _OBLIGATION.search(text) is not None


def asks_average(text: str) -> bool:
    """Return whether a question asks for a mean."""
    return _AVERAGE.search(text) is not None


def asks_altogether(text: str) -> bool:
    """Return whether a question asks for a sum."""
    return _ALTOGETHER.search(text) is not None


def asks_how_many(text: str) -> bool:
    """Return whether a question asks for an amount."""
    return _HOW_MANY_OF.search(text) is not None


def without_altogether(text: str) -> str:
    """Return a text without the words that ask for a sum."""
    return _ALTOGETHER.sub(" ", text)


def series_words(text: str) -> str:
    """Return the words that ask for one thing over time: "over the years", "a chart";
    "" without any.
    """
    match = _SERIES.search(text)
    return match[0].strip() if match else ""


def asks_over_years(reading: Reading) -> bool:
    """Return whether a question names several years, or words for a series."""
    years = reading.every_year
    is_span = len(years) > 1 or any(one.gte != one.lte for one in years)
    return is_span or bool(series_words(reading.text))


def read_request(reading: Reading, *, countries: int) -> Request:
    """Return what a question asks for; ``countries``: how many of the data it is about.
    Only a question about no single country ranks, filters or counts countries.
    """
    reading = asking_clause(reading)
    plain = " ".join(remove_names(reading.text, reading.names).split())
    if has_only_prose(plain):
        # Years, countries and superlatives in it only say what it is about.
        return Request("prose", plain or "?")
    bound = None if countries else _bound(plain)
    kind = _kind(reading, plain, bound, countries)
    if kind in {"count", "filter"}:
        bound = bound or _sign(plain)
    topic = _topic(_in_digits(plain), bound)
    if kind not in OF_ALL:
        counted = _LAST_YEARS.search(plain)
        last = number_of(counted["count"]) if counted else 0
        lowest = _is_lowest(plain)
        end = ""
        if _YEAR_OF_EXTREME.search(plain):
            end = "min" if lowest else "max"
        return Request(kind, topic, lowest=lowest, last=last, end=end)
    ranks = [
        int(min(number.values))
        for number in _numbers(plain)
        if number.bare and min(number.values) <= MAX_RANKS
    ]
    return Request(
        kind,
        _without_numbers(topic, instead=""),
        lowest=_is_lowest(plain),
        most=ranks[0] if ranks else 0,
        bound=bound,
        average=_AVERAGE.search(plain) is not None,
        place=_place(plain),
    )


def measure_named(text: str) -> str:
    """Return the words of a question that name by what it ranks: "population" of "the
    largest country by population"; "" without any.
    """
    match = _MEASURED_BY.search(text)
    return match["measure"].strip() if match else ""


def without_measure(text: str) -> str:
    """Return a question without the words that name by what it ranks, and which place
    of the ranking it asks for.
    """
    for word in _PLACES:
        text = re.sub(rf"\b{word}\b", " ", text, flags=re.IGNORECASE)
    return _MEASURED_BY.sub(" ", text)


def measure_of_place(text: str) -> str:
    """Return by what something is ranked whose place among all others a question asks
    for; "" where it asks for none.
    """
    if _OWN_PLACE.search(text) is None:
        return ""
    return measure_named(text) or topic_of_figures(_OWN_PLACE.sub(" ", text))


def _place(plain: str) -> int:
    """Return which place of a ranking a question asks for: 2 of "the second largest";
    0 for none.
    """
    match = _PLACE.search(plain)
    if match is None:
        return 0
    return _PLACES[(match["before"] or match["behind"]).lower()]


def _is_lowest(plain: str) -> bool:
    """Return whether a ranking begins at the small end. The worst has least of what is
    good, and the best has least of what is bad.
    """
    is_bad = _BAD_WHEN_HIGH.search(plain) is not None
    if _WORST.search(plain):
        return not is_bad
    if _WISH.search(plain):
        return is_bad
    return _LOWEST.search(plain) is not None


def _kind(reading: Reading, plain: str, bound: Bound | None, countries: int) -> Kind:
    kind: Kind = "value"
    if not countries:
        kind = _of_all(plain, bound)
    if kind in {"count", "filter"}:
        return kind
    if kind == "value" and asks_over_years(reading):
        return "series"
    if countries == 1 and _YEAR_OF_EXTREME.search(plain):
        return "series"
    if countries > 1:
        return _of_named(plain, countries)
    if kind == "value" and asks_for_prose(plain):
        return "prose"
    return kind


def _topic(plain: str, bound: Bound | None) -> str:
    """Return the words of a question that say what it is about."""
    topic = plain
    if bound is not None and bound.unit:
        topic = topic.replace(bound.unit, " ", 1)
    for form in (_HOW_MANY, _SERIES, _BOUND, _WHICH):
        topic = form.sub(_without_countries, topic)
    if bound is not None and bound == _sign(plain):
        # What falls or grows is a rate of growth.
        topic = f"{topic} growth"
    return " ".join(topic.split()) or "?"


def from_large_end(text: str) -> str:
    """Return a text that asks for the least of something as one that asks for most."""
    for small, large in _OTHER_END.items():
        text = re.sub(rf"\b{small}\b", large, text, flags=re.IGNORECASE)
    return text


def _without_numbers(text: str, *, instead: str) -> str:
    for number in reversed(_numbers(text)):
        text = f"{text[: number.start]}{instead}{text[number.end :]}"
    return text


def _without_countries(match: re.Match[str]) -> str:
    """Return what words for countries say besides: economies grow, countries do not."""
    if "econom" in match[0].lower():
        return " economies "
    return " "


def without_countries_asked_for(text: str) -> str:
    """Return a text without the words that ask for a list or a number of countries;
    itself where it asks for neither.
    """
    for form in _ASKS_COUNTRIES:
        text = form.sub(" ", text)
    return text


def kinds_of_countries(text: str) -> list[str]:
    """Return the words before "countries" in what asks for them: "landlocked" of "Which
    landlocked countries export tea?".
    """
    kinds = []
    for form in (_HOW_MANY, _WHICH):
        kinds += [match["kind"] for match in form.finditer(text) if match["kind"]]
    return kinds


def words_for_countries(text: str, *, of_all: bool) -> str:
    """Return the words that ask for a list or a number of countries; of a question of
    all of them also "where"; "" without any.
    """
    forms = [*_ASKS_COUNTRIES, _WHERE] if of_all else _ASKS_COUNTRIES
    for form in forms:
        if match := form.search(text):
            return match[0].strip()
    return ""


def topic_of_figures(text: str) -> str:
    """Return a text without the words that say what to do with figures: to rank, count,
    compare or list them; and without the numbers of a ranking or a bound.
    """
    if _of_all(text, _bound(text)) in OF_ALL:
        text = _without_numbers(text, instead=" ")
    for form in (
        _SERIES,
        _BOUND,
        _SUPERLATIVE,
        _AVERAGE,
        _CHANGES_FIGURE,
        *_OPERATIONS,
    ):
        text = form.sub(" ", text)
    return text


def thing_asked(text: str) -> str:
    """Return the noun of which a text asks for one, unless it stands for countries:
    "city" of "Which city is the largest?"; "" without one.
    """
    thing = _WHICH_THING.match(text)
    if thing is None or _WHICH.search(text) or _HOW_MANY.search(text):
        return ""
    return thing["thing"]


def is_wish(text: str) -> bool:
    """Return whether a text asks for the best of something, which is a matter of
    taste.
    """
    return _WISH.search(text) is not None


def main_things(text: str) -> list[str]:
    """Return what a text asks for the first of, each with the word behind it: "export
    partner" of "the top export partner".
    """
    return [match["thing"] for match in _MAIN_THING.finditer(text)]


def _of_all(plain: str, bound: Bound | None) -> Kind:
    """Return the kind of a question about all countries; "value" if it asks nothing of
    that kind.
    """
    if _HOW_MANY.search(plain):
        return "count"
    asks_which = _WHICH.search(plain) or _COUNTRIES_THAT.search(plain)
    if bound or (_sign(plain) and (asks_which or _WHERE.match(plain))):
        return "filter"
    if _ranks(plain):
        return "ranking"
    is_average = _AVERAGE.search(plain) is not None
    if is_average and asks_which and _ON_AVERAGE.search(plain):
        return "value"
    if is_average or (_TOTAL.search(plain) and _ALL.search(plain)):
        return "aggregate"
    return "value"


def _ranks(plain: str) -> bool:
    """Return whether a text asks for the most of something, or which country has a
    place: "Which country comes third by area?".
    """
    if _SUPERLATIVE.search(plain):
        return True
    return _place(plain) > 0 and _WHICH.search(plain) is not None


def _of_named(plain: str, countries: int) -> Kind:
    """Return whether the countries that a question names are added up or averaged, or
    compared. Of two the average is more often that of each: "average income in Kenya
    and Mali".
    """
    if _OF_NAMED.search(plain):
        return "aggregate"
    if countries > 2 and _AVERAGE.search(plain) and not _ON_AVERAGE.search(plain):
        return "aggregate"
    return "comparison"


def _numbers(plain: str) -> list[Figure]:
    return [
        figure
        for figure in figures(plain, comma=comma_decimals(plain))
        if figure.year is None
    ]


def _in_digits(plain: str) -> str:
    """Return a text with the numbers of its scales in digits: "0.5 million"."""
    return _OF_SCALE.sub(_digits_of, plain)


def _digits_of(match: re.Match[str]) -> str:
    count = number_of(match["count"] or "") or 1
    if match["zero"]:
        return "0"
    return f"{count / FRACTIONS.get(match['part'] or '', 1):.4g} "


def _bound(plain: str) -> Bound | None:
    is_list = words_for_countries(plain, of_all=True) != ""
    plain = _in_digits(plain)
    for match in _BOUND.finditer(plain):
        rest = plain[match.end() :]
        is_exact = not (match["above"] or match["below"])
        if is_exact and not is_list:
            continue
        next_numbers = [
            number
            for number in _numbers(rest)
            if not rest[: number.start].strip(" $€£")
        ]
        value = _part(rest)
        if value is None and next_numbers:
            value = min(next_numbers[0].values)
        if value is None:
            continue
        return Bound(
            bool(match["above"]),
            value,
            inclusive=_INCLUSIVE.match(match[0]) is not None,
            negated=_is_negated(plain, match.start()),
            exact=is_exact,
            unit=_unit_behind(rest, next_numbers),
        )
    for number in _numbers(plain):
        if behind := _BEHIND.match(plain[number.end :]):
            return Bound(bool(behind["above"]), min(number.values), inclusive=True)
    return None


def _unit_behind(text: str, numbers: Sequence[Figure]) -> str:
    """Return the unit of the first number, as it is written; "" without one."""
    for number in numbers[:1]:
        if unit := _UNIT_BEHIND.match(text, number.end):
            return unit["unit"]
    return ""


def _part(text: str) -> Decimal | None:
    """Return the per cent that a text begins with in words: "half", "one in four"; None
    for others.
    """
    if fraction := _FRACTION.match(text):
        number = Decimal(number_of(fraction["count"] or "") or 1)
        return 100 * number / FRACTIONS[fraction["part"].lower()]
    one_in = _ONE_IN.match(text)
    if one_in is None:
        return None
    count = number_of(one_in["count"])
    whole = number_of(one_in["whole"])
    if not count or not whole:
        return None
    return Decimal(100 * count) / whole


def _sign(plain: str) -> Bound | None:
    for above, form in ((False, _FALLS), (True, _GROWS)):
        if match := form.search(plain):
            negated = _is_negated(plain, match.start())
            return Bound(above, Decimal(0), negated=negated)
    return None


def _is_negated(text: str, position: int) -> bool:
    """Return whether a word of negation stands before a place in its clause: "does not
    have more than 5".
    """
    return _NOT_BEFORE.search(text[:position]) is not None


_THANKS, _SERVICE_WORDS = words("thanks_words"), words("service_words")
_GREETING_WORDS = words("greeting_words") | _THANKS
_PRAISE = words("praise_words")


def small_talk(text: str) -> Literal["", "thanks", "greeting"]:
    """Return what a message is that asks nothing of the reports: thanks ("ok thanks,
    bye!"), or a greeting, or a question about the program ("What can you do?"); "" for
    others.
    """
    message_words = set(WORD_PATTERN.findall(text.lower()))
    is_of_program = (
        not message_words.isdisjoint({"you", "i"})
        and message_words <= _GREETING_WORDS | _SERVICE_WORDS
    )
    if not message_words.isdisjoint(_THANKS):
        is_thanks = is_of_program or message_words <= _GREETING_WORDS | _PRAISE
        return "thanks" if is_thanks else ""
    if not message_words or not (message_words <= _GREETING_WORDS or is_of_program):
        return ""
    return "greeting"


_MEANING = pattern(
    r"^\W*(?:(?:and|but|so)\W+)?(?:define\b|what (?:does|do|did|is|are)\b.*"
    r"(?:\bmeant by\b|\bmean\W*$|\bstand for\W*$|\b(?:meaning|definition) of\b))"
)
_LACKS_THING = pattern(
    r"^\W*(?:(?:and|but|or|so)\W+)?"
    r"(?:(?:what|how) about\W+|what (?:is|are)\W+|which is\W+)?(?:the\W+)?"
    r"(?:{superlative}|bottom|{average}|{altogether})(?: one)?\W*$"
)


def asks_meaning(text: str) -> bool:
    """Return whether a question asks what a word means."""
    return _MEANING.search(text) is not None


def has_words(text: str) -> bool:
    """Return whether a message has anything to be read: a letter or a digit."""
    return WORD_PATTERN.search(text) is not None


def lacks_thing(text: str) -> bool:
    """Return whether a message asks for the most, least, average or total of something
    and does not say of what: "And the lowest?".
    """
    return _LACKS_THING.match(text) is not None


_OVERVIEW, _SAYING, _ORIGIN = (
    words("overview_words"),
    words("content_words"),
    words("origin_words"),
)
_OF_FORM = words("idle_words") | words("form_words")
"""Say which document, and in what form: they ask for nothing in it."""
_OWN = pattern(
    r"\b(?:this|that|these|those|my|our|attached|following|above)\s+(?:\w+\s+)?{edition_noun}s?\b"
)
_REPORTS = pattern(r"\b{edition_noun}(?P<several>s)?\b")
_VERIFIES = pattern(r"\b{verifies}\b")


def _words_of(question: str, names: Sequence[Named | NamedDocument]) -> set[str]:
    text = remove_names(question, names).replace("’", "'").replace("'s", " is ")
    return set(LETTERS_PATTERN.findall(text.lower())) - {"s"}


Topic = Literal["reports", "countries", "years", "content"]
"""What a question asks of the library: a list, or what is in it."""
_TOPICS: dict[Topic, frozenset[str]] = {
    "reports": words("reports_words"),
    "countries": words("countries_words"),
    "years": words("years_words"),
}
_CONTENT = words("content_of_library_words")
_LIBRARY = words("library_words") | _CONTENT
_OF_LIBRARY = _LIBRARY.union(words("beside_library_words"), *_TOPICS.values())
_HERE = words("here_words")
_THIS = words("this_words")
_GREETING = pattern(r"^\W*(?:{salutation}\b\W+)+")
_OF_HERE = _OF_LIBRARY | _HERE | words("beside_here_words")
_LISTS = pattern(
    r"\b(?:which|what|list|any|many|show|give)\W+"
    r"(?:(?:me|all|of|the|your|our|other|annual|yearly)\W+)*"
    r"(?:report|document|file|edition)s\b"
)


def without_greeting(text: str) -> str:
    """Return a message with spaces for the greeting that it begins with: names in it
    keep their places.
    """
    greeting = _GREETING.match(text)
    if greeting is None:
        return text
    if greeting.end() == len(text):
        return text
    return " " * greeting.end() + text[greeting.end() :]


def asks_what_this_is(question: str) -> bool:
    """Return whether a question that names nothing asks what the program or the library
    is: "What is this?".
    """
    all_words = _words_of(question, ())
    return {"what", "this"} <= all_words <= _THIS


def topic_of(question: str, reading: Reading) -> Topic | None:
    """Return what a question asks about the library; None if it asks about anything
    else besides names of a scope. A greeting before it does not matter.
    """
    question = without_greeting(question)
    if asks_what_this_is(question):
        return "content"
    listed = _listed(question, reading)
    if listed in {"countries", "years"} or reading.names:
        return listed
    return "content" if asks_what_is_here(question) else listed


def asks_what_is_here(question: str) -> bool:
    """Return whether a question that names nothing asks what there is to know."""
    if any(character.isdigit() for character in question):
        # Of a year, a page, a number.
        return False
    all_words = _words_of(question, ())
    if all_words.isdisjoint(_HERE | _CONTENT):
        return False
    if not all_words <= _OF_HERE:
        return False
    return _LISTS.search(question) is None


def _listed(question: str, reading: Reading) -> Topic | None:
    """Return of what a question asks for a list."""
    all_words = _words_of(question, [*reading.countries, *reading.every_year])
    if not all_words <= _OF_LIBRARY:
        return None
    by_place = sorted(
        (question.lower().find(word), candidate)
        for candidate in _TOPICS
        for word in all_words & _TOPICS[candidate]
    )
    topics = list(dict.fromkeys(topic for _, topic in by_place))
    if not topics:
        return (
            "reports" if all_words & _CONTENT or all_words >= {"you", "have"} else None
        )
    there = not all_words.isdisjoint({"there", "exist"})
    if topics[0] == "countries" and "many" in all_words:
        # Perhaps on the earth.
        there = False
    return (
        topics[0]
        if there or len(topics) > 1 or not all_words.isdisjoint(_LIBRARY)
        else None
    )


def asks_of_all(question: str) -> bool:
    """Return whether no single passage, or only the first page, says what a question
    asks for.
    """
    content_words = _words_of(question, ())
    is_origin = (
        not content_words.isdisjoint(_ORIGIN)
        and content_words <= _OF_FORM | _SAYING | _ORIGIN
    )
    return (
        not content_words.isdisjoint(_OVERVIEW)
        or is_origin
        or asks_what_it_is_about(question, ())
    )


def asks_what_it_is_about(
    question: str, names: Sequence[Named | NamedDocument]
) -> bool:
    """Return whether a question asks for an overview of what it names, and for nothing
    in it: "Tell me about Kenya".
    """
    content_words = _words_of(question, names)
    has_subject = bool(names) or not content_words.isdisjoint(_OVERVIEW | _SAYING)
    return has_subject and content_words <= _OF_FORM | _OVERVIEW | _SAYING


def asks_of_reports(question: str, *, names: bool) -> bool:
    """Return whether a question about what is attached to it speaks of the library's
    reports, too, or whether it is right. "The report" alone may be what is attached.
    ``names``: it, or its scope, names a country or a report.
    """
    mention = _REPORTS.search(_OWN.sub(" ", question))
    of_reports = mention is not None and (names or mention["several"] is not None)
    return of_reports or _VERIFIES.search(question) is not None
