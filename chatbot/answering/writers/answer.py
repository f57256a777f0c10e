"""Writes the answer of one search."""

from collections.abc import Sequence

from ...domain import Context, Passage
from ...domain.chat import Prompt
from ...domain.documents import Quotation
from ...domain.scope import NamedCountry
from ...language.country_names import keys_in
from ...language.markdown import quotation_item
from ...language.statements import Statement, statements
from ...models.chat.extractive import MAX_QUOTATIONS, quotation_of
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

    def quote(self, turn: Turn, context: Context) -> str:
        table = turn.found.table
        if table is not None:
            # A model had it, and broke off. Its passages stand first, as in the prompt.
            return table.text
        if turn.absent is None:
            return self._figures.converted(turn, super().quote(turn, context), context)
        quotes: list[Quotation] = []
        for passage in context.passages:
            statement = _naming(turn, passage, turn.absent.countries)
            if statement is not None:
                quotes.append(quotation_of(passage, [statement]))
        if not quotes:
            return super().quote(turn, context)
        shown = quotes[:MAX_QUOTATIONS]
        return "\n\n".join(quotation_item(quote, turn.say) for quote in shown)

    def unused(self, turn: Turn, quotes: str, context: Context) -> Sequence[str]:
        table = turn.found.table
        if table is not None:
            return table.unused
        return super().unused(turn, quotes, context)

    def context_tokens(self, turn: Turn) -> int:
        if turn.found.table is not None:
            return turn.settings.deep_context_tokens
        return super().context_tokens(turn)

    def value(self, turn: Turn, passage: Passage, context: Context) -> str:
        if turn.closest_only or turn.absent is not None:
            return ""
        return self._figures.state(turn, passage, context)


def _naming(
    turn: Turn, passage: Passage, countries: Sequence[NamedCountry]
) -> Statement | None:
    """Return the statement of a passage that names one of these countries, of several
    the one with most of what is asked; None if there is none.
    """
    asked = set(turn.analyzer.terms(turn.question.search_text))
    best: Statement | None = None
    most = -1
    for statement in statements(passage):
        keys = keys_in(statement.whole)
        if all(keys.isdisjoint(country.keys) for country in countries):
            continue
        shared = len(asked.intersection(turn.analyzer.terms(statement.whole)))
        if shared > most:
            best = statement
            most = shared
    return best
