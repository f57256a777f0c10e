"""The official SDK's server with the tools and resources of `tools`, for HTTP (`web/mcp.py`) and stdio."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from ... import __version__
from ...domain.access import ANYBODY, Caller
from ...domain.cancellation import Cancellation
from ...domain.errors import ChatbotError
from ..services import Services
from .tools import INSTRUCTIONS, TEMPLATES, TOOLS, Json, Toolbox

ACCESS_KEY = "report_chat.access"
"""Where the scope of an HTTP request holds its `Access`."""
T = TypeVar("T")


@dataclass(frozen=True)
class Access:
    """Whose request it is. ``limited`` runs a tool within the limits of the caller."""

    services: Services
    caller: Caller
    limited: Callable[[Callable[[], Json]], Json] = lambda work: work()


def serve_stdio(services: Services) -> None:
    """Serve until stdin ends. Whoever can start the process may see everything."""

    async def run() -> None:
        server = build_server(Access(services, ANYBODY))
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def build_server(access: Access | None = None) -> Server[Any]:
    """Return the server. Without ``access``, each HTTP request brings its own in its scope."""
    limiter = anyio.CapacityLimiter(math.inf)  # the HTTP server bounds the questions that run at once (QUESTIONS)

    def access_of(ctx: Any) -> Access:
        request_access: Access = access or ctx.request.scope[ACCESS_KEY]
        return request_access

    async def run(ctx: Any, work: Callable[[Toolbox], T]) -> T:
        """Run in a thread; cancelled together with the request."""
        cancel, granted = Cancellation(), access_of(ctx)
        box = Toolbox(granted.services, granted.caller, cancel)
        try:
            return await anyio.to_thread.run_sync(partial(work, box), abandon_on_cancel=True, limiter=limiter)
        except ChatbotError as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        finally:
            cancel.cancel()

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        hints = {"readOnlyHint": True, "openWorldHint": False}
        tools: list[Json] = []
        for name, tool in TOOLS.items():
            schema = tool.arguments.model_json_schema()
            tools.append({"name": name, "description": tool.description, "inputSchema": schema, "annotations": hints})
        return types.ListToolsResult.model_validate({"tools": tools})

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        def progress(step: int, detail: str) -> None:
            anyio.from_thread.run(partial(ctx.session.report_progress, step, message=detail))

        def work(box: Toolbox) -> Json:
            call = partial(box.call, params.name, params.arguments or {}, progress)
            try:
                result = access_of(ctx).limited(call)
            except ChatbotError as error:  # the agent reads it and can correct its call
                return {"content": [{"type": "text", "text": error.message}], "isError": True}
            # As text too, for clients that read nothing else.
            text = result.get("response") or json.dumps(result, ensure_ascii=False)
            return {"content": [{"type": "text", "text": text}], "structuredContent": result, "isError": False}

        return types.CallToolResult.model_validate(await run(ctx, work))

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        cursor = (params.cursor if params else None) or ""
        return types.ListResourcesResult.model_validate(await run(ctx, lambda box: box.resources(cursor)))

    async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": TEMPLATES})

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return types.ReadResourceResult.model_validate(await run(ctx, lambda box: box.read(str(params.uri))))

    return Server(
        "report-chat", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool,
        on_list_resources=list_resources, on_list_resource_templates=list_templates, on_read_resource=read_resource,
    )  # fmt: skip
