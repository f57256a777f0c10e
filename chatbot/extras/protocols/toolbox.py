"""Tools and resources of the Model Context Protocol, run by the official SDK's server
over stdio, or over HTTP by `mcp_over_http`.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Annotated, Any, Literal, TypeVar

import anyio
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ... import __version__
from ...answering.context import texts_of
from ...answering.conversation import Place
from ...app.services import Services
from ...app.services.library import Library
from ...domain import Event, Question, Scope, SearchHit, StepEvent
from ...domain.callers import ANYBODY, Caller
from ...domain.cancellation import Cancellation
from ...domain.documents import Report, with_publications
from ...domain.errors import (
    ChatbotError,
    InvalidRequestError,
    MissingPackageError,
    NotFoundError,
    read_table,
)
from ...domain.figure_query import FigureQuery
from ...domain.json import to_json
from ...domain.packages import install_command
from ...domain.validation import parse
from ...language.characters import evenly_spaced
from ...language.words import in_english

try:
    import mcp_types as types
    from mcp import MCPError
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
except ImportError as missing:
    raise MissingPackageError(
        "The Model Context Protocol needs the Python package 'mcp'.",
        remedy=f"Install it: {install_command('mcp')}",
    ) from missing

Json = dict[str, Any]
Progress = Callable[[int, str], None]
"""Takes the number of steps so far, and what the last one does."""
Words = Annotated[
    str, Field(min_length=1, max_length=2_000), AfterValidator(evenly_spaced)
]
REPORT, PASSAGE = "report://", "passage://"
PAGE = 100
TOOLBOX_KEY = "report_chat.toolbox"
"""The key under which an HTTP request keeps its `Toolbox`."""
T = TypeVar("T")


def internal_error(message: str) -> MCPError:
    """Return the protocol's error for a fault of ours."""
    return MCPError(types.INTERNAL_ERROR, message)


