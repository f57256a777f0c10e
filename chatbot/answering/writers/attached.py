"""Writes from attachments, whose passages are in no store."""

from ...search.compression import Neighbours
from ..planners.attached import Attached
from ..turn import Draft, Turn
from . import Desk
from .prose import Prose


class AnswerOfAttachments(Prose):
    """Prose whose passages are widened from the attachments themselves."""

    def __init__(self, desk: Desk, planner: Attached) -> None:
        super().__init__(desk)
        self._planner = planner

    def write(self, turn: Turn) -> Draft:
        around = Neighbours(self._planner.passages, self.desk.passages)
        return self.write_from(turn, turn.found.hits, around=around)
