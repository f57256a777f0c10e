"""Answers which countries' reports state something, or do not: the heading that is
meant, its newest passages of every country in scope, and the words that decide.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from textwrap import shorten

from ..checking.tables import markdown_table
from ..domain import Chunk, Scope
from ..domain.figures import GlossaryEntry
from ..domain.protocols import Passages
from ..language.country_names import keys_in
from ..language.markdown import escape_markdown
from ..language.statements import states_none
from ..language.words import Say, counted
from ..questions.reading import COUNTRY
from ..questions.word_sets import WordSet
from ..search.indicators import STEM_CHARACTERS, SURE, IndicatorIndex
from ..search.weights import read_weight
from .figure_words import MOST_LISTED, Rendered, lacking, listed_names

LEAST = read_weight("sets.least")
SAID = read_weight("sets.said")
NARROWS = read_weight("sets.narrows")
NARROWED_OF = read_weight("sets.narrowed")
NARROWS_AT_MOST = read_weight("sets.narrows_at_most")
MOST_PASSAGES = int(read_weight("sets.passages"))
MOST_CHARACTERS = int(read_weight("sets.shown"))
_CLAUSE_END = re.compile(r",(?!\d{3}\b)|[;\n]+|(?<=[.!?])\s+")
_LABEL = re.compile(r"^[^:;,.\n]+:", re.MULTILINE)
_UNIT = re.compile(r"\sper\s[^,;\n]*")
"""Behind what is stated: "Canadian dollars per US dollar"."""
_NO_END = re.compile(r"(?!)")
_DENIED = re.compile(
    r"(?:^|:)\W*(?:\w+\W+)?(?:no|none|not|never|without|lacks?)\b(?![.,]\d)",
    re.IGNORECASE,
)
"""A statement that denies what it speaks of: "dual citizenship recognized: no"."""
HEADS = {
    "having": "{number} of {whole} have “{words}” under “{heading}”, by the newest "
    "reports:",
    "without": "{number} of {whole} do not have “{words}” under “{heading}”, by the "
    "newest reports:",
    "both": "{number} of {whole} have “{words}” and not “{others}” under “{heading}”, "
    "by the newest reports:",
}
_Fit = tuple[tuple[float, ...], str, AbstractSet[str], AbstractSet[str]]
"""How well a heading fits what is asked, higher is better; the heading; the terms that
a passage has to state, and all terms of the question that are explained by it.
"""
_Statements = Mapping[str, tuple[Chunk, str]]
"""Of each country the passage, and what of it states what is asked."""


@dataclass(frozen=True, slots=True)
class WordSets:
    """Finds sets for the callers who see the same reports.

    ``synonyms``: terms of the glossary by other words for them: "Muslim", by "Islam".
    """

    passages: Passages
    index: IndicatorIndex
    stems: Callable[[str], Sequence[str]]
    synonyms: Mapping[str, str] = field(default_factory=dict)

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, the same for words of one meaning."""
        return [self.synonyms.get(stem, stem) for stem in self.stems(text)]

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
        asked = WordSet(
            {self.synonyms.get(one, one): word for one, word in asked.words.items()},
            frozenset(self.synonyms.get(one, one) for one in asked.negated),
            asked.is_list,
        )
        heading, terms, explained = self._meant(asked, newest)
        dropped = asked.words.keys() - explained
        if not heading or (dropped and not asked.is_list):
            return None
        statements = self._under(heading, scope)
        terms = self._deciding(asked, heading, terms, statements)
        lacked = terms & asked.negated
        required = terms - lacked
        negated = bool(lacked if terms else asked.negated) and not required
        whole = dict(reversed(statements))
        stated, denied = self._stated(required or lacked, statements)
        if negated:
            in_set = _not_stated(whole, stated, denied)
            if not in_set and not lacked:
                return _unstated(heading, subjects, whole, say)
        else:
            narrowed = self._narrowed(asked, heading, stated, statements)
            in_set = self._without(lacked, narrowed, statements)
        if not in_set:
            return None
        rendered = Rendered(say)
        rows = _rows(in_set, rendered)
        head = say(
            HEADS[_kind_of_set(required, lacked, negated=negated)],
            number=len(rows),
            whole=counted(say, len(whole), "country"),
            words=escape_markdown(asked.in_words(required or lacked)),
            others=escape_markdown(asked.in_words(lacked)),
            heading=escape_markdown(heading),
        )
        table = markdown_table(["", escape_markdown(heading)], rows[:MOST_LISTED])
        without = lacking(subjects, whole, say)
        rendered.text = f"{head}\n\n{table}\n\n{without}".rstrip()
        rendered.things = (heading,)
        rendered.unused = tuple(asked.words[term] for term in sorted(dropped))
        return rendered

    def _without(
        self,
        terms: AbstractSet[str],
        stated: _Statements,
        statements: Sequence[tuple[str, Chunk]],
    ) -> _Statements:
        """Return what is stated of the countries that do not state other terms; of all
        where there are no others.
        """
        if not terms:
            return stated
        having, _ = self._stated(terms, statements)
        return {name: stated[name] for name in stated if name not in having}

    def _deciding(
        self,
        asked: WordSet,
        heading: str,
        terms: AbstractSet[str],
        statements: Sequence[tuple[str, Chunk]],
    ) -> AbstractSet[str]:
        """Return the terms that a passage has to state; none where the question denies
        what the heading itself is about.
        """
        terms = terms - self._of_labels(statements) or terms
        if terms <= asked.negated and self._only_names(heading, terms, statements):
            return frozenset()
        return terms

    def _only_names(
        self,
        heading: str,
        terms: AbstractSet[str],
        statements: Sequence[tuple[str, Chunk]],
    ) -> bool:
        """Return whether terms are names of a heading under which some state nothing:
        to lack "access to the sea" is to have no coast.
        """
        if not terms <= set(self.terms(" ".join(self.index.phrases(heading)))):
            return False
        nothing = [chunk.text for _, chunk in statements if states_none(chunk.text)]
        said = set(self.terms(" ".join(nothing)))
        return bool(nothing) and said.isdisjoint(terms)

    def _stated(
        self, terms: AbstractSet[str], statements: Sequence[tuple[str, Chunk]]
    ) -> tuple[dict[str, tuple[Chunk, str]], dict[str, tuple[Chunk, str]]]:
        """Return of each country the statement with all terms: those that state it, and
        those that deny it. A clause has them, else the whole passage.
        """
        stated: dict[str, tuple[Chunk, str]] = {}
        denied: dict[str, tuple[Chunk, str]] = {}
        for end in (_CLAUSE_END, _NO_END):
            for country, chunk in statements:
                for clause in end.split(chunk.text):
                    if not terms <= self._said(clause):
                        continue
                    if not terms and states_none(chunk.text):
                        continue
                    is_denied = bool(terms) and _DENIED.search(clause)
                    of_kind = denied if is_denied else stated
                    of_kind.setdefault(country, (chunk, clause))
            if stated or denied:
                break
        return stated, denied

    def _meant(
        self, asked: WordSet, scope: Scope
    ) -> tuple[str, AbstractSet[str], AbstractSet[str]]:
        """Return the heading that is meant, the terms that decide, and all terms of the
        question that it or its passages have: of the headings
        that are near enough the one whose name and passages have most terms of the
        question. "" where it is none surely. A term that few passages have beside
        another one is an accident: "spoken", where many have "Arabic".
        """
        topic = " ".join(asked.words.values())
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        # A term of the glossary stands for other words.
        for chunk in self._with_words(" ".join([topic, *asked.words]), scope):
            counts[chunk.heading].update(self._said(chunk.text))
        best: _Fit = ((), "", frozenset(), frozenset())
        sure = self.index.sure_headings(topic, ())
        names = sorted({*counts, *sure} - {""})
        nearness = self.index.near(topic, names) if names else []
        for name, near in zip(names, nearness, strict=True):
            score = near.score if near else 0.0
            found = self._fit(asked, name, score, counts[name].keys())
            # The glossary knows headings that these reports do not have.
            if found is not None and (counts[name] or self._under(name, scope)):
                best = max(best, found, key=lambda one: one[:2])
        return best[1:]

    def _fit(
        self, asked: WordSet, heading: str, score: float, terms: AbstractSet[str]
    ) -> _Fit | None:
        """Return how well a heading fits what is asked; None where it surely is not
        meant. ``terms``: those of its passages.
        """
        stems = {term[:STEM_CHARACTERS] for term in self.terms(heading)}
        named = {term for term in asked.words if term[:STEM_CHARACTERS] in stems}
        stated = asked.words.keys() & terms
        phrases = " ".join(self.index.phrases(heading))
        phrased = asked.words.keys() & set(self.terms(phrases))
        decisive = stated - named
        if decisive - phrased:
            # "speak" says which heading, "Arabic" what it has to state.
            decisive -= phrased
        if len(decisive & asked.negated) > 1 and score < SURE:
            return None  # to lack two words at once says little: "border the sea"
        said = named | stated
        explained = said | phrased
        is_sure = stated > named or (explained == asked.words.keys() and score >= SURE)
        if score < LEAST or not (decisive or is_sure):
            return None
        # "Which countries export gas?" begins with what the heading is about.
        leads = next(iter(asked.words), "") in named
        decides = bool(decisive or asked.negated)
        rank = len(explained), decides, leads, score + SAID * len(said)
        return rank, heading, decisive, explained

    def _narrowed(
        self,
        asked: WordSet,
        heading: str,
        stated: Mapping[str, tuple[Chunk, str]],
        statements: Sequence[tuple[str, Chunk]],
    ) -> dict[str, tuple[Chunk, str]]:
        """Return those of the statements that have one more word of the question, where
        not only a few have: "official", of those with "French". A word of a label is
        none: "border countries: China" stands before the first neighbour alone.
        """
        narrowed = dict(stated)
        if len(stated) < NARROWED_OF:
            return narrowed
        beside = asked.words.keys() - set(self.terms(heading))
        for term in beside - self._of_labels(statements):
            having = {}
            for country, (chunk, part) in narrowed.items():
                if term in self._said(part):
                    having[country] = (chunk, part)
            share = len(having) / len(narrowed)
            if NARROWS <= share <= NARROWS_AT_MOST:
                narrowed = having
        return narrowed

    def _of_labels(self, statements: Sequence[tuple[str, Chunk]]) -> set[str]:
        """Return the terms of labels, which name what stands behind them: "border
        countries: China".
        """
        labels: list[str] = []
        for _, chunk in statements:
            labels += _LABEL.findall(chunk.text)
        return set(self.terms(" ".join(labels)))

    def _said(self, text: str) -> set[str]:
        """Return the terms of a text, and the keys of the countries that it names."""
        return {*self.terms(_UNIT.sub("", text)), *keys_in(text)}

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


