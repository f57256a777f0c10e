"""Looks into what is attached to a question, and into the reports where the question
speaks of them: "Does Kenya's report agree with this?"
"""

from collections.abc import Sequence
from dataclasses import replace
from textwrap import shorten

from ...domain import Chunk, SearchHit
from ...domain.chat import ScopeSummary
from ...domain.scope import Scope
from ...language.markdown import escape_markdown
from ...questions.kinds import asks_of_reports
from ...search.pipeline import Retrieval, with_rank
from ...search.scope import summarise
from ..tools import Tools
from ..tools.search import Search, narrowed_search
from ..turn import Draft, Turn, alternate

MAX_COMPARED_PASSAGES = 3
"""Passages of attachments that reports are searched for."""
MAX_COMPARED_CHARACTERS = 600
"""Characters of them with the question: as many as an embedding model reads."""


class Attached:
    """Reads the attachments once, and searches the reports at most once."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._has_read = False
        self._hits: Sequence[SearchHit] = ()
        self.passages: Sequence[Chunk] = ()
        """All passages of the attachments."""

    def plan(self, turn: Turn) -> Sequence[Search] | Draft:
        if self._has_read:
            if turn.found.hits:
                return ()
            return self._nothing(turn)
        self._has_read = True
        question = turn.question
        turn.events.step("compress", "Looking for the passages that matter")
        whole = turn.settings.context_tokens // 2 if turn.has_model else 0
        reading = turn.reading
        names = bool(reading.about or reading.document or question.scope)
        also_reports = asks_of_reports(question.search_text, names=names)
        read = self._tools.attachments.read(turn, whole=whole, of_all=also_reports)
        count = len(question.attachments)
        if read is None:
            scope = ScopeSummary(Scope(), count, 0)
            return Draft(text=turn.limits.why_stopped, scope=scope)
        self._hits, self.passages = read
        turn.searched = ScopeSummary(Scope(), count, len(self.passages))
        if also_reports:
            return [self._search_of_reports(turn)]
        turn.found.add_all(question.search_text, self._hits)
        turn.found.is_enough = True
        return self.plan(turn)

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        [result] = results
        of_reports = result.hits if result else ()
        hits = with_rank(list(alternate([self._hits, of_reports])))
        turn.found.add_all(turn.question.search_text, hits)
        turn.found.is_enough = True

    def _search_of_reports(self, turn: Turn) -> Search:
        question = turn.question
        text = question.search_text
        first = self._hits[:MAX_COMPARED_PASSAGES]
        beginning = " ".join(hit.chunk.text for hit in first)
        search = narrowed_search(question, text, turn.catalog)
        query = shorten(f"{text} {beginning}", MAX_COMPARED_CHARACTERS)
        searched = summarise(turn.catalog, search.scope)
        documents = searched.documents + turn.scope.documents
        turn.searched = replace(searched, documents=documents)
        return replace(search, query=query)

    def _nothing(self, turn: Turn) -> Draft:
        names = [document.name for document in turn.question.attachments]
        text = turn.say(
            "Nothing in {names} is close to this question.",
            names=escape_markdown(turn.say(", ").join(names)),
        )
        return Draft(text=text, scope=turn.scope)
