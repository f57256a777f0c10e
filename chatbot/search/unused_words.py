"""The words of a question that an answer does not use: "African", where all countries
were ranked.

A word is used if what is answered has it, or the glossary's words for that. Of the
others most say little: "How badly did prices rise?" asks the same without "badly". What
a word says is measured by how far the question moves without it. A computed answer has
only the words of its indicators, so each word that says something has to be one of
them. A passage may say the same in other words. There a word was not used if the
question comes nearer to the heading without it: it asks for something else.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..domain import Chunk
from ..domain.figures import indicator_name
from ..domain.scope import Reading
from ..domain.turns import give_way
from ..language.detection import analyzer_for, language_of
from ..language.periods import month_names
from ..language.table_words import (
    also_written,
    with_base_forms,
)
from ..questions.reading import tidy
from ..questions.telling_words import asking_part, telling_words
from .coverage import (
    missing_words,
    texts_of,
)
from .relevance import Judge
from .weights import read_weight

SAYS_SOMETHING = read_weight("unused.moved")
LEADS_AWAY = read_weight("unused.nearer")
MOST_WORDS = int(read_weight("unused.words"))


@dataclass(frozen=True, slots=True)
class UnusedWords:
    """Finds the unused words of a question, by the embedding model and the glossary of
    its judge. Without a local, calibrated model, or for a question in another language
    than the reports, nobody can tell: then there are none.
    """

    judge: Judge

    def of_figures(
        self, question: Reading, indicators: Iterable[str], text: str
    ) -> Sequence[str]:
        """Return the words that neither the indicators of a computed answer have nor
        its ``text``.
        """
        missing = self._missing(question, self._names_of(indicators, text))
        topic = asking_part(question)
        return [word for word in missing if self._says_something(topic, word)]

    def unsaid(
        self, question: Reading, indicators: Iterable[str], text: str
    ) -> Sequence[str]:
        """Return all telling words that neither the indicators of a computed answer
        have nor its ``text``, however little they may say.
        """
        terms = analyzer_for(question.text, self.judge.language).terms
        names = self._names_of(indicators, text)
        return missing_words(telling_words(question), names, terms)

    def of_rows(self, question: Reading, chunks: Sequence[Chunk]) -> Sequence[str]:
        """Return all telling words that neither quoted rows of tables have nor their
        heads and titles, nor the glossary's words for what they name.
        """
        language = self.judge.language
        if language_of(question.text, language) != language:
            return ()
        texts: list[str] = []
        for chunk in chunks:
            texts += texts_of(chunk)
        about = "\n".join(texts)
        texts += [
            with_base_forms(about),
            also_written(about),
            month_names(about),
        ]
        lower = about.lower()
        for entry in self.judge.glossary():
            names = [
                entry.term,
                *entry.other_words,
            ]
            for name in names:
                if name.lower() in lower:
                    texts += names
                    break
        terms = analyzer_for(question.text, language).terms
        unused: list[str] = []
        for word in telling_words(question):
            # "Spend" of "Spent".
            base = with_base_forms(word)
            if missing_words([base], texts, terms):
                unused.append(word)
        return unused

    def _names_of(self, indicators: Iterable[str], text: str) -> list[str]:
        """Return a text, the names of indicators and the glossary's words for these."""
        phrases = [text]
        for name in indicators:
            phrases.append(name)
            for entry in self.judge.glossary():
                meant = indicator_name(entry.heading, entry.label) or entry.term
                if f"{name}:".startswith(f"{meant}:"):
                    phrases += [entry.term, *entry.other_words]
        return phrases

    def of_passages(self, question: Reading, chunks: Sequence[Chunk]) -> Sequence[str]:
        """Return the words that lead away from the passages that are quoted."""
        give_way()
        names = [chunk.heading or chunk.title for chunk in chunks]
        phrases = [*names]
        for entry in self.judge.glossary():
            if entry.heading in names:
                phrases += [entry.term, *entry.other_words]
        texts = [chunk.search_text for chunk in chunks]
        missing = self._missing(question, [*phrases, *texts])
        if not missing or not phrases:
            return ()
        topic = asking_part(question)
        vectors = self.judge.embedder.embed_documents(phrases)
        embed = self.judge.embedder.embed_query
        nearest = max(vectors @ embed(topic))
        unused = []
        for word in missing:
            gain = max(vectors @ embed(_without(topic, word))) - nearest
            if gain >= LEADS_AWAY * self._span:
                unused.append(word)
        return unused

    @property
    def _span(self) -> float:
        """What the scores of this embedding model are measured by."""
        return self.judge.bounds.threshold - self.judge.bounds.floor

    def _missing(self, question: Reading, texts: Iterable[str]) -> Sequence[str]:
        """Return the telling words that no text has, at most `MOST_WORDS`."""
        judge = self.judge
        if not judge.embedder.local or self._span <= 0:
            return ()
        language = language_of(question.text, judge.language)
        if language != judge.language:
            return ()
        terms = analyzer_for(question.text, judge.language).terms
        return missing_words(telling_words(question), texts, terms)[:MOST_WORDS]

    def _says_something(self, topic: str, word: str) -> bool:
        """Return whether a question is another one without a word."""
        embed = self.judge.embedder.embed_query
        moved = 1 - float(embed(topic) @ embed(_without(topic, word)))
        return moved >= SAYS_SOMETHING * self._span


def _without(text: str, word: str) -> str:
    rest = re.sub(rf"\b{re.escape(word)}\b", " ", text)
    return tidy(rest) or "?"
