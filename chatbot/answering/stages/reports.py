"""Looks which reports the scope has, before anybody searches them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ...domain import DocumentRecord
from ...domain.chat import Question, ScopeSummary
from ...domain.errors import IngestingError
from ...domain.protocols import Catalog
from ...domain.scope import Scope
from ...language.markdown import escape_markdown
from ...search.ranking import general_scope
from ...search.scope import KnowledgeCollection, describe, nearest_scope
from ..turn import Draft, Turn

FIRST_START = timedelta(minutes=10)
"""Time after which a sample report that is still waiting was left behind."""


@dataclass(frozen=True, slots=True)
class CountReports:
    """Counts the reports and passages of the scope; ends a question whose scope has
    none.
    """

    collections: Sequence[KnowledgeCollection]

    def run(self, turn: Turn) -> Draft | None:
        """Raises:
        IngestingError: there are reports, but none of them can be searched yet; or the
            sample reports are not complete yet, and an answer from half of them would
            mislead.
        """
        question = turn.question
        if question.attachments:
            count = len(question.attachments)
            turn.searched = ScopeSummary(Scope(), count, 0)
            return None
        turn.searched = counted_scope(question, turn.catalog)
        if not question.scope or turn.searched.documents or self._has_general(turn):
            return None
        names = describe(question.scope, turn.say)
        nothing = turn.say("There is no report for {names}.", names=names)
        offer = nearest_scope(turn.catalog, question.scope, turn.say)
        return Draft(
            text=escape_markdown(f"{nothing} {offer}"),
            scope=turn.searched,
            why="There are no reports in this scope.",
        )

    def _has_general(self, turn: Turn) -> bool:
        """Return whether general documents are searched beside the scope."""
        general = self.collections[0].name if self.collections else ""
        kept = turn.settings.general_collection
        scope = general_scope(turn.question.scope, kept, general, turn.catalog)
        return scope is not None


def counted_scope(question: Question, catalog: Catalog) -> ScopeSummary:
    """Return the scope of a question with its reports and passages. Raises
    IngestingError.
    """
    inside = catalog.holdings(question.scope)
    if inside.pending:
        is_all = inside.pending == inside.documents
        if is_all or any(_is_new(record) for record in catalog.all(question.scope)):
            raise _not_indexed_yet(question, catalog)
    return ScopeSummary(
        question.scope, inside.ready, inside.ready_chunks, question.page
    )


def _not_indexed_yet(question: Question, catalog: Catalog) -> IngestingError:
    inside = catalog.holdings(question.scope)
    # Reports of no country are searched beside the named ones: they may be all that is
    # missing.
    named = catalog.holdings(question.scope.strict())
    shown = named if named.pending else inside
    which = "The reports"
    if question.scope and named.pending:
        which = f"The reports for {describe(question.scope)}"
    return IngestingError(
        f"{which} are still being indexed: {shown.pending} of {shown.documents} to go."
    )


def _is_new(record: DocumentRecord) -> bool:
    """Return whether it is a sample report of this first start; one that was left
    behind long ago must not hold up every question.
    """
    if not record.sample or record.status != "pending":
        return False
    return datetime.now(UTC) - datetime.fromisoformat(record.updated_at) < FIRST_START
