"""Plans a report: an outline from what the reports contain, and one search for each of
its sections (R-A6).
"""

from collections.abc import Sequence
from dataclasses import replace
from textwrap import shorten

from ...domain import SearchHit
from ...models.replies import outline
from ...models.replies.readers import OutlineSection, ReportOutline
from ...search.pipeline import Retrieval
from ..stages.enough import is_empty
from ..tools import Tools
from ..tools.search import Search, narrowed_search, number_passages
from ..turn import Turn

SCOUTED_PASSAGES = 10
"""Passages for the outline: enough to see what there is, few enough for one prompt."""
MAX_FOUND_PASSAGES = 10
"""Passages for a section, which is a few paragraphs."""
MAX_SECTIONS = 6
"""Sections of a report: one call of the model each."""
MAX_TITLE_CHARACTERS = 120
"""Characters of a title that is the task itself."""


class Outline:
    """One call of the model, between a search for the task and those for the
    sections.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._scouted: Sequence[SearchHit] | None = None
        self.report = ReportOutline("", ())
        self.failed: set[str] = set()
        """The titles of sections whose search failed or took too long."""

    def plan(self, turn: Turn) -> Sequence[Search]:
        question = turn.question
        if self._scouted is None:
            turn.events.step("search", "Looking up what the reports contain")
            look = narrowed_search(question, question.search_text, turn.catalog)
            return [replace(look, top_k=SCOUTED_PASSAGES, is_planning=True)]
        if self.report.sections:
            return ()
        self.report = self._outline(turn, self._scouted)
        turn.events.step("search", "Searching for each section")
        top_k = min(question.top_k, MAX_FOUND_PASSAGES)
        return [
            replace(
                narrowed_search(question, section.question, turn.catalog),
                label=section.title,
                top_k=top_k,
            )
            for section in self.report.sections
        ]

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        if self._scouted is None:
            [first] = results
            self._scouted = first.hits if first else ()
            return
        found = turn.found
        # A passage belongs to each section that found it, and has one number.
        for section, result in zip(self.report.sections, results, strict=True):
            if result is None:
                self.failed.add(section.title)
            elif is_empty(turn, result.hits):
                found.closest += result.hits
            else:
                found.add_all(section.title, result.hits)
        if not found.hits and not is_empty(turn, self._scouted):
            # The searches for the sections found nothing, or had no time left; the
            # first search did.
            text = turn.question.search_text
            only = OutlineSection(short_title(text), text)
            self.report = ReportOutline(self.report.title, (only,))
            found.add_all(only.title, self._scouted)
        found.is_enough = bool(found.hits)

    def _outline(self, turn: Turn, scouted: Sequence[SearchHit]) -> ReportOutline:
        """Return the model's plan for the passages nearest to the task, else the task's
        parts by rule.
        """
        turn.events.step("outline", "Planning the outline")
        tokens = turn.settings.deep_context_tokens
        planned = self._tools.model.ask(
            turn,
            "outline",
            outline(MAX_SECTIONS),
            "An outline by rule",
            most=str(MAX_SECTIONS),
            passages=number_passages(scouted, tokens=tokens),
        )
        if planned is None:
            parts = self._tools.figures.parts_of(turn)
            sections = [OutlineSection(short_title(part), part) for part in parts]
            planned = ReportOutline("", tuple(sections))
        titles = [section.title for section in planned.sections]
        turn.events.step("plan", planned.title or "The outline", items=titles)
        return planned


def short_title(task: str) -> str:
    """Return a title that is the task itself."""
    return shorten(task, MAX_TITLE_CHARACTERS, placeholder=" …")
