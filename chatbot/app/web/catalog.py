"""The library's contents within a scope: reports, facets, coverage, figures,
collections and passages.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Annotated, ClassVar, Literal

from flask import Response
from pydantic import Field
from typing_extensions import TypedDict

from ...answering.conversation import Place
from ...answering.further import FurtherQuestions
from ...answering.guide import topics
from ...answering.indicators import IndicatorCatalog, IndicatorSummary
from ...database.core import Json
from ...database.repositories.documents import SEVERAL
from ...domain import DocumentRecord, Scope, SearchHit
from ...domain.chat import Question, ScopeSummary
from ...domain.documents import MEGABYTE, NO_PUBLICATION, Report
from ...domain.errors import InvalidRequestError
from ...domain.figure_query import FigureAnswer, FigureQuery
from ...domain.figures import GlossaryEntry, ReportedFigure
from ...domain.json import Inlines, to_json
from ...domain.scope import Value
from ...language.characters import evenly_spaced
from ...language.countries import country_code, name_in, numeric_code
from ...language.words import ENGLISH, Language, speaking
from ...library.chunkers import CHUNKERS
from ...library.loaders import ARCHIVE, suffixes
from ...library.sources import SAMPLES
from ...questions.reading import COUNTRY, YEAR
from ...search.scope import GROUP, summarise
from ...search.subjects import inferred_scope
from . import routes
from .access import library, query_scope
from .asking import ConversationId, Filter, Identifier
from .callers import caller
from .exports import FigureView, figures_response, table_response
from .files import DOCX, XLSX
from .routes import (
    JSON,
    Cursor,
    Number,
    Page,
    ScopeQuery,
    Views,
    Year,
    answer_type,
    language,
    listing,
    page_size,
    services,
)

catalog = Views("catalog", __name__)
MOST_LISTED = 1_000
MOST_IN_FILE = 200_000
"""Figures of a file."""
FIGURE_COLUMNS = (
    "subject",
    "indicator",
    "year",
    "value",
    "unit",
    "text",
    "estimate",
    "edition",
    "newest",
    "document_id",
    "chunk_id",
)


class ReportPage(Page, ScopeQuery):
    limit: Number = page_size(MOST_LISTED, MOST_LISTED)


@catalog.get("/api/reports", need="read", returns=listing("Reports", "reports", Report))
def list_reports(query: ReportPage) -> Json:
    """List the reports in a scope by title."""
    return query.of(
        "reports",
        library().reader.documents.index().inside(query_scope(query)),
        Report.of,
    )


class FacetQuery(Page, ScopeQuery):
    # There are fewer countries.
    limit: Number = page_size(300, MOST_LISTED)
    field: Annotated[str, Field(description="Only this field.")] = ""
    q: Annotated[str, Field(description="Only values that contain this text.")] = ""


@catalog.get("/api/facets", need="read", returns=Json)
def list_facets(query: FacetQuery) -> Json:
    """List the values of each filter field with the number of their reports.

    Each field is counted under the rest of the scope; a country has its number of ISO
    3166 as `code` and its name in the page's language as `label`, and `group` the
    groups of countries of which several have reports, with their `members`; `newest`
    is the report that was published last, with its `publisher` and `date` ("" if it has
    none) and when it was `added`, one of the caller's own where there are any beside
    the samples; `own` are the names of these, the last added first: `{field: [{value,
    documents}], collections, group, newest, own, total, documents, chunks}`. `total` is
    the number of values of each field.
    """
    valid = services().settings.filter_fields
    if query.field and query.field not in valid:
        raise InvalidRequestError.for_field(
            "field", f"unknown. Valid: {', '.join(valid)}.", valid
        )
    storage = services().storage
    scope = query_scope(query)
    limit = caller().limit
    documents = library().reader.documents
    fields = [query.field] if query.field else ()
    facets = documents.facets(
        scope, fields=fields, q=query.q, limit=query.limit, offset=query.start
    )
    for one in facets.get(COUNTRY, ()):
        name = str(one["value"])
        one["code"] = numeric_code(name)
        one["label"] = name_in(language(), name)
    facets["next"] = query.next(max(facets["total"].values(), default=0))
    if not query.field:
        in_one = documents.index().collections(scope.within(()))
        names = [one.name for one in storage.collections if limit.holds(one.name)]
        counts = [
            (name, in_one.get(name, 0) + in_one.get(SEVERAL, 0)) for name in names
        ]
        facets[routes.COLLECTIONS] = [
            {"value": name, "documents": count} for name, count in counts if count
        ]
        facets[GROUP] = _groups_with_reports(facets.get(COUNTRY, ()))
        facets |= _newest(documents.index().inside(scope))
    return facets


def _newest(records: Iterable[DocumentRecord]) -> Json:
    """Return the report that was published last, by its own date, its year or else the
    day it was added, None without any; and the names of those beside the samples, the
    last added first. If there are any, one of these is the newest.
    """
    ready = [record for record in records if record.status == "ready"]
    ready.sort(key=attrgetter("updated_at"), reverse=True)
    own = [one for one in ready if not one.source.startswith(f"{SAMPLES}/")]

    def date_of(record: DocumentRecord) -> str:
        year = str(record.metadata.get(YEAR) or "")
        return record.publication.publication_date or year

    newest = None
    if ready:
        record = max(own or ready, key=lambda one: date_of(one) or one.updated_at)
        newest = {
            "title": record.title,
            "document_name": record.name,
            "publisher": record.publication.publisher,
            "date": date_of(record),
            "added": record.updated_at,
        }
    return {"newest": newest, "own": [record.name for record in own[:6]]}


def _groups_with_reports(countries: Sequence[Json]) -> list[Json]:
    """Return the groups of which several members have reports, with the names of
    these, from the values of the countries.
    """
    of_code = defaultdict[str | None, list[Json]](list)
    for country in countries:
        of_code[country_code(str(country["value"]))].append(country)
    groups = []
    for group in library().reader.documents.groups():
        members = [
            country for code in group.members for country in of_code.get(code, ())
        ]
        if len(members) > 1:
            groups.append(
                {
                    "value": group.name,
                    "documents": sum(country["documents"] for country in members),
                    "members": sorted(str(country["value"]) for country in members),
                }
            )
    return groups


@catalog.get(
    "/api/topics", need="read", returns=answer_type("Topics", topics=list[str])
)
def list_topics(query: ScopeQuery) -> Json:
    """List what the reports of a scope are about: the chapters that most of them have,
    else the titles of a few.
    """
    reader = library().reader
    records = reader.documents.index().inside(query_scope(query))
    ready = [one for one in records if one.status == "ready"]
    return {"topics": topics(ready, reader.passages)}


class CoverageCell(TypedDict):
    """The number of reports of a country and an edition; null stands for reports
    without one.
    """

    country_name: Value | None
    year: Value | None
    documents: int


@catalog.get(
    "/api/coverage",
    need="read",
    returns=answer_type("Coverage", cells=list[CoverageCell]),
)
def get_coverage(query: ScopeQuery) -> Json:
    """Count the reports of each country and edition; null stands for reports without
    one.
    """
    pairs = library().reader.documents.index().pairs(COUNTRY, YEAR, query_scope(query))
    ordered = sorted(pairs.items(), key=lambda item: tuple(map(str, item[0])))
    return {
        "cells": [
            {"country_name": name, "year": year, "documents": count}
            for (name, year), count in ordered
        ]
    }


class FigureListQuery(ScopeQuery):
    limit: Number = page_size(100, MOST_LISTED)
    cursor: Cursor = ""
    indicator: Annotated[str, Field(description="A heading, or a part below it.")] = ""
    year: Annotated[Year | None, Field(description="The year of the figures.")] = None
    format: Literal["json", "csv", "xlsx"] = "json"
    layout: Annotated[
        Literal["long", "wide"],
        Field(
            description="Of a file; wide: a row for each indicator and subject, with years."  # noqa: E501
        ),
    ] = "long"


@catalog.get(
    "/api/figures",
    need="read",
    returns=listing("Figures", "figures", ReportedFigure),
    media=(JSON, "text/csv", XLSX),
)
def list_figures(query: FigureListQuery) -> Json | Response:
    """List the figures of the reports as data, of all editions, by indicator and year.

    A file (`csv`, `xlsx`) without `limit` has all of them; in its `wide` layout, those
    of the newest edition.
    """
    routes.require_samples()
    scope = query_scope(query)
    is_file = query.format != "json"
    is_whole = is_file and "limit" not in query.model_fields_set
    limit = MOST_LISTED if is_whole else query.limit
    figures = list[ReportedFigure]()
    after = query.cursor
    while True:
        page = library().read.figure_rows(
            scope, query.indicator, query.year, limit=limit, after=after
        )
        figures += page.figures
        if not is_whole or page.next is None:
            break
        if page.total > MOST_IN_FILE:
            message = (
                f"a file has at most {MOST_IN_FILE:,} figures. Choose countries, an "
                "indicator or a year."
            )
            raise InvalidRequestError.for_field("format", message)
        after = page.next
    if not is_file:
        return {"figures": figures, "total": page.total, "next": page.next}
    if query.layout == "long":
        return table_response(
            map(to_json, figures), FIGURE_COLUMNS, "figures", query.format
        )
    rows, years = _with_year_columns(figures)
    return table_response(
        rows, ("indicator", "subject", "unit", *years), "figures", query.format
    )


def _with_year_columns(
    figures: Iterable[ReportedFigure],
) -> tuple[list[Json], list[str]]:
    """Return a row for each indicator, subject and unit with the figures of the newest
    edition, and the years that are columns.
    """
    rows: dict[tuple[str, str, str], Json] = {}
    years = set[str]()
    for figure in figures:
        if not figure.newest or figure.year is None:
            continue
        key = (figure.indicator, figure.subject, figure.unit)
        if key not in rows:
            rows[key] = dict(zip(("indicator", "subject", "unit"), key, strict=True))
        year = str(figure.year)
        years.add(year)
        rows[key][year] = to_json(figure)["value"]
    return [row for _, row in sorted(rows.items())], sorted(years)


class IndicatorQuery(Page, ScopeQuery):
    limit: Number = page_size(100, MOST_LISTED)
    q: Annotated[str, Field(description="Only names that contain this text.")] = ""


@catalog.get(
    "/api/indicators",
    need="read",
    returns=listing("Indicators", "indicators", IndicatorSummary),
)
def list_indicators(query: IndicatorQuery) -> Json:
    """List the indicators of which reports have figures, with what they mean: those
    that people ask for most, then those that most countries have.
    """
    of_caller = library()
    indicators = IndicatorCatalog(of_caller.search.flow.tools.figures.queries)
    summaries = indicators.summaries(query_scope(query), language(), query.q)
    return query.of("indicators", summaries)


class FigureQuestion(FigureQuery):
    """A query, the scope it is asked in, and the language of its sentence. ``format``:
    a file of the table instead; ``view``: what a Word file draws of it.
    """

    filters: Mapping[str, Filter] | None = None
    collections: list[str] | None = Field(None, max_length=300)
    language: Language = ENGLISH
    format: Literal["json", "csv", "docx", "xlsx"] = "json"
    view: FigureView = "table"


@catalog.post(
    "/api/figures/query",
    need="read",
    example={
        "indicators": ["Population"],
        "subjects": ["Kenya", "Peru"],
        "steps": [{"op": "ratio"}],
    },
    returns=FigureAnswer,
    media=(JSON, "text/csv", XLSX, DOCX),
)
def query_figures(body: FigureQuestion) -> FigureAnswer | Response:
    """Compute over the figures of the reports: differences, ratios, shares, changes,
    ranks, filters, counts and other units, each cell with the passages it comes from.
    """
    routes.require_samples()
    of_caller = library()
    scope = of_caller.scopes.resolve(body.filters, collections=body.collections)
    query = FigureQuery(
        **{name: getattr(body, name) for name in FigureQuery.model_fields}
    )
    figures = of_caller.search.flow.tools.figures
    answer = figures.answer(query, scope, speaking(body.language))
    if body.format == "json":
        return answer
    return figures_response(answer, body.view, body.format)


class GlossaryQuery(Page):
    limit: Number = page_size(100, MOST_LISTED)
    labels: Annotated[
        bool, Field(description="Also the entries for the parts of a heading.")
    ] = True


@catalog.get(
    "/api/glossary", need="read", returns=listing("Glossary", "entries", GlossaryEntry)
)
def list_glossary(query: GlossaryQuery) -> Json:
    """List the terms of the library with their meanings, the other words for them, and
    the figures they stand for.
    """
    entries = library().reader.glossary_entries()
    return query.of(
        "entries", [entry for entry in entries if query.labels or not entry.label]
    )


@dataclass(frozen=True, slots=True)
class CollectionSize:
    """A knowledge collection with its searchable reports and passages."""

    name: str
    description: str
    documents: int
    chunks: int


@catalog.get(
    "/api/collections",
    need="read",
    returns=answer_type("Collections", collections=list[CollectionSize]),
)
def list_collections() -> Json:
    """List the knowledge collections with their searchable reports and passages."""
    storage = services().storage
    limit = caller().limit
    documents = library().reader.documents
    sizes: list[CollectionSize] = []
    for one in storage.collections:
        if limit.holds(one.name):
            held = summarise(documents, limit.within([one.name]))
            sizes.append(
                CollectionSize(one.name, one.description, held.documents, held.chunks)
            )
    return {"collections": sizes}


@catalog.get(
    "/api/formats",
    need="read",
    returns=answer_type(
        "Formats",
        suffixes=list[str],
        max_bytes=int,
        chunk_strategies=list[str],
        chunk_strategy=str,
        chunk_size=int,
        chunk_overlap=int,
        types=list[Value],
    ),
)
def get_formats() -> Json:
    """Get the file formats that can be added, and the options for splitting reports."""
    settings = services().settings
    return {
        "suffixes": [*suffixes(), ARCHIVE],
        "max_bytes": settings.max_upload_mb * MEGABYTE,
        "chunk_strategies": CHUNKERS.names(),
        "chunk_strategy": settings.chunk_strategy,
        "chunk_size": settings.chunk_size,
        "chunk_overlap": settings.chunk_overlap,
        "types": library().reader.documents.values("type"),
    }


class QuestionQuery(ScopeQuery):
    q: Annotated[str, Field(max_length=2_000, description="The question.")] = ""

    @property
    def question(self) -> str:
        return evenly_spaced(self.q.strip())


class NextQuestionQuery(QuestionQuery):
    conversation_id: ConversationId = None
    replaces: Identifier | None = None


@catalog.get("/api/scope", need="read", errors=(404,))
def get_scope(query: NextQuestionQuery) -> ScopeSummary:
    """Count what is in a scope, and find the scope that a question would add to it.

    With `conversation_id`, `from_earlier` is what the question would take over from
    that conversation; with `replaces`, from what came before that answer."""
    scope = query_scope(query)
    documents = library().reader.documents
    text = query.question
    earlier = Scope()
    if text and query.conversation_id is not None:
        text, earlier = _completed(query, scope)
    inferred = Scope()
    if text and services().settings.auto_scope:
        inferred = inferred_scope(text, scope, documents)
    return replace(
        summarise(documents, scope.and_(inferred)),
        from_question=inferred.minus(earlier),
        from_earlier=earlier,
    )


def _completed(query: NextQuestionQuery, scope: Scope) -> tuple[str, Scope]:
    """Return a question completed from its conversation by rule, and what it takes over
    from there. Raises NotFoundError.
    """
    question = Question(query.question, scope, 1, "hybrid", "direct")
    place = Place(query.conversation_id, replaces=query.replaces)
    history = services().chat.history_of(question, place, caller())
    follow_ups = library().search.follow_ups()
    full = follow_ups.by_rule(question.query, history, scope)
    return full, follow_ups.from_earlier(question.query, full, scope)


@dataclass(frozen=True, slots=True)
class OpenedPassage(Inlines):
    """A passage with the text around it, and the name of its file where that is
    kept.
    """

    INLINED: ClassVar = ("hit",)
    hit: SearchHit
    wider_text: str
    file: str | None


@catalog.get("/api/chunks/<path:chunk_id>", need="read")
def get_passage(chunk_id: str) -> OpenedPassage:
    """Get a passage with the text around it, and the name of its file where that is
    kept.
    """
    mine = library()
    chunk = mine.read.passage(chunk_id)
    record = mine.reader.documents.get(chunk.document_id)
    file = mine.original_name(record) if record else ""
    publication = record.publication if record else NO_PUBLICATION
    hit = SearchHit(chunk, publication=publication)
    return OpenedPassage(hit, mine.read.wider_text(chunk), file or None)


class FurtherQuery(QuestionQuery):
    indicator: Annotated[
        str, Field(max_length=500, description="That of the figures in the answer.")
    ] = ""


class SuggestedQuestion(TypedDict):
    """A question and the scope that answers it."""

    question: str
    filters: Scope


@dataclass(frozen=True, slots=True)
class SuggestedQuestions:
    """``near``: the countries that have a figure of the indicator, beside that of the
    passage; those first that have most in common with it.
    """

    questions: list[SuggestedQuestion]
    near: list[str]


@catalog.get("/api/chunks/<path:chunk_id>/further", need="read")
def list_further_questions(chunk_id: str, query: FurtherQuery) -> SuggestedQuestions:
    """Suggest questions to ask after an answer that cites this passage, each of which
    the library answers. They are names and headings alone where the language of the
    page or of Accept-Language is not English.
    """
    routes.require_samples()
    of_caller = library()
    suggestions = FurtherQuestions(
        of_caller.search.tables,
        of_caller.search.passages,
        of_caller.search.retriever,
        of_caller.search.reader.glossary(),
        language(),
    )
    passage = of_caller.read.passage(chunk_id)
    scope = query_scope(query)
    questions, inside, near = suggestions.after(passage, scope, query.indicator)
    return SuggestedQuestions(
        [{"question": one, "filters": inside} for one in questions], near
    )