class Scoped(BaseModel):
    """The reports to look into; without any of these, all of them."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    country_name: list[str] = Field(
        default_factory=list, description="Countries, as facets names them."
    )
    year: list[int] = Field(
        default_factory=list,
        description="Editions: the year of a report, not of a figure.",
    )
    type: list[str] = Field(
        default_factory=list, description="Types of report, as facets names them."
    )
    document_name: list[str] = Field(
        default_factory=list, description="Single reports by their names."
    )

    def scope(self, library: Library) -> Scope:
        """Return the scope, within what the caller may see. Raises InvalidRequestError:
        an unknown value.
        """
        return library.scopes.resolve(
            self.model_dump(include=set(Scoped.model_fields), exclude_defaults=True)
        )


class SearchArguments(Scoped):
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


class ReadPassage(BaseModel):
    """One passage."""

    model_config = ConfigDict(extra="forbid")

    chunk_id: str = Field(min_length=1, max_length=200)


class ReadFigures(Scoped):
    """Figures as data."""

    indicator: str = Field(
        "",
        max_length=200,
        description=(
            "A heading of the reports: 'Real GDP growth rate'; another names similar "
            "ones."
        ),
    )
    figure_year: int | None = Field(
        None, description="The year that the figures are of."
    )
    limit: int = Field(50, ge=1, le=500)
    query: FigureQuery | None = Field(
        None,
        description=(
            "Computes instead of listing: differences, ratios, shares, changes, ranks, "
            "filters, counts, other units."
        ),
    )


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools for one caller. ``cancel``: nobody waits any more. ``limited`` runs a
    tool within the limits of the caller. ``root``: the address of the page, which opens
    passages; "" without one.
    """

    services: Services
    who: Caller
    cancel: Cancellation = field(default_factory=Cancellation)
    progress: Progress = lambda steps, detail: None
    limited: Callable[[Callable[[], Json]], Json] = lambda work: work()
    root: str = ""

    @property
    def library(self) -> Library:
        """The reports that the caller may see."""
        return Library(self.services, self.who)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Json:
        """Check the arguments of the tool ``name``, and run it. Raises
        InvalidRequestError: an unknown tool, or arguments that it does not take;
        ChatbotError: what the tool needs failed.
        """
        tool = TOOLS.get(name)
        if tool is None:
            raise InvalidRequestError.for_field(
                "name", f"unknown tool. Valid: {', '.join(TOOLS)}.", list(TOOLS)
            )
        return self.limited(
            lambda: tool(self, parse(tool.__annotations__["arguments"], arguments))
        )

    def search(self, arguments: SearchArguments) -> Json:
        """Find passages of the reports, with page and section; no answer."""
        hits = self.library.search.flow.tools.search.find(
            arguments.query,
            top_k=arguments.limit,
            scope=arguments.scope(self.library),
            method=self.services.settings.retrieval_method,
        )
        described = with_publications(hits, self.library.reader.documents.publication)
        return {"hits": [to_json(hit) for hit in described]}

    def ask(self, arguments: Ask) -> Json:
        """Answer a question from the reports; every claim cites a passage and its
        page.
        """
        services = self.services
        settings = services.settings
        question = Question(
            query=arguments.question,
            scope=arguments.scope(self.library),
            top_k=settings.top_k,
            retrieval_method=settings.retrieval_method,
            mode=services.modes.check(arguments.mode),
            auto_scope=settings.auto_scope,
            budget=services.modes.budget({}),
        )
        steps = count(1)

        def send(event: Event) -> None:
            if isinstance(event, StepEvent):
                self.progress(next(steps), event.detail or event.name)

        saved = services.chat.answer(
            question,
            send=send,
            place=Place(kept=False),
            cancel=self.cancel,
            caller=self.who,
        )
        if saved is None:
            raise NotFoundError("The question was cancelled.")
        answer = saved.answer
        written = to_json(answer)
        shown = {
            name: written[name]
            for name in ("response", "answered", "citations", "figures", "scope")
        }
        for name in ("degraded", "missing"):
            if name in written:
                shown[name] = written[name]
        return {
            **shown,
            "unsupported": [clause.sentence for clause in answer.unsupported],
        }

    def list_reports(self, arguments: ListReports) -> Json:
        """List the reports in a scope."""
        records = self.library.reader.documents.all(arguments.scope(self.library))
        page = records[arguments.offset : arguments.offset + arguments.limit]
        return {
            "reports": [to_json(Report.of(record)) for record in page],
            "total": len(records),
        }

    def facets(self, arguments: Scoped) -> Json:
        """Countries, editions and types there are, with counts."""
        return self.library.reader.documents.facets(
            arguments.scope(self.library), limit=PAGE
        )

    def read_passage(self, arguments: ReadPassage) -> Json:
        """Read a passage with the text around it."""
        chunk = self.library.read.passage(arguments.chunk_id)
        publication = self.library.reader.documents.publication(chunk.document_id)
        return {
            **to_json(SearchHit(chunk, publication=publication)),
            "wider_text": self.library.read.wider_text(chunk),
        }

    def read_figures(self, arguments: ReadFigures) -> Json:
        """Figures of the reports as data: value, unit, year, edition, passage; or with
        `query` what is computed from them.
        """
        scope = arguments.scope(self.library)
        if arguments.query is not None:
            figures = self.library.search.flow.tools.figures
            computed: Json = to_json(figures.answer(arguments.query, scope, in_english))
            return computed
        page = self.library.read.figure_rows(
            scope, arguments.indicator, arguments.figure_year, limit=arguments.limit
        )
        return {"figures": list(map(to_json, page.figures)), "total": page.total}

    def resources(self, cursor: str = "") -> Json:
        """Return a page of the reports."""
        # Python refuses to read thousands of digits.
        start = int(cursor[:9]) if cursor.isdecimal() else 0
        records = self.library.reader.documents.all()
        page = [
            {
                "uri": f"{REPORT}{record.id}",
                "name": record.name,
                "title": record.title,
                "mimeType": "text/markdown",
            }
            for record in records[start : start + PAGE]
        ]
        more = {"nextCursor": str(start + PAGE)} if len(records) > start + PAGE else {}
        return {"resources": page, **more}

    def read(self, uri: str) -> Json:
        """Return the text of a report, or a passage. Raises NotFoundError."""
        if uri.startswith(PASSAGE):
            text = self.read_passage(
                ReadPassage.model_construct(chunk_id=uri.removeprefix(PASSAGE))
            )["wider_text"]
        else:
            record = self.library.record(uri.removeprefix(REPORT))
            chunks = self.library.page_of(record, 0, record.chunks + 1)
            text = "\n\n".join(
                [
                    f"# {record.title}",
                    *texts_of([chunk for chunk in chunks if not chunk.is_summary]),
                ]
            )
        return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}


TOOLS: dict[str, Callable[[Toolbox, Any], Json]] = {
    name: getattr(Toolbox, name)
    for name in (
        "search",
        "ask",
        "list_reports",
        "facets",
        "read_passage",
        "read_figures",
    )
}
"""By name. Agents read the docstring of each, and its arguments are checked against
their annotation.
"""
TEMPLATES = [
    {
        "uriTemplate": f"{REPORT}{{document_id}}",
        "name": "report",
        "mimeType": "text/markdown",
    },
    {
        "uriTemplate": f"{PASSAGE}{{chunk_id}}",
        "name": "passage",
        "mimeType": "text/markdown",
    },
]
SHOWN = read_table(__package__, "tools")
"""Titles and results of the tools, and the prompts (`tools.toml`)."""
INSTRUCTIONS = (
    "Country reports, reviews and other documents. facets says what there is; ask "
    "answers with citations, search and "
    "read_passage give the passages themselves, read_figures figures as data. Year "
    "is the edition of a report."
)


