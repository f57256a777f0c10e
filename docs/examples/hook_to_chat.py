"""Pass web hooks on to a chat: HOOK_SECRET=whsec_... CHAT_URL=https://... python
hook_to_chat.py

`python -m chatbot hooks add` prints the secret (docs/extras/hooks.md). The chat gets
{"text": "..."}, as Slack, Mattermost and workflows of Teams take it. An event that the
chat does not take is answered with 502, so that the server sends it again later.
"""

import base64
import hashlib
import hmac
import json
import os
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAX_AGE_SECONDS = 300
MAX_BODY_BYTES = 100_000


def is_signed(body: bytes, headers: Any, secret: str) -> bool:
    """Check a signature of Standard Webhooks, and that it is not an old one."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    sent_at = headers.get("webhook-timestamp", "")
    signed = f"{headers.get('webhook-id', '')}.{sent_at}.".encode() + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > MAX_AGE_SECONDS:
        return False
    signature = headers.get("webhook-signature", "")
    return hmac.compare_digest(signature.encode(), f"v1,{digest}".encode())


def line_of(event: dict[str, Any]) -> str:
    """Return what the chat shows of an event."""
    data = event["data"]
    facts = [str(data[name]) for name in ("name", "error") if data.get(name)]
    return ": ".join([event["type"], *facts])


def post_to_chat(text: str) -> None:
    """Send a line to the chat. Raises OSError."""
    request = urllib.request.Request(  # noqa: S310
        os.environ["CHAT_URL"],
        json.dumps({"text": text}).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=8).close()  # noqa: S310


class Relay(BaseHTTPRequestHandler):
    """Takes the hooks of one server."""

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        if size > MAX_BODY_BYTES:
            self.answer(413)
            return
        body = self.rfile.read(size)
        if not is_signed(body, self.headers, os.environ["HOOK_SECRET"]):
            self.answer(401)
            return
        try:
            post_to_chat(line_of(json.loads(body)))
        except OSError:
            self.answer(502)
            return
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 8099), Relay).serve_forever()
