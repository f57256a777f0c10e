"""What agents can do with the reports: one description for both transports, each tool with a typed scope."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..cancellation import Cancellation
from ..conversation.service import Place, Saved
from ..errors import InvalidRequestError, NotFoundError
from ..grounding.context import texts_of
from ..ingestion.pipeline import passages
from ..schema import AnswerEvent, Question, Report, Scope, SearchHit, StepEvent
from ..schema.access import Caller
from ..schema.json import to_json
from ..services import Services
from ..services.library import Library
from ..text import evenly_spaced
from ..validation import parse

Json = dict[str, Any]
Progress = Callable[[int, str], None]
"""Told how many steps are done, and what the last one does."""
Words = Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(evenly_spaced)]
REPORT, PASSAGE = "report://", "passage://"
PAGE = 100
LONGEST_CURSOR = 9


class Scoped(BaseModel):
    """The reports to look into; without any of these all of them."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    country_name: list[str] = Field(default_factory=list, description="Countries, as facets names them.")
    year: list[int] = Field(default_factory=list, description="Editions: the year of a report, not of a figure.")
    type: list[str] = Field(default_factory=list, description="Types of report, as facets names them.")
    document_name: list[str] = Field(default_factory=list, description="Single reports by their names.")

    def scope(self, library: Library) -> Scope:
        """Within what the caller may see. Raises InvalidRequestError: an unknown value, with those that there are."""
        fields = ("country_name", "year", "type", "document_name")
        filters = {name: getattr(self, name) for name in fields if getattr(self, name)}
        return library.scopes.resolve(filters)


class Search(Scoped):
    """Passages, without an answer."""

    query: Words
    limit: int = Field(5, ge=1, le=20)


class Ask(Scoped):
    """An answer whose claims cite passages."""

    question: Words
    mode: Literal["direct", "auto", "deep", "chain", "compare", "report"] = "direct"


class ListReports(Scoped):
    """Reports by title."""

    limit: int = Field(50, ge=1, le=200)
    offset: int = Field(0, ge=0)


class Facets(Scoped):
    """Each field is counted under the rest of the scope."""


class ReadPassage(BaseModel):
    """One passage."""

    model_config = ConfigDict(extra="forbid")

    chunk_id: str = Field(min_length=1, max_length=200)


