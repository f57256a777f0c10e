"""The names in a question, the countries it is about, and its wording: names put into
it and taken out.

A country is what the question is about, wherever it stands, unless a word binds it to
something else ("imports from France", "higher than in Mali") and something else is
there to be asked about. A country that has no report in scope has to be more plainly
the subject: a question that is refused by mistake cannot be answered at all.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..domain import Scope
from ..domain.protocols import Catalog
from ..domain.scope import (
    CountryGroup,
    Named,
    NamedCountry,
    NamedDocument,
    NamedGroup,
    NamedYears,
    Reading,
    Value,
    Values,
)
from ..language.analysis import analyzer
from ..language.countries import usual_name
from ..language.country_names import country_key, find_countries
from ..language.groups import find_groups
from ..language.periods import periods_in
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
_LED_TO = pattern(
    r"(?:\s*,)?\s+(?:(?:in|of|for|at|on|about|across|throughout|inside|within)\s+)?(?:the\s+)?$"
)
_ARTICLE = re.compile(r"\bthe\s+$", re.IGNORECASE)
_OWNED = re.compile(r"['’]s?(?!\w)")
MAX_NAMES = 30
"""Names of each kind that are read; a question is about fewer."""
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
_WHERE = pattern(r"^\W*(?:where\b|{countries}\W+(?:{that_do})\b)")
_OF_OTHERS = pattern(r"\b(?:{of_others}\b|who\b[^?]*\bborders?\b)")


def read_names(text: str, catalog: Catalog, scope: Scope = Scope()) -> Reading:  # noqa: B008  # frozen and empty
    """Return what a question names: countries of ISO 3166 and of the data, years, the
    title of a report.

    ``scope``: "the latest report" is one of its reports, and a country outside of it
    counts as one without a report.
    """
    countries, groups = _places_in(text, catalog)
    about = _subjects(text, countries, catalog, scope)
    document = _title_in(text, countries, catalog, scope)
    years = find_years(text)
    if document is not None:
        years = [named for named in years if not document.holds(named)]
        if any(document.holds(name) for name in countries):
            # The title says which report; its country is no second condition.
            countries = ()
            about = ()
    if about or document is not None:
        groups = ()
    if EDITIONS.search(text):
        years += _relative_editions(text, about, catalog, scope)
    return Reading(
        text,
        countries,
        about,
        figure_years=tuple(named for named in years if not named.of_report),
        editions=tuple(named for named in years if named.of_report),
        refers=_REFERS.search(text) is not None,
        document=document,
        groups=tuple(name for name in groups if not _is_bound(text, name)),
    )


def _places_in(
    text: str, catalog: Catalog
) -> tuple[tuple[NamedCountry, ...], tuple[NamedGroup, ...]]:
    """Return the countries and the groups of countries that a text names, without those
    that are a part of the other's name.
    """
    known = tuple(str(name) for name in catalog.values(COUNTRY))
    countries = find_countries(text, known)[:MAX_NAMES]
    groups = tuple(find_groups(text, catalog.groups()))[:MAX_NAMES]
    countries = tuple(name for name in countries if not _is_in_longer(name, groups))
    groups = tuple(name for name in groups if not _is_in_longer(name, countries))
    return countries, groups


def _title_in(
    text: str, countries: Sequence[NamedCountry], catalog: Catalog, scope: Scope
) -> NamedDocument | None:
    """Return the report whose title a text has, unless the text names countries in and
    beside the title: then it is about several, which have sides.
    """
    document = find_title(text, catalog, scope)
    if document is None:
        return None
    in_title = [document.holds(name) for name in countries]
    if any(in_title) and not all(in_title):
        return None
    return document


def _relative_editions(
    text: str, about: Sequence[NamedCountry], catalog: Catalog, scope: Scope
) -> Iterable[NamedYears]:
    """Return the years of "the latest report" of each country that a text is about,
    else of the whole scope.
    """
    values = values_of(about, catalog)
    within = [scope.having(COUNTRY, [country]) for country in values]
    named: dict[NamedYears, None] = {}
    for part in within or [scope]:
        named.update(dict.fromkeys(relative_editions(text, editions(part, catalog))))
    return named


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
    is_chosen = scope.get(COUNTRY) is not None
    of_others = _OF_OTHERS.search(text) is not None
    reported = [name for name in countries if _has_report(name, scope, catalog)]
    groups = lists(text, countries, _JOINED)
    bound = _bound_lists(text, groups)
    free = _without_peoples([names for names in groups if names not in bound])
    about: list[NamedCountry] = []
    for names in free:
        about += [name for name in names if name in reported]
        # "The neighbours of Chad" is not about Chad.
        is_own = not of_others or len(names) > 1
        if is_own and not _asks_where_a_people_is(text, names):
            about += _plain_names(names, reported, is_chosen=is_chosen)
    if of_others or is_chosen or not set(about).isdisjoint(reported):
        return _in_text_order(about)
    # "Fled into Lebanon from Syria".
    return _in_text_order([*about, *_first_reported(bound, reported)])


def _asks_where_a_people_is(text: str, names: Sequence[NamedCountry]) -> bool:
    """Return whether names are of peoples or languages whose place is asked: "Where is
    Portuguese spoken?" is not about Portugal.
    """
    return _WHERE.search(text) is not None and all(name.by_people for name in names)


def _plain_names(
    names: Sequence[NamedCountry],
    reported: Sequence[NamedCountry],
    *,
    is_chosen: bool,
) -> list[NamedCountry]:
    """Return the countries without a report that a question is about all the same: a
    people is named beside the countries that are chosen or have one.
    """
    plain: list[NamedCountry] = []
    for name in names:
        is_beside = name.by_people and (is_chosen or bool(reported))
        if name not in reported and not is_beside:
            plain.append(name)
    return plain


def _in_text_order(names: Sequence[NamedCountry]) -> tuple[NamedCountry, ...]:
    return tuple(sorted(names, key=lambda name: name.start))


def _bound_lists(
    text: str, groups: Sequence[list[NamedCountry]]
) -> Sequence[list[NamedCountry]]:
    """Return the lists of countries that a word binds to something else."""
    if _COMPARES.match(text):
        return ()
    return [names for names in groups if _is_bound(text, names[0])]


def _first_reported(
    groups: Sequence[list[NamedCountry]], reported: Sequence[NamedCountry]
) -> list[NamedCountry]:
    """Return the countries with a report of the first list that has one."""
    for names in groups:
        with_report = [name for name in names if name in reported]
        if with_report:
            return with_report
    return []


def _has_report(country: NamedCountry, scope: Scope, catalog: Catalog) -> bool:
    """Return whether a country has a report in scope."""
    chosen = scope.get(COUNTRY)
    values = values_of([country], catalog)
    return any(chosen is None or chosen.matches(value) for value in values)


def _without_peoples(
    groups: Sequence[list[NamedCountry]],
) -> Sequence[list[NamedCountry]]:
    """Return lists of countries without those named by their people alone, unless all
    are: "Syrian refugees in Lebanon".
    """
    of_places: list[list[NamedCountry]] = []
    for names in groups:
        if not all(name.by_people for name in names):
            of_places.append(names)
    return of_places or groups


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
_CLAUSE = pattern(r"(?:[:;.!]\s+|\s[-–—]\s+)(?={asks}\b)")
_WORD = re.compile(r"\w+")
_OF_ANY_LIST = NEUTRAL_WORDS | words("countries_words")
_REFERS_BACK = pattern(r"\b{countries}\b[^,;:.?!]*\bit\b")
"""No country is "it" where countries are asked for."""
_PLACED = pattern(r"(?:since|from|between|with|to|by|against|than)\b")
_COMMAND = pattern(r"^{tell}\b")
_COMPUTES = pattern(
    r"\b(?:{scaled_by_people}|{ratio}|{difference}|{average}|{of_named}|{superlative})\b"
)
"""What stands before the clause that asks, and says what is done with figures."""
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
    """Acronyms, names and months keep their capitals; "Exports - partners" are exports
    (partners).
    """
    name, _, part = HEADING_NUMBER.sub("", name).partition(DASH)
    if part:
        return f"{in_a_sentence(name)} ({part})"
    first = name.split(" ", 1)[0]
    if first[1:] != first[1:].lower() or periods_in(first):
        return name
    return name[:1].lower() + name[1:]


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


def leave_out(
    query: str, names: Sequence[Named | NamedDocument], country: str = ""
) -> str:
    """Return a question without these names and the words that only lead to them. With
    ``country`` in the place of a country's name: what is left reads as a question, and
    embeds as one.
    """
    for name in sorted(names, key=lambda name: -name.start):
        before, after = query[: name.start], query[name.end :]
        if not isinstance(name, NamedCountry) or name.by_people:
            before = f"{before} "
        elif country:
            before, after = _ARTICLE.sub("", before), f"{country}{after}"
        elif owned := _OWNED.match(after):
            before, after = f"{before} ", after[owned.end() :]
        else:
            before = f"{_LED_TO.sub('', before)} "
        query = f"{before}{after}"
    return tidy(query)


def asking_clause(reading: Reading) -> Reading:
    """Return a reading with spaces for what stands before the clause that asks: "For a
    story: which countries export tea?"; itself where a name stands there, or words that
    say what is computed ("Exports minus imports: ..."), or the clause asks for nothing
    of its own ("Tea exporters - which countries?"), or speaks of what stands there:
    "We blend tea. Which countries export it?".
    """
    start = 0
    for border in _CLAUSE.finditer(reading.text):
        start = border.end()
    if not start or any(name.start < start for name in reading.names):
        return reading
    if _COMPUTES.search(reading.text, 0, start):
        return reading
    if _REFERS_BACK.search(reading.text, start):
        return reading
    asked = _WORD.findall(reading.text[start:].lower())
    if not analyzer("english").terms(" ".join(set(asked) - _OF_ANY_LIST)):
        return reading
    return replace(reading, text=" " * start + reading.text[start:])


def tidy(text: str) -> str:
    """Single spaces, no sign or "and" left over at either end."""
    text = re.sub(r"\([\s,]*\)", " ", re.sub(r"\s+", " ", text))
    return _EDGES.sub("", re.sub(r"(?<=\()\s+|\s+(?=[?.!,;:)])", "", text)).strip()


def as_sentence(text: str) -> str:
    """The text with a capital, and with the sign that ends a question or a command."""
    text = tidy(text).rstrip(" ?.!")
    sign = "." if _COMMAND.match(text) else "?"
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(')') and '?' in text else sign}"  # noqa: E501
