"""Reads a question in another language than the reports as one in theirs."""

from dataclasses import dataclass, replace

from ...domain import Chunk
from ...domain.errors import SearchEngineError
from ...language.detection import language_of
from ...language.words import CODES
from ...search.translation import Translator
from ..tools import Tools
from ..turn import Turn
from ..writers.prose import unused_line
from .alone import judge_alone


@dataclass(frozen=True, slots=True)
class Translate:
    """The stage that puts a question into English, where the glossary has its topic. A
    question that a report in its own language answers stays as it is. A language model
    reads the question as it was written. ``language``: of the reports.
    """

    translator: Translator
    tools: Tools
    language: str

    def run(self, turn: Turn) -> None:
        question = turn.question
        if turn.has_model or question.attachments or self.language != "english":
            return
        asked = language_of(question.query)
        if asked == self.language:
            return
        if turn.condensed and language_of(turn.condensed) == self.language:
            # The conversation has been read in English.
            turn.is_foreign = False
            turn.say.use(CODES.get(asked, question.language))
            return
        reading = turn.read(question.search_text)
        translation = self.translator.in_english(reading, asked)
        if translation is None:
            return
        if self._is_written(turn, asked):
            alone = replace(question, reading=None)
            verdict, hits = judge_alone(self.tools, turn, alone)
            if verdict == "answers" and _is_in(asked, hits[0].chunk):
                return
        turn.change(standalone=translation.text, reading=None)
        turn.is_foreign = False
        if translation.unused:
            turn.say.use(CODES.get(asked, question.language))
            turn.events.notes.append(unused_line(turn, translation.unused))

    def _is_written(self, turn: Turn, language: str) -> bool:
        """Return whether a passage with words of the question is in this language; True
        also where no index of words answers. Else no search is needed to see that no
        report answers in it.
        """
        search = self.tools.search
        if search.retriever.is_multilingual:
            return True
        try:
            matches = search.store.keyword_search(
                turn.question.search_text,
                top_k=turn.question.top_k,
                scope=turn.question.scope,
            )
        except SearchEngineError:
            return True
        chunks = search.store.get([match.chunk_id for match in matches])
        return any(_is_in(language, chunk) for chunk in chunks)


def _is_in(language: str, chunk: Chunk) -> bool:
    return language_of(chunk.search_text) == language
