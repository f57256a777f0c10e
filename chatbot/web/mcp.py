"""The Model Context Protocol over HTTP, without sessions: one JSON-RPC message per request, and its answer.

After the specification's streamable HTTP transport (modelcontextprotocol.io, 2025-11-25). The SDK's own server is ASGI.
"""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from typing import Any

from flask import Blueprint, Response, jsonify, request

from ..cancellation import Cancellation
from ..errors import ChatbotError, InvalidRequestError
from ..mcp.tools import INSTRUCTIONS, TEMPLATES, TOOLS, Json, Toolbox, error_of, result_of
from ..repositories.request_cache import request_cache
from ..validation import parse
from .access import caller
from .asking import refuse_more
from .bodies import JsonRpc
from .limits import one_at_a_time
from .middleware import log_failure, unexpected
from .request import json_object
from .routes import EVENTS, JSON, route
from .services import require_samples, services
from .streaming import STREAM_HEADERS, THREADS, client_of

mcp = Blueprint("mcp", __name__)
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Newest first; a client that asks for another gets the first."""
METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32601, -32602, -32603
SILENCE_SECONDS = 1.0


@mcp.post("/mcp")
@route(
    need="read", body=JsonRpc, returns=Json, media=(JSON, EVENTS), also={202: None},
    example={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
)  # fmt: skip
@request_cache()
def send_mcp_message() -> Response:
    """Send a JSON-RPC message of the Model Context Protocol.

    A request is answered, a notification is accepted (202). See docs/mcp.md.
    """
    sent = parse(JsonRpc, json_object())
    if "id" not in sent.model_fields_set:
        return Response(status=202)
    params = sent.params or {}
    if sent.method == "tools/call":
        return _call(sent.id, params)
    handler = METHODS.get(sent.method)
    if handler is None:
        valid = ", ".join(METHODS)
        return _failed(sent.id, METHOD_NOT_FOUND, f"There is no {sent.method[:100]}. Valid: {valid}.")
    try:
        return jsonify({"jsonrpc": "2.0", "id": sent.id, "result": handler(params)})
    except ChatbotError as error:
        return _failed(sent.id, INVALID_PARAMS, error.message)


def _failure(id: Any, code: int, text: str) -> Json:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}


def _failed(id: Any, code: int, text: str) -> Response:
    return jsonify(_failure(id, code, text))


def _initialize(params: Mapping[str, Any]) -> Json:
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "report-chat", "version": "1"},
        "instructions": INSTRUCTIONS,
    }


def _box(cancel: Cancellation) -> Toolbox:
    require_samples()
    return Toolbox(services(), caller(), cancel)


def _resource(params: Mapping[str, Any]) -> Json:
    if not isinstance(params.get("uri"), str):
        raise InvalidRequestError.for_field("uri", "must be a text.")
    return _box(Cancellation()).read(params["uri"])


METHODS: Mapping[str, Callable[[Mapping[str, Any]], Json]] = {
    "initialize": _initialize,
    "ping": lambda params: {},
    "tools/list": lambda params: {"tools": [tool.described(name) for name, tool in TOOLS.items()]},
    "resources/list": lambda params: _box(Cancellation()).resources(str(params.get("cursor") or "")),
    "resources/templates/list": lambda params: {"resourceTemplates": TEMPLATES},
    "resources/read": _resource,
}
"""But for `tools/call`, which may stream."""


def _call(id: Any, params: Mapping[str, Any]) -> Response:
    """A tool's result; with a progress token as a stream, which tells each step before."""
    refuse_more()
    name, arguments, about = params.get("name"), params.get("arguments") or {}, params.get("_meta") or {}
    if not isinstance(name, str) or not isinstance(arguments, dict) or not isinstance(about, dict):
        return _failed(id, INVALID_PARAMS, "name must be a text, arguments and _meta objects.")
    cancel = Cancellation()
    client_of(request.environ).on_cancel(cancel.cancel)
    box, found, who = _box(cancel), services(), caller()

    def work(progress: Callable[[int, str], None]) -> Json:
        def once() -> Iterator[Json]:
            yield result_of(box.call(name, arguments, progress))

        try:
            (result,) = one_at_a_time(found, who, once)
        except ChatbotError as error:
            log_failure(error)
            result = error_of(error.message)
        return {"jsonrpc": "2.0", "id": id, "result": result}

    token = about.get("progressToken")
    if token is None:
        return jsonify(work(lambda step, detail: None))
    return Response(_told(id, work, token, cancel), mimetype="text/event-stream", headers=STREAM_HEADERS)


def _told(
    id: Any, work: Callable[[Callable[[int, str], None]], Json], token: Any, cancel: Cancellation
) -> Iterator[str]:
    """The steps as notifications, then the answer; in between a comment for each second of silence."""
    said: queue.SimpleQueue[Json | None] = queue.SimpleQueue()

    def progress(step: int, detail: str) -> None:
        params = {"progressToken": token, "progress": step, "message": detail}
        said.put({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    def run() -> None:
        try:
            said.put(work(progress))
        except Exception as error:  # noqa: BLE001  # the web layer's border: it goes to the client
            said.put(_failure(id, INTERNAL_ERROR, unexpected(error).message))
        finally:
            said.put(None)

    THREADS.submit(copy_context().run, run)
    try:
        while True:
            try:
                message = said.get(timeout=SILENCE_SECONDS)
            except queue.Empty:
                yield ": waiting\n\n"
                continue
            if message is None:
                return
            yield f"event: message\ndata: {json.dumps(message, ensure_ascii=False)}\n\n"
    finally:
        cancel.cancel()
