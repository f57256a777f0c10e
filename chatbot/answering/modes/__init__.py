"""Ways to answer a question; the request's ``mode`` names one. Each is a planner with a
writer.

To add one, add a class here or in a file of its own, and a line in `MODES`; an
installed package may add modes by entry points of the group ``report_chat.modes``.
"""

from typing import Any, ClassVar

from ...domain.registry import Registry
from ..planners import Planner
from ..planners.attached import Attached
from ..planners.by_model import ByModel
from ..planners.chain import Chain
from ..planners.deep import Deep
from ..planners.rules import ByRules, OneSearch
from ..planners.seed_002 import ChainOfRag, SubQuestions
from ..planners.sides import BySides
from ..tools import Tools
from ..writers import AnswerWriter, Desk
from ..writers.answer import AnswerOfOneSearch
from ..writers.attached import AnswerOfAttachments
from ..writers.by_model import AnswerOfPlan
from ..writers.plain import PlainProse
from ..writers.report import ReportOfPlan
from ..writers.research import AnswerOfChain, AnswerOfSubQuestions, ReportOfParts
from ..writers.table import ComparisonTable


class Mode:
    """A planner and a writer for one question, which may share what they know."""

    needs_language_model: ClassVar = False
    searches_often: ClassVar = False
    """True if it makes several searches, which look in the collections that the model
    chooses.
    """
    takes_tables: ClassVar = False
    """True if a table of figures may be the answer."""
    plans: ClassVar[Any] = OneSearch
    """Makes its planner of the tools."""
    writes: ClassVar[Any]
    """Makes its writer of what writers need, and of the planner."""
    planner: Planner
    writer: AnswerWriter

    def __init__(self, tools: Tools, desk: Desk) -> None:
        self.planner = self.plans(tools)
        self.writer = self.writes(desk, self.planner)


class Direct(Mode):
    """Searches once."""

    takes_tables = True

    def __init__(self, tools: Tools, desk: Desk) -> None:
        self.planner = ByRules(tools)
        self.writer = AnswerOfOneSearch(desk, tools.figures)


class LedByModel(Mode):
    """Looks for what the model has called, and lets it write."""

    writes = AnswerOfPlan

    def __init__(self, tools: Tools, desk: Desk) -> None:
        self.planner = ByModel(tools)
        self.writer = self.writes(desk)


class ReportLedByModel(LedByModel):
    """Lets the model write a report from what it has called."""

    writes = ReportOfPlan


class OfAttachments(Mode):
    """Answers from what is attached to the question."""

    plans = Attached
    writes = AnswerOfAttachments


class DeepSearch(Mode):
    """Searches for parts of the question, and for what is missing."""

    searches_often = True
    takes_tables = True

    plans = Deep
    writes = AnswerOfSubQuestions


class ChainOfQuestions(Mode):
    """Asks one question after the other."""

    needs_language_model = True
    searches_often = True

    plans = Chain
    writes = AnswerOfChain


class Compare(Mode):
    """Sets countries, years or reports side by side; one call of the model."""

    searches_often = True

    def __init__(self, tools: Tools, desk: Desk) -> None:
        planner = BySides(tools, desk)
        self.planner = planner
        self.writer = ComparisonTable(desk, planner)


class WriteReport(Mode):
    """Searches as mode deep does, and writes a report."""

    needs_language_model = True
    searches_often = True

    plans = Deep
    writes = ReportOfParts


class Naive(Mode):
    """Searches once and writes once, as most of the seeds do."""

    def __init__(self, tools: Tools, desk: Desk) -> None:
        self.planner = self.plans(tools)
        self.writer = PlainProse(desk)


class SeedDeepSearch(Naive):
    """Seed 002's deep search."""

    searches_often = True

    plans = SubQuestions


class SeedChain(Naive):
    """Seed 002's chain of questions."""

    needs_language_model = True
    searches_often = True

    plans = ChainOfRag


MODES: Registry[Mode] = Registry(
    "mode",
    {
        "auto": "chatbot.answering.modes:Direct",
        "chain": "chatbot.answering.modes:ChainOfQuestions",
        "compare": "chatbot.answering.modes:Compare",
        "deep": "chatbot.answering.modes:DeepSearch",
        "direct": "chatbot.answering.modes:Direct",
        "report": "chatbot.answering.modes:WriteReport",
    },
    group="modes",
)
DEFAULT = "direct"
CHOOSES = "auto"
"""The router chooses the mode of each question."""
LED_MODES = (DEFAULT, CHOOSES, "deep", "chain", "compare", "report")
"""Modes in which a language model says what to look for (PLANNER): the same loop, with
other limits, or another form of the answer.
"""
PLAIN_MODES = {"direct": Naive, "deep": SeedDeepSearch, "chain": SeedChain}
"""What stands for these modes with PLAIN, which the presets set."""


def needs_language_model(name: str) -> bool:
    """Return whether a mode works with a language model only. Raises
    UnknownNameError.
    """
    build = MODES.builder(name)
    return bool(getattr(build, "needs_language_model", False))


def led_mode(name: str, tools: Tools, desk: Desk) -> Mode:
    """Return the mode ``name`` where a language model says what to look for."""
    build = ReportLedByModel if name == "report" else LedByModel
    return build(tools, desk)


def mode_of(name: str, tools: Tools, desk: Desk, *, is_plain: bool = False) -> Mode:
    """Return the mode ``name`` for one question. Raises UnknownNameError,
    MissingPackageError.
    """
    if is_plain and name in PLAIN_MODES:
        return PLAIN_MODES[name](tools, desk)
    return MODES.builder(name)(tools, desk)
