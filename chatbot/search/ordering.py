"""What a question is searched with, and what comes first of what was found: the passage
whose heading is what is asked, in the edition that is asked.

Names that the scope has already are left out of the search: they distinguish nothing.
Both orders are this product's own, measured in benchmarks/README.md; a seed's preset
has neither.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, filterfalse, islice
from operator import attrgetter

import numpy as np

from ..domain import Chunk, Scope, SearchHit
from ..domain.documents import ScoreArray, standard, to_score, word_scores
from ..domain.protocols import Catalog
from ..domain.request import RequestContext
from ..domain.scope import (
    Named,
    NamedCountry,
    NamedDocument,
    NamedYears,
    Reading,
    Values,
)
from ..language.analysis import YEAR_PATTERN
from ..language.detection import analyzer_for, is_foreign
from ..language.sentences import PROSE_SENTENCE, sentences
from ..questions.english import pattern
from ..questions.kinds import asks_for_prose
from ..questions.reading import COUNTRY, NAME, YEAR, keys_of, tidy
from .indicators import IndicatorIndex
from .weights import read_weight

Terms = Callable[[str], Sequence[str]]
DEPTH = 50
"""Candidates that are looked at: deeper ones came no further in any set."""
HEADING = read_weight("order.heading")
OLDER = read_weight("order.older")
PEAK = read_weight("order.peak")
LONGEST_NAME = 12
"""Words of a heading that is compared."""
PROSE = read_weight("order.prose")
JUDGED_HITS = 3
"""First hits that say whether a question is answered: by their headings, or by what
they tell of a year.
"""
READ = 20
"""First hits whose language says whether the embedding model knows that of the
passages.
"""
STATEMENT = read_weight("order.statement")
NAMED = read_weight("order.named")
OLDER_SHOWN = 2
"""Older editions of the first line that stand right behind its first passage."""
_LED_TO = pattern(
    r"(?:\s*,)?\s+(?:(?:in|of|for|at|on|about|across|throughout|inside|within)\s+)?(?:the\s+)?$"
)
_ARTICLE = re.compile(r"\bthe\s+$", re.IGNORECASE)
_OWNED = re.compile(r"['’]s?(?!\w)")


@dataclass(frozen=True, slots=True)
class SearchText:
    """``question`` reads as one, for vectors of passages; ``topic`` has nothing of what
    the scope says, for words.

    ``figure_years`` and ``editions`` are those the question names, whether or not the
    scope has them. ``foreign``: it is in another language than the keywords of the
    reports. ``prose``: it asks why or how, which no heading names.
    """

    question: str
    topic: str
    figure_years: tuple[NamedYears, ...] = ()
    editions: tuple[NamedYears, ...] = ()
    foreign: bool = False
    prose: bool = False


def search_text(reading: Reading, scope: Scope, *, language: str) -> SearchText:
    """Return a question without what its scope says; as it is, where nothing would be
    left.

    ``language``: of the reports.
    """
    query = reading.text
    foreign = language == "english" and is_foreign(query)
    keys, years, documents = keys_of(scope), scope.get(YEAR), scope.get("document_name")
    names: list[Named | NamedDocument] = [
        name for name in reading.countries if keys.intersection(name.keys)
    ]
    if isinstance(years, Values):
        names += [
            named
            for named in reading.editions
            if all(map(named.condition.matches, years.values))
        ]
    if (
        reading.document
        and documents
        and any(map(documents.matches, reading.document.names))
    ):
        names.append(reading.document)
    topic = _without(query, names)
    question = topic if foreign or not names else _without(query, names, "the country")
    if not any(map(str.isalpha, topic)):
        question = topic = query
    return SearchText(
        question,
        topic,
        reading.figure_years,
        reading.editions,
        foreign,
        asks_for_prose(query),
    )


def _without(
    query: str, names: Sequence[Named | NamedDocument], country: str = ""
) -> str:
    """The question without these names and the words that only lead to them. With
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


