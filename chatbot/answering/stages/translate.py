"""Reads a question in another language than the reports as one in theirs."""

from dataclasses import dataclass, replace

from ...language.detection import language_of
from ...language.markdown import escape_markdown
from ...language.words import CODES
from ...search.translation import Translator
from ..tools import Tools
from ..turn import Turn
from .alone import judge_alone

NOT_USED = "I could not use “{words}”: this answers only a part of the question."


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
        asked = language_of(question.query)
        if turn.has_model or question.attachments or self.language != "english":
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
            words = escape_markdown("”, “".join(translation.unused))
            turn.events.notes.append(turn.say(NOT_USED, words=words))
