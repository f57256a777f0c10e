"""What a question is about, found out before any agent runs: its countries and years,
whether the data has them, and the scope that follows (R-D4).

One place for all modes. What it finds is answered here, or said above the agent's
answer. Greetings, terms of the glossary and questions about the library itself (which
reports, countries and years there are) need no search.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from operator import attrgetter, methodcaller

from ...domain import Context, Passage, RequestContext, Scope, SearchHit
from ...domain.chat import (
    AnswerEvent,
    Event,
    Question,
    ScopeSummary,
    SourcesEvent,
    Subjects,
    TokenEvent,
)
from ...domain.protocols import Catalog
from ...domain.scope import Reading
from ...language.countries import usual_name
from ...language.detection import language_of
from ...language.markdown import escape_markdown
from ...language.words import CODES, NAMES_OF_CODES, Say, counted, in_english
from ...questions.kinds import Topic, asks_what_it_is_about, small_talk, topic_of
from ...questions.reading import (
    COUNTRY,
    YEAR,
    list_in_words,
    name_in_words,
    read_names,
    values_of,
)
from ...search.indicators import Glossary
from ...search.scope import describe, summarise, values_inside
from ...search.subjects import everything_asked, missing_subject, suggest_scope
from .answering import answer_general, answer_text, conclude
from .run import AgentRun, ModeAgent, Resources

NOTHING_ASKED = (
    "I answer questions from the {reports} here and show the passage behind each "
    "claim. Ask for a figure, a "
    "comparison, a ranking, a change over the years or a reason."
)
MOST_LISTED = 20
_PAGE = re.compile(r"\b(?:page|p\.) ?(\d{1,4})\b", re.IGNORECASE)


@dataclass(slots=True)
class Understood:
    """What a question is about. ``events`` begins the work of an agent, or an answer
    that needs none; call it once.
    """

    events: Callable[[], Iterator[Event]]
    notes: list[str] = field(default_factory=list)
    """The text before the answer."""
    suggested_scope: ScopeSummary | None = None
    """The scope that the question might be asked under."""
    subjects: Subjects = field(default_factory=Subjects)
    inferred_scope: Scope = field(default_factory=Scope)
    """The part of the scope that was taken from the question."""
    preamble: str = ""

    def annotate(self, event: Event) -> Iterator[Event]:
        """Yield the event with what has to be said before the answer, and the scope
        that is offered.
        """
        if isinstance(event, AnswerEvent):
            answer = event.answer
            marks = tuple(map(methodcaller("moved", len(self.preamble)), answer.marks))
            scope = replace(answer.scope, from_question=self.inferred_scope)
            answer = replace(
                answer,
                response=self.preamble + answer.response,
                marks=marks,
                scope=scope,
            )
            trace = replace(answer.trace, understood=self.subjects)
            event = AnswerEvent(
                replace(answer, suggested_scope=self.suggested_scope, trace=trace)
            )
        elif isinstance(event, SourcesEvent):
            event = replace(
                event, scope=replace(event.scope, from_question=self.inferred_scope)
            )
        elif isinstance(event, TokenEvent) and self.notes and not self.preamble:
            self.preamble = " ".join(self.notes) + "\n\n"
            yield TokenEvent(self.preamble)
        yield event


class Understanding:
    """Reads a question before the agent does. Stateless between calls; thread-safe."""

    def __init__(
        self, agent: ModeAgent, resources: Resources, glossary: Glossary
    ) -> None:
        self._agent = agent
        self._resources = resources
        self._catalog = resources.catalog
        self._glossary = glossary

    def run(self, question: Question, *, request: RequestContext) -> Iterator[Event]:
        """Yield the events of the answer, annotated."""
        understood = self.read(question, request=request)
        for event in understood.events():
            yield from understood.annotate(event)

    def read(self, question: Question, *, request: RequestContext) -> Understood:
        """Return what the question is about, with an answer if no agent could add
        anything.
        """
        if question.attachments:
            return Understood(partial(self._agent.run, question, request=request))
        language = language_of(
            question.query, preferred=NAMES_OF_CODES.get(question.language, "")
        )
        question = replace(question, language=CODES.get(language, question.language))
        catalog, scope = self._catalog, question.scope
        reading = question.reading or read_names(question.search_text, catalog, scope)
        text, corrections = self._resources.spelling.corrected(reading)
        reading = read_names(text, catalog, scope) if corrections else reading
        question = replace(
            question, standalone=text if corrections else question.standalone
        )
        run = AgentRun(self._resources, question, request)
        if (talk := small_talk(question.search_text)) and not run.is_general:
            summary = summarise(catalog, scope)
            text = run.say(
                NOTHING_ASKED, reports=counted(run.say, summary.documents, "report")
            )
            if talk == "thanks":
                text = run.say("You are welcome. What else would you like to know?")
            return Understood(partial(answer_text, run, text, summary))
        if definitions := self._glossary.define(question.search_text, scope):
            text, passages = run.say("From the glossary:"), list[Passage]()
            for entry, chunk in definitions:
                text += (
                    f"\n\n**{escape_markdown(entry.term)}**: "
                    f"{escape_markdown(entry.meaning)}"
                )
                if chunk is not None:
                    passages.append(
                        Passage(
                            len(passages) + 1,
                            SearchHit(chunk, rank=len(passages) + 1),
                            chunk.text,
                        )
                    )
                    text += f" [{len(passages)}]"
            context = Context(tuple(passages))
            return Understood(
                partial(
                    answer_text,
                    run,
                    text,
                    summarise(catalog, scope),
                    context,
                    is_answer=True,
                )
            )
        whole = everything_asked(reading, scope, catalog)
        if topic := topic_of(question.search_text, reading):
            reading, whole = (
                reading.with_years_of_reports(),
                whole.with_years_of_reports(),
            )
        # The countries as the data has them, else by their usual names.
        names = [
            values_of([country], catalog) or [usual_name(country.keys[0])]
            for country in whole.about
        ]
        subjects = Subjects(
            countries=tuple(dict.fromkeys(map(str, chain.from_iterable(names)))),
            figure_years=tuple(
                dict.fromkeys(map(attrgetter("condition"), reading.figure_years))
            ),
            editions=tuple(
                dict.fromkeys(map(attrgetter("condition"), reading.editions))
            ),
        )
        missing = missing_subject(reading, scope, catalog, run.say)
        if (
            missing is not None
            and missing.everything
            and run.settings.on_empty != "relax"
        ):
            return Understood(
                partial(self._not_there, run, missing.text), subjects=subjects
            )
        suggestion, inferred = suggest_scope(whole, scope, catalog), Scope()
        if topic:
            inside = (suggestion or scope).strict()
            lines = [
                *([missing.text] if missing else []),
                library_answer(topic, inside, catalog, run.say),
            ]
            answer = partial(
                answer_text,
                run,
                "\n\n".join(lines),
                summarise(catalog, inside),
                is_answer=True,
            )
            return Understood(answer, subjects=subjects)
        if (
            reading.countries
            and not reading.every_year
            and asks_what_it_is_about(question.search_text, reading.names)
        ):
            # A name alone is nearest to what a country is called: nobody asks for that.
            of = list_in_words(
                name_in_words(question.search_text, country)
                for country in reading.countries
            )
            if (text := f"Tell me about {of}") != question.search_text:
                question, reading = (
                    replace(question, standalone=text),
                    read_names(text, catalog, scope),
                )
        question = replace(question, reading=reading)
        page, pages = question.page, set(map(int, _PAGE.findall(question.search_text)))
        if (
            page is None
            and len(pages) == 1
            and any(0 < min(pages) <= (one.pages or 0) for one in catalog.all())
        ):
            page = min(pages)  # "on page 4", where there are reports that long
        if question.auto_scope:
            inferred = suggestion.beyond(scope) if suggestion else inferred
            question = replace(
                question, scope=scope.and_(inferred), chosen_scope=scope, page=page
            )
        offered = None
        if suggestion not in (None, question.scope) or page != question.page:
            offered = replace(
                summarise(catalog, suggestion or question.scope), page=page
            )
        question = replace(
            question, auto_scope=False
        )  # done; a cached answer is the same with it and without
        notes = [
            *taken_as(reading, corrections, run.say),
            *([missing.text] if missing else []),
        ]
        events = partial(self._agent.run, question, request=request)
        return Understood(
            events, notes, offered, subjects=subjects, inferred_scope=inferred
        )

    def _not_there(self, run: AgentRun, text: str) -> Iterator[Event]:
        """Answer with the model's general knowledge, or with what is missing."""
        scope = summarise(self._catalog, run.question.scope)
        yield SourcesEvent((), scope)
        if not (yield from answer_general(run, scope, may_fail=True)):
            yield TokenEvent(text)
            yield AnswerEvent(conclude(run, scope, text))


