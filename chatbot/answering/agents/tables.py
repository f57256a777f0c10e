"""Answers from the table of figures: series, comparisons, rankings, filters, counts and
averages.
"""

from collections import defaultdict
from collections.abc import Generator, Sequence
from functools import partial

from ...domain import Event, Passage, ReportedFigure, Scope, SearchHit
from ...domain.chat import ScopeSummary
from ...domain.scope import Values
from ...language.analysis import LETTERS_PATTERN, WORD_PATTERN
from ...language.detection import analyzer_for
from ...language.markdown import escape_markdown
from ...language.reported_figures import dated_text, figures_of, year_of
from ...questions.kinds import OF_ALL, Request, read_request
from ...questions.reading import (
    COUNTRY,
    NEUTRAL_WORDS,
    SHARE_WORDS,
    YEAR,
    editions,
    in_a_sentence,
    is_plural,
    remove_names,
    values_of,
)
from ...questions.sides import (
    MOST_PARTS,
    asks_several,
    compared_countries,
    sub_questions,
)
from ...search.subjects import with_article
from ..figure_words import Rendered, render
from .answering import WritingPlan, answer_from
from .run import AgentRun


def answer_rendered(
    run: AgentRun, scope: ScopeSummary, rendered: Rendered | None
) -> Generator[Event, None, bool]:
    """Answer with a table if a question has one, without a language model, which gets
    it as a source. Return False where one of its passages is no longer there.
    """
    if rendered is None:
        return False
    yield run.step(
        "figures",
        f"Read {len(rendered.figures)} figures from {len(rendered.chunk_ids)} passages",
    )
    if hits := passages_of(run, rendered):
        yield from answer_from(
            run,
            scope,
            hits,
            WritingPlan(quoting=lambda context: rendered.text, header=""),
        )
    return bool(hits)


def passages_of(run: AgentRun, rendered: Rendered) -> list[SearchHit]:
    """Return the passages that a table cites, in the order of their numbers; none where
    one is no longer there.
    """
    by_id = {chunk.id: chunk for chunk in run.resources.store.get(rendered.chunk_ids)}
    hits = [
        SearchHit(by_id[one], found_by=("figures",))
        for one in rendered.chunk_ids
        if one in by_id
    ]
    return hits if len(hits) == len(rendered.chunk_ids) else []


def asked_for(run: AgentRun) -> tuple[Request, list[str]]:
    """Return what kind of request the question is, and the countries it is about, as
    the data has them.
    """
    chosen, about = run.question.scope.get(COUNTRY), list[str]()
    if run.reading.countries:
        named = values_of(compared_countries(run.reading), run.resources.catalog)
        about = [
            str(value) for value in named if chosen is None or chosen.matches(value)
        ]
    of_one = isinstance(chosen, Values) and len(chosen.values) == 1
    return read_request(run.reading, countries=len(about) or int(of_one)), about


def compile_table(run: AgentRun) -> Rendered | None:
    """Return the table that the question asks for; None where it asks for none, or
    nothing surely meant is in it.
    """
    request, about = asked_for(run)
    if (
        request.kind in {"value", "prose"}
        or (run.reading.about and not about)
        or asks_several(run.reading)
    ):
        return None
    if run.is_unread:  # which indicator is meant would be a guess
        return None
    catalog, scope = run.resources.catalog, run.question.scope
    scope = scope.having(COUNTRY, about or catalog.values(COUNTRY, scope))
    years = editions(scope, catalog)
    measured = run.resources.tables.compile(
        request.topic,
        scope,
        about,
        run.request,
        newest=scope.having(YEAR, years[-1:]) if years else None,
        of_all=request.kind in OF_ALL,
    )
    stated_years = [named.condition for named in run.reading.figure_years]
    return render(request, measured, about, stated_years, run.say) if measured else None


def state_figure(run: AgentRun, passage: Passage) -> str:
    """Return the one figure of a quoted passage that the question surely means, as a
    sentence, else "". Every word of the question that says what is asked is a word of
    the report's or the glossary's names for that figure.
    """
    chunk, reading, names = (
        passage.hit.chunk,
        run.reading,
        defaultdict[str, list[str]](list),
    )
    if (
        COUNTRY not in chunk.metadata
        or not chunk.heading
        or asked_for(run)[0].kind != "value"
    ):
        return ""
    for entry in run.resources.glossary():
        if entry.heading == chunk.heading:
            names[entry.label] += [entry.term, *entry.other_words]
    words_of = analyzer_for(reading.text, run.resources.language).terms
    # Not a country that the question is not about: "the frontier with India".
    named = [
        name
        for name in reading.names
        if name in reading.about or name not in reading.countries
    ]
    topic = set(WORD_PATTERN.findall(remove_names(reading.text, named).lower()))
    is_share = "%" in reading.text or not topic.isdisjoint(SHARE_WORDS)
    words, meant = (
        set(words_of(" ".join(topic - NEUTRAL_WORDS - SHARE_WORDS))),
        dict[str, list[ReportedFigure]](),
    )
    of_heading = words.intersection(words_of(" ".join([chunk.heading, *names[""]])))
    for figure in figures_of(chunk):
        of_label = words.intersection(
            words_of(" ".join([figure.label, *names[figure.label]]))
        )
        base = set(words_of(" ".join(LETTERS_PATTERN.findall(figure.text))))
        is_named = words <= of_heading | of_label | base and (
            not figure.label or of_label
        )
        if is_named and (not is_share or ("%" in figure.unit and base <= words)):
            meant.setdefault(figure.label, []).append(figure)
    labels = [
        label
        for label in meant
        if len(meant) == 1 or not words.isdisjoint(words_of(label))
    ]
    figures = meant.get("") or (meant[labels[0]] if len(labels) == 1 else [])
    for year in reading.figure_years:
        figures = [
            figure for figure in figures if year.condition.matches(year_of(figure))
        ]
    newest = max(map(year_of, figures), default=0)
    figures = [figure for figure in figures if year_of(figure) == newest]
    if not words or len(figures) != 1:
        return ""
    [figure], say = figures, run.say
    name, label, subject = in_a_sentence(figure.heading), figure.label, figure.subject
    text = "{subject}, {name}: {figure}."
    if not label and not is_plural(name):  # a label in it would jar
        text = "In {subject}, the {name} was {figure}."
        subject = with_article(subject, say)
    name = escape_markdown(f"{name} ({label})" if label else name)
    shown = f"{dated_text(figure, say)} [{passage.number}]"
    return say(text, subject=escape_markdown(subject), name=name, figure=shown)


def key_figures(
    run: AgentRun, scope: Scope, subjects: Sequence[str]
) -> Rendered | None:
    """Return a table of the figures that say most of these subjects; None where they
    share none.
    """
    passages = run.resources.store.get
    chapters = lambda ids: {chunk.id: chunk.chapter for chunk in passages(ids)}  # noqa: E731
    measured = run.resources.tables.key_figures(scope, subjects, chapters)
    return (
        render(Request("comparison", ""), measured, subjects, (), run.say)
        if measured
        else None
    )


def parts_of(run: AgentRun, most: int = MOST_PARTS) -> list[str]:
    """Return the question in parts by rule: its sentences, countries and things; itself
    where it is one.
    """
    things = partial(
        run.resources.tables.things, scope=run.question.scope, request=run.request
    )
    return sub_questions(run.reading, things, most)
