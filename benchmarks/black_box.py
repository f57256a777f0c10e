"""A server of any checkout, asked over HTTP and by its command line only, and files
that cost much to read.

The tests of what strangers can do use it (tests/faults/test_strangers.py). The same
tests try an older checkout when they are run there with this file beside them.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

FINISHED = {"done", "failed", "cancelled", "superseded"}
EACH_COMMAND = """
import runpy, shlex, sys
for command in sys.argv[1:]:
    sys.argv = ["chatbot", *shlex.split(command)]
    try:
        runpy.run_module("chatbot", run_name="__main__")
    except SystemExit as ended:
        if ended.code:
            raise
"""
Form = tuple[bytes, str]
"""A body and its content type."""


@dataclass
class Server:
    url: str
    environment: dict[str, str]
    pid: int = 0
    keys: dict[str, str] = field(default_factory=dict)
    """Of each role; that of the writer is limited to Kenya."""

    def send(
        self, method: str, path: str, body: Any = None, key: str = "", **headers: str
    ) -> tuple[int, Any]:
        """A dict is sent as JSON, files as a form. Returns the status and the JSON of
        the response.
        """
        content, kind = (
            body
            if isinstance(body, tuple)
            else (json.dumps(body) if body is not None else None, None)
        )
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers |= (
            {"Content-Type": kind or "application/json"} if body is not None else {}
        )
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=90)
        try:
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text[:1] in {
                b"{",
                b"[",
            } else text
        finally:
            connection.close()

    def run(self, *commands: str) -> str:
        """The output of commands of `python -m chatbot`, in one process."""
        full = [sys.executable, "-c", EACH_COMMAND, *commands]
        return subprocess.run(
            full, env=self.environment, check=True, capture_output=True, text=True
        ).stdout

    def create_keys(self, **options: str) -> None:
        """Keep a key for each name in `keys`."""
        said = self.run(
            *(f"keys create {name} {each}" for name, each in options.items())
        )
        found = [word for word in said.split() if word.startswith("rck_")]
        self.keys |= dict(zip(options, found, strict=True))

    def take_in(self, key: str, upload: Form) -> dict[str, Any]:
        status, job = self.send("POST", "/api/documents", upload, key)
        assert status == 202, job
        while (
            found := self.send(
                "GET", f"/api/ingestions/{job['ingestion_id']}", key=key
            )[1]
        )["state"] not in FINISHED:
            time.sleep(0.1)
        return dict(found["files"][0])


def pdf_of(operators: bytes, pages: int) -> bytes:
    """A small file: its pages draw the same, compressed, content."""
    content = zlib.compress(operators)
    kids = b" ".join(b"%d 0 R" % (4 + n) for n in range(pages))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%b]>>" % (pages, kids),
        b"<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream"
        % (len(content), content),
        *[b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 3 0 R>>"] * pages,
    ]
    body, places = b"%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    tail = (
        b"xref\n0 %d\n0000000000 65535 f \n%btrailer<</Size %d/Root 1 0 R>>\n"
        b"startxref\n%d\n%%%%EOF"
    )
    return body + tail % (len(objects) + 1, table, len(objects) + 1, len(body))