def synonyms_of(
    glossary: Sequence[GlossaryEntry], terms: Callable[[str], Sequence[str]]
) -> dict[str, str]:
    """Return the terms of the glossary's single words that stand for no figures, by
    those of their other words.
    """
    synonyms: dict[str, str] = {}
    for entry in glossary:
        if entry.heading or entry.formula:
            continue
        meant = terms(entry.term)
        if len(meant) != 1:
            continue
        for word in entry.other_words:
            said = terms(word)
            if len(said) == 1:
                synonyms[said[0]] = meant[0]
    return synonyms


def _kind_of_set(
    required: AbstractSet[str], lacked: AbstractSet[str], *, negated: bool
) -> str:
    if negated:
        return "without"
    if required and lacked:
        return "both"
    return "having"


def _not_stated(
    whole: Mapping[str, Chunk], stated: _Statements, denied: _Statements
) -> _Statements:
    """Return the countries that deny what is asked; where none does, those that do not
    state it. What some deny, the others need not speak of.
    """
    if denied:
        return {
            country: stated.get(country, denial) for country, denial in denied.items()
        }
    return {
        country: (chunk, chunk.text)
        for country, chunk in whole.items()
        if country not in stated
    }


def _unstated(
    heading: str, subjects: Sequence[str], stated: Mapping[str, Chunk], say: Say
) -> Rendered | None:
    """Return the countries whose reports have nothing under a heading; None where all
    have. No passage can be cited for what no report says: those of the other countries
    are.
    """
    without = [subject for subject in subjects if subject not in stated]
    if not without or not stated:
        return None
    rendered = Rendered(say)
    others = []
    for country in sorted(stated)[:MOST_LISTED]:
        number = rendered.number_of(stated[country].id)
        others.append(f"{escape_markdown(country)} [{number}]")
    head = say(
        "{number} of {whole} have nothing under “{heading}” in their newest reports: "
        "{names}.",
        number=len(without),
        whole=counted(say, len(subjects), "country"),
        heading=escape_markdown(heading),
        names=listed_names(without, say),
    )
    having = say("The others have it: {names}.", names=say(", ").join(others))
    rendered.text = f"{head}\n\n{having}"
    rendered.things = (heading,)
    return rendered


def _rows(statements: _Statements, rendered: Rendered) -> list[list[str]]:
    """Return the countries, by their names, with what is stated of each."""
    rows = []
    for country in sorted(statements):
        chunk, text = statements[country]
        text = shorten(text, MOST_CHARACTERS, placeholder=" …")
        cell = f"{escape_markdown(text)} [{rendered.number_of(chunk.id)}]"
        rows.append([escape_markdown(country), cell])
    return rows
