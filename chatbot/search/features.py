"""What speaks for a passage and against it: the features whose weighted sum orders what
was found.

Each weight has a row in `weights.toml`, with the measurement that set it.
`python -m benchmarks fit` fits the weights on libraries of many kinds.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import filterfalse

import numpy as np

from ..domain import SearchHit
from ..domain.documents import HeadingCounts, ScoreArray, standard, word_scores
from ..domain.scope import NamedYears, SearchText
from ..language.analysis import YEAR_PATTERN
from ..language.detection import analyzer_for
from ..language.sentences import PROSE_SENTENCE, sentences
from ..questions.reading import NAME, YEAR
from .weights import read_weight

__all__ = [
    "JUDGED_HITS",
    "WEIGHTS",
    "Candidates",
    "compare",
    "edition_of",
    "features",
    "in_passage",
    "matched",
    "sentences_of_years",
    "words_in",
]

WEIGHTS: Mapping[str, float] = {
    "found": read_weight("features.found"),
    "chance": read_weight("features.chance"),
    "heading": read_weight("features.heading"),
    "prose_heading": read_weight("features.prose_heading"),
    "older": read_weight("features.older"),
    "within": read_weight("features.within"),
    "near_within": read_weight("features.near_within"),
}
NAMED = read_weight("order.named")
PEAK = read_weight("order.peak")
EARNED = read_weight("order.earned")
FEW_HEADINGS = read_weight("order.few_headings")
JUDGED_HITS = 3
"""First hits that say whether a question is answered: by their headings, or by what
they tell of a year.
"""


@dataclass(frozen=True, slots=True)
class Candidates:
    """A question and the passages found for it, each compared with the others.

    Of each passage, in the order of ``hits``: ``found`` and ``headings`` are its score
    and the similarity of its heading, in standard deviations; ``earned`` is how much
    the headings of its document count beside those of others, from 0 to 1. ``words`` is
    how much of the question it has beside the others of its document, in standard
    deviations, too. A word that all of them have says nothing there. ``near`` is how
    near its vector is to the question beside theirs. Both are 0 where headings name
    what a passage says.

    ``nearness``: of the nearest heading, from 0 to 1 (it names what is asked).
    ``is_story``: a sentence tells what happened in the year asked, and no near heading
    has a figure of it.
    """

    text: SearchText
    hits: Sequence[SearchHit]
    found: ScoreArray
    headings: ScoreArray
    earned: ScoreArray
    words: ScoreArray
    near: ScoreArray
    newest: Mapping[Hashable, int]
    """The newest edition of each series among the passages."""
    nearness: float
    is_story: bool


def features(question: Candidates, passage: int) -> dict[str, float]:
    """Return what speaks for a passage, by the names of the weights. ``passage`` is its
    position among those found. "older" is 0 or 1; the others are standard deviations.
    "within" and "near_within" order the passages of one document only.
    """
    text = question.text
    hit = question.hits[passage]
    found = float(question.found[passage])
    # Where no heading is near, the nearest one says nothing.
    heading = question.nearness * float(question.headings[passage])
    chance = 0.0
    if question.is_story:
        # A heading names what happened in a year only where its passage has the year.
        if in_passage(text.figure_years, hit):
            heading = max(heading, 0.0)
        else:
            heading = min(heading, 0.0)
    elif question.nearness == 1 and not text.prose:
        names = NAME.findall(text.topic)
        if not any(name in hit.chunk.text for name in names):
            chance = max(found - PEAK, 0.0)
    older = False
    if not (text.figure_years or text.editions):
        older = 0 < edition_of(hit) < question.newest[hit.chunk.series]
    return {
        "found": found,
        "chance": chance,
        "heading": 0.0 if text.prose else heading,
        "prose_heading": heading if text.prose else 0.0,
        "older": float(older),
        "within": float(question.words[passage]),
        "near_within": float(question.near[passage]),
    }


def compare(
    text: SearchText,
    hits: Sequence[SearchHit],
    similar: ScoreArray,
    counts: Sequence[HeadingCounts | None],
    language: str,
) -> Candidates:
    """Compare the passages found with each other. ``similar``: how near the heading of
    each is to what is asked, nan without one; at least one has one. ``counts``:
    of the headings of each passage's document. ``language``: of the reports.
    """
    # A passage without a heading is taken for an average one.
    similar = np.where(np.isnan(similar), np.nanmean(similar), similar)
    nearness = min(1.0, max(float(similar.max()), 0.0) / NAMED) ** 2
    earned = np.array([earned_by(one) for one in counts])
    newest: dict[Hashable, int] = {}
    for hit in hits:
        series = hit.chunk.series
        newest[series] = max(newest.get(series, 0), edition_of(hit))
    return Candidates(
        text=text,
        hits=hits,
        found=standard(np.array([hit.fused_score or 0.0 for hit in hits])),
        headings=_counted_headings(hits, standard(similar), earned),
        earned=earned,
        words=_words_within(text.topic, hits, earned, language),
        near=_near_within(hits, earned),
        newest=newest,
        nearness=nearness,
        is_story=_is_story(text, hits, similar, language),
    )


def earned_by(counts: HeadingCounts | None) -> float:
    """Return how much the headings of a document count, from 0 to 1: in full where
    enough of them are indicators, which name a figure below them. Those of a document
    that was stored before they were counted count in full.
    """
    if counts is None:
        return 1.0
    # A few headings say little about a document.
    share = counts.indicators / (counts.headings + FEW_HEADINGS)
    return min(1.0, share / EARNED)


def _counted_headings(
    hits: Sequence[SearchHit], headings: ScoreArray, earned: ScoreArray
) -> ScoreArray:
    """Return how much the heading of each passage says. Within a document headings
    order the passages; beside other documents they count as far as the document has
    earned it.
    """
    documents = np.array([hit.chunk.document_id for hit in hits])
    counted = np.empty(len(hits))
    for document in np.unique(documents):
        own = documents == document
        mean = headings[own].mean()
        counted[own] = earned[own] * mean + headings[own] - mean
    return counted


def _words_within(
    question: str, hits: Sequence[SearchHit], earned: ScoreArray, language: str
) -> ScoreArray:
    """Return how much of the question each passage has beside the others of its
    document. The name of an organisation or a course, which stands in most of them,
    says nothing there; the collection weighs it as a rare word.
    """
    documents = np.array([hit.chunk.document_id for hit in hits])
    words = np.zeros(len(hits))
    for document in np.unique(documents[earned < 1]):
        own = np.flatnonzero(documents == document).tolist()
        of_document = [hits[position] for position in own]
        words[own] = standard(words_in(question, language, of_document))
    return words


def _near_within(hits: Sequence[SearchHit], earned: ScoreArray) -> ScoreArray:
    """Return how near the vector of each passage is to the question beside those of its
    document. The search by words puts the passages first that repeat the document's
    name, which a question names to say where to look. As far as its headings count,
    these say where.
    """
    documents = np.array([hit.chunk.document_id for hit in hits])
    scores = np.array([hit.score or 0.0 for hit in hits])
    near = np.zeros(len(hits))
    for document in np.unique(documents[earned < 1]):
        own = documents == document
        near[own] = (1 - earned[own]) * standard(scores[own])
    return near


def words_in(question: str, language: str, hits: Sequence[SearchHit]) -> ScoreArray:
    """Return how much of the question each passage has beside the others."""
    terms = analyzer_for(question, language).terms
    texts = [terms(hit.chunk.search_text) for hit in hits]
    return word_scores(terms(question), texts)


def _is_story(
    text: SearchText, hits: Sequence[SearchHit], similar: ScoreArray, language: str
) -> bool:
    """Return whether a sentence has a year asked and a word of the question, and no
    near heading a figure of it.
    """
    if not text.figure_years:
        return False
    for hit, similarity in zip(hits, similar, strict=True):
        if similarity >= NAMED and matched(text.figure_years, hit.chunk.figure_years):
            return False
    terms = analyzer_for(text.topic, language).terms
    words = set(filterfalse(str.isdigit, terms(text.topic)))
    return any(
        not words.isdisjoint(terms(sentence))
        for sentence in sentences_of_years(text.figure_years, hits)
    )


def sentences_of_years(
    years: Sequence[NamedYears], hits: Iterable[SearchHit]
) -> Iterator[str]:
    """Yield the sentences of passages, which are no labels with their values, that name
    one of the years.
    """
    for hit in filter(partial(in_passage, years), hits):
        for sentence in filter(PROSE_SENTENCE.search, sentences(hit.chunk.text)):
            if matched(years, map(int, YEAR_PATTERN.findall(sentence))):
                yield sentence


def in_passage(years: Sequence[NamedYears], hit: SearchHit) -> int:
    """Return how many of the years a passage names, with figures or in its text."""
    return (
        matched(
            years,
            [*hit.chunk.figure_years, *map(int, YEAR_PATTERN.findall(hit.chunk.text))],
        )
        if years
        else 0
    )


def matched(named_years: Sequence[NamedYears], years: Iterable[int]) -> int:
    """Return how many of the requested years or ranges these passages cover."""
    passage_years = list(years) if named_years else ()
    return sum(
        any(map(named.condition.matches, passage_years)) for named in named_years
    )


def edition_of(hit: SearchHit) -> int:
    year = hit.chunk.metadata.get(YEAR)
    return year if isinstance(year, int) else 0
