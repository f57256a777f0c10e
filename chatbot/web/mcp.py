"""The Model Context Protocol over HTTP: the official SDK's ASGI application behind the checks of the whole API.

The SDK runs in an event loop of its own. A request comes to it after keys, limits, host and size have been checked
here, and it ends there when its client goes. There are no sessions: any worker can serve any request.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator, MutableMapping
from functools import cache
from typing import Any

from flask import Blueprint, Response, request

from ..errors import ChatbotError
from ..mcp.tools import Json
from ..repositories.request_cache import request_cache
from ..schema.access import Caller
from ..services import Services
from ..validation import parse
from .access import caller, question_slot
from .asking import refuse_more
from .middleware import log_failure, unexpected
from .payloads import JsonRpc
from .request import json_object
from .routes import EVENTS, JSON, route
from .services import require_samples, services
from .streaming import ClientGoneError, client_of

mcp = Blueprint("mcp", __name__)
OF_REPORTS = ("tools/call", "resources/list", "resources/read")
"""Methods that need the sample reports to be loaded."""
Message = MutableMapping[str, Any]


@mcp.post("/mcp")
@route(
    need="read", body=JsonRpc, returns=Json, media=(JSON, EVENTS), also={202: None},
    example={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
)  # fmt: skip
@request_cache()
def send_mcp_message() -> Response:
    """Send a JSON-RPC message of the Model Context Protocol.

    A request is answered, a notification is accepted (202). A tool with a progress token answers as server-sent events.
    See docs/mcp.md.
    """
    sent = parse(JsonRpc, json_object())
    if sent.method in OF_REPORTS:
        require_samples()
    if sent.method == "tools/call":
        refuse_more()
    meta = (sent.params or {}).get("_meta")
    streams = isinstance(meta, dict) and "progressToken" in meta
    body = sent.model_dump_json(exclude_none=True).encode()
    return _Exchange(_scope(services(), caller()), body).run(streams=streams)


def _scope(found: Services, who: Caller) -> dict[str, Any]:
    from mcp import MCPError
    from mcp_types import INTERNAL_ERROR

    from ..mcp.server import ACCESS_KEY, Access

    def limited(work: Callable[[], Json]) -> Json:
        try:
            with question_slot(found, who):
                return work()
        except ChatbotError as error:
            log_failure(error)
            raise
        except Exception as error:  # the web layer's border: it goes to the client
            raise MCPError(INTERNAL_ERROR, unexpected(error).message) from error

    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers]
    if "Accept" not in request.headers:
        headers.append((b"accept", b"*/*"))
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": request.scheme,
        "path": "/mcp", "raw_path": b"/mcp", "query_string": b"", "root_path": "", "headers": headers,
        ACCESS_KEY: Access(found, who, limited),
    }  # fmt: skip


class _Exchange:
    """One request to the SDK's application, and its response as WSGI has it."""

    def __init__(self, scope: dict[str, Any], body: bytes) -> None:
        self._scope = scope
        self._body: bytes | None = body
        self._sent: queue.SimpleQueue[Message | None] = queue.SimpleQueue()

    def run(self, *, streams: bool) -> Response:
        """Return the response once it begins. Raises ClientGoneError."""
        loop, managers = _sdk()
        future = asyncio.run_coroutine_threadsafe(
            managers[streams].handle_request(self._scope, self._receive, self._send), loop
        )
        future.add_done_callback(lambda _: self._sent.put(None))

        def cancel() -> None:
            future.cancel()

        client_of(request.environ).on_cancel(cancel)
        begin = self._sent.get()
        if begin is None:
            if future.cancelled():
                raise ClientGoneError
            future.result()
            raise AssertionError("the SDK sends a response")
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in begin["headers"]]
        if not streams:
            return Response(b"".join(self._pieces()), begin["status"], headers)
        response = Response(self._pieces(), begin["status"], headers)
        response.call_on_close(cancel)
        return response

    def _pieces(self) -> Iterator[bytes]:
        while (sent := self._sent.get()) is not None:
            yield sent.get("body", b"")

    async def _receive(self) -> Message:
        if self._body is None:
            await asyncio.Event().wait()  # a client that goes cancels the whole exchange
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, message: Message) -> None:
        self._sent.put(message)


@cache
def _sdk() -> tuple[asyncio.AbstractEventLoop, dict[bool, Any]]:
    """Start the SDK's applications, once for this process: by whether they stream. It takes a second to import."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from ..mcp.server import build_server

    loop, ready, server = asyncio.new_event_loop(), threading.Event(), build_server()
    managers = {
        streams: StreamableHTTPSessionManager(server, json_response=not streams, stateless=True)
        for streams in (False, True)
    }

    async def serve() -> None:
        async with managers[False].run(), managers[True].run():
            ready.set()
            await asyncio.Event().wait()

    threading.Thread(target=loop.run_until_complete, args=(serve(),), name="mcp", daemon=True).start()
    ready.wait()
    return loop, managers
