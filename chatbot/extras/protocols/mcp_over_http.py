"""The Model Context Protocol over HTTP: the official SDK's ASGI application behind the
checks of the whole API.

The SDK runs in an event loop of its own. A request comes to it after keys, limits, host
and size have been checked here, and it ends there when its client goes. There are no
sessions: any worker can serve any request.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, MutableMapping
from functools import cache
from typing import Any, Literal

from flask import Response, request
from pydantic import BaseModel, ConfigDict

from ...app.services import Services
from ...app.web.callers import caller
from ...app.web.monitoring import guarded
from ...app.web.rates import question_slot
from ...app.web.routes import EVENTS, JSON, Views, require_samples, services
from ...app.web.streaming import ClientGoneError, connection, refuse_more
from ...database.core import Json
from ...domain.callers import Caller

mcp = Views("mcp", __name__)
OF_REPORTS = ("tools/call", "resources/list", "resources/read")
"""Methods that need the sample reports to be loaded."""
Message = MutableMapping[str, Any]


class JsonRpc(BaseModel):
    """A message of the Model Context Protocol; without an ``id`` it is a
    notification.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    method: str
    params: dict[str, Any] | None = None
    id: str | int | None = None
    jsonrpc: Literal["2.0"] = "2.0"


@mcp.post(
    "/mcp",
    need="read",
    waits_for_model=True,
    returns=Json,
    media=(JSON, EVENTS),
    also={202: None},
    example={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
)
def send_mcp_message(body: JsonRpc) -> Response:
    """Send a JSON-RPC message of the Model Context Protocol.

    A request is answered, a notification is accepted (202). A tool with a progress
    token answers as server-sent events. See docs/extras/mcp.md.
    """
    if body.method in OF_REPORTS:
        require_samples()
    if body.method == "tools/call":
        refuse_more()
    meta = (body.params or {}).get("_meta")
    streams = isinstance(meta, dict) and "progressToken" in meta
    message = body.model_dump_json(exclude_none=True).encode()
    return _exchange(_scope(services(), caller()), message, streams=streams)


def _scope(product: Services, who: Caller) -> dict[str, Any]:
    from .toolbox import TOOLBOX_KEY, Toolbox, internal_error

    def limited(work: Callable[[], Json]) -> Json:
        def run() -> Json:
            with question_slot(product, who):
                return work()

        return guarded(run, internal_error)

    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in request.headers
    ]
    if "Accept" not in request.headers:
        headers.append((b"accept", b"*/*"))
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": request.scheme,
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        TOOLBOX_KEY: Toolbox(product, who, limited=limited, root=request.url_root),
    }


def _exchange(scope: dict[str, Any], body: bytes, *, streams: bool) -> Response:
    """Send one request to the SDK's application and return its response once it begins.
    Raises ClientGoneError.
    """
    loop, managers = _sdk()
    received = [body]
    sent = queue.SimpleQueue[Message | None]()

    async def receive() -> Message:
        if not received:
            await (
                asyncio.Event().wait()
            )  # a client that disconnects cancels the whole exchange
        return {"type": "http.request", "body": received.pop(), "more_body": False}

    async def send(message: Message) -> None:
        sent.put(message)

    future = asyncio.run_coroutine_threadsafe(
        managers[streams].handle_request(scope, receive, send), loop
    )
    future.add_done_callback(lambda _: sent.put(None))

    def cancel() -> None:
        future.cancel()

    connection().client.on_cancel(cancel)
    begin = sent.get()
    if begin is None:
        if future.cancelled():
            raise ClientGoneError
        future.result()
        raise AssertionError("the SDK sends a response")
    headers = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in begin["headers"]
    ]
    pieces = (message.get("body", b"") for message in iter(sent.get, None))
    if not streams:
        return Response(b"".join(pieces), begin["status"], headers)
    response = Response(pieces, begin["status"], headers)
    response.call_on_close(cancel)
    return response


@cache
def _sdk() -> tuple[asyncio.AbstractEventLoop, dict[bool, Any]]:
    """Start the SDK's applications, once for this process: by whether they stream. It
    takes a second to import.
    """
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from .toolbox import build_server

    loop = asyncio.new_event_loop()
    ready = threading.Event()
    server = build_server()
    managers = {
        streams: StreamableHTTPSessionManager(
            server, json_response=not streams, stateless=True
        )
        for streams in (False, True)
    }

    async def serve() -> None:
        async with managers[False].run(), managers[True].run():
            ready.set()
            await asyncio.Event().wait()

    threading.Thread(
        target=loop.run_until_complete, args=(serve(),), name="mcp", daemon=True
    ).start()
    ready.wait()
    return loop, managers
