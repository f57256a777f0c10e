"""Writes as the seeds' systems do: one call, with the passages as they were found and
nothing else.
"""

from ...domain import Context, Passage
from ...domain.chat import Prompt
from ...search.pipeline import with_rank
from ..answer import prompt_for
from ..turn import Draft, Turn
from . import Desk
from .nothing import NothingFound
from .prose import Prose


class PlainProse(Prose):
    """All passages in the order of the search, each with its own text; no note above or
    below what the model writes.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._nothing = NothingFound(desk.chat_model, desk.advice)

    def prompt(self, turn: Turn, context: Context) -> Prompt:
        return prompt_for(turn.question, context, rules="plain_system")

    def write(self, turn: Turn) -> Draft:
        hits = with_rank(turn.found.hits)
        if not hits and not turn.has_model:
            # There is nothing to quote.
            return self._nothing.write(turn, ())
        passages = [Passage(hit.rank, hit, hit.chunk.text) for hit in hits]
        context = Context(tuple(passages), reports=turn.scope.documents)
        turn.events.sources(hits, turn.scope)
        written = self.write_text(turn, context)
        return Draft(
            text=written.text,
            scope=turn.scope,
            hits=hits,
            context=written.context,
            truncated=written.truncated,
            is_quoted=written.is_quoted,
            is_sent=True,
        )
