"""The names in a question, the countries it is about, and its wording: names put into
it and taken out.

A country is what the question is about, wherever it stands, unless a word binds it to
something else ("imports from France", "higher than in Mali") and something else is
there to be asked about. A country that has no report in scope has to be more plainly
the subject: a question that is refused by mistake cannot be answered at all.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, filterfalse
from operator import attrgetter

from ..domain import Scope
from ..domain.protocols import Catalog
from ..domain.scope import (
    CountryGroup,
    Named,
    NamedCountry,
    NamedDocument,
    NamedGroup,
    Reading,
    Value,
    Values,
)
from ..language.countries import usual_name
from ..language.country_names import country_key, find_countries
from ..language.groups import find_groups
from .english import pattern, words
from .names import (
    EDITIONS,
    find_title,
    find_years,
    lists,
    relative_editions,
)

COUNTRY = "country_name"
YEAR = "year"
OF_REPORT = attrgetter("of_report")
_REFERS = pattern(r"\b{nameless}\b")
_JOINED = re.compile(
    r"(?:['’]s)?\s*(?:,|(?:,\s*)?\b(?:and|or|vs\.?|versus)\b|[&/+]|\s)\s*(?:\b(?:the|in|of)\s+)*",
    re.IGNORECASE,
)
"""Between two names of a list."""
_BOUND = pattern(r"\b{set_apart}\s+(?:{beside_names}\s+)*$")
"""Words that relate a name to something else."""
_COMPARES = re.compile(r"^\W*(?:please\s+)?(?:compare|contrast|rank)\b", re.IGNORECASE)
"""Makes sides of all names: "Compare Kenya with Mali"."""
_OF_OTHERS = pattern(r"\b(?:{of_others}\b|who\b[^?]*\bborders?\b)")


def read_names(text: str, catalog: Catalog, scope: Scope = Scope()) -> Reading:  # noqa: B008  # frozen and empty
    """Return what a question names: countries of ISO 3166 and of the data, years, the
    title of a report.

    ``scope``: "the latest report" is one of its reports, and a country outside of it
    counts as one without a report.
    """
    countries = find_countries(text, tuple(map(str, catalog.values(COUNTRY))))[:30]
    groups = tuple(find_groups(text, catalog.groups()))[:30]
    countries = tuple(name for name in countries if not _is_in_longer(name, groups))
    groups = tuple(name for name in groups if not _is_in_longer(name, countries))
    about = _subjects(text, countries, catalog, scope)
    document = find_title(text, catalog, scope)
    years = find_years(text)
    if document is not None and any(map(document.holds, countries)):
        if all(map(document.holds, countries)):
            # The title says which report; the country in it is no second condition.
            countries = ()
            about = ()
        else:
            document = None  # it is about several countries, which have sides
    if document is not None:
        years = [one for one in years if not document.holds(one)]
    if about or document is not None:
        groups = ()
    if EDITIONS.search(text):
        inside = [
            scope.having(COUNTRY, [country]) for country in values_of(about, catalog)
        ] or [scope]
        years += dict.fromkeys(
            chain(*(relative_editions(text, editions(one, catalog)) for one in inside))
        )
    return Reading(
        text,
        countries,
        about,
        figure_years=tuple(filterfalse(OF_REPORT, years)),
        editions=tuple(filter(OF_REPORT, years)),
        refers=_REFERS.search(text) is not None,
        document=document,
        groups=tuple(name for name in groups if not _is_bound(text, name)),
    )


def _is_in_longer(
    name: NamedCountry | NamedGroup, others: Iterable[NamedCountry | NamedGroup]
) -> bool:
    """Return whether a name is a part of another one, as "America" is of "South
    America", and "Africa" of "South Africa".
    """
    for other in others:
        is_longer = other.end - other.start > name.end - name.start
        if is_longer and other.start <= name.start and name.end <= other.end:
            return True
    return False


def _is_bound(text: str, name: NamedCountry | NamedGroup) -> bool:
    """Return whether a word binds a name to something else: within 120 characters
    before it.
    """
    return _BOUND.search(text, max(0, name.start - 120), name.start) is not None


def editions(scope: Scope, catalog: Catalog) -> list[int]:
    """Return the years of the reports inside a scope, in order."""
    return sorted(map(int, catalog.values(YEAR, scope)))


def keys_of(scope: Scope) -> set[str]:
    """Return the keys of the countries that a scope names."""
    countries = scope.get(COUNTRY)
    return (
        set(map(country_key, map(str, countries.values)))
        if isinstance(countries, Values)
        else set()
    )


def values_of(countries: Iterable[NamedCountry], catalog: Catalog) -> list[Value]:
    """Return the data's values for these countries, in text order. The short name of
    two means both that are there.
    """
    keys = dict.fromkeys(key for country in countries for key in country.keys)
    return [
        value
        for key in keys
        for value in catalog.values(COUNTRY)
        if country_key(str(value)) == key
    ]


def members_of(groups: Iterable[CountryGroup], catalog: Catalog) -> list[Value]:
    """Return the data's values for the members of groups."""
    codes = {code for group in groups for code in group.members}
    return [
        value for value in catalog.values(COUNTRY) if country_key(str(value)) in codes
    ]


