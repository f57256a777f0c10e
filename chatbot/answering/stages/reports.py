"""Looks which reports the scope has, before anybody searches them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...domain.chat import Question, ScopeSummary
from ...domain.documents import Holdings
from ...domain.errors import IngestingError
from ...domain.scope import Scope
from ...language.markdown import escape_markdown
from ...language.words import counted
from ...search.ranking import general_scope
from ...search.scope import KnowledgeCollection, describe, named_holdings, nearest_scope
from ..turn import Draft, Turn

STILL_INDEXED = (
    "Still being indexed: {reports} of this scope. This answer is from the others."
)


@dataclass(frozen=True, slots=True)
class CountReports:
    """Counts the reports and passages of the scope; ends a question whose scope has
    none, and says which are still being indexed.
    """

    collections: Sequence[KnowledgeCollection]

    def run(self, turn: Turn) -> Draft | None:
        """Raises:
        IngestingError: there are reports, but none of them can be searched yet.
        """
        question = turn.question
        if question.attachments:
            count = len(question.attachments)
            turn.searched = ScopeSummary(Scope(), count, 0)
            return None
        named = named_holdings(turn.catalog, question.scope)
        general = self._general_scope(turn)
        turn.searched = replace(
            counted_scope(question, named),
            documents_beside=_count_beside(turn, named, general),
        )
        if named.pending:
            reports = counted(turn.say, named.pending, "report")
            turn.events.notes.append(turn.say(STILL_INDEXED, reports=reports))
        if not question.scope or turn.searched.documents or general is not None:
            return None
        names = describe(question.scope, turn.say)
        nothing = turn.say("There is no report for {names}.", names=names)
        offer = nearest_scope(turn.catalog, question.scope, turn.say)
        return Draft(
            text=escape_markdown(f"{nothing} {offer}"),
            scope=turn.searched,
            why="There are no reports in this scope.",
        )

    def _general_scope(self, turn: Turn) -> Scope | None:
        """Return the general documents that are searched beside the scope."""
        general = self.collections[0].name if self.collections else ""
        kept = turn.settings.general_collection
        return general_scope(turn.question.scope, kept, general, turn.catalog)


def _count_beside(turn: Turn, named: Holdings, general: Scope | None) -> int:
    """Count the reports that are searched beside those that the scope names: general
    ones beside a scope that was chosen, and those without a country or year beside one
    that was read in the question.
    """
    if general is not None:
        return turn.catalog.holdings(general).ready
    return turn.catalog.holdings(turn.question.scope).ready - named.ready


def counted_scope(question: Question, named: Holdings) -> ScopeSummary:
    """Return the scope of a question with its reports and passages, of which ``named``
    are the numbers. Raises IngestingError: none of them can be searched yet.
    """
    if named.pending and not named.ready:
        raise _not_indexed_yet(question, named)
    return ScopeSummary(question.scope, named.ready, named.ready_chunks, question.page)


def _not_indexed_yet(question: Question, named: Holdings) -> IngestingError:
    which = "The reports"
    if question.scope:
        which = f"The reports for {describe(question.scope)}"
    return IngestingError(
        f"{which} are still being indexed: {named.pending} of {named.documents} to go."
    )
