"""Asks a question without what it took over from its conversation, where it then finds
clearly more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...domain import Question, SearchHit
from ...domain.chat import FIGURE_YEAR
from ...domain.scope import Scope
from ...language.analysis import WORD_PATTERN
from ...language.detection import is_foreign
from ...questions.follow_ups import FollowUps
from ...questions.reading import COUNTRY, read_names
from ...search.relevance import Verdict
from ...search.scope import summarise
from ...search.subjects import inferred_scope
from ..tools import Tools
from ..tools.search import Search
from ..turn import Turn

VERDICTS: tuple[Verdict, ...] = ("nothing", "closest", "answers")
"""From the worst to the best."""


@dataclass(frozen=True, slots=True)
class AskAlone:
    """Compares a question with and without what it took over, by the judge of what was
    found: one more search, and only where the first does not answer it. A message that
    points back, or has few words, is not asked alone.
    """

    tools: Tools
    follow_ups: FollowUps

    def run(self, turn: Turn) -> None:
        question = turn.question
        if not turn.condensed:
            return
        if question.attachments or is_foreign(question.query):
            return
        alone = replace(question, standalone="", reading=None)
        is_better = self._ranks_all(turn, alone)
        if not is_better:
            is_better = self._finds_more(turn, question, alone)
        if is_better:
            leave_out_earlier(turn, alone)

    def _ranks_all(self, turn: Turn, alone: Question) -> bool:
        """Return whether a question ranks or filters all countries, and there are
        figures of that name: "the two largest cities" are those of a country.
        """
        if not self.follow_ups.asks_of_all(alone.query):
            return False
        with turn.asking(_read(turn, alone)):
            table = self.tools.figures.compile(turn)
        if table is None:
            return False
        if self.follow_ups.names_all(alone.query):
            return True
        named = set(turn.analyzer.terms(" ".join(turn.own_words)))
        return not named.isdisjoint(turn.analyzer.terms(table.text.partition("\n")[0]))

    def _finds_more(self, turn: Turn, question: Question, alone: Question) -> bool:
        """Return whether the search without what is from earlier answers better. What
        is found in the reports on several countries alike is no subject of its own:
        the conversation says of which country it is asked.
        """
        if not self.follow_ups.could_stand_alone(question.query):
            return False
        verdict, hits_of_earlier = judge_alone(self.tools, turn, question)
        is_answered = verdict == "answers"
        if is_answered and hits_of_earlier[0].chunk.metadata.get(COUNTRY):
            return False
        verdict_alone, hits = judge_alone(self.tools, turn, alone)
        if is_answered:
            # The passage answers without what is from earlier, and has no country.
            if verdict_alone != verdict:
                return False
            return hits[0].chunk.id == hits_of_earlier[0].chunk.id
        gain = VERDICTS.index(verdict_alone) - VERDICTS.index(verdict)
        names = _names_in(turn.own_words, hits)
        if not gain:
            # Its subject may have a name that only the one search has found.
            gain = len(names) - _count_found(names, hits_of_earlier)
        if gain <= 0:
            return False
        return not _is_of_several(names, hits)


def judge_alone(
    tools: Tools, turn: Turn, question: Question
) -> tuple[Verdict, list[SearchHit]]:
    """Return how well the reports answer a question, and the hits, best first."""
    with turn.asking(_read(turn, question)):
        text = question.search_text
        search = Search(text, text, turn.question.scope, question.top_k, is_alone=True)
        found = tools.search.try_out(turn, search)
        if found is None:
            return "nothing", []
        hits = list(found.hits)
        return turn.judge.verdict(turn.reading, hits), hits


def _read(turn: Turn, question: Question) -> Question:
    """Return a question with its names, in the scope that these set."""
    text = question.search_text
    reading = read_names(text, turn.catalog, question.scope)
    scope = question.scope
    if question.auto_scope:
        scope = scope.and_(inferred_scope(text, scope, turn.catalog))
    return replace(question, reading=reading, scope=scope)


def _names_in(words: Sequence[str], hits: list[SearchHit]) -> list[str]:
    """Return the words that the first passage has as names, in small letters: it
    writes them with a capital letter only.
    """
    if not hits:
        return []
    written = set(WORD_PATTERN.findall(hits[0].chunk.search_text))
    folded = {word.casefold() for word in written}
    names = [word.casefold() for word in words]
    return [name for name in names if name in folded and name not in written]


def _count_found(names: list[str], hits: list[SearchHit]) -> int:
    """Return how many of the names are in the passages."""
    texts = " ".join(hit.chunk.search_text for hit in hits).casefold()
    return sum(name in texts for name in names)


def _is_of_several(names: list[str], hits: list[SearchHit]) -> bool:
    """Return whether reports on several countries say it alike: under the heading of
    the first hit or, where that is on a country, anywhere. What lacks one of the
    ``names``, which the first hit has, does not count.
    """
    first = hits[0].chunk
    for hit in hits:
        chunk = hit.chunk
        if chunk.metadata.get(COUNTRY) == first.metadata.get(COUNTRY):
            continue
        text = chunk.search_text.casefold()
        if not all(name in text for name in names):
            continue
        if first.metadata.get(COUNTRY):
            return True
        if first.heading and chunk.heading == first.heading:
            return True
    return False


def leave_out_earlier(turn: Turn, alone: Question) -> None:
    """Ask a question alone, and offer the scope that it had from earlier."""
    earlier = turn.events.earlier_scope.without(FIGURE_YEAR)
    turn.question = alone
    turn.condensed = ""
    turn.own_words = []
    turn.events.earlier_scope = Scope()
    if earlier:
        offered = summarise(turn.catalog, alone.scope.and_(earlier))
        if offered.documents:
            turn.suggested_scope = offered
