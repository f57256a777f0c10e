"""A question's countries and years compared with the data: which are missing, and which
make a scope.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ..domain import Scope, SearchHit
from ..domain.protocols import Catalog
from ..domain.scope import (
    NO_VALUE,
    CountryGroup,
    NamedCountry,
    NamedYears,
    Reading,
    Value,
)
from ..domain.tables import Texts
from ..language.analysis import YEAR_PATTERN, Analyzer
from ..language.countries import name_in, normalise, takes_article, usual_name
from ..language.country_names import keys_in
from ..language.markdown import escape_markdown
from ..language.words import Say, in_english, spoken
from ..questions.kinds import asks_for_prose
from ..questions.nested import bound_of_named
from ..questions.reading import (
    COUNTRY,
    YEAR,
    editions,
    list_in_words,
    members_of,
    read_names,
    remove_names,
    values_of,
)
from ..questions.sides import COMPARES, DOCUMENT, compared_countries
from .features import JUDGED_HITS, sentences_of_years
from .scope import describe, nearest_scope

MOST_NAMED = 6
_WORDS = re.compile(r"[_.\-]+|(?<=[a-z])(?=[A-Z])")
"""Separators of words in a file name."""


@dataclass(frozen=True, slots=True)
class Missing:
    """``text`` names what is missing; ``everything``: nothing of what the question is
    about is there.

    ``countries``: those missing, where that is everything. ``may_be_named``: passages
    in scope name one of them, or nobody knows whether they do. ``is_chosen``: a person
    chose the report or the collection that is asked. ``offer``: what there is instead.
    """

    text: str
    everything: bool
    countries: tuple[NamedCountry, ...] = ()
    may_be_named: bool = False
    is_chosen: bool = False
    offer: str = ""

    @property
    def refusal(self) -> str:
        """The text with what there is instead."""
        return f"{self.text} {self.offer}".strip()


def missing_subject(
    reading: Reading, scope: Scope, catalog: Catalog, say: Say = in_english
) -> Missing | None:
    """The subject's country or edition without a report in the data, or outside the
    scope that was chosen. Data of which most reports have no country lacks none, and
    data without any year no year. Of years of figures see `missing_figures`.
    """
    countries = (
        _missing_countries(reading, scope, catalog, say) if reading.about else None
    )
    if countries is not None and countries.everything:
        return countries
    years = _missing_years(reading, scope, catalog, say) if reading.editions else None
    return (
        Missing(f"{countries.text} {years.text}", years.everything)
        if countries and years
        else countries or years
    )


def everything_asked(reading: Reading, scope: Scope, catalog: Catalog) -> Reading:
    """Return the reading with what the question compares its countries and editions
    with among what it is about. "What is new in the 2025 report?" needs the edition
    before it.
    """
    if not (reading.countries or reading.editions) or bound_of_named(reading):
        # "Which countries are larger than Chad?" is about all of them.
        return reading
    countries = compared_countries(reading)
    years = list(reading.editions)
    if len(years) == 1 and COMPARES.search(reading.text):
        inside = scope.having(COUNTRY, values_of(reading.about, catalog))
        before = [year for year in editions(inside, catalog) if year < years[0].gte]
        years += [replace(years[0], gte=year, lte=year) for year in before[-1:]]
    return replace(reading, about=tuple(countries), editions=tuple(years))


def missing_figures(
    reading: Reading,
    hits: Sequence[SearchHit],
    scope: Scope,
    catalog: Catalog,
    analyzer: Analyzer,
    say: Say = in_english,
) -> str | None:
    """A sentence saying that what was asked has no figure of the years asked, and which
    years it has; None where nobody can say so.

    ``hits`` are of a search for the question inside ``scope``. An edition of such a
    year is quoted instead, with the year that its figures are of; what has no years at
    all is true in any.
    """
    if not (named_years := reading.figure_years):
        return None
    topic = remove_names(reading.text, reading.names)
    passages, is_named = _of_what_is_asked(topic, hits, analyzer)
    years = sorted({year for hit in passages for year in hit.chunk.figure_years})
    if asks_for_prose(topic) or any(
        sentences_of_years(named_years, hits[:JUDGED_HITS])
    ):
        passages = list(hits)  # a sentence about an event can stand under any heading
    mentioned = set(years)
    for hit in passages:
        mentioned.update(int(year) for year in YEAR_PATTERN.findall(hit.chunk.text))
    if not years or _is_asked(named_years, mentioned):
        return None
    inside = narrowed(scope, COUNTRY, values_of(reading.about, catalog), catalog)
    if _is_asked(named_years, catalog.values(YEAR, inside)):
        return None
    of_scope = f" ({escape_markdown(describe(inside, say))})" if inside else ""
    has = (
        say("{first} to {last}", first=years[0], last=years[-1])
        if len(years) > 1
        else str(years[0])
    )
    text = "No figure of {years} was found for this in the reports{scope}."
    if is_named:  # else they may be figures of something else
        text = (
            "No figure of {years} was found for this in the reports{scope}; the "
            "passages found have {known}."
        )
    return say(
        text,
        years=_joined([named.text for named in named_years], say, "or"),
        scope=of_scope,
        known=has,
    )


def _is_asked(named: Sequence[NamedYears], years: Iterable[Value]) -> bool:
    """Return whether one of the years is one of those that a question names."""
    return any(one.condition.matches(year) for year in years for one in named)


def _of_what_is_asked(
    topic: str, hits: Sequence[SearchHit], analyzer: Analyzer
) -> tuple[list[SearchHit], bool]:
    """The hits whose heading has most of the words asked for, and True; where none has
    any, those under the first hit's heading, and False.
    """
    topic_terms = set(analyzer.terms(topic))
    shared = [
        len(topic_terms.intersection(analyzer.terms(hit.chunk.heading))) for hit in hits
    ]
    if not any(shared):
        return [
            hit for hit in hits if hit.chunk.heading == hits[0].chunk.heading
        ], False
    return [
        hit for hit, count in zip(hits, shared, strict=True) if count == max(shared)
    ], True


def suggest_scope(reading: Reading, scope: Scope, catalog: Catalog) -> Scope | None:
    """``scope`` narrowed to the countries and editions that the question is about; None
    where that changes nothing. Reports without a country or year stay, unless somebody
    chose values of it: one may be about this country.
    """
    if not (reading.about or reading.editions or reading.document or reading.groups):
        return None
    countries = values_of(reading.about, catalog)
    countries += members_of([named.group for named in reading.groups], catalog)
    narrower = narrowed(scope, COUNTRY, countries, catalog, or_none=True)
    years = [
        year
        for year in catalog.values(YEAR)
        if any(named.condition.matches(year) for named in reading.editions)
    ]
    narrower = narrowed(narrower, YEAR, years, catalog, or_none=True)
    if reading.document and scope.get(DOCUMENT) is None:
        narrower = narrowed(narrower, DOCUMENT, reading.document.names, catalog)
    if narrower == scope:
        return None
    before = catalog.holdings(scope)
    after = catalog.holdings(narrower)
    has_less = after.documents < before.documents or after.chunks < before.chunks
    return narrower if after.documents and has_less else None


@dataclass(frozen=True, slots=True)
class GroupReports:
    """Of how many ``members`` of groups there are reports; ``countries`` are those."""

    names: str
    members: int
    countries: Sequence[Value]

    def in_words(self, say: Say) -> str:
        """Return a sentence with both numbers."""
        text = "Of {members} countries in {group} {number} have a report."
        if not self.countries:
            text = "Of {members} countries in {group} none has a report."
        elif len(self.countries) == 1:
            text = "Of {members} countries in {group} one has a report."
        return say(
            text,
            members=self.members,
            group=escape_markdown(self.names),
            number=len(self.countries),
        )


def reports_of_groups(
    groups: Sequence[CountryGroup], scope: Scope, catalog: Catalog, say: Say
) -> GroupReports:
    """Return of how many members of groups there are reports in a scope."""
    # "Latin American or Caribbean" names one group: the other one is a part of it.
    groups = [
        group
        for group in dict.fromkeys(groups)
        if not any(set(group.members) < set(other.members) for other in groups)
    ]
    names = _joined([group.name for group in groups], say, "and")
    members = {code for group in groups for code in group.members}
    inside = set(catalog.values(COUNTRY, scope))
    countries = [one for one in members_of(groups, catalog) if one in inside]
    return GroupReports(names, len(members), countries)


def inferred_scope(text: str, scope: Scope, catalog: Catalog) -> Scope:
    """Return the scope that a question names beyond the chosen one; empty if it narrows
    nothing.
    """
    reading = everything_asked(read_names(text, catalog, scope), scope, catalog)
    suggestion = suggest_scope(reading, scope, catalog)
    return suggestion.beyond(scope) if suggestion else Scope()


def narrowed(
    scope: Scope,
    field: str,
    values: Sequence[Value],
    catalog: Catalog,
    *,
    or_none: bool = False,
) -> Scope:
    """The scope with only these values of a field, or none, as far as it admits
    them.
    """
    kept = [
        value
        for value in catalog.values(field)
        if value in values and _admits(scope, field, value, catalog)
    ]
    chosen = scope.get(field)
    return scope.having(
        field, kept, or_none=or_none and (chosen is None or chosen.or_none)
    )


def _admits(scope: Scope, field: str, value: Value, catalog: Catalog) -> bool:
    if (condition := scope.get(field)) is not None and not condition.matches(value):
        return False
    documents = Scope.of(
        {name: chosen for name, chosen in scope.conditions if name == DOCUMENT}
    )
    if not (scope.collections or documents):
        return True
    inside = catalog.values(
        field, scope.widest().within(scope.collections).and_(documents)
    )
    return (
        not inside or value in inside
    )  # without any value nobody can say what is left out


def _missing_countries(
    reading: Reading, scope: Scope, catalog: Catalog, say: Say
) -> Missing | None:
    seen = set(catalog.values(COUNTRY, scope.widest()))
    if not seen or (scope.get(COUNTRY) is not None and reading.refers):
        return None
    if _is_mostly_of_no_country(scope.widest(), catalog):
        return None
    absent = _without_report(reading.about, seen, scope, catalog)
    present = [value for value in values_of(reading.about, catalog) if value in seen]
    left_out = [
        value for value in present if not _admits(scope, COUNTRY, value, catalog)
    ]
    if not absent and not left_out:
        return None
    outside = [
        country
        for country in reading.about
        if not set(left_out).isdisjoint(values_of([country], catalog))
    ]
    evidence = _evidence([*absent, *outside], scope, catalog)
    texts = _absent_in_words(absent, evidence, say)
    if left_out:
        texts.append(_left_out_in_words(left_out, scope, say))
    if _admits_any(values_of(reading.countries, catalog), scope, catalog):
        return Missing(" ".join(texts), everything=False)
    return Missing(
        " ".join(texts),
        everything=True,
        countries=(*absent, *outside),
        may_be_named=evidence.may_be_named,
        is_chosen=_is_chosen(scope),
        offer=_what_there_is(scope, catalog, say),
    )


def _admits_any(countries: Iterable[Value], scope: Scope, catalog: Catalog) -> bool:
    return any(_admits(scope, COUNTRY, country, catalog) for country in countries)


def _without_report(
    countries: Sequence[NamedCountry],
    seen: AbstractSet[Value],
    scope: Scope,
    catalog: Catalog,
) -> list[NamedCountry]:
    """Return the countries without a report, by the data or by its name. ``seen``:
    those of the reports that a caller may see.
    """
    absent = [
        country
        for country in countries
        if seen.isdisjoint(values_of([country], catalog))
    ]
    if not absent:
        return []
    named = _named_by_untagged(scope, catalog)
    return [country for country in absent if named.isdisjoint(country.keys)]


def _left_out_in_words(countries: Sequence[Value], scope: Scope, say: Say) -> str:
    names = [with_article(str(name), say) for name in countries]
    return say(
        "The scope chosen ({scope}) leaves out {names}.",
        scope=escape_markdown(describe(scope, say)),
        names=_joined(names, say, "and"),
    )


@dataclass(frozen=True, slots=True)
class _Evidence:
    """How many passages name a country without a report, by its keys; and whether some
    may name one.
    """

    passages: Mapping[Texts, int]
    may_be_named: bool


def _evidence(
    countries: Sequence[NamedCountry], scope: Scope, catalog: Catalog
) -> _Evidence:
    """Return what the passages in scope know of countries.

    Where reports were not looked through they may name any country, unless the whole
    library is one of an older release: that refuses as it did. A person who has chosen
    a report or a collection wants to know what is in it.
    """
    codes = {key for country in countries for key in country.keys}
    mentions = catalog.mentions(codes, scope)
    passages: dict[Texts, int] = {}
    if mentions.is_known:
        for country in countries:
            # A passage that names "Congo" counts for both countries.
            passages[country.keys] = max(
                mentions.passages.get(key, 0) for key in country.keys
            )
    is_unknown = not mentions.is_known and not mentions.is_older
    may_be_named = _is_chosen(scope) or is_unknown or any(passages.values())
    return _Evidence(passages, may_be_named)


def _is_chosen(scope: Scope) -> bool:
    """Return whether a person has chosen a report or a collection."""
    has_document = scope.get(DOCUMENT) is not None
    return has_document or scope.collections != scope.limit_collections


def mentioned_countries(
    reading: Reading, scope: Scope, catalog: Catalog
) -> tuple[NamedCountry, ...]:
    """Return the countries that a question names beside those of reports, and that
    passages in scope may name.
    """
    absent = [one for one in reading.countries if not values_of([one], catalog)]
    if not absent:
        return ()
    evidence = _evidence(absent, scope, catalog)
    if not evidence.may_be_named:
        return ()
    counts = evidence.passages
    return tuple(one for one in absent if counts.get(one.keys, 1))


def _absent_in_words(
    countries: Sequence[NamedCountry], evidence: _Evidence, say: Say
) -> list[str]:
    """Return sentences on countries without a report, with the number of passages that
    name each.
    """
    texts: list[str] = []
    unnamed: list[str] = []
    for country in countries:
        name = with_article(_shown(country), say)
        passages = evidence.passages.get(country.keys, 0)
        if not passages:
            unnamed.append(name)
            continue
        text = "There is no report on {name}; {number} passages name it."
        if passages == 1:
            text = "There is no report on {name}; one passage names it."
        texts.append(say(text, name=_joined([name], say, "or"), number=passages))
    if unnamed:
        names = _joined(unnamed, say, "or")
        texts.append(say("There is no report on {names}.", names=names))
    return texts


def _is_mostly_of_no_country(scope: Scope, catalog: Catalog) -> bool:
    """Return whether most reports of a scope have no country, as lessons, manuals and
    minutes have none.
    """
    of_countries = scope.having(COUNTRY, catalog.values(COUNTRY, scope))
    every = catalog.holdings(scope).documents
    return 2 * catalog.holdings(of_countries).documents < every


def _named_by_untagged(scope: Scope, catalog: Catalog) -> set[str]:
    """Keys of the countries that reports without a country name in title, file name,
    labels, description or rows.
    """
    if (chosen := scope.get(COUNTRY)) is not None and not chosen.or_none:
        return set()
    untagged = catalog.all(scope.having(COUNTRY, [NO_VALUE], or_none=True))
    texts = {
        _WORDS.sub(
            " ",
            " , ".join(
                (r.title, r.name, r.source.rpartition("/")[2], *r.labels, r.description)
            ),
        )
        for r in untagged
    }
    return {key for text in texts for key in keys_in(text)}.union(
        *(record.row_countries for record in untagged)
    )


def _what_there_is(scope: Scope, catalog: Catalog, say: Say) -> str:
    if (
        scope.get(COUNTRY) != scope.widest().get(COUNTRY)
        or scope.get(DOCUMENT) is not None
    ):
        return say("Change the scope to ask about another country.")
    names = [with_article(str(name), say) for name in catalog.values(COUNTRY, scope)]
    if not names:
        return escape_markdown(nearest_scope(catalog, scope, say))
    shown = say(", ").join(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown = say(
            "{names} and {number} more", names=shown, number=len(names) - MOST_NAMED
        )
    return say("There are reports on {names}.", names=shown)


def with_article(country: str, say: Say = in_english) -> str:
    """Return a country in the language of ``say``, in English with its article where
    it has one.
    """
    name = name_in(spoken(say), country)
    return say("the {name}", name=name) if takes_article(country) else name


def _shown(country: NamedCountry) -> str:
    """The name as it was written, if it was written as a name; of a misspelt one what
    it was taken for.
    """
    if (
        country.by_people
        or country.taken_as
        or not country.text[:1].isupper()
        or len(normalise(country.text)) <= 3
    ):
        return usual_name(country.keys[0])
    return country.text


def _missing_years(
    reading: Reading, scope: Scope, catalog: Catalog, say: Say
) -> Missing | None:
    """The editions asked about that have no report, of any of its countries or of
    one.
    """
    if scope.get(YEAR) is not None or scope.get(DOCUMENT) is not None:
        return None
    countries = values_of(reading.about, catalog)
    base = narrowed(scope, COUNTRY, countries, catalog)
    undated = base.having(YEAR, [NO_VALUE], or_none=True)
    if not catalog.holdings(base).documents or catalog.holdings(undated).documents:
        return None
    about: Sequence[Value | None] = countries or [None]
    of_each = {
        one: catalog.values(YEAR, base.having(COUNTRY, filter(None, [one])))
        for one in about
    }
    absent = [
        (country, years)
        for country, there in of_each.items()
        for years in reading.editions
        if not any(map(years.condition.matches, there))
    ]
    if not absent:
        return None
    named = [
        years.text
        if country is None
        else f"{with_article(str(country), say)}, {years.text}"
        for country, years in absent
    ]
    text = say("There is no report for {names}.", names=_joined(named, say, "or"))
    if len(absent) < len(of_each) * len(reading.editions):
        return Missing(text, everything=False)
    years = say(", ").join(map(str, catalog.values(YEAR, base)))
    if base:
        shown = escape_markdown(describe(base, say))
        offer = say(
            "The reports for {scope} are from {years}.", scope=shown, years=years
        )
    else:
        offer = say("The reports are from {years}.", years=years)
    return Missing(f"{text} {offer}", everything=True)


def _joined(names: Sequence[Value], say: Say, last: str) -> str:
    """The names joined, as Markdown that shows them as they are."""
    return list_in_words(
        (escape_markdown(str(name)) for name in names), say(last), say(", ")
    )