def _subjects(
    text: str, countries: Sequence[NamedCountry], catalog: Catalog, scope: Scope
) -> tuple[NamedCountry, ...]:
    """The countries that the question is about, in text order."""
    if not countries:
        return ()
    chosen = scope.get(COUNTRY)
    of_others = _OF_OTHERS.search(text) is not None

    def has_report(country: NamedCountry) -> bool:
        return any(
            chosen is None or chosen.matches(value)
            for value in values_of([country], catalog)
        )

    def is_plain(country: NamedCountry, names: Sequence[NamedCountry]) -> bool:
        is_of_others = of_others and len(names) == 1
        is_beside = country.by_people and (
            chosen is not None or any(map(has_report, countries))
        )
        return not (is_of_others or is_beside)

    def is_bound(names: Sequence[NamedCountry]) -> bool:
        return _is_bound(text, names[0])

    groups = lists(text, countries, _JOINED)
    bound = [] if _COMPARES.match(text) else list(filter(is_bound, groups))
    free = [names for names in groups if names not in bound]
    if any(
        not name.by_people for names in free for name in names
    ):  # "Syrian refugees in Lebanon"
        free = [names for names in free if not all(name.by_people for name in names)]
    about = [
        name
        for names in free
        for name in names
        if has_report(name) or is_plain(name, names)
    ]
    if not any(map(has_report, about)) and not (
        of_others or chosen
    ):  # "fled into Lebanon from Syria"
        about += next(
            filter(None, ([*filter(has_report, names)] for names in bound)), []
        )
    return tuple(sorted(about, key=lambda name: name.start))


DASH = " - "
"""Separators between a thing and one of its parts in headings."""
HEADING_NUMBER = re.compile(
    r"^(?:chapter\s+)?(?:\d\d?(?:\.\d+)*|[IVXL]+)[.:)]?\s+", re.IGNORECASE
)
"""Nobody asks about "2 Money"."""
NAME = re.compile(r"(?:(?<=[\w,] )|(?<=[-(]))[A-ZÀ-Þ][^\W\d_A-ZÀ-Þ]+\b")
"""A word with a capital that begins no sentence."""
NEUTRAL_WORDS = words("idle_words") | words("form_words") | words("neutral_words")
"""Words that do not say which figure a question means."""
SHARE_WORDS, MEANING_WORDS = words("share_words"), words("meaning_words")
OF_ANY_QUESTION = NEUTRAL_WORDS | SHARE_WORDS | words("dependent_words")
"""Words that do not say what a question is about."""
OF_A_REPORT = pattern("{of_a_report}")
"""Headings that name a part of any report, and nothing one could ask about."""
ARTICLE = pattern(r"\bthe\s+$")
_PLACED = pattern(r"(?:since|from|between|with|to|by|against|than)\b")
_COMMAND = pattern(r"^{tell}\b")
_EDGES = pattern(
    r"^(?:[\s,;:.?!/–—-]|\b(?:and|or|but)\s)+|(?:[\s,;:/–—-]|\s(?:and|or)\b)+(?=[?.!]*\s*$)"
)


def name_in_words(text: str, country: NamedCountry, *, usual: bool = False) -> str:
    """The country as it is written, with its article; with ``usual`` its usual name
    instead of its people's.
    """
    if country.by_people:
        return usual_name(country.keys[0]) if usual else country.text
    return (
        f"the {country.text}" if ARTICLE.search(text[: country.start]) else country.text
    )


def in_a_sentence(name: str) -> str:
    """An acronym and a name keep their capitals; "Exports - partners" are exports
    (partners).
    """
    name, _, part = HEADING_NUMBER.sub("", name).partition(DASH)
    if part:
        return f"{in_a_sentence(name)} ({part})"
    first = name.split(" ", 1)[0]
    return name if first[1:] != first[1:].lower() else name[:1].lower() + name[1:]


def is_plural(name: str) -> bool:
    """Judge by the last word of the thing itself: "exports (partners)" are several, the
    "birth rate of Mali" is one.
    """
    last = (
        re.split(r"[(:,]| (?:of|in|from|at|for|to) ", name)[0]
        .strip()
        .rpartition(" ")[2]
    )
    return last.endswith("s") and not last.endswith(("ss", "us", "is"))


def list_in_words(names: Iterable[str], last: str = "and", comma: str = ", ") -> str:
    """The names, each once, as words: "Kenya, Mali and Peru"."""
    names = list(dict.fromkeys(names))
    return f" {last} ".join(filter(None, [comma.join(names[:-1]), *names[-1:]]))


def add_name(question: str, name: str) -> str:
    """The question with a name, or years, behind it: inside the brackets that it ends
    with.
    """
    text = question.rstrip()
    if text.endswith(")") and "? (" in text:
        return f"{text[:-1]} {placed(name)})"
    return f"{question.rstrip(' ?.!')} {placed(name)}?"


def placed(name: str) -> str:
    """A name with the word that says where or when, if it has none: "in Kenya", "since
    2021".
    """
    return name if _PLACED.match(name) else f"in {name}"


def edition_in_words(years: Sequence[str]) -> str:
    """The 2023 report, the 2021 and 2023 reports."""
    return f"the {list_in_words(years)} report{'s' if len(years) > 1 else ''}"


def remove_names(text: str, names: Iterable[Named | NamedDocument]) -> str:
    """The text with a space for each name."""
    for name in sorted(names, key=lambda name: -name.start):
        text = f"{text[: name.start]} {text[name.end :]}"
    return text


def tidy(text: str) -> str:
    """Single spaces, no sign or "and" left over at either end."""
    text = re.sub(r"\([\s,]*\)", " ", re.sub(r"\s+", " ", text))
    return _EDGES.sub("", re.sub(r"(?<=\()\s+|\s+(?=[?.!,;:)])", "", text)).strip()


def as_sentence(text: str) -> str:
    """The text with a capital, and with the sign that ends a question or a command."""
    text = tidy(text).rstrip(" ?.!")
    sign = "." if _COMMAND.match(text) else "?"
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(')') and '?' in text else sign}"  # noqa: E501