def taken_as(reading: Reading, corrections: Mapping[str, str], say: Say) -> list[str]:
    """The names and words that misspelt ones were read as."""
    names = [(one.text, one.taken_as) for one in reading.about if one.taken_as]
    readings = dict.fromkeys([*names, *corrections.items()])
    text = "({name}: taken as {taken})"
    return [
        say(text, name=escape_markdown(name), taken=meant) for name, meant in readings
    ]


def library_answer(
    topic: Topic, scope: Scope, catalog: Catalog, say: Say = in_english
) -> str:
    """Markdown: how many there are, and the first `MOST_LISTED` of what was asked
    for.
    """
    records = [record for record in catalog.all(scope) if record.status == "ready"]
    reports = counted(say, len(records), "report")
    if scope:
        reports = say(
            "{reports} for {scope}",
            reports=reports,
            scope=escape_markdown(describe(scope, say)),
        )
    if topic == "reports":
        years = values_inside(records, scope, YEAR)
        text = say(
            "There is {reports}" if len(records) == 1 else "There are {reports}",
            reports=reports,
        )
        if years and len(records) > 1:
            shown = say(", ").join(map(str, years))
            if len(years) > MOST_LISTED:
                shown = say("{first} to {last}", first=years[0], last=years[-1])
            text = say("{reports}, of {years}", reports=text, years=shown)
        return _list(text, [r.title for r in records], say)
    values = values_inside(records, scope, COUNTRY if topic == "countries" else YEAR)
    covered = counted(say, len(values), "country" if topic == "countries" else "year")
    return _list(
        say("The {reports} cover {values}", reports=reports, values=covered),
        list(map(str, values)),
        say,
    )


def _list(heading: str, items: Sequence[str], say: Say) -> str:
    if not items:
        return f"{heading}."
    lines = [f"- {escape_markdown(item)}" for item in items[:MOST_LISTED]]
    more = (
        ["\n" + say("… and {number} more.", number=len(items) - MOST_LISTED)]
        if len(items) > MOST_LISTED
        else []
    )
    return "\n".join([f"{heading}:", "", *lines, *more])
