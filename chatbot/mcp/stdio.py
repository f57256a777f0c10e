"""The tools over stdin and stdout, by the official SDK (requirements-mcp.txt): `python -m chatbot mcp`."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from ..cancellation import Cancellation
from ..errors import ChatbotError
from ..schema.access import ANYBODY
from ..services import Services
from .tools import INSTRUCTIONS, TEMPLATES, TOOLS, Json, Toolbox, error_of, result_of

NAME = "report-chat"


def serve(services: Services) -> None:
    """Serve until stdin ends. Whoever may start this may see everything."""
    anyio.run(_serve, services)


async def _serve(services: Services) -> None:
    server = server_of(services)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def server_of(services: Services) -> Server[Any]:
    """The MCP SDK's server, with the tools and resources of `tools`."""
    box = partial(Toolbox, services, ANYBODY)

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        tools = [tool.described(name) for name, tool in TOOLS.items()]
        return types.ListToolsResult.model_validate({"tools": tools})

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        cancel = Cancellation()

        def progress(step: int, detail: str) -> None:
            anyio.from_thread.run(partial(ctx.session.report_progress, step, message=detail))

        def work() -> Json:
            try:
                return result_of(box(cancel).call(params.name, params.arguments or {}, progress))
            except ChatbotError as error:
                return error_of(error.message)

        try:
            found = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        finally:
            cancel.cancel()
        return types.CallToolResult.model_validate(found)

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        cursor = (params.cursor if params else None) or ""
        return types.ListResourcesResult.model_validate(box(Cancellation()).resources(cursor))

    async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": TEMPLATES})

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            found = box(Cancellation()).read(str(params.uri))
        except ChatbotError as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        return types.ReadResourceResult.model_validate(found)

    return Server(
        NAME, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool,
        on_list_resources=list_resources, on_list_resource_templates=list_templates, on_read_resource=read_resource,
    )  # fmt: skip
