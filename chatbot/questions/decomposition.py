"""Sub-questions by rule: for answers without a language model, and where a model's plan cannot be read.

Splitting wrongly is worse than not splitting ("health and education ministry"): what the rules do not know stays whole.
Of the things asked of one country, two are parted where they are figures and facts that stand on their own, and only
where their list begins and ends as one does; from three on a list may have any nouns, where a text says that it asks
about a list: "Tell me about drought, hunger and refugees".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..domain import Scope
from ..domain.protocols import Catalog
from ..domain.reading import Named, NamedYears, Reading
from .comparisons import clean, compared_countries, compared_years, mark_names, plain_question, says_nothing
from .english import NAME, PEOPLE, YEARS, pattern
from .reading import COUNTRY, YEAR, read_names, values_of
from .sentences import ASKS, separate_questions
from .wording import as_sentence, ask_of_one, list_in_words, name_in_words, put_thing, tidy

MOST = 4
_EACH_ITS_OWN = pattern(
    r"^([^{name}{people}]*[{name}{people}])\s*,?\s+and\s+((?:the\s+)?(?:(?!than\b)[\w-]+\s+){1,5}(?:of|in|for)\s+(?:the\s+)?"
    r"{name}[^{name}{people}]*)$"
)
_WITH_OTHERS = pattern(
    r"{name}(?:\s*,|,?\s+(?:and|or))\s+(?:the\s+)?[A-Z]|\b[A-Z]\w+(?:\s*,|,?\s+(?:and|or))\s+(?:the\s+)?{name}",
    any_case=False,
)
"""A name in a list with something that is no country."""
_TOGETHER = pattern(
    r"\b(?:they|these|those|both|the two)\b[^?]{0,40}\b(?:differ\w*|compar\w+|alike|similar|same|related)\b"
    r"|\b(?:each other|one another)\b"
)
"""Asks of countries what can be said of none alone."""
_CHANGES = pattern(r"\b{changes}\w*")
_FIGURES = pattern(
    r"(?:\bboth\s+)?\b(?P<items>{figure}(?:\s*,\s*{figure})*\s*,?\s*(?:\band\b|&)\s*{figure})"
    r"(?=\s*(?:$|[?.!:;]|,(?!\s*(?:and|or|&)\b)|\b{after_list}\b|{name}))"
)
_WHICH_FIGURE = (
    pattern(
        r"^\W*(?:(?P<place>(?:in|for|of)\s[^,:?]*),\s*)?(?:which|what)\b(?:\s+(?:one|of (?:these|them|the two)))?"
        r"\s+{be}\s+(?:the\s+)?{more_or_less}\b"
        r"(?P<where>[^,:?]*)[,:]?\s+(?P<one>{figure})\s*,?\s+or\s+(?P<other>{figure})"
        r"(?P<rest>\s+(?:in|of|for)\s[^,:?]*)?\W*$"
    ),
    pattern(
        r"^\W*{be}\s+(?P<owner>(?:the\s+)?[{name}]+['’]s\s+)?(?P<one>{figure})(?P<where>\s+[^,:?]*?)?\s+{more_or_less}\s+than"
        r"\s+(?:(?:the|its)\s+)?(?P<other>{figure})(?P<rest>[^,:?]*)\W*$"
    ),
)
"""Two things of which one is more: "Which was higher in 2023, exports or imports?", "Are exports higher than ...?"."""
_BETWEEN_FIGURES = pattern(r"(?:\s*,)?\s*\band\b\s*(?={figure}$)|\s*&\s*|\s*,\s*")
_BEGINS = pattern(r"(?:^|['’]s|[{name}:?.!]|\b{before_list})\s*$")
_ONE_OF_SEVERAL = pattern(r"(?:\b{one_of_several}\b[^,?.!]*|[,&]|\b(?:and|or))\s*(?:the\s+)?$")
"""Before a list that is one thing, or whose beginning is not known."""
_OWNER = pattern(r"^(?:the|its|their)\s+")
_NOUNS = pattern(
    r"(?:{asks_about}|^(?=[^:]*{name})(?:\W|\b(?:and|or|vs|versus|in|the|reports?)\b)*:)\s+"
    r"(?P<items>(?:{item}|[A-Z][\w-]*(?:\s+{item_word})?)(?:\s*,\s*{item})+\s*,?\s+(?:and|&)\s+{item})"
    r"(?=\s*(?:$|[?.!;])|\s+(?:in|of|for|since|from|between|during|over)\s+(?:the\s+)?{name}|\s+{name})",
    any_case=False,
)
"""A list of anything, behind what asks about it or behind names and a colon."""
_BETWEEN_NOUNS = re.compile(r"(?:\s*,)?\s+(?:and|&)\s+|\s*,\s*")
_ONE_THING = pattern("{one_thing}", any_case=False)
_ARTICLE = re.compile(r"^the\s+")
_List = tuple[int, int, list[str]]
"""Start and end of a list in a text, and what it lists."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A question with marks for its names, and those of which it has several, as they are written.

    ``countries``: those of several that are in the data, and so perhaps a single one.
    """

    text: str
    held: str
    countries: tuple[str, ...]
    years: tuple[str, ...]
    all_countries: str
    all_years: str

    def parts(self, countries: Sequence[str], years: Sequence[str]) -> list[str]:
        """The question for each country in each year; none = all of them together."""
        if not countries and not years:
            return [as_sentence(self.text)]
        held = ask_of_one(self.held) if countries else self.held
        return [
            as_sentence(held.replace(NAME, country).replace(PEOPLE, country).replace(YEARS, year))
            for year in years or [self.all_years]
            for country in countries or [self.all_countries]
        ]


def sub_questions(text: str, scope: Scope, catalog: Catalog, most: int = MOST) -> list[str]:
    """The question in parts that can each be searched alone, at most ``most``; ``[text]`` where it is one.

    Of a comparison of which one side is in the data, that side's question.

    By question, by thing, by country and by year; where all of that is too many, by less of it, so that nothing is
    left out. Each thing is asked of all countries before the next.
    """
    asked = separate_questions(clean(text.lower() if text.isupper() else text), scope, catalog)
    asked = [*asked[: most - 1], " ".join(asked[most - 1 :])] if len(asked) > most else asked
    found: list[str] = []
    for place, question in enumerate(asked, start=1):
        found += _parts(question, scope, catalog, most - len(found) - (len(asked) - place))
    return [text] if found == asked[:1] else list(dict.fromkeys(found))


def _parts(question: str, scope: Scope, catalog: Catalog, most: int) -> list[str]:
    """The finest split of one question that is no more than ``most``."""
    reading = read_names(question, catalog)
    if pair := _pair(question, reading):
        return pair if most > 1 else [question]
    whole = _named(question, scope, catalog)
    listed = _by_thing(question, [*reading.countries, *reading.every_year])
    by_thing = [_named(thing, scope, catalog) for thing in listed]
    for found in _ways(by_thing, whole):
        if 1 < len(found) <= most:
            return found
    if len(whole.countries) > most > 1:
        return whole.parts([*whole.countries[: most - 1], list_in_words(whole.countries[most - 1 :])], ())
    return whole.parts(whole.countries, ()) if len(whole.countries) == 1 else [question]


def _ways(by_thing: Sequence[_Named], whole: _Named) -> Iterator[list[str]]:
    """Ways to split a question, the finest first; countries are parted before things and things before years."""
    yield [part for named in by_thing for part in named.parts(named.countries, named.years)]
    yield [part for named in by_thing for part in named.parts(named.countries, ())]
    yield whole.parts(whole.countries, whole.years)
    yield whole.parts(whole.countries, ())
    yield [part for named in by_thing for part in named.parts((), named.years)]
    yield [as_sentence(named.text) for named in by_thing]
    yield whole.parts((), whole.years)


def _pair(question: str, reading: Reading) -> list[str]:
    """Two questions for "the population of Kenya and the inflation of Mali"."""
    countries = compared_countries(question, reading)
    match = _EACH_ITS_OWN.match(mark_names(question, countries)) if len(countries) == 2 else None
    if match is None or countries[0].keys == countries[1].keys or ASKS.search(match[2]):
        return []
    return [
        as_sentence(re.sub(f"[{NAME}{PEOPLE}]", c.text, part))
        for c, part in zip(countries, match.groups(), strict=True)
    ]


def _named(question: str, scope: Scope, catalog: Catalog) -> _Named:
    countries = compared_countries(question, read_names(question, catalog))
    years = compared_years(question)
    held = mark_names(question, [*countries, *years])
    asked = plain_question(held)
    condition = scope.get(COUNTRY)
    usable = [  # where the data has no countries, its texts may be about any
        country
        for country in countries
        if not catalog.values(COUNTRY)
        or any(condition is None or condition.matches(value) for value in values_of([country], catalog))
    ]
    texts = tuple(dict.fromkeys(name_in_words(question, country) for country in usable))
    spans = _spans(question, years, scope, catalog)
    # "The French and Indian War" is one thing: peoples are parted only where they are compared.
    is_open = asked.count(NAME) == 1 or (asked.count(PEOPLE) == 1 and asked != tidy(held))
    is_alone = asked.count(NAME) + asked.count(PEOPLE) == 1 and not _WITH_OTHERS.search(asked)
    is_whole = says_nothing(asked) or _TOGETHER.search(asked) is not None
    return _Named(
        question,
        asked,
        texts if len(countries) > 1 and is_open and is_alone and not is_whole else (),
        spans if len(spans) > 1 and asked.count(YEARS) == 1 and not is_whole else (),
        list_in_words([name_in_words(question, country) for country in countries]),
        list_in_words([question[named.start : named.end] for named in years]),
    )


def _spans(question: str, years: Sequence[NamedYears], scope: Scope, catalog: Catalog) -> tuple[str, ...]:
    """The years as they are written; of one range in which something changed its ends, or the editions inside."""
    if all(named.gte == named.lte for named in years):
        return tuple(dict.fromkeys(question[named.start : named.end] for named in years))
    if len(years) > 1 or years[0].lte is None or not _CHANGES.search(question):
        return ()
    lead = "" if question[years[0].start].isdigit() else "in "
    if not years[0].of_report:
        return tuple(f"{lead}{year}" for year in years[0].ends)
    chosen = scope.get(YEAR)
    inside = [year for year in catalog.values(YEAR) if years[0].condition.matches(year)]
    return tuple(f"{lead}{year}" for year in inside if chosen is None or chosen.matches(year))


def _by_thing(text: str, names: Iterable[Named]) -> list[str]:
    """The question once for each thing that it lists; ``names``: the countries and years in it."""
    covered = text
    for name in names:
        covered = covered[: name.start] + NAME * (name.end - name.start) + covered[name.end :]
    start, end, items = _listed_figures(covered) or _listed_nouns(covered) or (0, 0, [])
    return [put_thing(text, covered, start, end, item) for item in items] or _alternatives(text, covered) or [text]


def _alternatives(text: str, covered: str) -> list[str]:
    """The question for each of two things of which it asks which one is more; none where it does not."""
    for asked in _WHICH_FIGURE:
        if match := asked.match(covered):
            spans = {name: match.span(name) for name in match.groupdict() if match[name]}
            part = {name: text[start:end].strip() for name, (start, end) in spans.items()}
            part |= {"place": part["place"][:1].lower() + part["place"][1:]} if "place" in part else {}
            behind = [part.get(name, "") for name in ("where", "rest", "place")]
            named = ([part.get("owner", ""), part[thing], *behind] for thing in ("one", "other"))
            return [as_sentence(" ".join(filter(None, words))) for words in named]
    return []


def _listed_figures(covered: str) -> _List | None:
    """A list of known things, with a "both" before it, each with the article of the first."""
    for match in _FIGURES.finditer(covered):
        before = covered[: match.start()]
        if _BEGINS.search(before) and not _ONE_OF_SEVERAL.search(before):
            items = _BETWEEN_FIGURES.split(match["items"])
            article = _OWNER.match(match["items"])
            return *match.span(), [i if _OWNER.match(i) or article is None else article[0] + i for i in items]
    return None


def _listed_nouns(covered: str) -> _List | None:
    """A list of three things or more, each a noun or two; None of fewer: two with "and" are often one ("law and
    order").
    """
    match = _NOUNS.search(covered)
    if match is None or _ONE_THING.search(match["items"]):
        return None
    items = _BETWEEN_NOUNS.split(match["items"])
    words = [len(_ARTICLE.sub("", item).split()) for item in items]
    if words[-1] > min(words):
        return None  # they may share the last noun: "infant, child and maternal mortality"
    return *match.span("items"), items
