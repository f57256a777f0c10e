"""Reads misspelt words as the words of the reports that they must be."""

from dataclasses import dataclass

from ...questions.reading import read_names
from ...search.spelling import Spelling
from ..turn import Turn


@dataclass(frozen=True, slots=True)
class CorrectSpelling:
    """The stage that repairs the question's spelling; what it changes is said above the
    answer.
    """

    spelling: Spelling

    def run(self, turn: Turn) -> None:
        question = turn.question
        if question.attachments:
            return
        reading = question.reading or turn.read(question.search_text)
        text, corrections = self.spelling.corrected(reading)
        if corrections:
            reading = read_names(text, turn.catalog, question.scope)
            turn.change(standalone=text)
            turn.corrections = corrections
        turn.change(reading=reading)
