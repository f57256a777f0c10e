"""Reads misspelt words as the words of the reports that they must be."""

from dataclasses import dataclass, replace
from functools import partial

from ...domain.chat import FIGURE_YEAR
from ...domain.errors import SearchEngineError
from ...domain.protocols import Passages
from ...domain.scope import Reading, Scope
from ...questions.follow_ups import points_back
from ...questions.kinds import asks_meaning
from ...questions.reading import read_names
from ...search.spelling import Spelling
from ..turn import Turn
from .alone import leave_out_earlier


@dataclass(frozen=True, slots=True)
class CorrectSpelling:
    """The stage that repairs the question's spelling; what it changes is said above the
    answer. A language model reads the question as it was written.
    """

    spelling: Spelling
    passages: Passages

    def run(self, turn: Turn) -> None:
        question = turn.question
        if question.attachments:
            return
        reading = question.reading or turn.read(question.search_text)
        # A word that nobody knows is what such a question asks for.
        if not turn.has_model and not asks_meaning(reading.text):
            reading = self._corrected(turn, reading)
        turn.change(reading=reading)

    def _corrected(self, turn: Turn, reading: Reading) -> Reading:
        scope = turn.question.scope
        is_written = partial(self._is_written, scope=scope)
        text, corrections = self.spelling.corrected(reading, is_written)
        if not corrections:
            own = turn.question.query
            if turn.own_words and not points_back(own) and self._is_of_others(turn):
                # "pizza" is nothing of what was talked about.
                leave_out_earlier(turn, replace(turn.question, standalone=""))
                return turn.read(own)
            return reading
        turn.change(standalone=text)
        turn.corrections = corrections
        return read_names(text, turn.catalog, scope)

    def _is_of_others(self, turn: Turn) -> bool:
        """Return whether a follow-up has words of its own that no report in scope has;
        of one in another language, a word that other reports have.
        """
        everywhere = turn.question.scope
        scope = everywhere
        if turn.is_foreign:
            scope = scope.and_(turn.events.earlier_scope.without(FIGURE_YEAR))
        lacking = []
        for word in turn.own_words:
            if not self._is_written(word, scope=scope):
                lacking.append(word)
        if not turn.is_foreign:
            return len(lacking) == len(turn.own_words)
        return any(self._is_written(word, scope=everywhere) for word in lacking)

    def _is_written(self, word: str, *, scope: Scope) -> bool:
        """Return whether a passage of the scope has a word. Where no index of words
        answers, nobody knows that it has not, and the word stays.
        """
        try:
            return bool(self.passages.keyword_search(word, top_k=1, scope=scope))
        except SearchEngineError:
            return True
