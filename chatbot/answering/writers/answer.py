"""Writes the answer of one search."""

from ...domain import Context, Passage
from ...domain.chat import Prompt
from ..answer import prompt_for
from ..tools.figures import FigureTool
from ..turn import Turn
from . import Desk
from .prose import Prose


class AnswerOfOneSearch(Prose):
    """Prose from passages that answer, that only come close, or that bear a table of
    figures.
    """

    def __init__(self, desk: Desk, figures: FigureTool) -> None:
        super().__init__(desk)
        self._figures = figures

    def prompt(self, turn: Turn, context: Context) -> Prompt:
        question = turn.question
        table = turn.found.table
        if table is not None:
            return prompt_for(
                question, context, template="table_user", table=table.text
            )
        if turn.closest_only:
            return prompt_for(question, context, template="closest_user")
        return prompt_for(question, context)

    def context_tokens(self, turn: Turn) -> int:
        if turn.found.table is not None:
            return turn.settings.deep_context_tokens
        return super().context_tokens(turn)

    def opening(self, turn: Turn, passage: Passage) -> str:
        if turn.closest_only or turn.absent is not None:
            return ""
        return self._figures.state(turn, passage)
