"""What becomes of the findings: prose or quotations, a table, a report, or word that
nothing was found.
"""

from dataclasses import dataclass
from typing import Protocol

from ...domain.protocols import ChatModel, Embedder, Passages, Quoter
from ..turn import Draft, Turn
from .advice import Advice


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What writers write with."""

    chat_model: ChatModel
    quoter: Quoter
    """Chooses the sentences to quote where no model writes."""
    passages: Passages
    embedder: Embedder
    advice: Advice


class AnswerWriter(Protocol):
    """Writes the answer of one question."""

    def write(self, turn: Turn) -> Draft:
        """Write from ``turn.found``, sending each word as it comes.

        Raises:
            ChatModelError: the model failed, and there is nothing to quote or hope for.
            BudgetExhaustedError: the day's tokens were used up before this question
                began.
        """
