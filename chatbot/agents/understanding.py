"""Before any agent runs: what the question is about, whether the data has it, and what scope would fit (R-D4).

One place for all modes. What it finds is answered here, or said above the agent's answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from ..cancellation import Cancellation, time_limit
from ..generation.answer import assemble, general_prompt
from ..model_output.completion import completion
from ..protocols import Agent, Catalog, ChatModel
from ..retrieval.mentions import COUNTRY, Mentions, find_mentions
from ..retrieval.scope import summarise
from ..retrieval.subjects import Missing, missing_subject, suggest_scope
from ..schema import AnswerEvent, Event, Question, Scope, ScopeSummary, SourcesEvent, StepEvent, StepTiming, TokenEvent
from .collection import Topic, collection_answer, collection_topic

OnEmpty = Literal["abstain", "relax", "general"]
_PAGE = re.compile(r"\b(?:page|p\.) ?(\d{1,4})\b", re.IGNORECASE)
_BEST = r"(?:most|least|fewest|best|worst|top|(?!interest|forest|harvest|arrest|west\b|protest|invest)\w{3,}est)"
_RANKING = re.compile(
    rf"\b(?:which|what)\s+(?:\w+\s+)?(?:countr(?:y|ies)|nations?|states?)\b.*\b{_BEST}\b"
    rf"|\b{_BEST}\s+(?:\w+\s+){{0,2}}(?:countr(?:y|ies)|nations?)\b"
    r"|\brank(?:ing)?\b.*\bcountries\b|\b(?:of|among|across|in) all (?:the )?countries\b"
    r"|\b(?:countr(?:y|ies)|nations?) (?:with|that has|that have|which has) the (?:\w+est|most|fewest|least)\b",
    re.IGNORECASE,
)


class Understanding:
    """Runs an agent on a question it has understood first. Stateless between calls; thread-safe."""

    def __init__(
        self, *, catalog: Catalog, chat_model: ChatModel, uncached_model: ChatModel, on_empty: OnEmpty
    ) -> None:
        self._catalog = catalog
        self._chat_model = chat_model
        self._uncached_model = uncached_model
        self._on_empty = on_empty

    def run(self, agent: Agent, question: Question, *, cancel: Cancellation) -> Iterator[Event]:
        """The agent's events, or those of an answer that needs no agent."""
        if question.attachments:
            yield from agent.run(question, cancel=cancel)
            return
        mentions = find_mentions(question.search_text, self._catalog)
        missing = missing_subject(mentions, question.scope, self._catalog)
        if missing is not None and missing.everything and self._on_empty != "relax":
            yield from self._nothing(question, missing, cancel)
            return
        suggestion = suggest_scope(mentions, question.scope, self._catalog)
        if topic := collection_topic(question.search_text, mentions):
            yield from self._about_the_collection(question, topic, suggestion or question.scope, missing)
            return
        page = question.page or page_in(question.search_text, self._catalog)
        if question.auto_scope:
            question, suggestion = replace(question, scope=suggestion or question.scope, page=page), None
        offered = self._offer(question, suggestion, page)
        question = replace(question, auto_scope=False)  # done; a cached answer is the same with it and without
        notes = [missing.text] if missing else []
        ranking = self._is_ranking(question, mentions)
        yield from self._annotated(agent.run(question, cancel=cancel), notes, offered, ranking)

    def _offer(self, question: Question, suggestion: Scope | None, page: int | None) -> ScopeSummary | None:
        """What the question might be asked about instead; None where that is what it is asked about."""
        if suggestion is None and page == question.page:
            return None
        return replace(summarise(self._catalog, suggestion or question.scope), page=page)

    def _nothing(self, question: Question, missing: Missing, cancel: Cancellation) -> Iterator[Event]:
        """ON_EMPTY for a subject that the data does not have."""
        scope = summarise(self._catalog, question.scope)
        yield SourcesEvent((), scope)
        if self._on_empty == "general":
            yield (step := StepEvent("generate", "Writing the answer"))
            started = time.perf_counter()
            with time_limit(cancel, question.budget.seconds) as limited:
                model = self._chat_model if question.cache else self._uncached_model
                done = yield from completion(model, general_prompt(question), limited)
            steps = (StepTiming.since("generate", started, done.usage),)
            is_late = limited.cancelled and not cancel.cancelled
            if not done.text:
                yield TokenEvent(missing.text)
            answer = assemble(
                question, done.text or missing.text, scope=scope, steps=steps, path=(step,),
                stopped_by="seconds" if is_late else "", truncated=done.truncated or is_late,
            )  # fmt: skip
            yield AnswerEvent(answer)
            return
        yield TokenEvent(missing.text)
        yield AnswerEvent(assemble(question, missing.text, scope=scope))

    def _about_the_collection(
        self, question: Question, topic: Topic, scope: Scope, missing: Missing | None
    ) -> Iterator[Event]:
        summary = summarise(self._catalog, scope)
        text = collection_answer(topic, scope, self._catalog)
        text = f"{missing.text}\n\n{text}" if missing else text
        yield SourcesEvent((), summary)
        yield TokenEvent(text)
        yield AnswerEvent(replace(assemble(question, text, scope=summary), answered=True))

    def _is_ranking(self, question: Question, mentions: Mentions) -> bool:
        """Whether it asks for the first of all countries, and no scope says of which."""
        if question.scope.get(COUNTRY) is not None or mentions.about or len(self._catalog.values(COUNTRY)) < 2:
            return False
        return _RANKING.search(question.search_text) is not None

    def _annotated(
        self, events: Iterator[Event], notes: Sequence[str], offered: ScopeSummary | None, ranking: bool
    ) -> Iterator[Event]:
        """The events with what has to be said before the answer, and the scope that it might be asked under."""
        before = list(notes)
        said = ""
        for event in events:
            if isinstance(event, SourcesEvent):
                found = len({hit.chunk.document_id for hit in event.hits})
                if ranking and found:
                    before.append(_of_some_reports(found, event.scope.documents))
            elif isinstance(event, TokenEvent) and before and not said:
                said = " ".join(before) + "\n\n"
                yield TokenEvent(said)
            if not isinstance(event, AnswerEvent):
                yield event
                continue
            response = said + event.answer.response
            yield AnswerEvent(replace(event.answer, response=response, suggested_scope=offered))


def page_in(text: str, catalog: Catalog) -> int | None:
    """The one page a question names ("on page 4"), where there are reports that long."""
    pages = {int(number) for number in _PAGE.findall(text)}
    if len(pages) != 1:
        return None
    page = pages.pop()
    longest = max((record.pages or 0 for record in catalog.all()), default=0)
    return page if 1 <= page <= longest else None


def _of_some_reports(found: int, all_of_them: int) -> str:
    return (
        f"No ranking of all countries: the passages found come from {found} of {all_of_them:,} reports. "
        "To compare countries, name them."
    )
