"""What a question is about, found out before any agent runs: its countries and years, whether the data has them, and
the scope that follows (R-D4).

One place for all modes. What it finds is answered here, or said above the agent's answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...domain import (
    AnswerEvent,
    Context,
    Event,
    Passage,
    QuerySettings,
    Question,
    Scope,
    ScopeSummary,
    SearchHit,
    SourcesEvent,
    StepEvent,
    StepTiming,
    Subjects,
    TokenEvent,
)
from ...domain.errors import ChatModelError
from ...domain.protocols import Agent, Catalog, ChatModel
from ...domain.request import RequestContext
from ...domain.scope import Reading
from ...language import escape_markdown, language_of
from ...language.countries import usual_name
from ...language.words import CODES, Say, counted, in_english, speaking
from ...models.replies.stream import Reply, completion
from ...questions.kinds import asks_what_it_is_about, is_small_talk
from ...questions.reading import read_names, values_of
from ...questions.wording import list_in_words, name_in_words
from ...search.indicators import Definition, Glossary
from ...search.scope import summarise
from ...search.subjects import Missing, everything_asked, missing_subject, suggest_scope
from ..answer import GENERAL, assemble, general_prompt, trace_of
from .budget import Spending
from .library import library_answer, topic_of

NOTHING_ASKED = (
    "I answer questions from the {reports} here and show the passage behind each claim. Ask for a figure, a "
    "comparison, a ranking, a change over the years or a reason."
)
_PAGE = re.compile(r"\b(?:page|p\.) ?(\d{1,4})\b", re.IGNORECASE)


@dataclass(slots=True)
class Understood:
    """A question to hand to an agent, or the events of an answer that needs none; once, by one thread."""

    question: Question
    answer: Iterator[Event] | None = None
    notes: list[str] = field(default_factory=list)
    """The text before the answer."""
    suggested_scope: ScopeSummary | None = None
    """The scope that the question might be asked under."""
    subjects: Subjects = field(default_factory=Subjects)
    inferred_scope: Scope = field(default_factory=Scope)
    """The part of the scope that was taken from the question."""
    preamble: str = ""

    def events(self, agent: Agent, request: RequestContext) -> Iterator[Event]:
        """To be passed through `annotate` one by one."""
        return self.answer or agent.run(self.question, request=request)

    def annotate(self, event: Event) -> list[Event]:
        """The event with what has to be said before the answer, and the scope that is offered."""
        if isinstance(event, AnswerEvent):
            answer = event.answer
            return [
                AnswerEvent(
                    replace(
                        answer,
                        response=self.preamble + answer.response,
                        marks=tuple(mark.moved(len(self.preamble)) for mark in answer.marks),
                        scope=replace(answer.scope, from_question=self.inferred_scope),
                        suggested_scope=self.suggested_scope,
                        trace=replace(answer.trace, understood=self.subjects),
                    )
                )
            ]
        if isinstance(event, SourcesEvent):
            event = replace(event, scope=replace(event.scope, from_question=self.inferred_scope))
        if isinstance(event, TokenEvent) and self.notes and not self.preamble:
            self.preamble = " ".join(self.notes) + "\n\n"
            return [TokenEvent(self.preamble), event]
        return [event]


class Understanding:
    """Reads a question before an agent does. Stateless between calls; thread-safe."""

    def __init__(self, *, catalog: Catalog, chat_model: ChatModel, settings: QuerySettings, glossary: Glossary) -> None:
        """``settings``: those of questions that bring none of their own."""
        self._catalog = catalog
        self._chat_model = chat_model
        self._settings = settings
        self._glossary = glossary

    def run(self, agent: Agent, question: Question, *, request: RequestContext) -> Iterator[Event]:
        """The agent's events, or those of an answer that needs no agent."""
        understood = self.read(question, request=request)
        for event in understood.events(agent, request):
            yield from understood.annotate(event)

    def taken_from(self, text: str, scope: Scope) -> Scope:
        """Return the scope that a question names beyond the chosen one; empty if it narrows nothing."""
        found = suggest_scope(
            everything_asked(read_names(text, self._catalog, scope), scope, self._catalog), scope, self._catalog
        )
        return found.beyond(scope) if found else Scope()

    def read(self, question: Question, *, request: RequestContext) -> Understood:
        """Return what the question is about, already answered if no agent could add anything."""
        if question.attachments:
            return Understood(question)
        question = replace(question, language=CODES.get(language_of(question.query), question.language))
        say, on_empty = speaking(question.language), (question.settings or self._settings).on_empty
        if is_small_talk(question.search_text) and on_empty != "general":
            reports = counted(say, summarise(self._catalog, question.scope).documents, "report")
            return Understood(question, self._said(question, say(NOTHING_ASKED, reports=reports)))
        if definitions := self._glossary.define(question.search_text, question.scope):
            return Understood(question, self._defined(question, definitions, say))
        reading = question.reading or read_names(question.search_text, self._catalog, question.scope)
        asked = everything_asked(reading, question.scope, self._catalog)
        if topic := topic_of(question.search_text, reading):
            reading, asked = reading.with_years_of_reports(), asked.with_years_of_reports()
        subjects = self._subjects(asked, reading)
        missing = missing_subject(reading, question.scope, self._catalog, say)
        if missing is not None and missing.everything and on_empty != "relax":
            may_call = self._chat_model.is_language_model and not Spending(question.budget).stops_answer()
            general = on_empty == "general" and may_call
            nothing = self._general(question, missing, request) if general else self._said(question, missing.text)
            return Understood(question, nothing, subjects=subjects)
        if topic:
            scope = (suggest_scope(asked, question.scope, self._catalog) or question.scope).strict()
            text = library_answer(topic, scope, self._catalog, say)
            text = f"{missing.text}\n\n{text}" if missing else text
            return Understood(question, self._said(question, text, scope, answered=True), subjects=subjects)
        if (text := _as_reports_say(question.search_text, reading)) != question.search_text:
            question, reading = replace(question, standalone=text), read_names(text, self._catalog, question.scope)
        question = replace(question, reading=reading)
        page = question.page or page_in(question.search_text, self._catalog)
        suggestion, taken = suggest_scope(asked, question.scope, self._catalog), Scope()
        if question.auto_scope:
            taken = suggestion.beyond(question.scope) if suggestion else taken
            question = replace(question, scope=question.scope.and_(taken), chosen_scope=question.scope, page=page)
        offered = None
        if suggestion not in (None, question.scope) or page != question.page:
            offered = replace(summarise(self._catalog, suggestion or question.scope), page=page)
        question = replace(question, auto_scope=False)  # done; a cached answer is the same with it and without
        notes = [*taken_as(reading, say), *([missing.text] if missing else [])]
        return Understood(question, None, notes, offered, subjects=subjects, inferred_scope=taken)

    def _subjects(self, asked: Reading, reading: Reading) -> Subjects:
        """The countries as the data has them, else by their usual names."""
        names = [values_of([country], self._catalog) or [usual_name(country.keys[0])] for country in asked.about]
        return Subjects(
            countries=tuple(dict.fromkeys(str(name) for of_one in names for name in of_one)),
            figure_years=tuple(dict.fromkeys(years.condition for years in reading.figure_years)),
            editions=tuple(dict.fromkeys(years.condition for years in reading.editions)),
        )

    def _said(
        self,
        question: Question,
        text: str,
        scope: Scope | None = None,
        *,
        answered: bool = False,
        context: Context = Context(),  # noqa: B008  # frozen and empty
    ) -> Iterator[Event]:
        """An answer without a search, about the question's scope unless another is given."""
        summary = summarise(self._catalog, question.scope if scope is None else scope)
        yield SourcesEvent(tuple(passage.hit for passage in context.passages), summary)
        yield TokenEvent(text)
        yield AnswerEvent(replace(assemble(question, text, scope=summary, context=context), answered=answered))

    def _defined(self, question: Question, definitions: Sequence[Definition], say: Say) -> Iterator[Event]:
        """The meanings of a term, with the passages of the reports that define it."""
        text, passages = say("From the glossary:"), list[Passage]()
        for entry, chunk in definitions:
            text += f"\n\n**{escape_markdown(entry.term)}**: {escape_markdown(entry.meaning)}"
            if chunk is not None:
                passages.append(Passage(len(passages) + 1, SearchHit(chunk, rank=len(passages) + 1), chunk.text))
                text += f" [{len(passages)}]"
        yield from self._said(question, text, answered=True, context=Context(tuple(passages)))

    def _general(self, question: Question, missing: Missing, request: RequestContext) -> Iterator[Event]:
        """Return the model's own knowledge, or what is missing if it fails, writes nothing or runs out of time."""
        scope = summarise(self._catalog, question.scope)
        yield SourcesEvent((), scope)
        path = [StepEvent("generate", "Writing the answer")]
        yield path[0]
        started, asked, done = time.perf_counter(), general_prompt(question), None
        above = f"{speaking(question.language)(GENERAL)}\n\n"
        response = Reply(asked)
        with request.within(Spending(question.budget).seconds_left()) as limited:
            try:
                done = yield from completion(self._chat_model, asked, limited, response, above=above)
            except ChatModelError as error:
                usage = response.usage_of_failed(error)
                path.append(StepEvent("generate", error.message, failed=True))
                yield path[-1]
        if done is None or not done.text:
            yield TokenEvent(missing.text)
        trace = replace(
            trace_of(question),
            steps=(StepTiming.since("generate", started, done.usage if done else usage),),
            path=tuple(path),
            stopped_by="seconds" if limited.cancelled and not request.cancelled else "",
            truncated=done is not None and done.truncated,
        )
        text = above + done.text if done and done.text else missing.text
        yield AnswerEvent(assemble(question, text, scope=scope, trace=trace))


def _as_reports_say(text: str, reading: Reading) -> str:
    """A name alone is nearest to what a country is called: nobody asks for that."""
    if reading.countries and not reading.every_year and asks_what_it_is_about(text, reading.names):
        return f"Tell me about {list_in_words(name_in_words(text, country) for country in reading.countries)}"
    return text


def taken_as(reading: Reading, say: Say = in_english) -> list[str]:
    """The names that misspelt names were read as."""
    named = [(escape_markdown(country.text), country.taken_as) for country in reading.about if country.taken_as]
    return list(dict.fromkeys(say("({name}: taken as {taken})", name=name, taken=taken) for name, taken in named))


def page_in(text: str, catalog: Catalog) -> int | None:
    """The one page a question names ("on page 4"), where there are reports that long."""
    pages = {int(number) for number in _PAGE.findall(text)}
    if len(pages) != 1:
        return None
    page = pages.pop()
    longest = max((record.pages or 0 for record in catalog.all()), default=0)
    return page if 1 <= page <= longest else None
