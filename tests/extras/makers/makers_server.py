"""A server on loopback that speaks the streamed chat APIs of Anthropic, Google and
Amazon Bedrock.

From their documentation: Anthropic's "Streaming messages" (server-sent events by kind),
Google's `streamGenerateContent` with `alt=sse`, and Bedrock's `ConverseStream` in AWS's
binary event stream (prelude, headers and payload, with a CRC).
"""

import json
import struct
import zlib
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.fakes.loopback import Loopback


@dataclass
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class MakersServer(Loopback):
    """Use as a context manager. ``status`` other than 200: every request fails with it.
    ``hangs``: after one piece.
    """

    def __init__(self) -> None:
        self.status = 200
        self.hangs = False
        self.refuses = ""
        """A parameter that every request is refused for, by its name."""
        self.pieces = ["Kenya has ", "52,428,290 people [1]."]
        self.stop = "end"
        self.requests: list[Asked] = []
        super().__init__(_Handler)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def sse(value: dict[str, Any]) -> bytes:
    kind = f"event: {value['type']}\n" if "type" in value else ""
    return f"{kind}data: {json.dumps(value)}\n\n".encode()


def anthropic(pieces: list[str], stop: str) -> list[bytes]:
    usage = {"input_tokens": 7, "output_tokens": 1}
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": usage,
    }
    end = {
        "stop_reason": {"end": "end_turn", "limit": "max_tokens"}[stop],
        "stop_sequence": None,
    }
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {**message, "stop_reason": None, "stop_sequence": None},
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        *(
            {"type": "content_block_delta", "index": 0, "delta": delta}
            for delta in deltas
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return [sse(event) for event in events]


def google(pieces: list[str], stop: str) -> list[bytes]:
    ends = {"end": "STOP", "limit": "MAX_TOKENS"}
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 9, "totalTokenCount": 16}
    rows: list[dict[str, Any]] = [
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": piece}]}, "index": 0}
            ]
        }
        for piece in pieces
    ]
    rows[-1]["candidates"][0]["finishReason"] = ends[stop]
    rows[-1]["usageMetadata"] = usage
    return [sse(row) for row in rows]


def bedrock(pieces: list[str], stop: str) -> list[bytes]:
    ends = {"end": "end_turn", "limit": "max_tokens"}
    rows: list[tuple[str, dict[str, Any]]] = [
        ("messageStart", {"role": "assistant"}),
        *(
            ("contentBlockDelta", {"delta": {"text": piece}, "contentBlockIndex": 0})
            for piece in pieces
        ),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": ends[stop]}),
        (
            "metadata",
            {
                "usage": {"inputTokens": 7, "outputTokens": 9, "totalTokens": 16},
                "metrics": {"latencyMs": 1},
            },
        ),
    ]
    return [aws_event(kind, row) for kind, row in rows]


def aws_event(kind: str, payload: dict[str, Any]) -> bytes:
    def header(name: str, value: str) -> bytes:
        return (
            bytes([len(name)])
            + name.encode()
            + b"\x07"
            + struct.pack(">H", len(value))
            + value.encode()
        )

    pairs = [
        (":event-type", kind),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ]
    headers, body = (
        b"".join(header(*pair) for pair in pairs),
        json.dumps(payload).encode(),
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the records are the log."""

    def do_POST(self) -> None:
        fake: MakersServer = self.server.fake
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fake.requests.append(
            Asked(
                self.path,
                {name.lower(): value for name, value in self.headers.items()},
                body,
            )
        )
        if fake.refuses and fake.refuses in json.dumps(body):
            self._fail(400, f"{fake.refuses} is not supported for this model")
            return
        if fake.status != 200:
            self._fail(fake.status, "API key not valid. Please pass a valid API key.")
            return
        is_aws = self.path.endswith("/converse-stream")
        maker = (
            bedrock
            if is_aws
            else google
            if "streamGenerateContent" in self.path
            else anthropic
        )
        self._begin(
            200, "application/vnd.amazon.eventstream" if is_aws else "text/event-stream"
        )
        for place, event in enumerate(maker(fake.pieces, fake.stop)):
            self.wfile.write(event)
            self.wfile.flush()
            if fake.hangs and place == 2:
                fake.stopping.wait(60)

    def _fail(self, status: int, words: str) -> None:
        said = {
            "message": words,
            "error": {"type": "scripted", "message": words, "code": status},
        }
        self._begin(status, "application/json")
        self.wfile.write(json.dumps(said).encode())

    def _begin(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
