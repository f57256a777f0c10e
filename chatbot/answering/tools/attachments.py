"""Finds the passages of what is attached to a question; they are in no store, and gone
afterwards (R-A1, R-A2).
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...domain import Chunk, SearchHit
from ...domain.chat import ScopeSummary
from ...domain.scope import Scope
from ...search.compression import Compressor
from ...search.pipeline import Retrieval
from ..budget import SecondsUsedUpError
from ..turn import Turn


@dataclass(frozen=True, slots=True)
class AttachmentTool:
    """Compresses the attachments of one question to what matters for it."""

    compressor: Compressor

    def read(
        self, turn: Turn, *, whole: int, of_all: bool
    ) -> tuple[Sequence[SearchHit], Sequence[Chunk]] | None:
        """Return the hits, and all passages of the attachments; None where the seconds
        of the budget were used up.

        ``whole``: tokens up to which attachments are kept whole. ``of_all``: the
        question is about all of them. Raises DependencyError.
        """
        question = turn.question
        result = None
        with suppress(SecondsUsedUpError), turn.limits.limited() as limited:
            result = self.compressor.retrieve(
                question.search_text,
                question.attachments,
                top_k=question.top_k,
                request=limited,
                whole=whole,
                of_all=of_all,
            )
        turn.limits.note_time(limited)
        if result is None:
            return None
        retrieval, chunks = result
        turn.limits.spending.add(*retrieval.steps)
        turn.note(retrieval)
        return retrieval.hits, chunks

    def search(self, turn: Turn, query: str) -> Retrieval | None:
        """Return all passages that are close to a query, as seed 000 has them; None
        where the seconds of the budget were used up. Raises DependencyError.
        """
        limits = turn.limits
        retrieval: Retrieval | None = None
        with suppress(SecondsUsedUpError), limits.limited() as limited:
            if turn.pages is None:
                attachments = turn.question.attachments
                turn.pages = self.compressor.pages(attachments, limited)
                count = len(turn.pages.chunks)
                turn.searched = ScopeSummary(Scope(), len(attachments), count)
            retrieval = self.compressor.closest(turn.pages, query, limited)
        limits.note_time(limited)
        if retrieval is not None:
            limits.spending.add(*retrieval.steps)
            turn.note(retrieval)
        return retrieval
