"""What a question wants done with figures: another unit, a difference, a ratio, a
change, or a verdict on which of two is more. By closed classes of words; which figures
are meant is the business of the index of indicators.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from ..domain.scope import Reading
from ..language.analysis import analyzer
from ..language.figures import SCALES, figures
from ..language.units import ONE_IN, read_unit, unit_pattern
from .ages import read_ages
from .counted import (
    SAY_NOTHING,
    says_nothing,
    says_people,
    without_counted_people,
)
from .english import number_of, pattern, words
from .kinds import (
    OF_ALL,
    has_only_prose,
    read_request,
    words_for_countries,
)
from .reading import asking_clause, remove_names

Wanted = Literal[
    "",
    "convert",
    "difference",
    "ratio",
    "per_cent",
    "gain",
    "verdict",
    "each",
    "dense",
    "share",
    "sum",
    "count",
]
_SCALE = "|".join(
    word
    for word in SCALES
    if word.rstrip("s") in {"thousand", "million", "billion", "trillion"}
)
_UNIT = re.compile(
    r"\b(?:in|into|as|to|how (?:many|much))\s+"
    rf"(?P<unit>(?:(?:{_SCALE})s?\b(?:\s+of)?\s*)?"
    rf"(?:{unit_pattern().pattern}|(?:people|persons|inhabitants|(?:us )?dollars)\b)?)",
    re.IGNORECASE,
)
"""May match without any unit: `read_units` then goes on."""
_PER = re.compile(
    r"\b(?:for (?:each|every)|in every|per)\s+"
    r"(?:(?P<number>\d[\d,.]*)\s+(?P<noun>[a-z]+)"
    rf"|(?P<words>(?:ten |a |one )?(?:hundred|{_SCALE}))"
    r"\s+(?P<people>people|persons|inhabitants|residents|citizens))",
    re.IGNORECASE,
)
_ONE_IN = pattern(
    r"\b(?:(?:one|1)(?P<noun>(?: [\w-]+){0,2}?) (?:in|of|out of)(?: every)? how many\b"
    r"|how many (?:people|persons|inhabitants|residents) (?:does|has|per|for|to)"
    r" (?:a|each|every|one)\b)"
)
"""Asks for a share as one of so many."""
_NUMBERS = {"ten": 10, "hundred": 100, "thousand": 1_000, "million": 1_000_000}
_COUNTED = re.compile(r"\b(?:people|persons|inhabitants)$", re.IGNORECASE)
"""What is counted stays a word of the question: "how many million people"."""
_PER_DAY = re.compile(
    r"\b(?:per|a|each|every)\s+(?:full\s|whole\s)?(day|year)\b|\bdaily\b", re.IGNORECASE
)
_ROUNDED = pattern(
    r",?\s*(?:\brounded\b\s*)?\b(?:to|with)\s+"
    r"(?:(?P<count>{number}|no)\s+decimals?(?:\s+places?)?|the nearest \w+)"
)
_CONVERTS = pattern(r"\b(?:convert(?:ed)?|conver(?:sion|ts)|equals?)\b")
_ASIDE = re.compile(r"\([^()]*\)")
_TAKEN = re.compile(
    r"\b(?:take|subtract)\s(?P<second>.{1,80}?)\s(?:away\s)?from\s(?P<first>.+)",
    re.IGNORECASE,
)
_BETWEEN_TWO = re.compile(
    r"\s(?:than|minus|divided by|and|against|versus|vs\.?|from|to|less)\s",
    re.IGNORECASE,
)
_ADDED = re.compile(r"\s(?:and|plus|&)\s", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,;:?!]\s+|\s[-–—]\s+")
_OUTDOES = pattern(r"\b{outdoes}")
_NEGATION = pattern(r"\b{negation}\b")
_RATE = re.compile(r"\b(?:per|rate|density)\b|/", re.IGNORECASE)
_FITS = pattern(r"\b{fits}")
_SUM = pattern(r"\b{of_named}\b")
_DIFFERENCE = pattern(r"\b{difference}\b")
_RATIO = pattern(r"\b{ratio}\b")
_IN_PER_CENT = pattern(r"\b{in_per_cent}\b")
BY_PEOPLE = pattern(r"\b{scaled_by_people}\b")
_OF_EACH = pattern(r"\b(?:each|every|average|typical|ordinary)\s+$")
_EACH_PERSON = pattern(
    r"\b(?:each|every|(?:the |an? )?(?:average|typical|ordinary))\s+"
    r"(?:citizen|inhabitant|person|resident)\b(?!['’])"
)
_PER_AREA = pattern(r"\b{per_area}")
_SQUARE_KILOMETRE = re.compile(r"square kilom|sq\.? ?km|km²", re.IGNORECASE)
_PART_OF = pattern(r"\b{part_of}\b")
_GAINED = pattern(r"\b{gained}\b")
_RISES = pattern(r"\b{rises}\b")
_DROPS = pattern(r"\b{drops}\b")
_THAN = pattern(r"\b{comparative}\b.*\bthan\b")
_AMOUNT = pattern(r"\bhow (?:much|many)\b")
_NUMBER_OF = pattern(r"\b(?:how many|number of)\b")
_COUNT = re.compile(r"(?<!\$)\b\d{1,3}(?:,\d{3})+\b(?!%)|\bmillion\b")
_WHETHER = pattern(r"^\W*{asks_whether}\b|[,.;:]\s{tag_question}\W*$")
_WHICH_ONE = pattern(r"\b{which_one}")
_FEWER = pattern(r"\b{fewer}\b")
_SIZE_WORDS = words("size_words")
_WORD = re.compile(r"[\w%'’-]+")


@dataclass(frozen=True, slots=True)
class Operation:
    """``topics``: the words for each thing that is measured; one, or the two that are
    set against each other. ``units``: ways to write the unit that is wanted, the most
    exact one first; ``decimals`` of it, None = as many as it needs. ``fewer``: the
    smaller one is asked for. ``inverse``: the second is divided by the first.
    ``people``: of how many of them a figure is asked. ``is_whether``: it is answered
    with yes or no.
    """

    wanted: Wanted
    topics: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    fewer: bool = False
    inverse: bool = False
    is_whether: bool = False
    decimals: int | None = None
    people: int = 1


@dataclass(frozen=True, slots=True)
class Conversion:
    """``quantity``: as it is written, of which ``value`` is the number."""

    quantity: str
    value: Decimal
    unit: str
    to: str


def read_conversion(text: str) -> Conversion | None:
    """Return what a question wants converted that asks for nothing else: "How many feet
    are 12 miles?"; None of others.
    """
    units, rest = read_units(_ASIDE.sub(" ", text))
    numbers = [figure for figure in figures(rest) if figure.year is None]
    if not units or len(numbers) != 1:
        return None
    [number] = numbers
    behind = rest[number.end :]
    spaces = len(behind) - len(behind.lstrip())
    start = number.end + spaces
    unit = unit_pattern().match(rest, start)
    if unit is None:
        return None
    others = f"{rest[: number.start]} {rest[unit.end() :]}"
    if not says_nothing(_CONVERTS.sub(" ", others)):
        return None
    quantity = rest[number.start : unit.end()]
    return Conversion(quantity, min(number.values), unit[0], units[0])


@dataclass(frozen=True, slots=True)
class Course:
    """What a question says of a figure: that it ``rises``, or falls. ``is_whether``: it
    asks whether that is so, else why.
    """

    topic: str
    rises: bool
    is_whether: bool


def read_course(reading: Reading) -> Course | None:
    """Return what a question takes for granted, or asks, of how a figure went; None
    where it says nothing of the kind.
    """
    plain = " ".join(remove_names(reading.text, reading.names).split())
    is_whether = _WHETHER.search(plain) is not None
    rises = _RISES.search(plain)
    drops = _DROPS.search(plain)
    if bool(rises) == bool(drops) or not (is_whether or has_only_prose(plain)):
        return None
    topic = _DROPS.sub(" ", _RISES.sub(" ", plain))
    return Course(topic, rises is not None, is_whether)


_FORMS: Mapping[str, Sequence[re.Pattern[str]]] = {
    "difference": (_DIFFERENCE,),
    "ratio": (_RATIO,),
    "per_cent": (_IN_PER_CENT,),
    "gain": (_DIFFERENCE, _GAINED),
    "verdict": (_THAN, _WHICH_ONE),
    "each": (BY_PEOPLE,),
    "dense": (_PER_AREA,),
    "share": (_PART_OF,),
    "sum": (_SUM,),
    "count": (_NUMBER_OF,),
}


def read_operation(reading: Reading, *, subjects: int) -> Operation:
    """Return what a question wants done. ``subjects``: how many countries it is about.
    One about none or many of them ranks, filters or counts (`kinds.read_request`).
    """
    request = _read_wording(reading, subjects)
    for read in _OPERATIONS:
        operation = read(request)
        if operation is not None:
            return operation
    return Operation("", (request.text,))


@dataclass(frozen=True, slots=True)
class _Wording:
    """A question without its names, units and roundings. ``subjects``: how many
    countries it is about; ``has_years``: it names several years.
    """

    text: str
    units: tuple[str, ...]
    decimals: int | None
    subjects: int
    has_years: bool
    outdoes: bool = False
    """A verb says that one thing is more than another."""

    def asks(self, form: re.Pattern[str]) -> bool:
        return form.search(self.text) is not None

    @property
    def asks_difference(self) -> bool:
        """Whether it asks by how much one thing is more than another."""
        is_amount = self.outdoes and self.asks(_AMOUNT)
        return is_amount or self.asks(_DIFFERENCE)

    def operation(self, wanted: Wanted, **fields: Any) -> Operation:
        """Return an operation on what the question says is measured."""
        return Operation(wanted, (measured(self.text),), self.units, **fields)


def _read_wording(reading: Reading, subjects: int) -> _Wording:
    units, _ = read_units(remove_names(reading.text, reading.names))
    reading = asking_clause(reading)
    plain = " ".join(remove_names(reading.text, reading.names).split())
    if any(name.by_people and name.text.endswith("s") for name in reading.about):
        # "How many Kenyans" counts people.
        plain = _NUMBER_OF.sub(r"\g<0> people", plain)
    if _AMOUNT.search(plain):
        plain = _EACH_PERSON.sub(" per head ", plain)
        for name in reading.about:
            # "Each Kenyan" is one of them.
            if name.by_people and _OF_EACH.search(reading.text, 0, name.start):
                plain = f"{plain} per head"
    plain, verbs = _OUTDOES.subn(_more_than, _ASIDE.sub(" ", plain))
    rounded = _ROUNDED.search(plain)
    decimals = number_of(rounded["count"] or "") if rounded else None
    of_clause, text = read_units(_ROUNDED.sub(" ", plain))
    years = sum(len(year.ends) for year in reading.every_year)
    return _Wording(
        text,
        of_clause or units,
        decimals,
        subjects,
        has_years=years > 1,
        outdoes=bool(verbs),
    )


def _ratio_of_pair(question: _Wording) -> Operation | None:
    """Read "How many times larger than Mali is Chad?"."""
    if question.subjects != 2:
        return None
    if question.asks(_IN_PER_CENT):
        return question.operation("per_cent")
    fits = question.asks(_FITS)
    if fits or question.asks(_RATIO):
        return question.operation("ratio", inverse=fits)
    return None


def _difference_of_pair(question: _Wording) -> Operation | None:
    """Read "How much larger is Chad than Mali?"."""
    if question.subjects == 2 and question.asks_difference:
        return question.operation("difference")
    return None


def _verdict_on_pair(question: _Wording) -> Operation | None:
    """Read "Is Chad larger than Mali?" and "Which is larger, Chad or Mali?"."""
    is_whether = question.asks(_WHETHER)
    compares = is_whether and question.asks(_THAN)
    if question.subjects != 2 or not (compares or question.asks(_WHICH_ONE)):
        return None
    fewer = question.asks(_FEWER)
    return question.operation("verdict", fewer=fewer, is_whether=is_whether)


def _change(question: _Wording) -> Operation | None:
    """Read "By how much did exports grow from 2019 to 2021?"."""
    if question.subjects != 1 or not question.has_years:
        return None
    differs = question.asks(_DIFFERENCE)
    in_per_cent = question.asks(_IN_PER_CENT)
    amounts = differs or in_per_cent or question.asks(_AMOUNT)
    if not (question.units or amounts):
        return None
    moves = any(map(question.asks, (_GAINED, _RISES, _DROPS)))
    if not (differs or moves):
        return None
    wanted: Wanted = "per_cent" if in_per_cent else "gain"
    return question.operation(wanted)


def _of_two_topics(question: _Wording) -> Operation | None:
    """Read "Exports divided by imports of Chad", "Its exports and imports together"."""
    if question.subjects != 1 or question.has_years:
        return None
    forms: list[tuple[Wanted, re.Pattern[str], re.Pattern[str]]] = [
        ("ratio", _RATIO, _BETWEEN_TWO),
        ("difference", _DIFFERENCE, _BETWEEN_TWO),
        ("sum", _SUM, _ADDED),
    ]
    for wanted, form, border in forms:
        is_asked = question.asks(form)
        if wanted == "difference":
            is_asked = question.asks_difference
        topics = _two_topics(question.text, border) if is_asked else ()
        if topics:
            return Operation(wanted, topics, question.units)
    return None


def _of_each(question: _Wording) -> Operation | None:
    """Read "How many dollars of exports per head does Chad have?"."""
    if not question.subjects or not question.asks(BY_PEOPLE):
        return None
    text = measured(BY_PEOPLE.sub(" ", question.text))
    return Operation("each", (text,), question.units)


def _of_area(question: _Wording) -> Operation | None:
    """Read "How many people per square mile does Chad have?"."""
    area = _PER_AREA.search(question.text)
    if not question.subjects or area is None:
        return None
    # Its "total area" says more than sizes do elsewhere.
    text = _PER_AREA.sub(" ", question.text)
    units: tuple[str, ...] = (f"per {area['area']}",)
    if _SQUARE_KILOMETRE.match(area["area"]):
        # As areas are reported.
        units = ()
    return Operation("dense", (text,), units)


def _share(question: _Wording) -> Operation | None:
    """Read "Which share of the railways of Chad is electrified?"."""
    if question.subjects != 1 or not question.asks(_PART_OF):
        return None
    text = _PART_OF.sub(" ", question.text)
    # The numbers of ages and what stands before them are no other words.
    topic = text if read_ages(text) else measured(text)
    return Operation("share", (topic,))


def _count(question: _Wording) -> Operation | None:
    """Read "How many Kenyans can read?", of whom reports may give a share. ``inverse``:
    those are counted that do not.
    """
    is_count = question.subjects and question.asks(_NUMBER_OF)
    if not is_count or question.asks(_IN_PER_CENT) or "%" in question.text:
        return None
    counted = _NUMBER_OF.sub(" ", without_counted_people(question.text))
    ages = read_ages(counted)
    if ages is None and says_people(counted):
        # The population itself.
        return None
    denied = question.asks(_NEGATION)
    topic = measured(counted)
    if ages is not None:
        # Its numbers and what stands before them are no other words.
        topic = counted
    return Operation("count", (topic,), inverse=denied)


def _conversion(question: _Wording) -> Operation | None:
    """Read "How large is Chad in square miles?"."""
    if not question.subjects or not question.units:
        return None
    return question.operation("convert", decimals=question.decimals)


_OPERATIONS = (
    _ratio_of_pair,
    _difference_of_pair,
    _verdict_on_pair,
    _change,
    _of_two_topics,
    _of_each,
    _of_area,
    _share,
    _conversion,
    _count,
)
"""The first that reads a question counts."""


def asks_for_number(text: str) -> bool:
    """Return whether a question asks how much or how many."""
    return _AMOUNT.search(text) is not None


def unmet_words(reading: Reading, quotes: str, *, subjects: int) -> Sequence[str]:
    """Return the words of a question that ask for something computed, which quotations
    are not: a set of countries, a difference, another unit, a share. ``subjects``: how
    many countries it is about.
    """
    asked = asking_clause(reading)
    plain = " ".join(remove_names(asked.text, asked.names).split())
    if has_only_prose(plain) or reading.document is not None:
        return ()
    if not subjects:
        request = read_request(reading, countries=0)
        countries = words_for_countries(plain, of_all=request.kind in OF_ALL)
        return [countries] if countries else ()
    operation = read_operation(reading, subjects=subjects)
    if operation.wanted == "convert":
        return () if _has_unit(quotes, operation.units[-1]) else operation.units[:1]
    if _is_stated(operation, quotes):
        return ()
    for form in _FORMS.get(operation.wanted, ()):
        if match := form.search(plain):
            return [match[0].strip()]
    return ()


def _is_stated(operation: Operation, quotes: str) -> bool:
    """Return whether quotations state what is wanted, so that nothing is computed."""
    first = quotes.partition("[1]")[0]
    match operation.wanted:
        case "share":
            # A share that another passage states is one of something else.
            return "%" in first
        case "count":
            return "%" not in first or _COUNT.search(first) is not None
        case "each":
            # "GDP per capita" is one of each person.
            return BY_PEOPLE.search(quotes.partition("\n\n")[0]) is not None
    return False


def dropped_operations(reading: Reading, names: str) -> Sequence[str]:
    """Return the words of a question of all countries that ask for what no ranking and
    no count does: a denial, a difference, a figure of each person. ``names``: of what
    is ranked, which may say the same ("per capita").
    """
    asked = asking_clause(reading)
    plain = " ".join(remove_names(asked.text, asked.names).split())
    terms = analyzer("english").terms
    of_names = set(terms(names))
    dropped = []
    for form in (_NEGATION, _DIFFERENCE, _RATIO, BY_PEOPLE):
        match = form.search(plain)
        if match is None:
            continue
        is_rate = form is BY_PEOPLE and _RATE.search(names) is not None
        if not is_rate and not set(terms(match[0])) & of_names:
            dropped.append(match[0].strip())
    return dropped


def _has_unit(text: str, name: str) -> bool:
    """Return whether a text has a unit by its name, or figures in it by another."""
    if re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE):
        return True
    unit = read_unit(name)
    for written in unit_pattern().findall(text):
        other = read_unit(written)
        if (other.kinds, other.factor) == (unit.kinds, unit.factor):
            return True
    return False


def measured(text: str) -> str:
    """Return the words of a text that say what is measured: none of the operation."""
    text = _DIFFERENCE.sub(_comparative, text)
    for form in (_RATIO, _FITS, _IN_PER_CENT, _GAINED, _SUM):
        text = form.sub(" ", text)
    without_sizes = [
        word for word in _WORD.findall(text) if word.lower() not in _SIZE_WORDS
    ]
    telling = [word for word in without_sizes if word.lower() not in SAY_NOTHING]
    return " ".join(telling or without_sizes)


def says_only_sizes(text: str) -> bool:
    """Return whether a text says that something is large or small, and nothing more."""
    return says_nothing(measured(text))


def _comparative(match: re.Match[str]) -> str:
    """Return the word that says what differs, of a question for a difference: "longer"
    of "how many years longer".
    """
    last = match[0].split()[-1]
    if last.lower().endswith("er"):
        return last
    return " "


def _two_topics(text: str, border: re.Pattern[str]) -> tuple[str, ...]:
    """Return the two things that are added, subtracted or divided, of the first clause
    that has two with words of their own: "Exports minus imports: which surplus?"; none
    where there is none.
    """
    if taken := _TAKEN.search(text):
        return _telling([taken["first"], taken["second"]])
    whole = _telling(border.split(text))
    for clause in _CLAUSE_END.split(text) if whole else ():
        if topics := _telling(border.split(clause)):
            return topics
    return whole


def _telling(phrases: Sequence[str]) -> tuple[str, ...]:
    """Return what each of two phrases measures; none where there are not two."""
    topics = [topic for one in phrases if not says_nothing(topic := measured(one))]
    return tuple(topics) if len(topics) == 2 else ()


def _more_than(match: re.Match[str]) -> str:
    """Return a comparison for a verb that is one: "live more than" for "outlive"."""
    return f"{match['verb'] or 'are'} more than"


def read_units(text: str) -> tuple[tuple[str, ...], str]:
    """Return the unit that is asked for, in the ways that it may be meant, and the text
    without it.
    """
    if one := _ONE_IN.search(text):
        return (
            ONE_IN,
        ), f"{text[: one.start()]} {one['noun'] or ''} {text[one.end() :]}"
    if per := _PER.search(text):
        rest = f"{text[: per.start()]} {text[per.end() :]}"
        if not per["words"]:
            return (f"per {per['number']} {per['noun']}",), rest
        factors = [_NUMBERS.get(word, 1) for word in per["words"].lower().split()]
        return (f"per {math.prod(factors):,} {per['people']}",), rest
    for match in _UNIT.finditer(text):
        unit = " ".join(match["unit"].split())
        if not unit or _COUNTED.fullmatch(unit):
            # "How many people" asks for no other unit.
            continue
        counted = _COUNTED.search(unit)
        noun = counted[0] if counted else ""
        rest = f"{text[: match.start()]} {noun} {text[match.end() :]}"
        if unit.lower().endswith(" of"):
            unit = unit[: -len(" of")]
        each = _PER_DAY.search(rest)
        if each is None:
            return (unit,), rest
        rest = _PER_DAY.sub(" ", rest)
        return (f"{unit} per {each[1] or 'day'}", unit), rest
    return (), text