class Refiner:
    """Orders what is found by heading and by edition. Thread-safe.

    ``weight`` is that of the headings' standardised similarity beside the standardised
    score before; without an ``index`` headings order nothing. ``language``: of the
    reports. ``collections``: those that are searched, that of general documents first.
    """

    def __init__(
        self,
        catalog: Catalog,
        index: IndicatorIndex | None,
        *,
        weight: float = HEADING,
        language: str,
        collections: Sequence[str] = (),
    ) -> None:
        self.catalog = catalog
        self.collections = collections
        self.general = collections[0] if collections else ""
        self.language = language
        self.index = index
        self._weight = weight

    def by_heading(
        self,
        text: SearchText,
        hits: Sequence[SearchHit],
        request: RequestContext | None,
    ) -> list[SearchHit]:
        """Best first. A passage without a heading is taken for an average one. Raises
        EmbeddingError.
        """
        hits, rest = hits[:DEPTH], hits[DEPTH:]
        # A caption of many words is no name of what its passage says.
        every = map(attrgetter("chunk.heading"), hits)
        headings = [name if len(name.split()) <= LONGEST_NAME else "" for name in every]
        if self.index is None or not any(headings):
            return [*hits, *rest]
        first = (
            [is_foreign(hit.chunk.search_text) for hit in hits[:READ]]
            if text.foreign
            else []
        )
        same_language = not text.foreign or 2 * sum(first) > len(first)
        near = self.index.near(text.topic, headings, request)
        scores = [to_score(one.cosine) if one else None for one in near]
        hits = [
            replace(hit, heading_score=score)
            for hit, score in zip(hits, scores, strict=True)
        ]
        similar = np.array([one.score if one else np.nan for one in near], np.float64)
        similar[np.isnan(similar)] = np.nanmean(similar)
        # Where no heading is near, the nearest one says nothing.
        nearness = min(1.0, max(float(similar.max()), 0.0) / NAMED) ** 2
        weight = self._weight * nearness * (PROSE if text.prose else 1.0)
        total, named = (
            standard(np.array([hit.fused_score or 0.0 for hit in hits])),
            weight * standard(similar),
        )
        terms = analyzer_for(text.topic, self.language).terms
        if text.figure_years and is_story(text, hits, similar, terms):
            # A heading names what happened in a year only where its passage has the
            # year.
            of_year = [_in_passage(text.figure_years, hit) > 0 for hit in hits]
            named = np.where(of_year, np.maximum(named, 0), np.minimum(named, 0))
        elif nearness == 1 and not text.prose:
            names = NAME.findall(text.topic)
            by_chance = np.array(
                [not any(map(hit.chunk.text.__contains__, names)) for hit in hits]
            )
            total -= by_chance * np.maximum(total - PEAK, 0)
        total += named
        if same_language and nearness < 1:
            total += (
                STATEMENT
                * (1 - nearness) ** 2
                * standard(best_statements(text.topic, hits, self.language))
            )
        if not (text.figure_years or text.editions):
            total -= OLDER * _is_older(hits)
        nearest = first_in_both(hits)
        best = hits[int(np.argmax(total))].chunk
        if nearest is not None and not are_alike(hits, hits[nearest].chunk, best):
            # Headings order the passages of one kind of report; they say nothing about
            # a report of another kind.
            total[nearest] = max(total[nearest], total.max() + 1)
        return [*(hits[place] for place in np.argsort(-total, kind="stable")), *rest]


def first_in_both(hits: Sequence[SearchHit]) -> int | None:
    """Return the index of the hit that both searches put first; None where they differ,
    or one has not searched.
    """
    if not hits:
        return None
    by_vector = [hit.score or 0.0 for hit in hits]
    by_keyword = [hit.keyword_score or 0.0 for hit in hits]
    first = int(np.argmax(by_vector))
    if not by_keyword[first] or first != int(np.argmax(by_keyword)):
        return None
    return first


def are_alike(hits: Sequence[SearchHit], one: Chunk, other: Chunk) -> bool:
    """Return whether two passages are of reports of one kind: of one type, or with a
    heading in common among the hits.
    """
    if one.document_id == other.document_id:
        return True
    kind = one.metadata.get("type")
    if kind is not None and kind == other.metadata.get("type"):
        return True
    headings: dict[str, set[str]] = {one.document_id: set(), other.document_id: set()}
    for hit in hits:
        if hit.chunk.heading and hit.chunk.document_id in headings:
            headings[hit.chunk.document_id].add(hit.chunk.heading)
    return not headings[one.document_id].isdisjoint(headings[other.document_id])


def best_statements(
    question: str, hits: Sequence[SearchHit], language: str
) -> ScoreArray:
    """Return how much of the question a single line or sentence of each passage says,
    below its heading.
    """
    terms = analyzer_for(question, language).terms
    lines = [
        [terms(f"{hit.chunk.heading} {one}") for one in sentences(hit.chunk.text)]
        for hit in hits
    ]
    scores = iter(word_scores(terms(question), [*chain(*lines)]))
    return np.array([max(islice(scores, len(of_hit)), default=0.0) for of_hit in lines])


def is_story(
    text: SearchText, hits: Sequence[SearchHit], similar: ScoreArray, terms: Terms
) -> bool:
    """Return whether a sentence has a year asked and a word of the question, and no
    near heading a figure of it.
    """
    if np.any(
        similar[
            [_matched(text.figure_years, hit.chunk.figure_years) > 0 for hit in hits]
        ]
        >= NAMED
    ):
        return False
    words = set(filterfalse(str.isdigit, terms(text.topic)))
    return any(
        not words.isdisjoint(terms(one))
        for one in sentences_of_years(text.figure_years, hits)
    )


