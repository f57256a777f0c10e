"""Reads a question in another language than the reports as one in theirs."""

from dataclasses import dataclass, replace

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
        reading = turn.read(question.search_text)
        translation = self.translator.in_english(reading, asked)
        if translation is None:
            return
        verdict, hits = judge_alone(self.tools, turn, replace(question, reading=None))
        if verdict == "answers" and language_of(hits[0].chunk.search_text) == asked:
            return
        turn.change(standalone=translation.text, reading=None)
        turn.is_foreign = False
        if translation.unused:
            turn.say.use(CODES.get(asked, question.language))
            turn.events.notes.append(unused_line(turn, translation.unused))
