"""Writes a report: a title, sections that repeat nothing, and a list of its sources
(R-A6, seed 000).
"""

from dataclasses import replace

from ...domain import Context, Prompt
from ...domain.errors import read_table
from ...language.counts import estimate_tokens_of
from ..answer import with_note
from ..turn import Draft, Turn
from .by_model import AnswerOfPlan
from .prose import Prose
from .repetition import WrittenSentences

LENGTH = int(read_table(__package__, "report")["length"]["value"])
WANTED = (
    "The answer is a report: a title (#), then a section with a heading (##) for each "
    "part of what is asked, of one to three paragraphs. Each section says what no "
    "other one says. No list of sources."
)


class AsReport(Prose):
    """Has a writer ask for a report, and takes sentences out that repeat others."""

    def prompt(self, turn: Turn, context: Context) -> Prompt:
        prompt = with_note(super().prompt(turn, context), WANTED)
        left = turn.limits.spending.tokens_left
        if left is None:
            return replace(prompt, length=LENGTH)
        left -= estimate_tokens_of(prompt.texts)
        length = min(left // turn.settings.max_answer_tokens, LENGTH)
        return replace(prompt, length=max(length, 1))

    def complete(self, turn: Turn, text: str, context: Context) -> tuple[str, str]:
        return WrittenSentences(turn.analyzer).without_repetition(text), ""

    def write(self, turn: Turn) -> Draft:
        return replace(super().write(turn), lists_sources=True)


class ReportOfPlan(AsReport, AnswerOfPlan):
    """A report from what the model's own calls have found."""
