"""Writes the answers of several searches: of sub-questions, and of a chain of
questions.
"""

from ...domain import Context
from ...domain.chat import Prompt
from ...language.markdown import escape_markdown
from ..answer import NOTHING, prompt_for
from ..planners.chain import Chain
from ..planners.deep import Deep
from ..tools.search import bullet_list
from ..turn import Turn
from . import Desk
from .prose import LongProse
from .report import AsReport


class AnswerOfSubQuestions(LongProse):
    """One answer; without a model quotations under each sub-question."""

    def __init__(self, desk: Desk, planner: Deep) -> None:
        super().__init__(desk)
        self._planner = planner

    def prompt(self, turn: Turn, context: Context) -> Prompt:
        queries = bullet_list(self._planner.searched)
        return prompt_for(
            turn.question, context, template="deep_answer_user", queries=queries
        )

    def quote(self, turn: Turn, context: Context) -> str:
        parts = self._planner.parts
        if len(parts) == 1:
            return self.quotations(turn, parts[0], context)
        shown = []
        for query in parts:
            hits = turn.found.of(query)
            quoted = self.quotations(turn, query, context, hits) or turn.say(NOTHING)
            shown.append(f"**{escape_markdown(query)}**\n\n{quoted}")
        return "\n\n".join(shown) or super().quote(turn, context)


class ReportOfParts(AsReport, AnswerOfSubQuestions):
    """A report from what was found for the parts of the task."""


class AnswerOfChain(LongProse):
    """One answer from the passages, and from what was answered on the way."""

    def __init__(self, desk: Desk, planner: Chain) -> None:
        super().__init__(desk)
        self._planner = planner

    def prompt(self, turn: Turn, context: Context) -> Prompt:
        return prompt_for(
            turn.question,
            context,
            template="chain_answer_user",
            so_far=self._planner.so_far,
        )
