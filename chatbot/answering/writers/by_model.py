"""Writes the answer from what a model's own calls of tools have found."""

from collections.abc import Sequence

from ...domain import Context, SearchHit
from ...domain.chat import Prompt
from ...search.compression import Neighbours
from ..turn import Draft, Turn
from .prose import Prose


class AnswerOfPlan(Prose):
    """Prose from the passages and tables of the dialogue."""

    def prompt(self, turn: Turn, context: Context) -> Prompt:
        assert turn.dialogue is not None, "the stage `plan` has run"
        return turn.dialogue.answer_prompt(
            {passage.number for passage in context.passages}
        )

    def write(self, turn: Turn) -> Draft:
        assert turn.dialogue is not None, "the stage `plan` has run"
        turn.dialogue.choose(self.desk.passages)
        return self.write_from(
            turn, [passage.hit for passage in turn.dialogue.passages]
        )

    def _context(
        self, turn: Turn, hits: Sequence[SearchHit], around: Neighbours | None
    ) -> Context:
        """Return the passages that the dialogue has chosen."""
        assert turn.dialogue is not None, "the stage `plan` has run"
        passages = tuple(turn.dialogue.passages)
        computed = (*turn.hints, *turn.dialogue.tables)
        return Context(passages, turn.scope.documents, computed)
