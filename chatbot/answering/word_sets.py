"""Answers which countries' reports state something, or do not: the heading that is
meant, its newest passages of every country in scope, and the words that decide.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from textwrap import shorten

from ..checking.tables import markdown_table
from ..domain import Chunk, Scope
from ..domain.protocols import Passages
from ..language.country_names import keys_in
from ..language.markdown import escape_markdown
from ..language.statements import states_none
from ..language.words import Say, counted
from ..questions.reading import COUNTRY
from ..questions.word_sets import WordSet
from ..search.indicators import STEM_CHARACTERS, SURE, IndicatorIndex
from ..search.weights import read_weight
from .figure_words import MOST_LISTED, Rendered, lacking

LEAST = read_weight("sets.least")
NARROWS = read_weight("sets.narrows")
NARROWED_OF = read_weight("sets.narrowed")
NARROWS_AT_MOST = read_weight("sets.narrows_at_most")
MOST_PASSAGES = int(read_weight("sets.passages"))
MOST_CHARACTERS = int(read_weight("sets.shown"))
_CLAUSE_END = re.compile(r",(?!\d{3}\b)|[;\n]+|(?<=[.!?])\s+")
_LABEL = re.compile(r"^[^:;,.\n]+:", re.MULTILINE)
_NO_END = re.compile(r"(?!)")
HAVING = "{number} of {whole} have “{words}” under “{heading}”, by the newest reports:"
WITHOUT = (
    "{number} of {whole} do not have “{words}” under “{heading}”, by the newest "
    "reports:"
)


@dataclass(frozen=True, slots=True)
class WordSets:
    """Finds sets for the callers who see the same reports."""

    passages: Passages
    index: IndicatorIndex
    terms: Callable[[str], Sequence[str]]

    def answer(
        self,
        asked: WordSet,
        newest: Scope,
        scope: Scope,
        subjects: Sequence[str],
        say: Say,
    ) -> Rendered | None:
        """Return the countries that are asked for, each with what its report states;
        None where no heading is surely meant, or no country is in the set. ``newest``:
        of the newest edition in scope. ``subjects``: the countries in scope. Raises
        EmbeddingError, SearchEngineError.
        """
        heading, terms = self._meant(asked, newest)
        if not heading:
            return None
        statements = self._under(heading, scope)
        terms = self._without_labels(terms, [chunk for _, chunk in statements])
        stated: dict[str, tuple[Chunk, str]] = {}
        for end in (_CLAUSE_END, _NO_END):
            for country, chunk in statements:
                for part in end.split(chunk.text):
                    says_all = terms <= self._said(part)
                    if says_all and (terms or not states_none(chunk.text)):
                        stated.setdefault(country, (chunk, part))
            if stated:
                stated = self._narrowed(asked, heading, stated)
                break
        rendered = Rendered(say)
        rows = []
        whole = dict(reversed(statements))
        for country in sorted(whole):
            if (country in stated) == asked.negated:
                continue
            chunk, text = stated.get(country, (whole[country], whole[country].text))
            text = shorten(text, MOST_CHARACTERS, placeholder=" …")
            cell = f"{escape_markdown(text)} [{rendered.number_of(chunk.id)}]"
            rows.append([escape_markdown(country), cell])
        if not rows:
            return None
        words = [word for term, word in asked.words.items() if term in terms]
        head = say(
            WITHOUT if asked.negated else HAVING,
            number=len(rows),
            whole=counted(say, len(whole), "country"),
            words=escape_markdown(" ".join(words or asked.words.values())),
            heading=escape_markdown(heading),
        )
        table = markdown_table(["", escape_markdown(heading)], rows[:MOST_LISTED])
        without = lacking(subjects, whole, say)
        rendered.text = "\n\n".join(filter(None, [head, table, without]))
        rendered.things = (heading,)
        return rendered

    def _meant(self, asked: WordSet, scope: Scope) -> tuple[str, AbstractSet[str]]:
        """Return the heading that is meant, and the terms that decide: of the headings
        that are near enough the one whose name and passages have most terms of the
        question. "" where it is none surely. A term that few passages have beside
        another one is an accident: "spoken", where many have "Arabic".
        """
        topic = " ".join(asked.words.values())
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for chunk in self._with_words(topic, scope):
            counts[chunk.heading].update(self._said(chunk.text))
        best: tuple[int, float, str, AbstractSet[str]] = (0, 0.0, "", frozenset())
        sure = self.index.sure_headings(topic, ())
        names = sorted({*counts, *sure} - {""})
        nearness = self.index.near(topic, names) if names else []
        for name, near in zip(names, nearness, strict=True):
            stems = {term[:STEM_CHARACTERS] for term in self.terms(name)}
            named = {term for term in asked.words if term[:STEM_CHARACTERS] in stems}
            stated = asked.words.keys() & counts[name].keys()
            phrases = " ".join(self.index.phrases(name))
            phrased = asked.words.keys() & set(self.terms(phrases))
            decisive = stated - named
            if decisive - phrased:
                # "speak" says which heading, "Arabic" what it has to state.
                decisive -= phrased
            explained = len(named | stated)
            score = near.score if near else 0.0
            if asked.negated and len(decisive) > 1 and score < SURE:
                continue  # to lack two words at once says little: "border the sea"
            is_sure = stated > named or (
                explained == len(asked.words) and score >= SURE
            )
            if score >= LEAST and (decisive or is_sure):
                best = max(best, (explained, score, name, decisive))
        return best[2:]

    def _narrowed(
        self,
        asked: WordSet,
        heading: str,
        stated: Mapping[str, tuple[Chunk, str]],
    ) -> dict[str, tuple[Chunk, str]]:
        """Return those of the statements that have one more word of the question, where
        not only a few have: "official", of those with "French".
        """
        narrowed = dict(stated)
        if len(stated) < NARROWED_OF:
            return narrowed
        for term in asked.words.keys() - set(self.terms(heading)):
            having = {}
            for country, (chunk, part) in narrowed.items():
                if term in self._said(part):
                    having[country] = (chunk, part)
            share = len(having) / len(narrowed)
            if NARROWS <= share <= NARROWS_AT_MOST:
                narrowed = having
        return narrowed

    def _without_labels(
        self, terms: AbstractSet[str], chunks: Sequence[Chunk]
    ) -> AbstractSet[str]:
        """Return the terms that decide without those of labels, which name what stands
        behind them: "border countries: China"; all where no others are left.
        """
        labels = [label for chunk in chunks for label in _LABEL.findall(chunk.text)]
        return terms - set(self.terms(" ".join(labels))) or terms

    def _said(self, text: str) -> set[str]:
        """Return the terms of a text, and the keys of the countries that it names."""
        return {*self.terms(text), *keys_in(text)}

    def _with_words(self, text: str, scope: Scope) -> list[Chunk]:
        matches = self.passages.keyword_search(text, top_k=MOST_PASSAGES, scope=scope)
        chunks = self.passages.get([match.chunk_id for match in matches])
        return [chunk for chunk in chunks if COUNTRY in chunk.metadata]

    def _under(self, heading: str, scope: Scope) -> list[tuple[str, Chunk]]:
        """Return the countries and their passages under a heading: of the newest
        edition that has some.
        """
        newest: dict[str, list[Chunk]] = defaultdict(list)
        chunks = self._with_words(heading, scope)
        for chunk in sorted(
            chunks, key=lambda chunk: str(chunk.year or ""), reverse=True
        ):
            same = newest[str(chunk.metadata[COUNTRY])]
            if chunk.heading == heading and chunk.year == (same or [chunk])[0].year:
                same.append(chunk)
        return [(country, chunk) for country in newest for chunk in newest[country]]
