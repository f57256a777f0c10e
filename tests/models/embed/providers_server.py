"""A server on loopback that speaks the embedding APIs of all providers, and remembers
what it was sent. A vector is a hash of the words of its text: texts that share words
are near each other.
"""

import json
import re
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.fakes.loopback import Loopback
from tests.fakes.openai_replies import word_hashes


@dataclass
class Sent:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    texts: list[str] = field(default_factory=list)


class ProvidersServer(Loopback):
    """Use as a context manager. ``status`` other than 200: every request fails with it.
    ``shortens``: it gives vectors of the length that is asked for.
    """

    def __init__(self, dimensions: int = 16) -> None:
        self.dimensions = dimensions
        self.shortens = True
        self.status = 200
        self.requests: list[Sent] = []
        super().__init__(_Handler)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def embeddings(self) -> list[Sent]:
        return [sent for sent in self.requests if sent.texts]

    def reply(self, sent: Sent) -> dict[str, Any]:
        """In the words of the API that the path belongs to."""
        body, path = sent.body, sent.path.partition("?")[0]
        if path == "/token":
            return {
                "access_token": "google-token",
                "expires_in": 3600,
                "token_type": "Bearer",
            }
        if path.endswith("/embeddings"):
            vectors = self._vectors(sent, body["input"])
            return {
                "object": "list",
                "model": "m",
                "data": [{"index": n, "embedding": v} for n, v in vectors],
            }
        if path.endswith("/embedding/text"):
            return {
                "embeddings": [v for _, v in self._vectors(sent, body["texts"])],
                "usage": {},
            }
        if path.endswith("/v2/embed"):
            rows = [v for _, v in self._vectors(sent, body["texts"])]
            return {
                "id": "1",
                "embeddings": {"float": rows},
                "texts": [],
                "meta": {"api_version": {"version": "2"}},
            }
        if path.endswith(":batchEmbedContents"):
            texts = [part["content"]["parts"][0]["text"] for part in body["requests"]]
            return {
                "embeddings": [{"values": v} for _, v in self._vectors(sent, texts)]
            }
        if path.endswith(":embedContent"):
            (row,) = self._vectors(sent, [body["content"]["parts"][0]["text"]])
            return {"embedding": {"values": row[1]}}
        if path.endswith(":predict"):
            rows = self._vectors(sent, [part["content"] for part in body["instances"]])
            return {
                "predictions": [
                    {"embeddings": {"values": v, "statistics": {}}} for _, v in rows
                ]
            }
        if path.endswith("/invoke"):
            (row,) = self._vectors(sent, [body["inputText"]])
            return {"embedding": row[1], "inputTextTokenCount": 1}
        raise AssertionError(sent.path)

    def _vectors(self, sent: Sent, texts: list[str]) -> list[tuple[int, list[float]]]:
        sent.texts = texts
        asked = re.search(
            r'"(?:dimension(?:s|ality)|output_?[dD]imension(?:ality)?)": (\d+)',
            json.dumps(sent.body),
        )
        size = int(asked[1]) if asked and self.shortens else self.dimensions
        return [(number, word_hashes(text, size)) for number, text in enumerate(texts)]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        fake: ProvidersServer = self.server.fake  # type: ignore[attr-defined]
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(raw) if raw.startswith(b"{") else {}
        sent = Sent(self.path, headers, body)
        fake.requests.append(sent)
        status = 200 if self.path == "/token" else fake.status
        reply = (
            fake.reply(sent)
            if status == 200
            else {"message": "scripted", "error": {"message": "scripted"}}
        )
        payload = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the records are the log."""
