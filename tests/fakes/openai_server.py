"""A real HTTP server on loopback that speaks OpenAI's API and does what it is told,
request by request.

    with FakeOpenAI() as server: server.chat(Reply(["Two", " words."]),
        Reply(status=429, headers={"Retry-After": "0"})) ... OPENAI_BASE_URL =
        server.url ... assert server.calls(CHAT) == 2

What is not scripted gets the default reply. Embeddings are word hashes: texts that
share words are near each other.
"""

import json
import select
import socket
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any

from pydantic import SecretStr

from tests.fakes.loopback import Loopback
from tests.fakes.openai_replies import (
    CHAT,
    EMBEDDINGS,
    MODELS,
    PROMPT_TOKENS,
    Recorded,
    Reply,
    call_events,
    embedding_row,
    word_hashes,
)

__all__ = [
    "CHAT",
    "EMBEDDINGS",
    "MODELS",
    "PROMPT_TOKENS",
    "FakeOpenAI",
    "Recorded",
    "Reply",
]
TICK = 0.02


class FakeOpenAI(Loopback):
    """Use as a context manager. ``dimensions`` of its embeddings; ``base64`` off =
    floats whatever was asked for.
    """

    def __init__(self, *, dimensions: int = 64, base64: bool = True) -> None:
        self.dimensions = dimensions
        self.base64 = base64
        self.requests: list[Recorded] = []
        self.default: dict[str, Reply | Callable[[Recorded], Reply]] = {}
        self._scripted: dict[str, deque[Reply]] = defaultdict(deque)
        self._lock = threading.Lock()
        super().__init__(_Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def as_settings(self) -> dict[str, Any]:
        """Settings whose chat model is this server, asked once for each reply: rules
        decide what is searched for, and nothing is checked by it.
        """
        key = SecretStr("sk-secret-4711")
        return {
            "chat_model": "openai:fake",
            "openai_api_key": key,
            "openai_base_url": self.url,
            "model_retries": 0,
            "planner": "rules",
            "verify": "off",
            "repair": 0,
        }

    @property
    def as_environment(self) -> dict[str, str]:
        """The same for a process, or a command."""
        return {
            "CHAT_MODEL": "openai:fake",
            "OPENAI_API_KEY": "sk-secret-4711",
            "OPENAI_BASE_URL": self.url,
            "PLANNER": "rules",
            "VERIFY": "off",
            "REPAIR": "0",
        }

    def chat(self, *replies: Reply) -> None:
        """The next chat completions get these, in order."""
        self._scripted[CHAT].extend(replies)

    def embed(self, *replies: Reply) -> None:
        """The next embedding requests get these, in order."""
        self._scripted[EMBEDDINGS].extend(replies)

    def always(self, path: str, reply: Reply | Callable[[Recorded], Reply]) -> None:
        """Every request that is not scripted gets this, or what it says to the
        request.
        """
        self.default[path] = reply

    def received(self, path: str) -> list[Recorded]:
        with self._lock:
            return [request for request in self.requests if request.path == path]

    def calls(self, path: str) -> int:
        return len(self.received(path))

    def wait_for(self, path: str, count: int = 1, seconds: float = 30.0) -> Recorded:
        """The ``count``-th request to ``path``, waiting until it has arrived."""
        self.wait_until(lambda: self.calls(path) >= count, seconds)
        return self.received(path)[count - 1]

    def wait_until(self, condition: Callable[[], bool], seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"not within {seconds} s"
            time.sleep(TICK)

    def next_reply(self, request: Recorded) -> Reply:
        with self._lock:
            self.requests.append(request)
            scripted = self._scripted[request.path]
            reply = (
                scripted.popleft()
                if scripted
                else self.default.get(request.path, Reply())
            )
        return reply(request) if callable(reply) else reply


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any
    connection: socket.socket

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the records are the log."""

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        self._serve(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _serve(self, body: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Recorded(self.path, headers, body, time.monotonic())
        reply = self.server.fake.next_reply(request)
        try:
            if self._silent(reply.silent_before):
                raise ConnectionResetError
            self._answer(request, reply)
        except (
            ConnectionError,
            ValueError,
        ):  # ValueError: the file was closed below us
            request.disconnected_at = time.monotonic()
            self.close_connection = True
        finally:
            request.finished.set()

    def _answer(self, request: Recorded, reply: Reply) -> None:
        if reply.status != 200:
            self._json(
                {"error": dict(reply.error)} if reply.body is None else reply.body,
                reply,
            )
        elif reply.body is not None:
            self._json(reply.body, reply)
        elif request.path == EMBEDDINGS:
            self._json(self._embeddings(request.body), reply)
        elif request.path == MODELS:
            self._json(
                {"object": "list", "data": [{"id": "fake", "object": "model"}]}, reply
            )
        elif request.path == CHAT:
            self._chat(request.body, reply)
        else:
            self._json(
                {"error": {"message": f"no such path: {request.path}"}},
                Reply(status=404),
            )

    def _chat(self, body: dict[str, Any], reply: Reply) -> None:
        written = (
            len(reply.pieces)
            if reply.completion_tokens is None
            else reply.completion_tokens
        )
        usage = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": written}
        usage["total_tokens"] = sum(usage.values())
        if reply.cached_tokens:
            details = {"cached_tokens": reply.cached_tokens}
            usage = {**usage, "prompt_tokens_details": details}  # type: ignore[dict-item]
        if not body.get("stream"):
            message = {"role": "assistant", "content": "".join(reply.pieces)}
            choice = {
                "index": 0,
                "message": message,
                "finish_reason": reply.finish_reason,
            }
            self._json(
                {
                    **_completion(body, "chat.completion"),
                    "choices": [choice],
                    "usage": usage,
                },
                reply,
            )
            return
        self._head(reply, "text/event-stream", {"Transfer-Encoding": "chunked"})
        if reply.raw:
            self._chunk(reply.raw)
            self._chunk(b"")
            return
        head = _completion(body, "chat.completion.chunk")
        self._event(
            {**head, "choices": [_choice({"role": "assistant", "content": ""})]}
        )
        for delta in call_events(reply):
            self._event({**head, "choices": [_choice(delta)]})
        for piece in () if reply.tool_calls else reply.pieces:
            self._event({**head, "choices": [_choice({"content": piece})]})
            if reply.pause and self._silent(reply.pause):
                raise ConnectionResetError
        if self._silent(reply.silent_after):
            raise ConnectionResetError
        if reply.ending == "drop":
            self.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            self.close_connection = True
            return
        if reply.ending == "error":
            self._event({"error": dict(reply.error)})
        if reply.ending == "done":
            self._event({**head, "choices": [_choice({}, reply.finish_reason)]})
            if (body.get("stream_options") or {}).get("include_usage"):
                self._event({**head, "choices": [], "usage": usage})
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        encoded = self.server.fake.base64 and body.get("encoding_format") == "base64"
        vectors = [word_hashes(text, self.server.fake.dimensions) for text in texts]
        data = [
            embedding_row(index, vector, encoded=encoded)
            for index, vector in enumerate(vectors)
        ]
        tokens = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}

    def _json(self, body: Any, reply: Reply) -> None:
        payload = json.dumps(body).encode()
        self._head(reply, "application/json", {"Content-Length": str(len(payload))})
        self.wfile.write(payload)

    def _head(
        self, reply: Reply, content_type: str, headers: Mapping[str, str]
    ) -> None:
        self.send_response(reply.status)
        for name, value in {
            "Content-Type": content_type,
            **headers,
            **reply.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()

    def _event(self, data: dict[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(data).encode() + b"\n\n")

    def _chunk(self, payload: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(payload), payload))
        self.wfile.flush()

    def _silent(self, seconds: float) -> bool:
        """Say nothing for so long; True when the client went away meanwhile, or the
        server is being closed.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.server.fake.stopping.is_set():
            readable, _, _ = select.select([self.connection], [], [], TICK)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return True
        return self.server.fake.stopping.is_set()


def _completion(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 1700000000,
        "model": body["model"],
    }


def _choice(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}
