"""Decides in which mode a question is answered: the one that it names, or the router's
choice.
"""

from dataclasses import dataclass

from ..modes import CHOOSES, DEFAULT, OfAttachments, led_mode, mode_of
from ..planners.router import Router
from ..tools import Tools
from ..turn import Turn
from ..writers import Desk


@dataclass(frozen=True, slots=True)
class ChooseMode:
    """Sets the planner and the writer of the question."""

    tools: Tools
    desk: Desk

    def run(self, turn: Turn) -> None:
        question = turn.question
        if turn.dialogue is not None:
            if question.mode == CHOOSES:
                turn.change(mode=DEFAULT)
            turn.mode = led_mode(turn.question.mode, self.tools, self.desk)
            return
        if question.attachments and not turn.settings.plain:
            if question.mode not in {DEFAULT, CHOOSES}:
                turn.events.step(
                    "mode", "Questions with attachments are answered in one step."
                )
            turn.change(mode=DEFAULT)
            turn.mode = OfAttachments(self.tools, self.desk)
            return
        if question.mode == CHOOSES:
            name = self._choose(turn)
            turn.change(mode=name)
            turn.was_routed = True
            turn.limits.forget_route()
        turn.mode = mode_of(
            turn.question.mode,
            self.tools,
            self.desk,
            is_plain=turn.settings.plain,
        )

    def _choose(self, turn: Turn) -> str:
        if turn.absent is not None and not turn.has_model:
            return DEFAULT  # there are no sides to compare, only passages that name it
        return Router(self.tools).choose(turn)