def serve_stdio(services: Services) -> None:
    """Serve until stdin ends. Whoever can start the process may see everything."""

    async def run() -> None:
        server = build_server(Toolbox(services, ANYBODY))
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def build_server(toolbox: Toolbox | None = None) -> Server[Any]:
    """Return the server. Without ``toolbox``, each HTTP request brings its own in its
    scope.
    """
    handlers = Handlers(toolbox)
    return Server(
        "report-chat",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


class Handlers:
    """What the SDK's server calls. The work itself runs in threads."""

    def __init__(self, toolbox: Toolbox | None) -> None:
        self._toolbox = toolbox
        # The HTTP server bounds the questions that run at once (QUESTIONS).
        self._limiter = anyio.CapacityLimiter(math.inf)

    async def _run(self, ctx: Any, work: Callable[[Toolbox], T]) -> T:
        """Run in a thread; cancelled together with the request."""
        toolbox = self._toolbox or ctx.request.scope[TOOLBOX_KEY]
        cancel = Cancellation()
        box = replace(toolbox, cancel=cancel)
        try:
            return await anyio.to_thread.run_sync(
                lambda: work(box), abandon_on_cancel=True, limiter=self._limiter
            )
        except ChatbotError as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        finally:
            cancel.cancel()

    async def list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        hints = {"readOnlyHint": True, "openWorldHint": False}
        tools: list[Json] = []
        for name, tool in TOOLS.items():
            schema = tool.__annotations__["arguments"].model_json_schema()
            shown = SHOWN["tools"][name]
            results = shown["results"]
            tools.append(
                {
                    "name": name,
                    "title": shown["title"],
                    "description": tool.__doc__,
                    "inputSchema": schema,
                    "outputSchema": {
                        "type": "object",
                        "properties": {
                            field: {"type": kind} for field, kind in results.items()
                        },
                        "required": list(results),
                    },
                    "annotations": hints,
                }
            )
        return types.ListToolsResult.model_validate({"tools": tools})

    async def call_tool(
        self, ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        async def report(step: int, detail: str) -> None:
            await ctx.session.report_progress(step, message=detail)

        def progress(step: int, detail: str) -> None:
            anyio.from_thread.run(report, step, detail)

        def work(box: Toolbox) -> Json:
            return call(replace(box, progress=progress), params)

        return types.CallToolResult.model_validate(await self._run(ctx, work))

    async def list_resources(self, ctx: Any, params: Any) -> types.ListResourcesResult:
        cursor = (params.cursor if params else None) or ""
        page = await self._run(ctx, lambda box: box.resources(cursor))
        return types.ListResourcesResult.model_validate(page)

    async def list_templates(
        self, ctx: Any, params: Any
    ) -> types.ListResourceTemplatesResult:
        templates = {"resourceTemplates": TEMPLATES}
        return types.ListResourceTemplatesResult.model_validate(templates)

    async def list_prompts(self, ctx: Any, params: Any) -> types.ListPromptsResult:
        prompts: list[Json] = []
        for name, prompt in SHOWN["prompts"].items():
            arguments = [
                {"name": field, "description": text, "required": True}
                for field, text in prompt["arguments"].items()
            ]
            shown = {"title": prompt["title"], "description": prompt["description"]}
            prompts.append({"name": name, **shown, "arguments": arguments})
        return types.ListPromptsResult.model_validate({"prompts": prompts})

    async def get_prompt(
        self, ctx: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        prompt = SHOWN["prompts"].get(params.name)
        given = params.arguments or {}
        if prompt is None or not set(prompt["arguments"]) <= set(given):
            names = ", ".join(SHOWN["prompts"])
            message = f"unknown prompt, or an argument is missing. Valid: {names}."
            raise MCPError(types.INVALID_PARAMS, message)
        text = prompt["text"].format_map(given)
        content = {"type": "text", "text": text}
        return types.GetPromptResult.model_validate(
            {
                "description": prompt["description"],
                "messages": [{"role": "user", "content": content}],
            }
        )

    async def read_resource(
        self, ctx: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        read = await self._run(ctx, lambda box: box.read(str(params.uri)))
        return types.ReadResourceResult.model_validate(read)


def call(box: Toolbox, params: types.CallToolRequestParams) -> Json:
    """Return the result of a tool, or an error that the agent reads and corrects."""
    try:
        result = box.call(params.name, params.arguments or {})
    except ChatbotError as error:
        content = [{"type": "text", "text": error.message}]
        return {"content": content, "isError": True}
    if box.root:
        add_addresses(result, box.root)
    return {
        "content": [{"type": "text", "text": as_text(result)}],
        "structuredContent": result,
        "isError": False,
    }


def add_addresses(result: Json, root: str) -> None:
    """Add to each passage of a result the address of its page."""
    parts = [result]
    for name in ("hits", "citations", "figures"):
        parts += result.get(name, ())
    for part in parts:
        if "chunk_id" in part:
            part["url"] = f"{root}passages/{part['chunk_id']}"


def as_text(result: Json) -> str:
    """Return a result as text, for clients that read nothing else."""
    lines = [result.get("response") or json.dumps(result, ensure_ascii=False), ""]
    for citation in result.get("citations", ()):
        number = citation["number"]
        title = citation["title"]
        lines.append(f"[{number}] {title} {citation.get('url', '')}")
    return "\n".join(lines).strip()