def sentences_of_years(
    years: Sequence[NamedYears], hits: Iterable[SearchHit]
) -> Iterator[str]:
    """Yield the sentences of passages, which are no labels with their values, that name
    one of the years.
    """
    for hit in filter(partial(_in_passage, years), hits):
        for sentence in filter(PROSE_SENTENCE.search, sentences(hit.chunk.text)):
            if _matched(years, map(int, YEAR_PATTERN.findall(sentence))):
                yield sentence


def _in_passage(years: Sequence[NamedYears], hit: SearchHit) -> int:
    """Return how many of the years a passage names, with figures or in its text."""
    return (
        _matched(
            years,
            [*hit.chunk.figure_years, *map(int, YEAR_PATTERN.findall(hit.chunk.text))],
        )
        if years
        else 0
    )


def _is_older(hits: Sequence[SearchHit]) -> ScoreArray:
    """1 for each hit of which its country has a newer edition among the hits, else
    0.
    """
    newest: dict[Hashable, int] = {}
    for hit in hits:
        country = hit.chunk.metadata.get(COUNTRY)
        newest[country] = max(newest.get(country, 0), _edition(hit))
    return np.array(
        [
            float(0 < _edition(hit) < newest[hit.chunk.metadata.get(COUNTRY)])
            for hit in hits
        ]
    )


def by_edition(
    hits: Sequence[SearchHit], text: SearchText, scope: Scope, terms: Terms
) -> list[SearchHit]:
    """Order the editions of each line among its own places; those that are not asked go
    behind all others. A line is what a country's reports say under one heading. Asked
    is the edition that the question names, else one with a figure of the year it names,
    else the edition of that year; of several the newest. If the first line has the best
    vector score too, it is clear what is asked, and two of its older editions stand
    behind the first passage: they may say more. Where the question names a year of
    figures, only those with such a figure do: it may have been revised. Where someone
    chose years, all stay.
    """
    if scope.get(YEAR) is not None or scope.get("document_name") is not None:
        return list(hits)
    keys = [_line(hit.chunk, place, terms) for place, hit in enumerate(hits)]
    lines: dict[Hashable, list[SearchHit]] = {}
    for key, hit in zip(keys, hits, strict=True):
        lines.setdefault(key, []).append(hit)

    ordered = {
        key: sorted(line, key=lambda hit: _preference(hit, text))
        for key, line in lines.items()
    }
    best = {key: _edition(line[0]) for key, line in ordered.items()}
    nearest = max(
        range(len(hits)), key=lambda place: hits[place].score or 0.0, default=0
    )
    is_clear = bool(text.figure_years) or (bool(keys) and keys[nearest] == keys[0])
    chosen, more, others = list[SearchHit](), list[SearchHit](), list[SearchHit]()
    first = 0  # of the chosen, before another line's
    for key in keys:
        hit = ordered[key].pop(0)
        says_more = not text.figure_years or _matched(
            text.figure_years, hit.chunk.figure_years
        )
        if _edition(hit) == best[key]:
            first += key == keys[0] and first == len(chosen)
            chosen.append(hit)
        elif (
            is_clear
            and key == keys[0]
            and _edition(hit) < best[key]
            and says_more
            and len(more) < OLDER_SHOWN
        ):
            more.append(hit)
        else:
            others.append(hit)
    return [*chosen[:first], *more, *chosen[first:], *others]


def _preference(hit: SearchHit, text: SearchText) -> tuple[int, int, int, int]:
    """Sorts the edition that is asked first."""
    edition, figures = (
        _edition(hit),
        _matched(text.figure_years, hit.chunk.figure_years),
    )
    of_the_year = (
        0
        if figures
        else 2 * _in_passage(text.figure_years, hit)
        + _matched(text.figure_years, [edition])
    )
    return -_matched(text.editions, [edition]), -figures, -of_the_year, -edition


def _line(chunk: Chunk, place: int, terms: Terms) -> Hashable:
    """Passages without an edition or a heading are each a line of their own."""
    if YEAR not in chunk.metadata or not chunk.section:
        return place
    return (
        chunk.metadata.get(COUNTRY),
        chunk.metadata.get("type"),
        frozenset(terms(chunk.heading)),
    )


def _edition(hit: SearchHit) -> int:
    year = hit.chunk.metadata.get(YEAR)
    return year if isinstance(year, int) else 0


def _matched(named_years: Sequence[NamedYears], years: Iterable[int]) -> int:
    """Return how many of the requested years or ranges these passages cover."""
    passage_years = list(years) if named_years else ()
    return sum(
        any(map(named.condition.matches, passage_years)) for named in named_years
    )