class ReadFigures(Scoped):
    """Figures as data."""

    indicator: str = Field(
        "",
        max_length=200,
        description="A heading of the reports: 'Real GDP growth rate'; another names similar ones.",
    )
    figure_year: int | None = Field(None, description="The year that the figures are of.")
    limit: int = Field(50, ge=1, le=500)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what agents read of it, the model of its arguments, and what runs it."""

    description: str
    arguments: type[BaseModel]
    run: Callable[[Toolbox, Any, Progress], Json]

    def described(self, name: str) -> Json:
        """The tool as `tools/list` describes it."""
        schema = self.arguments.model_json_schema()
        hints = {"readOnlyHint": True, "openWorldHint": False}
        return {"name": name, "description": self.description, "inputSchema": schema, "annotations": hints}


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools for one caller. ``cancel``: nobody waits any more."""

    services: Services
    who: Caller
    cancel: Cancellation

    @property
    def library(self) -> Library:
        """The reports that the caller may see."""
        return Library(self.services, self.who)

    def call(self, name: str, arguments: Mapping[str, Any], progress: Progress) -> Json:
        """Check the arguments of the tool ``name``, and run it.

        Raises:
            InvalidRequestError: an unknown tool, or arguments that it does not take.
            ChatbotError: what the tool needs failed.
        """
        tool = TOOLS.get(name)
        if tool is None:
            raise InvalidRequestError.for_field("name", f"unknown tool. Valid: {', '.join(TOOLS)}.", list(TOOLS))
        return tool.run(self, parse(tool.arguments, arguments), progress)

    def search(self, asked: Search, progress: Progress) -> Json:
        """The best passages for a query, without an answer."""
        method = self.services.settings.retrieval_method
        scope = asked.scope(self.library)
        found = self.services.runtime.retriever.retrieve(asked.query, top_k=asked.limit, scope=scope, method=method)
        return {"hits": [to_json(hit) for hit in found.hits]}

    def ask(self, asked: Ask, progress: Progress) -> Json:
        """The answer, its sources and what of it no source bears."""
        settings, answering = self.services.settings, self.services.answering
        question = Question(
            query=asked.question, scope=asked.scope(self.library), top_k=settings.top_k,
            retrieval_method=settings.retrieval_method, mode=answering.check_mode(asked.mode),
            auto_scope=settings.auto_scope, budget=answering.budget({}),
        )  # fmt: skip
        steps, answer = 0, None
        for event in answering.chat.stream(question, place=Place(kept=False), cancel=self.cancel, caller=self.who):
            if isinstance(event, StepEvent):
                steps += 1
                progress(steps, event.detail or event.name)
            elif isinstance(event, Saved):
                answer = event.event.answer
            assert not isinstance(event, AnswerEvent)
        if answer is None:
            raise NotFoundError("The question was cancelled.")
        return {
            "response": answer.response,
            "answered": answer.answered,
            "citations": [to_json(citation) for citation in answer.citations],
            "unsupported": [clause.sentence for clause in answer.unsupported],
            "figures": [to_json(figure) for figure in answer.figures],
            "scope": to_json(answer.scope),
        }

    def list_reports(self, asked: ListReports, progress: Progress) -> Json:
        """A page of the reports in a scope, by title, and how many there are."""
        found = self.services.storage.documents.all(asked.scope(self.library))
        page = found[asked.offset : asked.offset + asked.limit]
        return {"reports": [to_json(Report.of(record)) for record in page], "total": len(found)}

    def facets(self, asked: Facets, progress: Progress) -> Json:
        """The values that a scope can have."""
        return self.services.storage.documents.facets(asked.scope(self.library), limit=PAGE)

    def read_passage(self, asked: ReadPassage, progress: Progress) -> Json:
        """A passage with the text around it."""
        return self._around(asked.chunk_id)

    def _around(self, chunk_id: str) -> Json:
        found = self.library.passage(chunk_id)
        return {**to_json(SearchHit(found)), "wider_text": self.library.wider_text(found)}

    def read_figures(self, asked: ReadFigures, progress: Progress) -> Json:
        """The figures in a scope, by indicator and year, of all editions, and how many there are."""
        found = self.library.figures(asked.scope(self.library), asked.indicator, asked.figure_year)
        return {"figures": list(map(to_json, found[: asked.limit])), "total": len(found)}

    def resources(self, cursor: str = "") -> Json:
        """The reports, a page at a time."""
        start = int(cursor[:LONGEST_CURSOR]) if cursor.isdecimal() else 0
        found = self.services.storage.documents.all(self.who.limit)
        page = [
            {"uri": f"{REPORT}{record.id}", "name": record.name, "title": record.title, "mimeType": "text/markdown"}
            for record in found[start : start + PAGE]
        ]
        more = {"nextCursor": str(start + PAGE)} if len(found) > start + PAGE else {}
        return {"resources": page, **more}

    def read(self, uri: str) -> Json:
        """The text of a report, or a passage. Raises NotFoundError."""
        if uri.startswith(PASSAGE):
            text = self._around(uri.removeprefix(PASSAGE))["wider_text"]
        else:
            text = self._report(uri.removeprefix(REPORT))
        return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}

    def _report(self, document_id: str) -> str:
        record = self.library.record(document_id)
        chunks = passages(self.services.runtime.store, record, offset=0, limit=record.chunks + 1)
        read = [chunk for chunk in chunks if not chunk.is_summary]
        return f"# {record.title}\n\n" + "\n\n".join(texts_of(read))


TOOLS: Mapping[str, Tool] = {
    "search": Tool("Find passages of the reports, with page and section; no answer.", Search, Toolbox.search),
    "ask": Tool("Answer a question from the reports; every claim cites a passage and its page.", Ask, Toolbox.ask),
    "list_reports": Tool("List the reports in a scope.", ListReports, Toolbox.list_reports),
    "facets": Tool("Countries, editions and types there are, with counts.", Facets, Toolbox.facets),
    "read_passage": Tool("Read a passage with the text around it.", ReadPassage, Toolbox.read_passage),
    "read_figures": Tool(
        "Figures of the reports as data: value, unit, year, edition, passage.", ReadFigures, Toolbox.read_figures
    ),
}  # fmt: skip
TEMPLATES = [
    {"uriTemplate": f"{REPORT}{{document_id}}", "name": "report", "mimeType": "text/markdown"},
    {"uriTemplate": f"{PASSAGE}{{chunk_id}}", "name": "passage", "mimeType": "text/markdown"},
]
INSTRUCTIONS = (
    "Country reports, reviews and other documents. facets says what there is; ask answers with citations, search and "
    "read_passage give the passages themselves, read_figures figures as data. Year is the edition of a report."
)


def result_of(found: Json) -> Json:
    """A tool's result: as data, and as text for clients that read nothing else."""
    text = found.get("response") or json.dumps(found, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": found, "isError": False}


def error_of(message: str) -> Json:
    """What an agent reads and can mend."""
    return {"content": [{"type": "text", "text": message}], "isError": True}
