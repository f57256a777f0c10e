"""Before any agent runs: what the question is about, whether the data has it, and what scope would fit (R-D4).

One place for all modes. What it finds is answered here, or said above the agent's answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..caches.responses import ChatModels
from ..cancellation import Cancellation, time_limit
from ..errors import ChatModelError
from ..generation.answer import assemble, general_prompt
from ..model_output.completion import completion
from ..model_output.heard import Heard
from ..protocols import Agent, Catalog
from ..retrieval.mentions import COUNTRY, Mentions, find_mentions
from ..retrieval.scope import summarise
from ..retrieval.small_talk import is_small_talk
from ..retrieval.subjects import Missing, everything_asked, missing_subject, suggest_scope
from ..schema import AnswerEvent, Event, Question, Scope, ScopeSummary, SourcesEvent, StepEvent, StepTiming, TokenEvent
from .collection import Topic, collection_answer, collection_topic
from .parts import OnEmpty
from .spending import Spending

NOTHING_ASKED = "Ask what the reports say: about a country, a topic or a year."
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

    def __init__(self, *, catalog: Catalog, chat_models: ChatModels, on_empty: OnEmpty) -> None:
        self._catalog = catalog
        self._chat_models = chat_models
        self._on_empty = on_empty

    def run(self, agent: Agent, question: Question, *, cancel: Cancellation) -> Iterator[Event]:
        """The agent's events, or those of an answer that needs no agent."""
        if question.attachments:
            yield from agent.run(question, cancel=cancel)
            return
        if is_small_talk(question.search_text) and self._on_empty != "general":
            yield from self._said(question, NOTHING_ASKED)
            return
        mentions = find_mentions(question.search_text, self._catalog)
        missing = missing_subject(mentions, question.scope, self._catalog)
        if missing is not None and missing.everything and self._on_empty != "relax":
            yield from self._nothing(question, missing, cancel)
            return
        asked = everything_asked(question.search_text, question.scope, self._catalog)
        suggestion = suggest_scope(asked, question.scope, self._catalog)
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
        if self._on_empty == "general" and not Spending(question.budget, reserve=0).stops_answer():
            yield from self._general(question, missing, cancel)
        else:
            yield from self._said(question, missing.text)

    def _said(self, question: Question, text: str) -> Iterator[Event]:
        """An answer without sources."""
        scope = summarise(self._catalog, question.scope)
        yield SourcesEvent((), scope)
        yield TokenEvent(text)
        yield AnswerEvent(assemble(question, text, scope=scope))

    def _general(self, question: Question, missing: Missing, cancel: Cancellation) -> Iterator[Event]:
        """What the model knows; what is missing where it fails, writes nothing or runs out of time first."""
        scope = summarise(self._catalog, question.scope)
        yield SourcesEvent((), scope)
        path = [StepEvent("generate", "Writing the answer")]
        yield path[0]
        started, asked, done = time.perf_counter(), general_prompt(question), None
        heard = Heard(asked)
        with time_limit(cancel, question.budget.seconds) as limited:
            try:
                done = yield from completion(self._chat_models.of(question), asked, limited, heard)
            except ChatModelError as error:
                usage = heard.usage_of_failed(error)
                path.append(StepEvent("generate", error.message, failed=True))
                yield path[-1]
        if done is None or not done.text:
            yield TokenEvent(missing.text)
        answer = assemble(
            question,
            done.text if done and done.text else missing.text,
            scope=scope,
            steps=(StepTiming.since("generate", started, done.usage if done else usage),),
            path=tuple(path),
            stopped_by="seconds" if limited.cancelled and not cancel.cancelled else "",
            truncated=done is not None and done.truncated,
        )
        yield AnswerEvent(answer)

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
